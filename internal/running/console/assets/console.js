"use strict";
// What the pages do beyond what the server made them: they follow changes, logs run on,
// and keys move through lists. Without this file everything can still be read and done.
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const say = (text) => { one("#said").textContent = text; };

  all("[data-unneeded]").forEach((e) => { e.hidden = true; });
  all("[data-scripted]").forEach((e) => { e.hidden = false; });
  all("[data-submit]").forEach((e) => e.addEventListener("change", () => e.form.requestSubmit()));

  // The color scheme: that of the system, light, dark. scheme.js sets it before a page is drawn.
  const scheme = one("[data-scheme-switch]");
  if (scheme) {
    const root = document.documentElement, next = { "": "light", light: "dark", dark: "" };
    const label = () => { scheme.textContent = `Colors: ${root.dataset.scheme || "system"}`; };
    scheme.hidden = false;
    label();
    scheme.addEventListener("click", () => {
      const chosen = next[root.dataset.scheme || ""];
      if (chosen) root.dataset.scheme = chosen; else delete root.dataset.scheme;
      try { localStorage.setItem("cfn-scheme", chosen); } catch { /* until the page is left */ }
      label();
    });
  }
  // The tab that is shown is in view.
  all(".tabs .on, .bar nav .on").forEach((e) => e.scrollIntoView({ block: "nearest", inline: "center" }));

  // What was done is told once, not again with each reload.
  const here = new URL(location.href);
  if (here.searchParams.has("done")) {
    here.searchParams.delete("done");
    history.replaceState(null, "", here);
  }

  // A form is sent once, however often its button is pressed.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "1";
  });
  addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => delete form.dataset.sent));

  // What an address names inside of a page is opened with all that is around it.
  const reveal = () => {
    let target;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return;
    }
    if (!target) return;
    for (let e = target; e; e = e.parentElement) {
      if (e.tagName === "DETAILS") e.open = true;
    }
    target.scrollIntoView();
  };
  if (location.hash) reveal();
  addEventListener("hashchange", reveal);

  // A menu closes when one looks elsewhere.
  document.addEventListener("click", (event) => {
    all("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });

  const copyable = (root) => {
    all("[data-copy]", root).forEach((button) => {
      button.hidden = false;
      if (button.dataset.ready) return;
      button.dataset.ready = "1";
      button.addEventListener("click", async () => {
        const text = one("pre", button.closest(".command, details")).textContent.trim();
        try {
          await navigator.clipboard.writeText(text);
          say("Copied");
          button.textContent = "Copied";
          setTimeout(() => { button.textContent = "Copy"; }, 1500);
        } catch {
          say("The browser does not allow this page to copy");
        }
      });
    });
  };
  copyable(document);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const field = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      const menu = one("details.menu[open]");
      if (menu) {
        menu.open = false;
        one("summary", menu).focus();
      } else if (field) {
        field.blur();
      }
      return;
    }
    if (field) return;
    if (event.key === "/") {
      const search = one("[data-search]");
      if (!search) return;
      event.preventDefault();
      search.focus();
      search.select();
    }
    if (event.key === "j" || event.key === "k") {
      const rows = all("[data-row]");
      if (rows.length === 0) return;
      const at = rows.indexOf(document.activeElement);
      const next = event.key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
      event.preventDefault();
      rows[next].focus();
    }
  });

  // listen keeps a stream open while the page can be seen: a browser has few connections
  // to one server, and tabs in the background would use them up.
  const listen = (address, handlers, state = () => {}) => {
    let source, again;
    const open = () => {
      close();
      source = new EventSource(address());
      source.onopen = () => state("live");
      source.onerror = () => {
        state("lost");
        if (source && source.readyState === EventSource.CLOSED) again = setTimeout(reopen, 5000);
      };
      for (const [name, handle] of Object.entries(handlers)) source.addEventListener(name, handle);
    };
    // A stream does not say why it was refused; the page does. One whose session has ended is
    // loaded once more, and has no stream then.
    const reopen = async () => {
      const page = await fetch(location.href, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
      if (page && page.status === 401) location.reload();
      else if (!document.hidden) open();
    };
    const close = () => {
      clearTimeout(again);
      if (source) source.close();
      source = undefined;
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => { if (event.persisted) open(); });
    if (!document.hidden) open();
  };

  // refresh asks for the page again and puts the parts in place that differ.
  let asking = false, askAgain = false;
  const refresh = async () => {
    if (asking) {
      askAgain = true;
      return;
    }
    asking = true;
    try {
      // Without an answer the server is gone, which the stream reports too.
      const text = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" }).then((answer) => {
        if (answer.status === 401) location.reload(); // the session has ended
        return answer.ok ? answer.text() : "";
      }).catch(() => "");
      const fresh = new DOMParser().parseFromString(text, "text/html");
      for (const old of all("[data-live]")) {
        const part = fresh.getElementById(old.id);
        if (part && !part.isEqualNode(old)) replace(old, part);
      }
    } finally {
      asking = false;
      if (askAgain) {
        askAgain = false;
        refresh();
      }
    }
  };
  // name tells a control from the others of a page.
  const name = (e) => [e.tagName, e.id, e.getAttribute("aria-label"), e.getAttribute("href"), e.closest("details[id]")?.id, e.textContent].join(" ");
  // replace keeps what is open and where the focus is.
  const replace = (old, part) => {
    const open = all("details[id]", old).filter((d) => d.open).map((d) => d.id);
    const had = old.contains(document.activeElement) ? name(document.activeElement) : undefined;
    part = document.importNode(part, true);
    old.replaceWith(part);
    open.forEach((id) => { const d = document.getElementById(id); if (d) d.open = true; });
    const focus = had && all("a, button, summary, input, pre", part).find((e) => name(e) === had);
    if (focus) focus.focus({ preventScroll: true });
    copyable(part);
  };
  const changes = document.body.dataset.changes;
  if (changes) {
    // later collects what comes in a row. The first event sets the time: a stream whose events
    // never pause would otherwise put the refresh off forever.
    let soon;
    const later = () => {
      soon ??= setTimeout(() => {
        soon = undefined;
        refresh();
      }, 150);
    };
    const look = () => { if (one(".pulse, [data-live] .badge.wait")) later(); };
    listen(() => changes, { change: later, look }, (state) => {
      document.body.dataset.following = state;
      // What happened while nobody listened is asked for: since the page was made, or since
      // the stream was lost.
      if (state === "live") later();
    });
  }

  const box = one("[data-log]");
  if (box) log(box);

  function log(box) {
    const list = one(".log", box), state = one("[data-state]", box), newer = one("[data-newer]", box);
    const pause = one("[data-pause]"), clear = one("[data-clear]"), filter = one("[data-filter] input[type=search]");
    const most = Number(box.dataset.most);
    const events = new URL(box.dataset.events, location.href);
    let paused = false, kept = [], shown = "live";

    const atEnd = () => list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    const toEnd = () => {
      list.scrollTop = list.scrollHeight;
      newer.hidden = true;
    };
    const matches = (item) => item.lastElementChild.textContent.toLowerCase().includes(filter.value.trim().toLowerCase());
    const tell = () => {
      state.dataset.state = paused ? "paused" : shown;
      state.textContent = paused ? `paused, ${kept.length} new` : { live: "live", lost: "connecting …" }[shown];
    };
    const element = (line) => {
      const item = document.createElement("li"), time = document.createElement("time"), text = document.createElement("span");
      if (line.level) item.className = line.level;
      time.dateTime = line.at;
      time.title = `${line.at}  ${line.stream}`;
      time.textContent = line.time;
      for (const piece of line.pieces || []) {
        const span = document.createElement("span");
        if (piece.c) span.className = piece.c;
        span.textContent = piece.t;
        text.append(span);
      }
      item.append(time, text);
      return item;
    };
    let waiting = [];
    const flush = () => {
      const follow = atEnd();
      const part = document.createDocumentFragment();
      for (const line of waiting.splice(0)) {
        const item = element(line);
        item.hidden = !matches(item);
        part.append(item);
      }
      list.append(part);
      while (list.childElementCount > most) list.firstElementChild.remove();
      const none = one("[data-none]");
      if (none) none.remove();
      if (follow) toEnd();
      else newer.hidden = false;
    };
    const add = (lines) => {
      if (lines.length === 0) return;
      if (waiting.length === 0) requestAnimationFrame(flush);
      waiting.push(...lines);
      if (waiting.length > most) waiting.splice(0, waiting.length - most);
    };

    pause.hidden = clear.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
      if (!paused) add(kept.splice(0));
      tell();
    });
    clear.addEventListener("click", () => { list.replaceChildren(); newer.hidden = true; });
    newer.addEventListener("click", toEnd);
    list.addEventListener("scroll", () => { if (atEnd()) newer.hidden = true; }, { passive: true });
    filter.form.addEventListener("submit", (event) => event.preventDefault());
    filter.addEventListener("input", () => {
      for (const item of list.children) item.hidden = !matches(item);
      toEnd();
    });

    toEnd();
    listen(() => events, {
      line: (event) => {
        events.searchParams.set("after", event.lastEventId);
        const line = JSON.parse(event.data);
        if (!paused) return add([line]);
        kept.push(line);
        if (kept.length > most) kept.shift();
        tell();
      },
    }, (now) => { shown = now; tell(); });
  }
})();
