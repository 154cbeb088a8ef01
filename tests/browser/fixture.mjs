// A report made by hand, of the shape that `stap report` writes: for names and data that no study
// has. `node fixture.mjs OUT.html` writes one to look at.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { pngOf } from "./png.mjs";

const root = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
// As cmake/StapReport.cmake puts it together.
const parts = (name) => read("cmake/StapReport.cmake").match(new RegExp(`set\\(${name}_parts ([^)]+)\\)`))[1].split(" ");
const script = '(() => {\n"use strict";\n' + parts("script").map((part) => read(`src/report/script/${part}.js`)).join("") + "})();\n";
const style = parts("style").map((part) => read(`src/report/style/${part}.css`)).join("");
const hash = (text) => "'sha256-" + createHash("sha256").update(text).digest("base64") + "'";
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");

// ---- pictures ---------------------------------------------------------------------------------

/// levels[y * width + x] in 0 ... 254, 255 is no number.
function pngUri(width, height, levels, diverging) {
  const colours = Array.from({ length: 256 }, (_, i) => [i, diverging ? 128 : Math.floor(i / 2), 255 - i]);
  colours[255] = [127, 127, 127];
  return "data:image/png;base64," + pngOf(width, height, levels, colours).toString("base64");
}

const level = (value, low, high) => Math.round(254 * Math.min(1, Math.max(0, (value - low) / (high - low))));

/// A wave that the prediction follows a little late. 1-D: [times] x [points].
export const kFlat = { times: 21, points: 32, truth: (t, x) => Math.sin(2 * Math.PI * (x / 32 - t / 20)),
  prediction: (t, x) => Math.sin(2 * Math.PI * (x / 32 - t / 20) - 0.01 * t) };

function flatPanes() {
  const { times, points, truth, prediction } = kFlat;
  const picture = (f, low, high, diverging) => {
    const levels = new Uint8Array(times * points);
    for (let x = 0; x < points; ++x)
      for (let t = 0; t < times; ++t) levels[(points - 1 - x) * times + t] = level(f(t, x), low, high);
    return pngUri(times, points, levels, diverging);
  };
  return { truth: [picture(truth, -1, 1)], prediction: [picture(prediction, -1, 1)],
    error: [picture((t, x) => prediction(t, x) - truth(t, x), -0.25, 0.25, true)] };
}

export const kFrames = { times: 12, width: 24, height: 16, columns: 5 };

function framePanes() {
  const { times, width, height, columns } = kFrames;
  const rows = Math.ceil(times / columns);
  const picture = (f, low, high, diverging) => {
    const levels = new Uint8Array(width * columns * height * rows).fill(255);
    for (let t = 0; t < times; ++t)
      for (let y = 0; y < height; ++y)
        for (let x = 0; x < width; ++x) {
          const column = (t % columns) * width + x, row = Math.floor(t / columns) * height + (height - 1 - y);
          levels[row * width * columns + column] = level(f(t, x, y), low, high);
        }
    return pngUri(width * columns, height * rows, levels, diverging);
  };
  const wave = (phase) => (t, x, y) => Math.sin(0.4 * x + 0.3 * y + 0.5 * t + phase);
  const panes = { truth: [], prediction: [], error: [] };
  for (const c of [0, 1]) {
    panes.truth.push(picture(wave(c), -1, 1));
    panes.prediction.push(picture(wave(c + 0.1), -1, 1));
    panes.error.push(picture((t, x, y) => wave(c + 0.1)(t, x, y) - wave(c)(t, x, y), -0.2, 0.2, true));
  }
  return panes;
}

// ---- charts -----------------------------------------------------------------------------------

const rounds = [100, 200, 300, 400, 500, 600];
function learning(label, group, factor, spread = 1.2) {
  const y = rounds.map((n, i) => 0.5 * (n / 100) ** -factor * (1 + 0.05 * Math.sin(3 * i + group)));
  const made = { label, group, mark: "line", seed: false, published: false, guide: false, x: rounds, y,
    low: y.map((v) => v / spread), high: y.map((v) => v * spread) };
  const seeds = [0.9, 1.1].map((f, i) => ({ ...made, label: label + ", seed " + i, seed: true,
    y: y.map((v) => v * f), low: [], high: [] }));
  return [made, ...seeds];
}
const plain = { seed: false, published: false, guide: false, low: [], high: [] };

