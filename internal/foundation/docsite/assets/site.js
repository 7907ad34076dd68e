"use strict";
// The pages work without this script; it adds the search, buttons that copy commands, and the
// list of pages beside a wide page.
(() => {
  const wide = matchMedia("(min-width: 56rem)");
  const list = document.querySelector(".pages > details");
  const unfold = () => { list.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();
  const here = document.querySelector('.pages a[aria-current="page"]');
  if (here && wide.matches) {
    const box = document.querySelector(".pages");
    box.scrollTop = Math.max(0, here.offsetTop - box.clientHeight / 2);
  }

  if (navigator.clipboard) {
    for (const pre of document.querySelectorAll('pre[data-language="sh"]')) {
      const block = document.createElement("div"), button = document.createElement("button");
      block.className = "block";
      button.className = "copy";
      button.textContent = "Copy";
      pre.replaceWith(block);
      block.append(pre, button);
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(pre.textContent);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Not allowed";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
    }
  }

  const input = document.getElementById("find"), found = document.getElementById("found"), said = document.getElementById("said");
  document.querySelector(".find").hidden = false;
  let index; // a promise
  const load = () => index ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.search;
    script.onload = () => {
      const { pages, sections } = window.searchIndex;
      for (const s of sections) {
        s.page = pages[s.p];
        s.title = (s.t || s.page[1]).toLowerCase();
        s.text = s.x.toLowerCase();
        s.top = s.page[1].toLowerCase();
      }
      resolve(sections);
    };
    script.onerror = reject;
    document.head.append(script);
  });

  // rank is how well a section matches all words, 0 if one is missing.
  const rank = (s, words) => {
    let sum = 0;
    for (const w of words) {
      let score = 0;
      if (s.title === w) score = 100;
      else if (new RegExp("(^|[^a-z0-9])" + w.replace(/[^a-z0-9]/g, "\\$&")).test(s.title)) score = 40;
      else if (s.title.includes(w)) score = 20;
      if (s.top.includes(w)) score += s.t ? 5 : 30;
      const at = s.text.indexOf(w);
      if (at >= 0) score += /[a-z0-9]/.test(s.text[at - 1] || "") ? 1 : 4;
      if (at >= 0 && w.startsWith("--") && s.t === "Options") score += 20; // of a command
      if (!score) return 0;
      sum += score;
    }
    return sum + (s.title.startsWith(words.join(" ")) ? 30 : 0);
  };

  const marked = (text, words) => {
    const lower = text.toLowerCase();
    const first = Math.min(...words.map((w) => lower.indexOf(w)).filter((i) => i >= 0), text.length);
    const start = first === text.length ? 0 : Math.max(0, first - 60);
    const piece = text.slice(start, start + 180);
    const out = document.createElement("small");
    if (start) out.append("… ");
    const pattern = new RegExp("(" + words.map((w) => w.replace(/[^a-z0-9\u0080-\uffff]/g, "\\$&")).join("|") + ")", "i");
    for (const [i, part] of piece.split(pattern).entries()) {
      if (i % 2) {
        const mark = document.createElement("mark");
        mark.textContent = part;
        out.append(mark);
      } else out.append(part);
    }
    return out;
  };

  const show = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);
    if (!words.length) {
      found.hidden = true;
      said.textContent = "";
      return;
    }
    let sections;
    try {
      sections = await load();
    } catch {
      index = undefined;
      sections = [];
    }
    const hits = sections.map((s) => [rank(s, words), s]).filter(([r]) => r).sort((a, b) => b[0] - a[0]).slice(0, 30);
    found.replaceChildren(...hits.map(([, s]) => {
      const item = document.createElement("li"), link = document.createElement("a"), name = document.createElement("b");
      link.href = s.page[0] + (s.a ? "#" + s.a : "");
      name.textContent = s.t ? s.page[1] + " › " + s.t : s.page[1];
      link.append(name, marked(s.x, words));
      item.append(link);
      return item;
    }));
    if (!hits.length) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "Nothing found.";
      found.append(none);
    }
    said.textContent = hits.length ? hits.length + " results" : "Nothing found.";
    found.hidden = false;
  };
  const close = () => { found.hidden = true; };

  input.addEventListener("input", show);
  input.addEventListener("focus", () => { load().catch(() => { index = undefined; }); if (input.value) show(); });
  document.addEventListener("click", (e) => { if (!e.target.closest(".find")) close(); else if (e.target.closest("#found a")) close(); });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const links = [...found.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (e.key === "/" && !e.target.closest("input")) input.focus();
    else if (e.key === "Escape" && !found.hidden) { close(); input.focus(); }
    else if (e.key === "Enter" && e.target === input && links.length) links[0].click();
    else if (e.key === "ArrowDown" && !found.hidden && (e.target === input || at >= 0)) (links[at + 1] || links[0])?.focus();
    else if (e.key === "ArrowUp" && at >= 0) (links[at - 1] || input).focus();
    else return;
    e.preventDefault();
  });
})();
