// Charts as the page's data have them, checked, and how uPlot is asked to draw them.
// Corners around 0, clockwise; of stars every second one is at another distance.
const polygon = (corners, size = 1, turn = 0, inner = size) => Array.from({ length: corners }, (_, i) => {
  const angle = (turn + i / corners) * 2 * Math.PI;
  const r = i % 2 ? inner : size;
  return [r * Math.sin(angle), -r * Math.cos(angle)];
});
// Shapes and dashes tell groups apart without colours; as in the static figures.
const kShapes = [polygon(16), polygon(4, 1.25, 1 / 8), polygon(3, 1.5), polygon(4, 1.4), polygon(3, 1.5, 1 / 2),
  polygon(6, 1.15, 1 / 4), polygon(8, 1.6, 0, 0.55), polygon(10, 1.55, 0, 0.7)];
const kDashes = [[], [10, 3.2], [3.2, 2.8], [10, 3.2, 2.4, 3.2], [16, 3.2, 2.4, 3.2, 2.4, 3.2], [5.6, 3.6]];
const shapeOf = (group) => kShapes[(group + Math.floor(group / 8)) % 8];
const dashesOf = (series) => {
  if (series.guide) return [3, 3];
  if (series.published) return [1.5, 2.5];
  return kDashes[(series.group + Math.floor(series.group / 12)) % kDashes.length];
};
// Groups from 1000 on are of no method: greys.
const inkOf = (series) => (series.guide ? "--ink-soft" : series.group >= 1000 ? "--n" + (series.group - 1000)
  : "--g" + (series.group % 12));

// The series of a chart as the rest of this script wants them; null if they are not sound.
function checkedSeries(series) {
  if (!series || typeof series !== "object") return null;
  const { x, y } = series;
  if (!Array.isArray(x) || !Array.isArray(y) || x.length !== y.length) return null;
  const n = x.length;
  const banded = listOf(series.low).length === n && listOf(series.high).length === n && n > 0;
  const number = (value) => (finite(value) ? value : NaN);
  const points = x.map((_, i) => [number(x[i]), number(y[i]), banded ? number(series.low[i]) : NaN,
    banded ? number(series.high[i]) : NaN]).filter((point) => finite(point[0]));
  const mark = ["points", "bars"].includes(series.mark) ? series.mark : "line";
  points.sort((a, b) => a[0] - b[0]);
  const group = Number.isInteger(series.group) && series.group >= 0 ? series.group : 0;
  return { label: textOf(series.label), group, mark, points, banded, seed: series.seed === true,
    published: series.published === true, guide: series.guide === true, show: true };
}

function checkedChart(chart) {
  if (!chart || typeof chart !== "object") return null;
  const axis = (from) => from && typeof from === "object" && { label: textOf(from.label),
    unit: textOf(from.unit), log: from.log === true, whole: from.whole === true,
    names: listOf(from.names).map(textOf), least: [from.low, from.high].filter(finite) };
  const series = listOf(chart.series).map(checkedSeries);
  const made = { title: textOf(chart.title), note: textOf(chart.note), x: axis(chart.x),
    y: axis(chart.y), series };
  const drawable = series.some((s) => s && s.points.some((p) => finite(p[1])));
  return made.x && made.y && drawable && !series.includes(null) ? made : null;
}

const axisTitle = (axis) => axis.label + (axis.unit ? " (" + axis.unit + ")" : "");

// Of a line that all others are compared with, the value that it has everywhere: it must be seen.
const levelOf = (series) => (series.guide && series.points.every((p) => p[1] === series.points[0][1])
  ? series.points.slice(0, 1).map((p) => p[1]) : []);

// Least and largest of what is shown, with some room around it.
function rangeOf(values, log, { zero = false, room = 0.05 } = {}) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!finite(value) || (log && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return log ? [0.1, 10] : [0, 1];
  if (zero && !log) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (zero && low === 0 && high === 0) return [0, 1];
  if (log) {
    const part = high > low ? (high / low) ** room : 1.5;
    return [low / part, high * part];
  }
  const part = high > low ? (high - low) * room : Math.abs(high) * 0.5 || 1;
  return [low >= 0 && low - part < 0 ? Math.min(0, low) : low - part,
    zero && high === 0 ? 0 : high + part];
}

