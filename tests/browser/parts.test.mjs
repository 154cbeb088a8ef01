// What each part of a report does when somebody uses it, on the page by hand.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { launch, open, pixels, settle, tooFaint, tooWide } from "./browser.mjs";
import { kCosts, kFlat, kFrames, page as fixture } from "./fixture.mjs";

const folder = mkdtempSync(join(tmpdir(), "stap-browser-"));
let files = 0, browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Opens a page by hand; fails the test at its end if the page complained.
async function opened(test, options = {}, context = {}) {
  const file = join(folder, ++files + ".html");
  writeFileSync(file, fixture(options));
  const it = await open(browser, file, context);
  await settle(it.page, { fields: !options.data });
  test.after(async () => {
    await it.context.close();
    assert.deepEqual(it.problems, []);
  });
  return it.page;
}
const canvasOf = (page, id) => page.locator("#" + id + " canvas").first();
const pictureOf = (page, id) => canvasOf(page, id).evaluate((canvas) => canvas.toDataURL());

describe("charts", () => {
  it("change between logarithmic and linear, and back", async (test) => {
    const page = await opened(test);
    const box = page.locator("#p1-errors").getByLabel("logarithmic");
    assert.equal(await box.isChecked(), true);
    const before = await pictureOf(page, "p1-errors");
    await box.uncheck();
    assert.notEqual(await pictureOf(page, "p1-errors"), before);
    await page.locator("#p1-errors").getByLabel("logarithmic").check();
    assert.equal(await pictureOf(page, "p1-errors"), before);
    // Values of both signs cannot be shown so.
    assert.equal(await page.locator("#p1-activations").getByLabel("logarithmic").count(), 0);
  });

  it("show the variant chosen, with its title", async (test) => {
    const page = await opened(test);
    const before = await pictureOf(page, "p1-errors");
    await page.locator("#p1-errors select").selectOption({ label: "Largest error" });
    assert.notEqual(await pictureOf(page, "p1-errors"), before);
    assert.equal(await page.textContent("#p1-errors figcaption strong"), "Largest error");
    assert.equal(await page.locator("#p1-errors select").evaluate((s) => s.selectedIndex), 1);
  });

  it("show single seeds on request", async (test) => {
    const page = await opened(test);
    const before = await pictureOf(page, "p1-errors");
    await page.locator("#p1-errors").getByLabel("single seeds").check();
    assert.notEqual(await pictureOf(page, "p1-errors"), before);
    assert.equal(await page.locator("#p1-errors .legend li").count(), 4); // none for seeds
  });

  it("hide a method by its entry in the legend, which keeps the focus", async (test) => {
    const page = await opened(test);
    const entry = page.locator("#p1-errors .legend button", { hasText: "sbal+stap" });
    assert.ok((await pixels(canvasOf(page, "p1-errors"))).groups[2] > 50);
    await entry.focus();
    await page.keyboard.press("Space");
    assert.equal(await entry.getAttribute("aria-pressed"), "false");
    assert.equal((await pixels(canvasOf(page, "p1-errors"))).groups[2], 0);
    assert.deepEqual(await tooFaint(page), []);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "sbal+stap");
    await page.keyboard.press("Space");
    assert.ok((await pixels(canvasOf(page, "p1-errors"))).groups[2] > 50);
  });

  it("tell values under the cursor, by pointer and by keys", async (test) => {
    const page = await opened(test);
    const legend = page.locator("#p1-errors .legend li", { hasText: "random" });
    await page.locator("#p1-errors .canvas").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await legend.textContent(), /random0\.5 at 100$/);
    await page.keyboard.press("End");
    assert.match(await legend.textContent(), / at 600$/);
    const over = await page.locator("#p1-errors .u-over").boundingBox();
    await page.mouse.move(over.x + 5, over.y + 50);
    assert.match(await legend.textContent(), / at 100$/);
    await page.locator("#p1-times").scrollIntoViewIfNeeded();
    const bars = await page.locator("#p1-times .u-over").boundingBox();
    await page.mouse.move(bars.x + 5, bars.y + 50);
    assert.match(await page.locator("#p1-times .legend li").first().textContent(), /random12 at train$/);
  });

  it("show the line that all are compared with, and zeros as numbers", async (test) => {
    // Both lie below 1, far from it; the bars are 0 or nothing.
    const data = (d) => {
      const [chart] = d.charts["p1-errors"].variants;
      chart.series = chart.series.filter((s) => !s.seed && !s.published).slice(0, 1);
      chart.series[0].y = chart.series[0].y.map(() => 0.01);
      chart.series[0].low = chart.series[0].high = [];
      chart.series.push({ ...chart.series[0], label: "same time", guide: true, y: chart.series[0].y.map(() => 1) });
      for (const s of d.charts["p1-times"].variants[0].series) s.y = s.group === 1 ? [0, 0, 0, 0] : [null, null, null, null];
      return d;
    };
    const page = await opened(test, { data });
    await page.locator("#p1-errors.live").waitFor();
    // Dark pixels inside the axes, from and to a part of the height: grid and bars have none.
    const dark = (id, from, to) => canvasOf(page, id).evaluate((canvas, [top, bottom]) => {
      const [x, y] = [canvas.width * 0.2, Math.round(canvas.height * top)];
      const { data: dots } = canvas.getContext("2d").getImageData(x, y, canvas.width * 0.7, Math.round(canvas.height * bottom) - y);
      let count = 0;
      for (let i = 0; i < dots.length; i += 4) if (dots[i + 3] > 60 && Math.max(dots[i], dots[i + 1], dots[i + 2]) < 170) ++count;
      return count;
    }, [from, to]);
    assert.ok((await dark("p1-errors", 0, 0.5)) > 100, "the line at 1");
    assert.ok((await dark("p1-times", 0.5, 0.86)) > 40, "zeros");
    assert.equal((await pixels(canvasOf(page, "p1-times"))).groups[1], 0);
  });

  it("zoom by drag and by keys, and go back", async (test) => {
    const page = await opened(test);
    const before = await pictureOf(page, "p1-errors");
    const reset = page.locator("#p1-errors").getByRole("button", { name: "Reset zoom" });
    assert.equal(await reset.isVisible(), false);
    const over = await page.locator("#p1-errors .u-over").boundingBox();
    await page.mouse.move(over.x + 60, over.y + 40);
    await page.mouse.down();
    await page.mouse.move(over.x + 200, over.y + 45, { steps: 5 });
    await page.mouse.up();
    assert.equal(await reset.isVisible(), true);
    assert.notEqual(await pictureOf(page, "p1-errors"), before);
    await reset.click();
    await page.mouse.move(0, 0);
    assert.equal(await pictureOf(page, "p1-errors"), before);
    await page.locator("#p1-errors .canvas").focus();
    await page.keyboard.press("+");
    await page.waitForFunction(() => !document.querySelector("#p1-errors .plot > button").hidden);
    assert.notEqual(await pictureOf(page, "p1-errors"), before);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector("#p1-errors .plot > button").hidden);
    assert.equal(await pictureOf(page, "p1-errors"), before);
  });

  it("follow the width of the window", async (test) => {
    const page = await opened(test);
    await page.setViewportSize({ width: 500, height: 800 });
    await page.waitForFunction(() => document.querySelector("#p1-errors canvas").getBoundingClientRect().width < 500);
    assert.deepEqual(await tooWide(page), []);
    assert.ok(Math.max(...(await pixels(canvasOf(page, "p1-errors"))).groups) > 50);
  });
});

