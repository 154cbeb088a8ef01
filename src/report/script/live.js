// What `stap watch` serves: asks how the runs are doing, and for the page when that has changed.
function watch(address) {
  let version = null, waits = 1000, ended = false;
  const number = (value) => (finite(value) ? numberText(value) : "\u2013");

  // A query that runs: which, for how long, and where.
  const queryText = (query) => [["candidate ", query.candidate], ["step ", query.step]]
    .filter(([, value]) => finite(value)).map(([name, value]) => name + value).join(", ") +
    (finite(query.seconds) ? ": " + secondsText(query.seconds) : "") +
    (textOf(query.where) ? " on " + query.where : "");

  function show(status) {
    const place = byId("live");
    if (!place) return;
    const heads = ["run", "what it does", "solver steps", "failed", "refused", "open", "time left"];
    const body = make("tbody");
    for (const run of listOf(status.runs).filter((r) => r && typeof r === "object")) {
      const known = finite(run.budget) && run.budget > 0;
      const meter = make("progress", { max: known ? run.budget : 1, value: known && finite(run.spent) ? run.spent : 0 });
      const steps = [meter, " " + number(run.spent) + " of " + number(run.budget)];
      const slots = finite(run.slots) ? " in " + run.slots + (run.slots === 1 ? " slot" : " slots") : "";
      const round = finite(run.rounds) ? ", round " + number(run.round) + " of " + run.rounds : "";
      const cells = [[textOf(run.folder)], [textOf(run.words) || textOf(run.phase) + round], known ? steps : ["\u2013"],
        [number(run.failed)], [number(run.refused)], [number(run.open) + slots], [secondsText(run.seconds_left)]];
      body.append(make("tr", {}, ...cells.map((cell) => make("td", {}, ...cell))));
      const more = [];
      if (textOf(run.error)) more.push(make("p", { class: "error" }, run.error));
      const running = listOf(run.running).filter((query) => query && typeof query === "object");
      const items = running.slice(0, 32).map((query) => make("li", {}, queryText(query)));
      if (running.length > 32) items.push(make("li", {}, "and " + (running.length - 32) + " more"));
      if (items.length) more.push(make("ul", { class: "running" }, ...items));
      if (more.length) body.append(make("tr", {}, make("td", { colspan: heads.length }, ...more)));
    }
    const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
    const words = textOf(status.error) || (ended ? "Nobody works here any more; this page stays as it is."
      : "Asked every second.");
    place.replaceChildren(make("h2", {}, ended ? "Ended" : "Now"), make("p", { class: "state", role: "status" }, words),
      make("div", { class: "scroll" }, make("table", {}, head, body)));
  }

  async function replace() {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    const fresh = new DOMParser().parseFromString(answer.ok ? await answer.text() : "", "text/html");
    const main = fresh.querySelector("main"), data = readData(fresh);
    if (!main || !data) return false; // the folder has no report now: later
    const opened = new Map([...document.querySelectorAll("main details[id]")].map((d) => [d.id, d.open]));
    const at = window.scrollY;
    while (undo.length) undo.pop()();
    const live = byId("live"), empty = main.querySelector("#live");
    if (live && empty) empty.replaceWith(live);
    document.querySelector("main").replaceWith(document.adoptNode(main));
    for (const part of ["header nav", "header h1", "header .subtitle"]) {
      const old = document.querySelector(part), now = fresh.querySelector(part);
      if (old && now) old.replaceWith(document.adoptNode(now));
    }
    for (const [id, was] of opened) if (byId(id)) byId(id).open = was;
    enhance(data);
    window.scrollTo({ top: at, behavior: "instant" });
    return true;
  }

  async function poll() {
    try {
      if (!document.hidden) {
        const answer = await fetch(address, { cache: "no-store" });
        if (!answer.ok) throw new Error(String(answer.status));
        const status = await answer.json();
        ended = status.ended === true;
        show(status);
        if (version === null) version = status.version;
        if ((ended || status.version !== version) && (await replace())) version = status.version;
      }
      waits = 1000;
    } catch (odd) {
      const state = document.querySelector("#live .state");
      if (state) state.textContent = "No answer from stap watch; it may have ended. It is asked again.";
      waits = Math.min(waits * 1.5, 10000);
    }
    if (!ended) setTimeout(poll, waits);
  }
  poll();
}