export function charts(names) {
  const axis = (label, log = false, more = {}) => ({ label, unit: "", log, ...more });
  const errors = (title, shift) => ({ title, note: "mean of 3 seeds, 95 % interval",
    x: axis("solver steps bought"), y: axis("RMSE", true),
    series: [...learning(names[0], 0, 0.6 + shift), ...learning(names[1], 1, 0.9 + shift), ...learning(names[2], 2, 1.2 + shift),
      { ...plain, label: "published", group: 0, mark: "line", published: true, x: [100, 600], y: [0.6, 0.2] }] });
  const bars = { title: "Seconds of a round by phase", note: "means", x: axis("phase", false,
    { names: ["train", "evaluate", "select", "acquire"] }), y: axis("time", false, { unit: "s" }),
  series: names.slice(0, 3).map((label, group) => ({ ...plain, label, group, mark: "bars", x: [0, 1, 2, 3],
    y: [12, 1 + group, 0.5 * group, 3], low: [], high: [] })) };
  const points = [];
  for (let i = 0; i < 300; ++i) points.push([Math.sin(i * 12.9898) * 3, Math.sin(i * 78.233) * 2]);
  const scatter = { title: "Hidden activations", note: "", x: axis("first direction"),
    y: axis("second direction"), series: [0, 1].map((group) => ({ ...plain, label: ["full", "bought"][group], group, mark: "points",
      x: points.filter((_, i) => i % 2 === group).map((p) => p[0]), y: points.filter((_, i) => i % 2 === group).map((p) => p[1] + group) })) };
  const gaps = { title: "Calibration", note: "with gaps", x: axis("spread", true), y: axis("error", true),
    series: [{ ...plain, label: names[1], group: 1, mark: "points", x: [1e-3, 1e-2, 1e-1, 1], y: [2e-3, null, 8e-2, 0],
      low: [1e-3, null, 5e-2, 0], high: [3e-3, null, 0.1, 0] },
    { ...plain, label: "error = spread", group: 0, mark: "line", guide: true, x: [1e-3, 1], y: [1e-3, 1] }] };
  return { "p1-errors": { variants: [errors("RMSE of the members", 0), errors("Largest error", 0.1)] },
    "p1-times": { variants: [bars] }, "p1-activations": { variants: [scatter] }, "p1-calibration": { variants: [gaps] } };
}

// A static figure as plain as can be; the real ones are the program's.
function svgOf(chart) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 340 200" role="img" aria-label="${escaped(chart.title)}">
<rect class="axis" x="30" y="10" width="300" height="160" fill="none" stroke="#333"/>
<text class="text" x="180" y="195" font-size="12" text-anchor="middle">${escaped(chart.x.label)}</text>
<path class="line g0" d="M30 20 L330 150" fill="none" stroke="#0072B2"/></svg>`;
}

// ---- the page ---------------------------------------------------------------------------------

export const kCosts = { baseline: "random", methods: [
  { label: "sbal", initial: 100, budget: 100, rounds: 5, efficiency: 1.5, train_seconds_per_step: 0.02,
    select_seconds_per_round: 2, acquire_seconds_per_step: 0.05 },
  { label: "sbal+stap", initial: 100, budget: 100, rounds: 5, efficiency: 2.5, train_seconds_per_step: 0.02,
    select_seconds_per_round: 4, acquire_seconds_per_step: 0.05 },
  { label: "worse", initial: 100, budget: 100, rounds: 5, efficiency: 0.8, train_seconds_per_step: 0.02,
    select_seconds_per_round: 4, acquire_seconds_per_step: 0.05 },
  { label: "unknown", initial: 100, budget: 100, rounds: 5, efficiency: null, train_seconds_per_step: 0.02,
    select_seconds_per_round: 4, acquire_seconds_per_step: 0.05 }] };

/// names: of three methods. data: a function that may change or replace report-data. live: HTML below
/// the head, as of runs that work.
export function page({ names = ["random", "sbal", "sbal+stap"], data: changed = (d) => d, live = "" } = {}) {
  const made = charts(names);
  const fields = {
    "p1-worst": { dimensions: 1, times: Array.from({ length: kFlat.times }, (_, i) => 0.1 * i),
      width: kFlat.times, height: kFlat.points, columns: 1, channels: [{ name: "u", low: -1, high: 1, error: 0.25 }],
      models: [{ label: names[1], group: 1 }], lengths: [] },
    "p1-best": { dimensions: 2, times: Array.from({ length: kFrames.times }, (_, i) => i),
      width: kFrames.width, height: kFrames.height, columns: kFrames.columns, models: [{ label: names[1], group: 1 }],
      channels: [{ name: "density", low: -1, high: 1, error: 0.2 }, { name: names[0], low: -1, high: 1, error: 0.2 }] },
  };
  const rows = [["random", -1.2345, "1"], ["sbal", -2.5, "10"], ["sbal+stap", -0.75, "2"], ["none", null, "3"]];
  const cells = (row) => `<tr><th scope="row">${escaped(row[0])}</th><td data-value="${row[1] === null ? "" : row[1]}">${
    row[1] === null ? "–" : row[1]}</td><td data-value="${row[2]}">${row[2]}</td></tr>`;
  const csv = "method,log RMSE\r\nrandom,-1.2345\r\n";
  let data = { format: "report-data/1", summary: "**A study by hand.**\n", charts: made, tables: { "p1-table": { csv, latex: "\\begin{tabular}{lr}" } },
    costs: { "p1-cost": kCosts }, fields };
  data = changed(structuredClone(data));
  const json = (typeof data === "string" ? data : JSON.stringify(data)).replace(/</g, "\\u003c")
    .replace(/\u2028/g, "\\u2028").replace(/\u2029/g, "\\u2029");
  const figure = (id) => `<figure class="chart" id="${id}"><figcaption><strong>${escaped(made[id].variants[0].title)}</strong> <span>${
    escaped(made[id].variants[0].note)}</span></figcaption><div class="plot">${svgOf(made[id].variants[0])}</div></figure>`;
  // As field_svg.cpp draws them: a panel for each picture; of frames a window in all of them.
  const picture = (uri, k, flat) => {
    const at = `x="${10 + 110 * k}" y="10" width="100" height="80"`;
    const { width: w, height: h, columns: n, times } = kFrames;
    return flat ? `<image ${at} preserveAspectRatio="none" href="${uri}"/>`
      : `<svg ${at} viewBox="0 0 ${w} ${h}" preserveAspectRatio="none"><image width="${w * n}" height="${h * Math.ceil(times / n)}" preserveAspectRatio="none" href="${uri}"/></svg>`;
  };
  const field = (id, panes, alt, flat) => `<figure class="field" id="${id}"><figcaption><strong>${escaped(alt)}</strong></figcaption>` +
    panes.truth.map((_, c) => `<div class="plot" data-channel="${c}"><svg viewBox="0 0 340 110" width="100%" role="img" aria-label="channel ${c}">${
      Object.entries(panes).map(([what, uris], k) => `<g class="panel" data-what="${what}" data-model="0">${picture(uris[c], k, flat)}</g>`).join("")}