describe("tables", () => {
  const column = (page, n) => page.locator("#p1-table tbody tr").evaluateAll((rows, i) => rows.map((r) => r.cells[i].textContent), n);

  it("sort by numbers and by texts, what has no value last", async (test) => {
    const page = await opened(test);
    const head = page.locator("#p1-table th", { hasText: "log RMSE" });
    await head.getByRole("button").click();
    assert.deepEqual(await column(page, 1), ["-2.5", "-1.2345", "-0.75", "–"]);
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
    await head.getByRole("button").click();
    assert.deepEqual(await column(page, 1), ["-0.75", "-1.2345", "-2.5", "–"]);
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    await head.getByRole("button").click();
    assert.deepEqual(await column(page, 0), ["random", "sbal", "sbal+stap", "none"]);
    assert.equal(await head.getAttribute("aria-sort"), null);
    await page.locator("#p1-table th", { hasText: "seeds" }).getByRole("button").press("Enter");
    assert.deepEqual(await column(page, 2), ["1", "2", "3", "10"]);
    await page.locator("#p1-table th", { hasText: "method" }).getByRole("button").press("Enter");
    assert.deepEqual(await column(page, 0), ["none", "random", "sbal", "sbal+stap"]);
  });

  it("are copied as CSV and LaTeX", async (test) => {
    const page = await opened(test, {}, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.getByRole("button", { name: "Copy CSV" }).click();
    await page.getByText("copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "method,log RMSE\r\nrandom,-1.2345\r\n");
    await page.getByRole("button", { name: "Copy LaTeX" }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("\\begin"));
  });

  it("are copied where there is no clipboard for scripts", async (test) => {
    const page = await opened(test, {}, { permissions: ["clipboard-read"] });
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.getByRole("button", { name: "Copy CSV" }).click();
    await page.getByText("copied").waitFor();
    await page.evaluate(() => { document.execCommand = () => false; });
    await page.getByRole("button", { name: "Copy CSV" }).click();
    await page.getByText("press Ctrl+C").waitFor();
    const selected = await page.locator("textarea").evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd));
    assert.match(selected, /^method,log RMSE/);
  });
});

