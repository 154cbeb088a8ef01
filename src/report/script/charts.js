// A file of the reader's own.
function save(name, type, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The static figure, of a size of its own and with its colours for paper.
function svgText(svg) {
  const copy = svg.cloneNode(true);
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width + "pt");
  copy.setAttribute("height", height + "pt");
  return new XMLSerializer().serializeToString(copy);
}

function csvText(chart) {
  const quoted = (text) => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  const number = (value) => (finite(value) ? String(value) : "");
  const rows = [["series", axisTitle(chart.x) || "x", axisTitle(chart.y) || "y", "low", "high"].map(quoted)];
  for (const s of chart.series) {
    for (const [x, ...ys] of s.points) rows.push([quoted(s.label), chart.x.names[x] ? quoted(chart.x.names[x]) : number(x), ...ys.map(number)]);
  }
  return rows.map((row) => row.join(",") + "\r\n").join("");
}

// A chart that can be changed, zoomed and asked, instead of the static one.
function enhanceChart(figure, variants) {
  const plot = figure.querySelector(".plot");
  const fixed = plot && plot.querySelector("svg");
  const charts = variants.map(checkedChart);
  if (!fixed || !charts.length || !charts[0]) return;
  const usable = charts.map((chart, i) => [chart, i]).filter(([chart]) => chart);
  const state = { variant: 0, log: null, seeds: null, hidden: new Set() };

  const controls = make("div", { class: "controls" });
  const canvas = make("div", { class: "canvas", tabindex: "0", role: "group" });
  const legend = make("ul", { class: "legend" });
  const caption = figure.querySelector("figcaption strong");
  const note = figure.querySelector("figcaption span");
  const finding = caption ? caption.textContent : "", how = note ? note.textContent : "";
  let u = null, chart = null, log = false, data = null, outputs = [], whole = null;
  const reset = button("Reset zoom", () => zoom(null));

  function fill() {
    chart = usable[state.variant][0];
    const able = chart.y.log || (!chart.y.names.length && chart.series.every((s) => s.guide ||
      (s.mark !== "bars" && s.points.every((p) => !(p[1] <= 0)))));
    log = able && (state.log === null ? chart.y.log : state.log);
    const seeds = chart.series.some((s) => s.seed);
    const means = chart.series.some((s) => !s.seed && !s.published && !s.guide);
    const showSeeds = state.seeds === null ? !means : state.seeds;
    for (const s of chart.series) s.show = !state.hidden.has(s.label) && (!s.seed || showSeeds) &&
      !((s.seed || !s.label) && state.hidden.has("group " + s.group));
    // What was found is said of the first variant only.
    if (caption) caption.textContent = state.variant === 0 ? finding : chart.title;
    if (note) note.textContent = state.variant === 0 ? how : chart.note;
    canvas.setAttribute("aria-label", chart.title +
      ". Arrow keys move the cursor, plus and minus zoom, Escape shows everything.");
    controls.replaceChildren();
    if (usable.length > 1) {
      controls.append(choice("Show", usable.map(([c]) => c.title), state.variant, (i) => {
        state.variant = i;
        fill();
      }));
    }
    if (able) controls.append(toggle("logarithmic", log, (on) => { state.log = on; fill(); }));
    if (seeds && means) controls.append(toggle("single seeds", showSeeds, (on) => { state.seeds = on; fill(); }));
    fillLegend();
    draw();
  }

  // One entry for all that has the same name; the line among them says how they are drawn.
  function fillLegend() {
    outputs = [];
    legend.replaceChildren();
    const alone = chart.series.every((s) => s.seed || s.guide);
    const named = [];
    chart.series.forEach((s, k) => {
      if (!s.label || (s.seed && !(alone && s.show))) return;
      const same = named.find((e) => e.s.label === s.label && e.s.group === s.group && e.s.published === s.published);
      if (!same) named.push({ s, k });
      else if (s.mark === "line") Object.assign(same, { s, k });
    });
    for (const { s, k } of named) {
      const value = make("span", { class: "value" });
      const off = state.hidden.has(s.label);
      const entry = button("", () => {
        for (const key of [s.label, ...(s.published || s.guide ? [] : ["group " + s.group])]) {
          if (off) state.hidden.delete(key);
          else state.hidden.add(key);
        }
        const place = [...legend.children].indexOf(entry.parentNode);
        fill();
        if (legend.children[place]) legend.children[place].firstChild.focus();
      });
      entry.setAttribute("aria-pressed", String(!off));
      entry.append(swatch(s), make("span", { class: "name" }, s.label), value);
      legend.append(make("li", {}, entry));
      outputs[k] = value;
    }
  }

  function limits() {
    const shown = chart.series.filter((s) => s.show && !s.guide);
    const bars = shown.some((s) => s.mark === "bars");
    const scatter = shown.every((s) => s.mark === "points");
    const xs = shown.flatMap((s) => s.points.filter((p) => finite(p[1])).map((p) => p[0]));
    let x = rangeOf(xs.concat(chart.x.least), chart.x.log, { room: scatter ? 0.05 : 0.02 });
    if (chart.x.names.length) x = [-0.5, chart.x.names.length - 0.5];
    else if (bars) {
      const half = leastGap(shown) / 2;
      x = [Math.min(...xs) - half, Math.max(...xs) + half];
    }
    return { x, y: fitted(x) };
  }

  // The range of y that shows what lies in a range of x.
  function fitted(x) {
    const shown = chart.series.filter((s) => s.show && !s.guide);
    const values = shown.flatMap((s) => s.points.filter((p) => p[0] >= x[0] && p[0] <= x[1])
      .flatMap((p) => (finite(p[1]) ? p.slice(1) : []))).concat(chart.y.least);
    values.push(...chart.series.filter((s) => s.show).flatMap(levelOf));
    return rangeOf(values, log, { zero: shown.some((s) => s.mark === "bars") });
  }

  function zoom(to) {
    if (!u) return;
    const next = to || whole;
    reset.hidden = !to;
    u.batch(() => {
      u.setScale("x", { min: next.x[0], max: next.x[1] });
      u.setScale("y", { min: next.y[0], max: next.y[1] });
    });
  }

  function selected() {
    const { left, top, width, height } = u.select;
    if (width < 5 && height < 5) return;
    const across = width > 5, down = height > 5 && height < u.over.clientHeight - 1;
    const x = across ? [u.posToVal(left, "x"), u.posToVal(left + width, "x")] : [u.scales.x.min, u.scales.x.max];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    zoom({ x, y: down ? [u.posToVal(top + height, "y"), u.posToVal(top, "y")] : fitted(x) });
  }

  function showValues() {
    const on = u && u.cursor.left >= 0;
    outputs.forEach((output, k) => {
      if (!output) return;
      const at = on ? u.cursor.idxs[k + 1] : null;
      const name = at !== null && at !== undefined &&
        (chart.x.names[data[0][at]] || numberText(data[0][at]));
      output.textContent = name ? numberText(data[k + 1][at]) + " at " + name : "";
    });
  }

  const sizeNow = () => {
    const width = Math.max(200, Math.floor(plot.clientWidth));
    // The first screen has one large chart, and small ones beside it.
    const [part, least, most] = !figure.closest(".card") ? [0.58, 230, 320]
      : figure.matches(".card:first-child *, .card:first-child > *") ? [0.69, 230, 440] : [0.36, 165, 200];
    return { width, height: Math.round(clamp(width * part, least, most)) };
  };

  function draw() {
    if (u) u.destroy();
    data = aligned(chart.series);
    whole = limits();
    const scale = (range, isLog) => ({ time: false, auto: false, distr: isLog ? 3 : 1, min: range[0],
      max: range[1], range: (_, low, high) => [low, high] });
    const counted = chart.x.whole || chart.series.every((s) => s.points.every((p) => Number.isInteger(p[0])));
    const axes = [axisOptions(chart.x, chart.x.log, 2, counted), axisOptions(chart.y, log, 3)];
    const scales = { x: scale(whole.x, chart.x.log), y: scale(whole.y, log) };
    u = new uPlot(plotOptions(sizeNow(), axes, scales, {
      series: [{}, ...chart.series.map((s) => ({ show: s.show, paths: () => null, points: { show: false },
        stroke: () => colourOf(inkOf(s)) }))],
      cursor: {
        drag: { x: true, y: true, uni: 40, setScale: false },
        bind: { dblclick: () => () => { zoom(null); return null; } },
        dataIdx: (self, k, from) => (k === 0 ? from : nearest(self, chart, data, k - 1, from, log)),
        points: { size: 7 },
      },
      hooks: { draw: [(self) => paint(self, chart, log)], setSelect: [selected], setCursor: [showValues] },
    }), data, canvas);
    reset.hidden = true;
  }

  function moveCursor(by) {
    const { min, max } = u.scales.x;
    const seen = [...new Set(data[0])].filter((x) => x >= min && x <= max);
    if (!seen.length) return;
    const now = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null;
    let at = now === null ? (by > 0 ? -1 : seen.length) : 0;
    if (now !== null) seen.forEach((x, i) => { if (Math.abs(x - now) < Math.abs(seen[at] - now)) at = i; });
    const x = seen[clamp(at + by, 0, seen.length - 1)];
    u.setCursor({ left: u.valToPos(x, "x"), top: u.over.clientHeight / 2 });
  }

  function zoomBy(factor) {
    const { min, max } = u.scales.x;
    const isLog = chart.x.log;
    const [low, high] = isLog ? [Math.log(min), Math.log(max)] : [min, max];
    const at = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null;
    const middle = at === null ? (low + high) / 2 : isLog ? Math.log(at) : at;
    const half = ((high - low) / 2) * factor;
    const limit = isLog ? whole.x.map(Math.log) : whole.x;
    let x = [Math.max(limit[0], middle - half), Math.min(limit[1], middle + half)];
    if (isLog) x = x.map(Math.exp);
    zoom(x[0] <= whole.x[0] && x[1] >= whole.x[1] ? null : { x, y: fitted(x) });
  }

  canvas.addEventListener("keydown", (event) => {
    if (!u || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = { ArrowLeft: () => moveCursor(-1), ArrowRight: () => moveCursor(1),
      Home: () => moveCursor(-1e9), End: () => moveCursor(1e9), "+": () => zoomBy(0.5),
      "=": () => zoomBy(0.5), "-": () => zoomBy(2), Escape: () => zoom(null), 0: () => zoom(null) };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  });

  const saves = make("span", { class: "saves" });
  for (const [name, text, press] of [["SVG", "download figure (SVG)", () => save(figure.id + ".svg", "image/svg+xml", svgText(fixed))],
    ["CSV", "download data (CSV)", () => save(figure.id + ".csv", "text/csv", csvText(chart))]]) {
    const one = button(name, press);
    one.title = text;
    saves.append(one);
  }
  whenSeen(figure, () => {
    figure.classList.add("live");
    figure.append(saves);
    plot.before(controls);
    plot.append(canvas, reset);
    plot.after(legend);
    try {
      fill();
    } catch (error) {
      figure.classList.remove("live"); // the static figure again
      for (const part of [saves, controls, canvas, reset, legend]) part.remove();
      return;
    }
    let width = plot.clientWidth;
    const watcher = new ResizeObserver(() => {
      if (!plot.clientWidth || plot.clientWidth === width) return;
      width = plot.clientWidth;
      u.setSize(sizeNow());
    });
    watcher.observe(plot);
    redraws.add(() => u.redraw(false, true));
  });
}
