// Draws all series of a chart into a uPlot, which has made axes and scales.
function paint(u, chart, logY) {
  const { ctx, bbox } = u;
  const ratio = window.devicePixelRatio || 1;
  const sx = (x) => u.valToPos(x, "x", true);
  const sy = (y) => (logY && !(y > 0) ? NaN : u.valToPos(y, "y", true));
  const floor = bbox.top + bbox.height;
  const bars = chart.series.filter((s) => s.mark === "bars" && s.show);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const order = (s) => (s.guide ? 0 : s.published ? 1 : s.seed ? 2 : 3);
  const shown = chart.series.filter((s) => s.show).sort((a, b) => order(a) - order(b));
  for (const series of shown) if (series.banded && series.mark === "line") paintBand(series);
  for (const series of shown) {
    ctx.globalAlpha = series.seed ? 0.4 : series.published ? 0.65 : 1;
    ctx.strokeStyle = ctx.fillStyle = colourOf(inkOf(series));
    ctx.lineWidth = ratio * (series.seed || series.guide ? 1 : 2);
    ctx.lineJoin = "round";
    ctx.setLineDash(dashesOf(series).map((d) => d * ratio));
    if (series.mark === "bars") paintBars(series);
    else if (series.mark === "points") paintPoints(series);
    else paintLine(series);
  }
  ctx.restore();

  function paintBand(series) {
    ctx.fillStyle = colourOf(inkOf(series));
    ctx.globalAlpha = 0.15;
    let run = [];
    const flush = () => {
      if (run.length > 1) {
        ctx.beginPath();
        for (const p of run) ctx.lineTo(sx(p[0]), sy(p[3]));
        for (const p of run.reverse()) ctx.lineTo(sx(p[0]), logY && p[2] <= 0 ? floor : sy(p[2]));
        ctx.fill();
      }
      run = [];
    };
    for (const p of series.points) {
      if (finite(p[2]) && finite(sy(p[3]))) run.push(p);
      else flush();
    }
    flush();
  }

  function paintLine(series) {
    ctx.beginPath();
    let pen = false;
    for (const [x, y] of series.points) {
      const py = sy(y);
      if (!finite(py)) pen = false;
      else if (pen) ctx.lineTo(sx(x), py);
      else {
        ctx.moveTo(sx(x), py);
        pen = true;
      }
    }
    ctx.stroke();
    if (!series.seed && !series.guide && series.points.length <= 40) paintPoints(series, 3);
  }

  function paintPoints(series, size = 0) {
    const whiskers = series.banded && series.mark === "points";
    const r = ratio * (size || (series.points.length > 400 ? 1.8 : 3));
    ctx.setLineDash([]);
    if (!size && series.points.length > 100) ctx.globalAlpha *= 0.6;
    for (const [x, y, low, high] of series.points) {
      const px = sx(x), py = sy(y);
      if (!finite(py)) continue;
      ctx.beginPath();
      for (const [dx, dy] of shapeOf(series.group)) ctx.lineTo(px + r * dx, py + r * dy);
      ctx.closePath();
      ctx.fill();
      if (whiskers && finite(sy(low)) && finite(sy(high))) {
        ctx.beginPath();
        ctx.moveTo(px, sy(low));
        ctx.lineTo(px, sy(high));
        ctx.stroke();
      }
    }
  }

  function paintBars(series) {
    const step = chart.x.names.length ? 1 : leastGap(bars);
    const width = Math.abs(sx(step) - sx(0)) * 0.8 / bars.length;
    const zero = logY ? floor : sy(0);
    ctx.setLineDash([]);
    ctx.textAlign = "center";
    ctx.textBaseline = "alphabetic";
    ctx.font = 11 * ratio + "px system-ui, sans-serif";
    for (const [x, y, low, high] of series.points) {
      const py = sy(y);
      if (!finite(py)) continue;
      const left = sx(x) + width * (bars.indexOf(series) - bars.length / 2);
      if (y === 0) { // a bar that is there, unlike one that is not known
        if (width > 7 * ratio) {
          ctx.save();
          ctx.fillStyle = colourOf("--ink");
          ctx.fillText("0", left + width / 2, zero - 4 * ratio);
          ctx.restore();
        }
        continue;
      }
      ctx.fillRect(left + width * 0.06, Math.min(py, zero), width * 0.88, Math.max(ratio, Math.abs(zero - py)));
      if (series.banded && finite(sy(high))) {
        ctx.save();
        ctx.strokeStyle = colourOf("--ink");
        ctx.lineWidth = ratio;
        ctx.beginPath();
        ctx.moveTo(left + width / 2, finite(sy(low)) ? sy(low) : zero);
        ctx.lineTo(left + width / 2, sy(high));
        ctx.stroke();
        ctx.restore();
      }
    }
  }
}

function leastGap(series) {
  const xs = [...new Set(series.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
  let gap = Infinity;
  for (let i = 1; i < xs.length; ++i) gap = Math.min(gap, xs[i] - xs[i - 1]);
  return finite(gap) ? gap : 1;
}
