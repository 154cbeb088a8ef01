// The report's script: makes a page interactive that says everything without it. Whatever is missing
// or odd in the data keeps its static figure; texts of the data become text nodes only. The files of
// this folder become one strict function, in the order that cmake/StapReport.cmake has.
const root = document.documentElement;
const finite = Number.isFinite;
const listOf = (value) => (Array.isArray(value) ? value : []);
const textOf = (value) => (typeof value === "string" ? value : "");
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const byId = (id) => document.getElementById(id);
const redraws = new Set(); // called when colours change
const colourOf = (name) => getComputedStyle(root).getPropertyValue(name).trim() || "#888";

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const button = (label, press) => {
  const element = make("button", { type: "button" }, label);
  element.addEventListener("click", press);
  return element;
};

// A check box with its label.
function toggle(label, checked, change) {
  const box = make("input", { type: "checkbox", checked });
  box.addEventListener("change", () => change(box.checked));
  return make("label", { class: "toggle" }, box, " " + label);
}

// A <select> of names; `change` gets the number of the one chosen.
function choice(label, names, chosen, change) {
  const select = make("select");
  names.forEach((name, i) => select.append(make("option", { value: i, selected: i === chosen }, name)));
  select.addEventListener("change", () => change(select.selectedIndex));
  return make("label", { class: "choice" }, label + " ", select);
}

// ---- numbers ------------------------------------------------------------------------------

const minus = (text) => text.replace("-", "\u2212");

function powerOfTen(exponent) {
  const digits = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";
  const raised = [...String(Math.abs(exponent))].map((d) => digits[d]).join("");
  return "10" + (exponent < 0 ? "\u207b" : "") + raised;
}

// Four significant digits at most.
function numberText(value, digits = 4) {
  if (!finite(value)) return "\u2013";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e6) return minus(String(Number(value.toPrecision(digits))));
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return minus(String(Number(mantissa))) + "\u00b7" + powerOfTen(Number(exponent));
}

function secondsText(seconds) {
  if (!finite(seconds)) return "\u2013";
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"]];
  // Minutes only from two on: "90 s" reads better than "1.5 min".
  const unit = units.find(([size]) => seconds >= size * (size > 1 ? 2 : 1)) || units[5];
  return seconds === 0 ? "0 s" : numberText(seconds / unit[0], 3) + " " + unit[1];
}

function tickText(value, increment) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3 || increment < 1e-4) {
    const exponent = Math.floor(Math.log10(size) + 1e-9);
    const mantissa = Number((value / 10 ** exponent).toPrecision(3));
    if (mantissa === 1) return powerOfTen(exponent);
    return minus(String(mantissa)) + "\u00b7" + powerOfTen(exponent);
  }
  if (!(increment > 0)) return minus(String(Number(value.toPrecision(3))));
  const decimals = (String(Number(increment.toPrecision(3))).split(".")[1] || "").length;
  return minus(value.toFixed(decimals));
}

// Ticks of a logarithmic axis: as many mantissas a decade as leave a few labels.
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  if (!(decades > 0) || decades > 60) return [];
  const stride = Math.ceil(decades / 7);
  const mantissas = decades > 2.5 ? [1] : decades > 2 ? [1, 3] : decades > 0.7 ? [1, 2, 5]
    : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
    if (e % stride !== 0) continue;
    for (const m of mantissas) {
      const tick = Number((m * 10 ** e).toPrecision(3));
      if (tick >= low * 0.999999 && tick <= high * 1.000001) ticks.push(tick);
    }
  }
  if (ticks.length > 1) return ticks;
  // Less than a decade: steps as on a linear axis.
  const step = 10 ** Math.floor(Math.log10((high - low) / 3));
  const wide = (high - low) / step > 8 ? step * 2 : step;
  const linear = [];
  for (let t = Math.ceil(low / wide) * wide; t <= high; t += wide) linear.push(Number(t.toPrecision(6)));
  return linear;
}

// Calls `act` once, when an element is about to be looked at: pages have a hundred figures.
function whenSeen(element, act) {
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    act();
  }, { rootMargin: "400px" });
  watcher.observe(element);
}