describe("costs", () => {
  // docs/internals/analyses.md, written once more.
  function turning({ initial: D, budget: B, rounds: R, efficiency: E, train_seconds_per_step: train, select_seconds_per_round: select }) {
    const n = Math.max(1, Math.round(R / E));
    let trained = 0;
    for (let r = 0; r <= n; ++r) trained += D + B * r;
    return ((trained - D - B * R) * train + n * select) / (B * R - (B * R) / E);
  }
  const verdict = (page, label) => page.locator(".verdicts li", { has: page.locator("strong", { hasText: new RegExp("^" + label.replace("+", "\\+") + "$") }) }).textContent();
  const cost = (page) => page.getByLabel("cost of a solver step in seconds");

  it("turn where the inequality says", async (test) => {
    const page = await opened(test);
    for (const method of kCosts.methods.slice(0, 2)) {
      const at = turning(method);
      await cost(page).fill(String(at * 1.01));
      assert.match(await verdict(page, method.label), / pays: /);
      await cost(page).fill(String(at * 0.99));
      assert.match(await verdict(page, method.label), / does not pay: /);
    }
    assert.match(await verdict(page, "worse"), /does not pay, whatever a solver step costs: it needs 1\.25 times the data of random/);
    assert.equal(await page.locator(".verdicts li").count(), 3); // one has no efficiency
  });

  it("begin with what was measured and are moved by slider, keys and buttons", async (test) => {
    const page = await opened(test);
    const slider = page.getByRole("slider", { name: "cost of a solver step" });
    assert.equal(await slider.getAttribute("aria-valuetext"), "50 ms per solver step");
    assert.match(await verdict(page, "sbal"), /does not pay/);
    await slider.focus();
    await page.keyboard.press("End");
    assert.match(await verdict(page, "sbal"), / pays: .* 33 % less/);
    await page.keyboard.press("Home");
    assert.match(await verdict(page, "sbal"), /does not pay/);
    await page.keyboard.press("ArrowRight");
    await page.getByRole("button", { name: "break-even of sbal+stap" }).click();
    assert.ok(Math.abs(Number(await cost(page).inputValue()) / turning(kCosts.methods[1]) - 1) < 0.01);
    await page.getByRole("button", { name: "as measured" }).click();
    assert.equal(await cost(page).inputValue(), "0.05");
    await cost(page).fill("");
    await cost(page).fill("-3");
    assert.equal(await slider.getAttribute("aria-valuetext"), "50 ms per solver step");
  });
});