<text class="text" x="0" y="9" font-size="8" data-when="">t = 0</text></svg></div>`).join("") + "</figure>";
  const plot = read("third_party/uplot/uPlot.iife.min.js");
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>${escaped(names[0])}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${hash(plot)} ${hash(script)}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${read("third_party/uplot/uPlot.min.css")}</style><style>${style}</style></head>
<body><header class="top"><p class="crumbs"><b>stap</b> · by hand</p><div class="tools"></div></header>${live}
<main><section id="summary"><h1 class="finding">A study by hand</h1><p class="lead">${escaped(names[2])} ends lowest.</p>
<p class="advice">More seeds: <code>stap sweep demo</code></p>
<div class="tiles"><div class="tile"><p class="asks">Error of the model you would deploy</p><p class="says"><b>0.01</b> <span class="pill good">−38 %</span></p><p class="more">${escaped(names[1])}</p></div>
<div class="tile"><p class="asks">Is it settled?</p><p class="says"><b>Not yet</b> <span class="pill open">not certain</span> <span class="pill bad">slower</span></p></div></div>
<ul class="findings"><li>${escaped(names[1])} is not significantly different.</li></ul></section>
<div class="rest"><nav class="side" aria-label="Sections"><a href="#summary">Finding</a> <a href="#p1">Burgers</a> <a href="#runs">Runs</a></nav><div>
<section id="p1" class="problem"><h2>Burgers</h2>
${Object.keys(made).map(figure).join("\n")}
<div class="scroll"><table class="sortable" id="p1-table"><caption>Means over seeds</caption><thead><tr><th data-type="text">method</th><th data-type="number">log RMSE</th><th data-type="number">seeds</th></tr></thead><tbody>${rows.map(cells).join("")}</tbody></table></div>
<div class="cost" id="p1-cost"><p class="verdict">sbal+stap pays above 0.3 s per solver step.</p></div>
<details class="fold" id="p1-reasons"><summary>Queries that failed</summary><ul class="notes"><li>candidate 3, step 2: failed</li></ul></details>
${field("p1-worst", flatPanes(), "worst", true)}${field("p1-best", framePanes(), "best", false)}</section>
<section id="runs"><h2>Runs</h2><div class="scroll"><table class="sortable" id="runs-table"><thead><tr><th data-type="text">folder</th><th data-type="text">method</th><th data-type="number">seed</th></tr></thead><tbody>
${names.map((name, i) => `<tr><td>${escaped(name)}</td><td>${escaped(name)}</td><td data-value="${i}">${i}</td></tr>`).join("")}</tbody></table></div></section></div></div></main>
<script type="application/json" id="report-data">${json}</script><script>${plot}</script><script>${script}</script></body></html>
`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(process.argv[2] || "fixture.html", page());