// uPlot wants one list of x for all series: theirs, each as often as the series that has it most
// often does. `undefined` is "not mine".
function aligned(series) {
  const rows = new Map();
  series.forEach((s, k) => {
    const seen = new Map();
    for (const [x, y] of s.points) {
      const which = seen.get(x) || 0;
      seen.set(x, which + 1);
      if (!rows.has(x)) rows.set(x, []);
      const same = rows.get(x);
      if (!same[which]) same[which] = [];
      same[which][k] = finite(y) ? y : null;
    }
  });
  const sorted = [...rows.keys()].sort((a, b) => a - b).flatMap((x) => rows.get(x).map((ys) => [x, ys]));
  return [sorted.map((row) => row[0]), ...series.map((_, k) => sorted.map((row) => row[1][k]))];
}

// The place in the list nearest to the cursor at which a series has a value.
function nearest(u, chart, data, k, from, logY) {
  const series = chart.series[k], ys = data[k + 1], xs = data[0];
  const usable = (i) => finite(ys[i]) && (!logY || ys[i] > 0);
  if (!series.show || series.guide) return null;
  if (series.mark === "points") {
    let best = null, least = 30 ** 2;
    for (let i = 0; i < xs.length; ++i) {
      if (!usable(i)) continue;
      const distance = (u.valToPos(xs[i], "x") - u.cursor.left) ** 2 + (u.valToPos(ys[i], "y") - u.cursor.top) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }
  for (let d = 0; d < xs.length; ++d) {
    if (usable(from - d)) return from - d;
    if (usable(from + d)) return from + d;
  }
  return null;
}

// The part of uPlot's options that all plots of the page share.
function plotOptions(size, axes, scales, more) {
  const font = (px) => px + "px system-ui, sans-serif";
  const ink = () => colourOf("--ink-soft"), grid = () => colourOf("--grid");
  const common = { stroke: ink, font: font(12), labelFont: font(12), labelSize: 18,
    ticks: { stroke: grid, width: 1, size: 4 }, grid: { stroke: grid, width: 1 } };
  const measured = (axis) => (u, values) => {
    const longest = listOf(values).reduce((most, text) => Math.max(most, String(text || "").length), 1);
    return axis.side === 3 ? 12 + 7 * longest : axis.turned && axis.turned(u) ? 22 + 5 * longest : 26;
  };
  return { ...size, scales, legend: { show: false }, padding: [10, 14, 0, 0], pxAlign: 0,
    axes: axes.map((axis) => ({ ...common, size: measured(axis), ...axis })), ...more };
}

// `whole`: its values are numbers of something.
function axisOptions(axis, log, side, whole = false) {
  const options = { side, label: axisTitle(axis) };
  if (axis.names.length) {
    const room = (u) => (u.bbox.width || 600) / (window.devicePixelRatio || 1) / axis.names.length;
    options.turned = (u) => room(u) < 12 + 6.5 * Math.max(...axis.names.map((name) => name.length));
    options.splits = () => axis.names.map((_, i) => i);
    options.values = () => axis.names.map((name) => (name.length > 24 ? name.slice(0, 23) + "\u2026" : name));
    options.rotate = (u) => (options.turned(u) ? -35 : 0);
    options.grid = { show: false };
  } else if (log) {
    options.splits = (u, i, low, high) => logTicks(low, high);
    options.filter = (u, splits) => splits;
    options.values = (u, splits) => splits.map((v) => tickText(v));
  } else {
    options.values = (u, splits, i, space, increment) => splits.map((v) => tickText(v, increment));
    options.space = (u, i, low, high, room) => (side === 3 ? clamp(room / 6, 26, 48) : clamp(room / 9, 44, 90));
    if (whole) options.incrs = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e));
  }
  return options;
}

// A small picture of how a series is drawn.
function swatch(series) {
  const svg = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const picture = svg("svg", { viewBox: "0 0 28 12", width: 28, height: 12, "aria-hidden": "true" });
  const colour = "var(" + inkOf(series) + ")";
  const add = (name, attributes, property) => {
    const element = svg(name, attributes);
    element.style[property] = colour;
    picture.append(element);
  };
  if (series.mark === "bars") add("rect", { x: 8, y: 1, width: 12, height: 10 }, "fill");
  if (series.mark === "line") {
    add("line", { x1: 0, y1: 6, x2: 28, y2: 6, "stroke-width": series.guide ? 1 : 2,
      "stroke-dasharray": dashesOf(series).join(" ") || "none" }, "stroke");
  }
  if (series.mark !== "bars" && !series.guide) {
    const corners = shapeOf(series.group).map(([x, y]) => 14 + 3.2 * x + "," + (6 + 3.2 * y));
    add("polygon", { points: corners.join(" ") }, "fill");
  }
  return picture;
}