describe("fields", () => {
  it("in 1-D have a cursor in time, a profile and values under the pointer", async (test) => {
    const page = await opened(test);
    const figure = page.locator("#p1-worst");
    const slider = figure.getByRole("slider", { name: "time" });
    await slider.focus();
    await page.keyboard.press("Home");
    assert.equal(await slider.getAttribute("aria-valuetext"), "t = 0");
    const profile = figure.locator(".profile canvas");
    await profile.waitFor();
    const first = await profile.evaluate((c) => c.toDataURL());
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((was) => document.querySelector("#p1-worst .profile canvas").toDataURL() !== was, first);
    assert.equal(await figure.locator("output").first().textContent(), "t = 0.1");
    const cursor = await figure.locator(".cursor").first().evaluate((e) => parseFloat(e.getAttribute("d").slice(1)));
    assert.ok(Math.abs(cursor - (10 + (100 * 1.5) / kFlat.times)) < 1e-3);
    const box = await figure.locator("image").first().boundingBox();
    // Time 12, point 5 from below.
    await page.mouse.move(box.x + (box.width * 12.5) / kFlat.times, box.y + (box.height * (kFlat.points - 5.5)) / kFlat.points);
    const said = (await figure.locator(".under").textContent()).replaceAll("−", "-");
    const values = said.match(/^t = 1\.2, point 5: truth (\S+), prediction (\S+), error (\S+)$/).slice(1, 4).map(parseFloat);
    const [truth, prediction] = [kFlat.truth(12, 5), kFlat.prediction(12, 5)];
    // Half a level of the 254, and three digits.
    assert.ok(Math.abs(values[0] - truth) < 0.0045 && Math.abs(values[1] - prediction) < 0.0045, said);
    assert.ok(Math.abs(values[2] - (prediction - truth)) < 0.0012, said);
  });

  it("in 2-D show the frame of the time and the channel, between the axes of the static figure", async (test) => {
    const page = await opened(test);
    const figure = page.locator("#p1-best");
    const windows = () => figure.locator(".plot:not([hidden]) g.panel > svg").evaluateAll((all) => all.map((e) => e.getAttribute("viewBox")));
    const frame = (t) => [kFrames.width * (t % kFrames.columns), kFrames.height * Math.floor(t / kFrames.columns), kFrames.width, kFrames.height].join(" ");
    assert.deepEqual(await windows(), Array(3).fill(frame(kFrames.times - 1))); // the last, as without scripts
    await figure.getByRole("slider", { name: "time" }).fill("7");
    assert.deepEqual(await windows(), Array(3).fill(frame(7)));
    assert.equal(await figure.locator("[data-when]").first().textContent(), "t = 7");
    await figure.locator("select").selectOption({ index: 1 });
    assert.equal(await figure.locator(".plot[hidden]").count(), 1);
    // Nothing of the static figure is gone: axes and colour bars are part of it.
    assert.equal(await figure.locator(".plot:not([hidden]) > svg").isVisible(), true);
    const box = await figure.locator(".plot:not([hidden]) > svg").boundingBox();
    const scale = Math.min(box.width / 340, box.height / 110);
    const left = box.x + (box.width - 340 * scale) / 2 + 10 * scale, top = box.y + (box.height - 110 * scale) / 2 + 10 * scale;
    await page.mouse.move(left + (100 * scale * 3.5) / kFrames.width, top + (80 * scale * (kFrames.height - 2.5)) / kFrames.height);
    const said = (await figure.locator(".under").textContent()).replaceAll("−", "-");
    const value = parseFloat(said.match(/^t = 7, point 3, 2: truth (\S+),/)[1]);
    assert.ok(Math.abs(value - Math.sin(1.2 + 0.6 + 3.5 + 1)) < 0.0045, said);
  });

  it("play and pause, and stop at the end", async (test) => {
    const page = await opened(test);
    const figure = page.locator("#p1-best");
    await figure.locator("input[type=range]").fill("0");
    await figure.getByRole("button", { name: "Play" }).press("Enter");
    await page.waitForFunction(() => Number(document.querySelector("#p1-best input[type=range]").value) >= 2);
    await figure.getByRole("button", { name: "Pause" }).click();
    const stopped = await figure.locator("input[type=range]").inputValue();
    await page.waitForTimeout(600);
    assert.equal(await figure.locator("input[type=range]").inputValue(), stopped);
    await figure.locator("input[type=range]").fill("10");
    await figure.getByRole("button", { name: "Play" }).click();
    await figure.getByRole("button", { name: "Play" }).waitFor();
    assert.equal(await figure.locator("input[type=range]").inputValue(), String(kFrames.times - 1));
  });
});

