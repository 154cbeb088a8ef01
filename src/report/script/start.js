// The page as a whole: theme, place, and all parts of it by the data.
function themeButton() {
  const tools = document.querySelector(".tools");
  const names = ["auto", "light", "dark"];
  let stored = null;
  try {
    stored = localStorage.getItem("stap-theme");
  } catch (refused) { /* not from this place: the choice lasts as long as the page */ }
  let now = Math.max(0, names.indexOf(stored));
  const repaint = () => { for (const redraw of redraws) redraw(); };
  const apply = () => {
    if (now) root.dataset.theme = names[now];
    else delete root.dataset.theme;
    repaint();
  };
  apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  if (!tools || tools.querySelector("button")) return;
  const press = button("Theme: " + names[now], () => {
    now = (now + 1) % names.length;
    press.textContent = "Theme: " + names[now];
    try {
      localStorage.setItem("stap-theme", names[now]);
    } catch (refused) { /* as above */ }
    apply();
  });
  tools.append(press);
}

// Marks in the navigation where the reader is: in the last section that begins above the middle.
function markPlace() {
  const places = [];
  for (const link of document.querySelectorAll("nav a[href^='#']")) {
    const section = byId(decodeURIComponent(link.hash.slice(1)));
    if (section) places.push([section, link]);
  }
  let waiting = false;
  function mark() {
    waiting = false;
    const above = places.filter(([section]) => section.getBoundingClientRect().top < window.innerHeight / 2);
    const now = above[above.length - 1] || places[0];
    for (const place of places) {
      if (place === now) place[1].setAttribute("aria-current", "location");
      else place[1].removeAttribute("aria-current");
    }
  }
  const later = () => {
    if (!waiting) requestAnimationFrame(mark);
    waiting = true;
  };
  mark();
  window.addEventListener("scroll", later, { passive: true });
}

function readData() {
  try {
    const data = JSON.parse(byId("report-data").textContent);
    return data && data.format === "report-data/1" ? data : null;
  } catch (odd) {
    return null;
  }
}

// Every part by itself: one that is odd must not keep the others from working.
function enhance(data) {
  const each = (entries, act) => {
    for (const [id, value] of Object.entries(entries && typeof entries === "object" ? entries : {})) {
      const element = byId(id);
      try {
        if (element) act(element, value);
      } catch (odd) {
        console.warn("report: " + id.slice(0, 80) + " stays as it is:", odd);
      }
    }
  };
  markPlace();
  for (const scroll of document.querySelectorAll(".scroll")) {
    if (scroll.scrollWidth > scroll.clientWidth) scroll.tabIndex = 0;
  }
  for (const table of document.querySelectorAll("table.sortable")) enhanceTable(table);
  if (!data) return;
  each(data.tables, offerCopies);
  each(data.costs, enhanceCost);
  if (typeof uPlot === "function") each(data.charts, (figure, entry) => enhanceChart(figure, listOf(entry && entry.variants)));
  each(data.fields, enhanceField);
}

// The finding as text, for a message or a note.
function offerSummary(text) {
  const tools = document.querySelector(".tools");
  if (!tools || typeof text !== "string" || !text) return;
  const said = make("span", { role: "status" });
  tools.prepend(button("Copy summary as Markdown", async () => {
    said.textContent = (await copy(text, tools)) ? "copied" : "press Ctrl+C to copy";
  }), said);
}

// A link to what is closed opens it, and a page that is loaded again, as while runs work, is where
// it was: at the same place, with the same parts open.
function keepPlace() {
  const reveal = () => {
    const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (target && target.querySelector("details.fold")) target.querySelector("details.fold").open = true;
  };
  window.addEventListener("hashchange", reveal);
  reveal();
  if (!document.querySelector(".underway .bar")) return;
  const key = "stap-place " + location.pathname;
  try {
    const place = JSON.parse(sessionStorage.getItem(key)) || {};
    for (const id of listOf(place.open)) if (byId(id)) byId(id).open = true;
    if (finite(place.top)) window.scrollTo({ top: place.top, behavior: "instant" });
    window.addEventListener("pagehide", () => sessionStorage.setItem(key, JSON.stringify({ top: window.scrollY,
      open: [...document.querySelectorAll("details[open][id]")].map((e) => e.id) })));
  } catch (refused) { /* not from this place */ }
}

// On paper nothing can be opened. style/print.css does this, too, for browsers that let it.
function openForPrint() {
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const part of closed) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
    closed = [];
  });
}

function start() {
  openForPrint();
  themeButton();
  const data = readData();
  if (data) offerSummary(data.summary);
  keepPlace();
  enhance(data);
}
start();
