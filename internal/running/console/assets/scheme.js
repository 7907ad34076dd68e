"use strict";
// The color scheme that was chosen, before anything is drawn.
try {
  const scheme = localStorage.getItem("cfn-scheme");
  if (scheme === "light" || scheme === "dark") document.documentElement.dataset.scheme = scheme;
} catch { /* a browser without storage follows the system */ }