describe("the page", () => {
  it("changes its theme, charts with it, and remembers", async (test) => {
    const page = await opened(test, {}, { colorScheme: "light" });
    const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await pictureOf(page, "p1-errors");
    const press = page.getByRole("button", { name: /^Theme/ });
    await press.click();
    assert.equal(await press.textContent(), "Theme: light");
    assert.equal(await paper(), "rgb(255, 255, 255)");
    await press.click();
    assert.notEqual(await paper(), "rgb(255, 255, 255)");
    await page.waitForFunction((was) => document.querySelector("#p1-errors canvas").toDataURL() !== was, before);
    assert.ok((await pixels(canvasOf(page, "p1-errors"))).groups[0] > 50); // of the dark theme's colours
    await page.reload();
    assert.equal(await page.getAttribute("html", "data-theme"), "dark");
    await page.getByRole("button", { name: /^Theme/ }).click();
    assert.equal(await page.getAttribute("html", "data-theme"), null);
    const dark = await paper();
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await paper(), dark);
  });

  it("opens what is closed when it is printed, and closes it again", async (test) => {
    const page = await opened(test);
    const open = () => page.locator("#p1-reasons").evaluate((e) => e.open);
    await page.locator("#p1-reasons").evaluate((e) => { e.open = false; });
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    assert.equal(await open(), true);
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    assert.equal(await open(), false);
  });

  it("marks in the navigation where one is", async (test) => {
    const page = await opened(test);
    await page.locator("nav a", { hasText: "Burgers" }).click();
    await page.waitForFunction(() => document.querySelector("nav a[aria-current]").textContent === "Burgers");
    assert.equal(await page.locator("nav a[aria-current]").count(), 1);
  });

  it("is used by keys alone: every control is reached, and one sees where one is", async (test) => {
    const page = await opened(test);
    const wanted = await page.evaluate(() => {
      const all = [...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")]
        .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled);
      all.forEach((e, i) => { e.dataset.stop = i; });
      return all.length;
    });
    const seen = new Set(), invisible = [];
    for (let i = 0; i < wanted + 5; ++i) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const e = document.activeElement, style = getComputedStyle(e);
        return [e.dataset.stop, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1, e.outerHTML.slice(0, 80)];
      });
      if (stop[0] === undefined) continue;
      seen.add(stop[0]);
      if (!stop[1]) invisible.push(stop[2]);
    }
    assert.equal(seen.size, wanted);
    assert.deepEqual(invisible, []);
  });
});

describe("hostile names", () => {
  const names = ['</script><script>document.title="caught"</script><img src=x onerror="document.title=1">',
    `"'><svg onload='document.title=2'>&lt;b&gt;\u202egnp.exe\u0007\u0000\u2028 ${"{{constructor}}"} javascript:alert(1)`,
    "long ".repeat(1000) + "x".repeat(5000)];

  it("stay text", async (test) => {
    const page = await opened(test, { names });
    assert.equal(await page.locator("script").count(), 3);
    assert.equal(await page.locator("img, svg[onload], main b:not(.tile b)").count(), 0);
    assert.ok((await page.title()).startsWith("</script>"));
    const legend = await page.locator("#p1-errors .legend .name").allTextContents();
    assert.equal(legend[0], names[0]);
    assert.equal(legend[2], names[2]);
    assert.ok((await page.textContent("#runs")).includes(names[0]));
    await page.locator("#p1-errors .canvas").focus();
    await page.keyboard.press("ArrowRight");
  });

  it("do not widen a narrow page", async (test) => {
    const page = await opened(test, { names }, { viewport: { width: 320, height: 640 } });
    assert.deepEqual(await tooWide(page), []);
  });
});

