// Does it pay, if a solver step took so long?
// The inequality of docs/internals/analyses.md: seconds until the baseline's error with and without active
// learning, and the price of a solver step above which it pays.
function judged(method, acquire) {
  const { initial, budget, rounds, efficiency, train_seconds_per_step: train,
    select_seconds_per_round: select } = method;
  const bought = budget * rounds;
  const n = Math.max(1, Math.round(rounds / efficiency));
  const once = initial + bought;
  const trained = (n + 1) * initial + (budget * n * (n + 1)) / 2;
  const saved = bought - bought / efficiency;
  return {
    without: bought * acquire + once * train,
    with: (bought / efficiency) * acquire + trained * train + n * select,
    turning: saved > 0 ? Math.max(0, ((trained - once) * train + n * select) / saved) : Infinity,
  };
}

function verdictText(method, baseline, acquire) {
  const { without, with: active, turning } = judged(method, acquire);
  const both = secondsText(active) + " instead of " + secondsText(without) + " with " + baseline;
  const from = turning === 0 ? "It pays whatever a solver step costs."
    : "It pays above " + secondsText(turning) + " per solver step.";
  if (active < without) {
    const less = (100 * (without - active)) / without;
    return ["pays", "pays: " + both + ", " + numberText(less, 2) + " % less. " + from];
  }
  if (turning === Infinity) {
    return ["lost", "does not pay, whatever a solver step costs: it needs " +
      numberText(1 / method.efficiency, 3) + " times the data of " + baseline + "."];
  }
  return ["lost", "does not pay: " + both + ", " + numberText(active / without, 3) + " times as long. " + from];
}

function enhanceCost(box, cost) {
  const baseline = textOf(cost && cost.baseline) || "the baseline";
  const needed = ["initial", "budget", "rounds", "efficiency", "train_seconds_per_step",
    "select_seconds_per_round"];
  const all = listOf(cost && cost.methods).filter((m) => m && typeof m === "object");
  const known = all.filter((m) => needed.every((key) => finite(m[key])) && m.efficiency > 0 && m.rounds >= 1);
  if (!known.length) return;
  const measured = known.map((m) => m.acquire_seconds_per_step).find((s) => finite(s) && s > 0);
  const marks = known.map((m) => judged(m, 1).turning).filter((s) => finite(s) && s > 0);
  if (measured) marks.push(measured);
  const low = Math.floor(Math.log10(Math.min(1e-4, ...marks))) - 1;
  const high = Math.ceil(Math.log10(Math.max(1e4, ...marks))) + 1;

  const slider = make("input", { type: "range", min: low, max: high, step: 0.02, class: "long",
    "aria-label": "cost of a solver step" });
  const exact = make("input", { type: "number", min: 0, step: "any",
    "aria-label": "cost of a solver step in seconds" });
  const shown = make("output");
  const verdicts = make("ul", { class: "verdicts", "aria-live": "polite" });
  const items = known.map((m) => {
    const words = make("span");
    const item = make("li", {}, make("strong", {}, textOf(m.label) || "unnamed"), " ", words);
    verdicts.append(item);
    return [m, item, words];
  });
  function say(seconds) {
    shown.textContent = secondsText(seconds);
    slider.setAttribute("aria-valuetext", secondsText(seconds) + " per solver step");
    for (const [m, item, words] of items) {
      const [kind, sentence] = verdictText(m, baseline, seconds);
      item.className = kind;
      if (words.textContent !== sentence) words.textContent = sentence;
    }
  }
  const write = (seconds) => {
    exact.value = seconds < 1e-3 ? seconds.toExponential(2) : Number(seconds.toPrecision(3));
  };
  function set(seconds, typed) {
    slider.value = Math.log10(clamp(seconds, 10 ** low, 10 ** high));
    if (!typed) write(seconds);
    say(seconds);
  }
  slider.addEventListener("input", () => {
    const seconds = 10 ** Number(slider.value);
    write(seconds);
    say(seconds);
  });
  exact.addEventListener("input", () => {
    const seconds = Number(exact.value);
    if (exact.value !== "" && finite(seconds) && seconds >= 0) set(seconds, true);
  });
  const jumps = make("span", { class: "jumps" });
  if (measured) jumps.append(button("as measured: " + secondsText(measured), () => set(measured)));
  for (const m of known) {
    const { turning } = judged(m, 1);
    if (!finite(turning) || turning <= 0) continue;
    jumps.append(button("break-even of " + textOf(m.label) + ": " + secondsText(turning), () => set(turning)));
  }
  const bar = make("div", { class: "controls" }, make("label", { class: "exact" }, "If a solver step took ", exact, " s"),
    slider, shown, jumps);
  box.append(make("div", { class: "whatif" }, bar, verdicts));
  set(measured || 10 ** Math.round((low + high) / 2));
}
