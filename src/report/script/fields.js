// Trajectories: pictures with a cursor in time, frames that play, values read back from colours.
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
async function levelsOf(image) {
  const palette = paletteOf(image.src);
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
  return levels;
}

function checkedField(field) {
  if (!field || typeof field !== "object") return null;
  const times = listOf(field.times);
  const whole = (value) => Number.isInteger(value) && value > 0;
  const flat = field.dimensions === 1;
  if ((!flat && field.dimensions !== 2) || times.length < 2 || !times.every(finite)) return null;
  if (!whole(field.width) || !whole(field.height) || (!flat && !whole(field.columns))) return null;
  const channels = listOf(field.channels);
  const sound = channels.length && channels.every((c) => c && [c.low, c.high, c.error].every(finite));
  if (!sound) return null;
  const bought = listOf(field.bought);
  return { ...field, flat, times, channels, bought: bought.every(finite) ? bought : [],
    unit: textOf(field.time_unit), lengths: listOf(field.lengths).filter(finite) };
}

function enhanceField(figure, raw) {
  const field = checkedField(raw);
  const panes = [...figure.querySelectorAll(".pane")].map((pane) => ({ pane, what: pane.dataset.what,
    channel: Number(pane.dataset.channel), image: pane.querySelector("img"), levels: null }));
  const sound = panes.length && panes.every((p) => p.image && ["truth", "prediction", "error"].includes(p.what) &&
    field && field.channels[p.channel]);
  if (!sound) return;
  const last = field.times.length - 1;
  const rows = field.flat ? 1 : Math.ceil(field.times.length / field.columns);
  const wide = field.flat ? field.times.length : field.width * field.columns;
  const tall = field.flat ? 0 : field.height * rows;

  whenSeen(figure, async () => {
    try {
      await Promise.all(panes.map(async (p) => { p.levels = await levelsOf(p.image); }));
    } catch (error) {
      return;
    }
    const fits = panes.every(({ image }) => image.naturalWidth === wide && (field.flat || image.naturalHeight === tall));
    if (fits && figure.isConnected) build();
  });

  function build() {
    const state = { time: Math.round(last / 2), channel: 0 };
    const points = panes[0].image.naturalHeight;
    const timeText = () => "t = " + numberText(field.times[state.time], 3) + (field.unit ? " " + field.unit : "");
    const scaleOf = (p) => {
      const { low, high, error } = field.channels[p.channel];
      return p.what === "error" ? [-error, error] : [low, high];
    };
    const valueAt = (p, x, y) => {
      const level = p.levels ? p.levels[y * p.image.naturalWidth + x] : 255;
      const [low, high] = scaleOf(p);
      return level > 254 ? NaN : low + (level / 254) * (high - low);
    };

    const slider = make("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "time" });
    const shown = make("output");
    const under = make("output", { class: "under" });
    let timer = null;
    const play = button("Play", () => (timer ? stop() : start()));
    function stop() {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    }
    function start() {
      if (state.time >= last) show(0);
      play.textContent = "Pause";
      timer = setInterval(() => (state.time >= last ? stop() : show(state.time + 1)), clamp(6000 / last, 40, 400));
    }
    slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
    const track = make("div", { class: "long" }, slider);
    const bar = make("div", { class: "controls" }, play, track, shown);
    if (field.channels.length > 1) {
      bar.append(choice("channel", field.channels.map((c, i) => textOf(c.name) || "channel " + i), state.channel,
        (i) => { state.channel = i; select(); }));
    }

    for (const p of panes) {
      p.frame = make("div", { class: "frame" });
      p.image.before(p.frame);
      p.frame.append(p.image);
      if (field.flat) {
        p.cursor = make("div", { class: "cursor" });
        p.frame.append(p.cursor);
      } else {
        p.canvas = make("canvas", { width: field.width, height: field.height, role: "img", "aria-label": p.image.alt });
        p.frame.append(p.canvas);
      }
      // Static ones of the program have axes and bars of their own.
      if (field.flat && !p.pane.querySelector("svg")) p.frame.after(...(field.bought.length ? [strip()] : []), ends());
      p.frame.addEventListener("pointermove", (event) => tell(event, p));
      p.frame.addEventListener("pointerleave", () => { under.textContent = ""; });
    }
    figure.classList.add("live", field.flat ? "flat" : "animated");
    const first = panes[0].pane;
    (first.closest(".panes") || first).before(bar);
    if (!field.flat && field.bought.length) track.append(strip());
    if (figure.querySelector("div.bought")) {
      bar.after(make("p", { class: "says" }, swatch({ group: 0, mark: "bars" }), " bars " +
        (field.flat ? "below the pictures" : "below the slider") +
        ": of how many of the trajectories that the method chose the step was bought; full height: of all"));
    }
    const profile = field.flat && panes.every((p) => p.levels) ? makeProfile() : null;
    const end = panes[panes.length - 1].pane;
    (end.closest(".panes") || end).after(...(profile ? [profile.box] : []), under);

    // Of a picture's axes where they begin and end.
    function ends() {
      const time = (t) => "t = " + numberText(t, 3) + (field.unit ? " " + field.unit : "");
      const length = field.lengths[0];
      const up = length ? "x from 0 to " + numberText(length, 3) : "points 0 to " + (points - 1);
      return make("div", { class: "ends" }, make("span", {}, time(field.times[0])), make("span", {}, "\u2191 " + up),
        make("span", {}, time(field.times[last])));
    }

    // How often each step was bought, along the time axis.
    function strip() {
      const steps = field.bought.length;
      const picture = make("div", { class: "bought", role: "img", title: "how often a step was bought: the higher, the more often",
        "aria-label": "share of chosen trajectories of which a step was bought, by time" });
      for (const share of field.bought) {
        const part = make("span");
        part.style.width = 100 / steps + "%";
        part.style.height = 100 * clamp(share, 0, 1) + "%";
        picture.append(part);
      }
      if (field.flat) { // step i leads from picture column i to i + 1, so it lies between them
        picture.style.width = 100 - 100 / field.times.length + "%";
        picture.style.marginInline = "auto";
      }
      return picture;
    }

    function boughtText() {
      const steps = field.bought.length;
      if (!steps || state.time === 0) return "";
      const span = field.times[last] - field.times[0];
      const step = Math.round(((field.times[state.time] - field.times[0]) / span) * steps);
      const share = field.bought[clamp(step, 1, steps) - 1];
      return ": bought for " + numberText(100 * share, 2) + " % of the chosen trajectories";
    }

    // What lies under the pointer, in all panes of the channel.
    function tell(event, p) {
      const box = p.frame.getBoundingClientRect();
      const fx = (event.clientX - box.left) / box.width, fy = (event.clientY - box.top) / box.height;
      if (!(fx >= 0 && fx < 1 && fy >= 0 && fy < 1)) return;
      let x = Math.floor(fx * (field.flat ? wide : field.width));
      let y = Math.floor(fy * (field.flat ? points : field.height));
      const place = field.flat ? "t = " + numberText(field.times[x], 3) + ", point " + (points - 1 - y)
        : timeText() + ", point " + x + ", " + (field.height - 1 - y);
      if (!field.flat) {
        x += field.width * (state.time % field.columns);
        y += field.height * Math.floor(state.time / field.columns);
      }
      const values = panes.filter((other) => other.channel === state.channel && other.levels)
        .map((other) => other.what + " " + numberText(valueAt(other, x, y), 3));
      under.textContent = place + ": " + values.join(", ");
    }

    function makeProfile() {
      const box = make("div", { class: "profile" });
      const length = field.lengths[0] || 0;
      const xs = Array.from({ length: points }, (_, i) => (length ? (i * length) / points : i));
      const curve = (group, dash) => ({ stroke: () => colourOf("--g" + group), width: 2, dash, points: { show: false } });
      let u = null;
      const data = () => [xs, ...["truth", "prediction"].map((what) => {
        const p = panes.find((other) => other.what === what && other.channel === state.channel);
        return xs.map((_, i) => {
          const value = p ? valueAt(p, state.time, points - 1 - i) : NaN;
          return finite(value) ? value : null;
        });
      })];
      const fixed = (low, high) => ({ time: false, range: [low, high] });
      const size = () => ({ width: Math.max(200, Math.floor(box.clientWidth)), height: 190 });
      function draw() {
        if (u) u.destroy();
        const { low, high, name } = field.channels[state.channel];
        const room = (high - low) * 0.05 || 1;
        const axis = (label) => ({ label, unit: "", names: [] });
        u = new uPlot(plotOptions(size(), [axisOptions(axis(length ? "x" : "grid point"), false, 2),
          axisOptions(axis(textOf(name) || "value"), false, 3)],
        { x: fixed(xs[0], xs[points - 1] || 1), y: fixed(low - room, high + room) },
        { series: [{}, curve(0), curve(1, [6, 3])], cursor: { show: false } }), data(), box);
      }
      const key = make("p", { class: "key" });
      key.append(swatch({ group: 0, mark: "line", guide: false }), " truth  ",
        swatch({ group: 1, mark: "line", guide: false }), " prediction");
      const watcher = new ResizeObserver(() => { if (u && box.clientWidth && u.width !== size().width) u.setSize(size()); });
      redraws.add(() => u && u.redraw(false, true));
      return { box: make("div", { class: "curves" }, key, box), draw: () => { draw(); watcher.observe(box); },
        update: () => u && u.setData(data()) };
    }

    function show(time) {
      state.time = time;
      slider.value = time;
      slider.setAttribute("aria-valuetext", timeText());
      shown.textContent = timeText() + boughtText();
      for (const p of panes) {
        if (p.channel !== state.channel) continue;
        if (field.flat) {
          p.cursor.style.left = (100 * (time + 0.5)) / field.times.length + "%";
          continue;
        }
        const left = field.width * (time % field.columns), top = field.height * Math.floor(time / field.columns);
        p.canvas.getContext("2d").drawImage(p.image, left, top, field.width, field.height, 0, 0, field.width, field.height);
      }
      if (profile) profile.update();
    }

    function select() {
      for (const p of panes) p.pane.classList.toggle("unselected", p.channel !== state.channel);
      if (profile) profile.draw();
      show(state.time);
    }
    select();
  }
}