describe("what can be taken away", () => {
  const saved = async (page, press) => {
    const [download] = await Promise.all([page.waitForEvent("download"), press.click()]);
    return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
  };

  it("is the finding as Markdown", async (test) => {
    const page = await opened(test, {}, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.getByRole("button", { name: "Copy summary as Markdown" }).click();
    await page.getByText("copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "**A study by hand.**\n");
  });

  it("is a figure as SVG of its own size, and its data as CSV", async (test) => {
    const page = await opened(test);
    const figure = page.locator("#p1-errors");
    const [name, svg] = await saved(page, figure.getByRole("button", { name: "SVG" }));
    assert.equal(name, "p1-errors.svg");
    assert.match(svg, /^<svg [^>]*width="340pt" height="200pt"/);
    const [table, csv] = await saved(page, figure.getByRole("button", { name: "CSV" }));
    assert.equal(table, "p1-errors.csv");
    const lines = csv.split("\r\n");
    assert.equal(lines[0], "series,solver steps bought,RMSE,low,high");
    assert.match(lines[1], /^random,100,0\.5/);
    assert.match(csv, /\r\nsbal\+stap,600,/);
  });
});

describe("the page of runs that work", () => {
  const bar = (words) => `<div class="underway"><div class="bar"><span style="width:40%"></span></div><p>${words}</p></div>`;
  it("reloads itself, from a file, where it was, with the same parts open, until the runs have ended", async (test) => {
    const file = join(folder, "working.html");
    const write = (head, words) => writeFileSync(file, fixture({ live: bar(words) }).replace("<title>", head + "<title>"));
    write('<meta http-equiv="refresh" content="1">', "40 % done");
    const { page, context, problems } = await open(browser, file);
    test.after(() => context.close());
    await page.getByText("40 % done").waitFor();
    await page.locator("#p1-reasons > summary").click();
    const top = await page.evaluate(() => { window.scrollTo(0, 700); return window.scrollY; });
    write("", "All runs have ended; this page no longer updates.");
    await page.getByText("All runs have ended").waitFor({ state: "attached" });
    assert.equal(await page.locator("#p1-reasons").evaluate((e) => e.open), true);
    assert.ok(top > 300 && Math.abs((await page.evaluate(() => window.scrollY)) - top) < 60);
    assert.deepEqual(problems, []);
  });
});

describe("odd data", () => {
  const first = (d) => d.charts["p1-errors"].variants[0].series;
  const oddities = {
    "no JSON": () => "{nonsense",
    "another format": (d) => ({ ...d, format: "report-data/9" }),
    "nothing in it": () => ({ format: "report-data/1" }),
    "nulls": () => ({ format: "report-data/1", charts: null, tables: null, costs: null, fields: null }),
    "wrong kinds": () => ({ format: "report-data/1", charts: [1], tables: "x", costs: { "p1-cost": 3 }, fields: { "p1-worst": [] } }),
    "lists of other lengths": (d) => { first(d)[0].x = [1]; return d; },
    "no variants": (d) => { d.charts["p1-errors"] = {}; return d; },
    "only gaps": (d) => { for (const s of first(d)) { s.y = s.y.map(() => null); s.low = s.high = []; } return d; },
    "sizes that nothing has": (d) => { d.fields["p1-worst"].channels.pop(); d.fields["p1-best"].columns = 0; return d; },
    "ids of other elements": (d) => { d.charts = { runs: d.charts["p1-errors"], summary: { variants: [null] } }; return d; },
    "a prototype": () => '{"format":"report-data/1","__proto__":{"x":1},"charts":{"__proto__":{"variants":[]},"constructor":{}}}',
  };
  for (const [name, data] of Object.entries(oddities)) {
    it(name + " leaves the static page", async (test) => {
      const page = await opened(test, { data });
      assert.ok(await page.locator("#p1-errors").evaluate((e) => !e.matches(".live") ||
        document.querySelectorAll("#p1-errors canvas").length > 0));
      if (!name.startsWith("sizes")) assert.equal(await page.locator("#p1-errors .plot > svg").isVisible(), true);
      else assert.equal(await page.locator(".field.live").count(), 0);
      assert.equal(await page.locator("#p1-worst .plot > svg").isVisible(), true);
      assert.equal(await page.locator("#p1-table th button").count(), 3); // tables sort without data
    });
  }
});
