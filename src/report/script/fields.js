// Trajectories: a slider in time, frames that play, values read back from colours. Axes and colour
// bars are those of the static figure, which stays where it is.
// The colours of a palette PNG in its data URI, by colour: a map from 0xrrggbb to the level.
function paletteOf(uri) {
  const start = "data:image/png;base64,";
  if (!uri.startsWith(start)) return null;
  const head = atob(uri.slice(start.length, start.length + 1600));
  const at = head.indexOf("PLTE");
  if (at < 0) return null;
  const byte = (i) => head.charCodeAt(i);
  const size = byte(at - 2) * 256 + byte(at - 1);
  const levels = new Map();
  for (let i = 0; i + 2 < size && at + 6 + i < head.length; i += 3) {
    levels.set((byte(at + 4 + i) << 16) | (byte(at + 5 + i) << 8) | byte(at + 6 + i), i / 3);
  }
  return levels;
}

// The levels of a picture's pixels (0 to 254; 255 is no number), or null where they cannot be read.
async function levelsOf(uri) {
  const palette = paletteOf(uri);
  const image = new Image();
  image.src = uri;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  if (!palette || !width || width * height > 2e7) return null;
  const canvas = make("canvas", { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const levels = new Uint8Array(width * height);
  for (let i = 0; i < levels.length; ++i) {
    const level = palette.get((data[4 * i] << 16) | (data[4 * i + 1] << 8) | data[4 * i + 2]);
    if (level === undefined) return null; // a browser that hides what canvases hold
    levels[i] = level;
  }
  return { width, levels };
}

function checkedField(field) {
  if (!field || typeof field !== "object") return null;
  const times = listOf(field.times), models = listOf(field.models), channels = listOf(field.channels);
  const whole = (value) => Number.isInteger(value) && value > 0;
  const flat = field.dimensions === 1;
  if ((!flat && field.dimensions !== 2) || times.length < 2 || !times.every(finite)) return null;
  if (!whole(field.width) || !whole(field.height) || (!flat && !whole(field.columns))) return null;
  const sound = models.length && channels.length && models.every((m) => m && typeof m === "object") &&
    channels.every((c) => c && [c.low, c.high, c.error].every(finite));
  return sound ? { ...field, flat, times, models, channels, lengths: listOf(field.lengths).filter(finite) } : null;
}

function enhanceField(figure, raw) {
  const field = checkedField(raw);
  const plots = [...figure.querySelectorAll(".plot")];
  if (!field || plots.length !== field.channels.length) return;
  const panels = plots.flatMap((plot, channel) => [...plot.querySelectorAll("g.panel")].map((g) => {
    const image = g.querySelector("image");
    return { plot, channel, g, what: g.dataset.what, model: Number(g.dataset.model), image,
      frame: g.querySelector("svg") || image, levels: null };
  }));
  if (!panels.length || panels.some((p) => !p.image || !field.models[p.model])) return;
  const last = field.times.length - 1, points = field.height;
  const state = { time: last, channel: 0 };
  const timeText = () => "t = " + numberText(field.times[state.time], 3);
  const nameOf = (p) => (p.what === "truth" ? "truth"
    : (field.models.length > 1 ? textOf(field.models[p.model].label) : p.what) || "model");
  const edge = (p, name) => Number(p.frame.getAttribute(name));

  const slider = make("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "time" });
  const shown = make("output");
  const under = make("output", { class: "under" });
  let timer = null;
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  const play = button("Play", () => {
    if (timer) return stop();
    if (state.time >= last) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => (state.time >= last ? stop() : show(state.time + 1)), clamp(6000 / last, 40, 400));
  });
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  const bar = make("div", { class: "controls" }, ...(field.flat ? [] : [play]), make("div", { class: "long" }, slider), shown);
  if (field.channels.length > 1) {
    bar.append(choice("channel", field.channels.map((c, i) => textOf(c.name) || "channel " + i), 0,
      (i) => { state.channel = i; select(); }));
  }
  const profile = field.flat && !figure.closest(".card") ? profileOf(field, state, valueAt) : null;
  plots[plots.length - 1].after(bar, under, ...(profile ? [profile.box] : []));
  figure.classList.add("live");

  if (field.flat) {
    for (const p of panels) {
      p.cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
      p.cursor.setAttribute("class", "cursor");
      p.g.append(p.cursor);
    }
  }
  for (const plot of plots) {
    plot.addEventListener("pointermove", tell);
    plot.addEventListener("pointerleave", () => { under.textContent = ""; });
  }

  function valueAt(p, x, y) {
    const level = p.levels ? p.levels.levels[y * p.levels.width + x] : 255;
    const { low, high, error } = field.channels[p.channel];
    const [from, to] = p.what === "error" ? [-error, error] : [low, high];
    return level > 254 ? NaN : from + (level / 254) * (to - from);
  }

  // What lies under the pointer, in all pictures of the channel.
  function tell(event) {
    for (const p of panels) {
      if (p.plot !== event.currentTarget) continue;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(p.g.getScreenCTM().inverse());
      const fx = (at.x - edge(p, "x")) / edge(p, "width"), fy = (at.y - edge(p, "y")) / edge(p, "height");
      if (!(fx >= 0 && fx < 1 && fy >= 0 && fy < 1)) continue;
      let x = Math.floor(fx * field.width), y = Math.floor(fy * points);
      const place = field.flat ? "t = " + numberText(field.times[x], 3) + ", point " + (points - 1 - y)
        : timeText() + ", point " + x + ", " + (points - 1 - y);
      if (!field.flat) {
        x += field.width * (state.time % field.columns);
        y += points * Math.floor(state.time / field.columns);
      }
      const values = panels.filter((other) => other.channel === p.channel && (other.what !== "error" || field.models.length < 2))
        .map((other) => nameOf(other) + " " + numberText(valueAt(other, x, y), 3));
      under.textContent = place + ": " + values.join(", ");
      return;
    }
  }

  function show(time) {
    state.time = time;
    slider.value = time;
    slider.setAttribute("aria-valuetext", timeText());
    shown.textContent = timeText();
    for (const p of panels) {
      if (field.flat) {
        const x = edge(p, "x") + ((time + 0.5) / field.times.length) * edge(p, "width");
        p.cursor.setAttribute("d", "M" + x + " " + edge(p, "y") + "v" + edge(p, "height"));
      } else {
        const left = field.width * (time % field.columns), top = points * Math.floor(time / field.columns);
        p.frame.setAttribute("viewBox", [left, top, field.width, points].join(" "));
      }
    }
    for (const when of figure.querySelectorAll("[data-when]")) when.textContent = timeText();
    if (profile) profile.update(panels);
  }

  function select() {
    plots.forEach((plot, channel) => { plot.hidden = channel !== state.channel; });
    show(state.time);
  }
  select();
  whenSeen(figure, async () => {
    try {
      for (const p of panels) p.levels = await levelsOf(p.image.getAttribute("href"));
      show(state.time);
    } catch (refused) { /* without values under the pointer */ }
  });
}

// The states of a 1-D trajectory at the time of the slider, as curves.
function profileOf(field, state, valueAt) {
  if (typeof uPlot !== "function") return null;
  const canvas = make("div", { class: "profile" });
  const points = field.height, length = field.lengths[0] || 0;
  const xs = Array.from({ length: points }, (_, i) => (length ? (i * length) / points : i));
  const curve = (name, dash) => ({ stroke: () => colourOf(name), width: 2, dash, points: { show: false } });
  const key = make("p", { class: "key" }, "At this time: ",
    swatch({ group: 1001, mark: "line", guide: false }), " truth  ",
    ...field.models.flatMap((m) => [swatch({ group: m.group, mark: "line", guide: false }),
      " " + (field.models.length > 1 ? textOf(m.label) : "prediction") + "  "]));
  const box = make("div", { class: "curves" }, key, canvas);
  let u = null, channel = -1;
  function draw() {
    if (u) u.destroy();
    channel = state.channel;
    const { low, high, name } = field.channels[channel];
    const axis = (label) => ({ label, unit: "", names: [] });
    const fixed = (from, to) => ({ time: false, range: [from, to] });
    const room = (high - low) * 0.05 || 1;
    u = new uPlot(plotOptions({ width: Math.max(200, Math.floor(canvas.clientWidth)), height: 170 },
      [axisOptions(axis(length ? "x" : "grid point"), false, 2), axisOptions(axis(textOf(name) || "value"), false, 3)],
      { x: fixed(xs[0], xs[points - 1] || 1), y: fixed(low - room, high + room) },
      { series: [{}, curve("--n1"), ...field.models.map((m) => curve("--g" + (m.group % 12), [6, 3]))],
        cursor: { show: false } }), [xs, ...Array(field.models.length + 1).fill(xs.map(() => null))], canvas);
  }
  new ResizeObserver(() => {
    if (u && canvas.clientWidth && u.width !== Math.floor(canvas.clientWidth)) {
      u.setSize({ width: Math.max(200, Math.floor(canvas.clientWidth)), height: 170 });
    }
  }).observe(canvas);
  redraws.add(() => u && u.redraw(false, true));
  return { box, update(panels) {
    if (panels.some((p) => p.channel === state.channel && p.what !== "error" && !p.levels)) return;
    if (!u || channel !== state.channel) draw();
    const rows = panels.filter((p) => p.channel === state.channel && p.what !== "error");
    rows.sort((a, b) => (a.what === "truth" ? -1 : a.model) - (b.what === "truth" ? -1 : b.model));
    u.setData([xs, ...rows.map((p) => xs.map((_, i) => {
      const value = valueAt(p, state.time, points - 1 - i);
      return finite(value) ? value : null;
    }))]);
  } };
}
