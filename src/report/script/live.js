// What `stap watch` serves: asks how the runs are doing, and for the page when that has changed.
function watch(address) {
  let version = null, waits = 1000, ended = false;
  const number = (value) => (finite(value) ? numberText(value) : "\u2013");

  // A query that runs: which, for how long, and where.
  const queryText = (query) => [["candidate ", query.candidate], ["step ", query.step + 1]]
    .filter(([, value]) => finite(value)).map(([name, value]) => name + value).join(", ") +
    (finite(query.seconds) ? ": " + secondsText(query.seconds) : "") +
    (textOf(query.where) ? " on " + query.where : "");

  // A bar with words: how much of so much, of what.
  function meter(done, all, what) {
    if (!finite(all) || all <= 0) return null;
    const part = finite(done) ? done : 0;
    return [make("progress", { max: all, value: part, "aria-label": what }), " " + number(done) + " of " + number(all) + " " + what];
  }

  function timeLeft(run) {
    if (finite(run.seconds_left)) return secondsText(run.seconds_left);
    // Before the first round is through.
    return finite(run.phase_seconds_left) ? secondsText(run.phase_seconds_left) + " for this part" : "\u2013";
  }

  // Of one run: a row of the table, and below it what does not fit into one.
  function rows(run) {
    const slots = finite(run.slots) ? " in " + run.slots + (run.slots === 1 ? " slot" : " slots") : "";
    const round = finite(run.rounds) ? ", round " + number(run.round) + " of " + run.rounds : "";
    const words = textOf(run.words) || textOf(run.phase) + round;
    const done = meter(run.epochs_done, run.epochs, "epochs") ||
      meter(run.spent, run.budget, "solver steps") || ["\u2013"];
    const cells = [[textOf(run.folder)], done, [timeLeft(run)], [words], [number(run.open) + slots],
      [number(run.failed)], [number(run.refused)]];
    const more = [];
    if (textOf(run.error) && run.error !== words) more.push(make("p", { class: "error" }, run.error));
    const running = listOf(run.running).filter((query) => query && typeof query === "object");
    const items = running.slice(0, 32).map((query) => make("li", {}, queryText(query)));
    if (running.length > 32) items.push(make("li", {}, "and " + (running.length - 32) + " more"));
    if (items.length) more.push(make("ul", { class: "running" }, ...items));
    const bad = ["dead", "silent", "damaged"].includes(run.state);
    const row = make("tr", {}, ...cells.map((cell, i) => make("td", { class: bad && i === 3 ? "error" : null }, ...cell)));
    return more.length ? [row, make("tr", {}, make("td", { colspan: cells.length }, ...more))] : [row];
  }

  // Made once and filled again and again: a reader may be in the middle of scrolling the table.
  function board(place) {
    if (!place.querySelector("table")) {
      const heads = ["run", "how far", "time left", "what it does", "open queries", "failed", "refused"];
      const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
      place.replaceChildren(make("h2"), make("p", { class: "state", role: "status" }),
        make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "runs" }, make("table", {}, head, make("tbody"))));
    }
    return ["h2", ".state", "tbody"].map((part) => place.querySelector(part));
  }

  function show(status) {
    const place = byId("live");
    if (!place) return;
    const [title, state, body] = board(place);
    const say = (element, text) => { if (element.textContent !== text) element.textContent = text; };
    say(title, ended ? "Ended" : "Now");
    say(state, textOf(status.error) || (ended ? "Nobody works here any more; this page stays as it is." : "Asked every second."));
    body.replaceChildren(...listOf(status.runs).filter((run) => run && typeof run === "object").flatMap(rows));
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
