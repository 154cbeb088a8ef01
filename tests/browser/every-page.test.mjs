// What holds of every report: that by hand, and those that `run` had made by the program.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { launch, open, pixels, settle, tooFaint, tooWide } from "./browser.mjs";
import { page as fixture } from "./fixture.mjs";

const folder = mkdtempSync(join(tmpdir(), "stap-browser-"));
writeFileSync(join(folder, "fixture.html"), fixture());
const reports = process.env.STAP_BROWSER_REPORTS || "";
const pages = [["by hand", join(folder, "fixture.html")],
  ...["demo", "three", "flow", "big", "odd"].map((name) => [name, join(reports, name + ".html")])];

for (const [name, file] of pages) {
  const missing = !existsSync(file) && "no report of that name: 'make test-browser' makes them";
  describe("report " + name, { skip: missing }, () => {
    let browser;
    before(async () => { browser = await launch(); });
    after(async () => { await browser.close(); });

    it("opens from a file without complaints and asks for nothing but itself", async () => {
      const { page, problems, requests } = await open(browser, file);
      await settle(page);
      assert.deepEqual(problems, []);
      assert.deepEqual(requests, [page.url()]);
      const policy = await page.getAttribute("meta[http-equiv=Content-Security-Policy]", "content");
      assert.match(policy, /^default-src 'none'; script-src 'sha256-\S+' 'sha256-\S+'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'$/);
      await page.context().close();
    });

    it("says the same with scripts off", async () => {
      const said = (page) => page.evaluate(() => {
        const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent.replace(/\s+/g, " ").trim());
        const visible = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.getBoundingClientRect().height > 20).length;
        return { tables: texts("main table"), words: texts("main h1, main h2, main h3, .lead, .tile, main li:not(.legend *, .whatif *), .verdict, .how, figcaption strong"),
          figures: visible("main figure"), links: texts("nav a") };
      });
      const whole = await open(browser, file);
      await settle(whole.page);
      const plain = await open(browser, file, { javaScriptEnabled: false });
      await plain.page.evaluate(() => { for (const part of document.querySelectorAll("details")) part.open = true; });
      const [a, b] = [await said(whole.page), await said(plain.page)];
      assert.deepEqual(a, b);
      assert.ok(b.tables.length > 0 && b.words.length > 0);
      // And shows its figures: as many static ones as there are charts.
      const hidden = await plain.page.locator(".plot > svg").evaluateAll((all) =>
        all.filter((e) => e.getBoundingClientRect().height < 20).length);
      assert.equal(hidden, 0);
      await whole.context.close();
      await plain.context.close();
    });

    it("draws every chart", async () => {
      const { page } = await open(browser, file);
      await settle(page);
      const ids = await page.locator("figure.chart").evaluateAll((all) => all.map((e) => e.id));
      assert.ok(ids.length > 0);
      for (const id of ids) {
        const figure = page.locator("#" + id);
        assert.ok(await figure.evaluate((e) => e.matches(".live")), id + " is static");
        const { drawn, groups } = await pixels(figure.locator("canvas").first());
        assert.ok(drawn > 500, id + " has " + drawn + " pixels");
        assert.ok(Math.max(...groups) > 15, id + " has no pixels of its series: " + groups);
        assert.equal(await figure.locator(".plot > svg").isVisible(), false, id + " is there twice");
      }
      await page.context().close();
    });

    it("fits into a narrow window", async () => {
      const { page } = await open(browser, file, { viewport: { width: 320, height: 640 } });
      await settle(page);
      assert.deepEqual(await tooWide(page), []);
      await page.context().close();
    });

    it("shows its tables of errors in a common window", { skip: name === "big" && "its names are long" }, async () => {
      const { page } = await open(browser, file);
      const cut = await page.locator(".scroll:has(table[id*=-table]:not(#runs-table))").evaluateAll((all) =>
        all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.firstElementChild.id + " " + e.scrollWidth + " of " + e.clientWidth));
      assert.deepEqual(cut, []);
      // Heads keep apart, arrows of sorting included.
      await page.setViewportSize({ width: 360, height: 700 });
      const touching = await page.locator("thead tr").evaluateAll((all) => all.flatMap((row) => [...row.cells].slice(1).filter((cell, i) => {
        const ends = (e) => { const range = document.createRange(); range.selectNodeContents(e); return range.getBoundingClientRect(); };
        return ends(cell).left - ends(row.cells[i]).right < 13;
      }).map((cell) => cell.textContent)));
      assert.deepEqual(touching, []);
      await page.context().close();
    });

    it("prints its static figures and no controls", async () => {
      const { page } = await open(browser, file, { colorScheme: "dark" });
      await settle(page);
      await page.evaluate(() => { document.documentElement.dataset.theme = "dark"; });
      await page.emulateMedia({ media: "print" });
      const state = await page.evaluate(() => {
        const count = (selector, visible) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility() === visible).length;
        return { hidden: count(".plot > svg", false), shown: count(".canvas, .controls, .legend, .tools button, .side, .underway, .u-wrap", true),
          closed: [...document.querySelectorAll("details > :not(summary, .controls)")].filter((e) => e.textContent.trim() &&
            (!e.checkVisibility({ contentVisibilityAuto: true }) || e.getBoundingClientRect().height < 5)).length,
          paper: getComputedStyle(document.documentElement).backgroundColor };
      });
      const wrapped = await page.locator("td[data-value]").evaluateAll((all) => all.filter((e) => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return range.getClientRects().length > 1;
      }).map((e) => e.textContent));
      assert.deepEqual(wrapped, []);
      assert.deepEqual(state, { hidden: 0, shown: 0, closed: 0, paper: "rgb(255, 255, 255)" });
      assert.deepEqual(await tooFaint(page), []);
      await page.context().close();
    });

    for (const colorScheme of ["light", "dark"]) {
      it("can be read in the " + colorScheme, async () => {
        const { page } = await open(browser, file, { colorScheme });
        assert.deepEqual(await tooFaint(page), [], "before figures are interactive");
        await settle(page);
        assert.deepEqual(await tooFaint(page), []);
        await page.context().close();
      });
    }

    it("is small and opens soon", async (test) => {
      const megabytes = readFileSync(file).length / 1e6;
      const { page } = await open(browser, "about:blank");
      const begun = performance.now();
      await page.goto("file://" + file);
      // Its script has been through, and what is seen at first is drawn.
      await page.waitForFunction(() => document.querySelector(".tools button"));
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const seconds = (performance.now() - begun) / 1000;
      test.diagnostic(`${name}: ${megabytes.toFixed(2)} MB, opened in ${seconds.toFixed(2)} s`);
      assert.ok(megabytes < 5 && seconds < 2, `${megabytes} MB, ${seconds} s`);
      await page.context().close();
    });
  });
}

describe("the demo", { skip: !existsSync(join(reports, "demo.html")) && "no report of that name" }, () => {
  let browser;
  before(async () => { browser = await launch(); });
  after(async () => { await browser.close(); });

  it("has its finding on the first screen, and is not long", async () => {
    const { page } = await open(browser, join(reports, "demo.html"), { viewport: { width: 1280, height: 800 } });
    await settle(page, { open: false });
    const bottom = (selector) => page.locator(selector).first().evaluate((e) => e.getBoundingClientRect().bottom + scrollY);
    assert.equal(await page.locator("h1").count(), 1);
    assert.match(await page.textContent("h1"), /sbal\+stap.*lower error/);
    assert.equal(await page.locator(".tile").count(), 4);
    assert.ok((await bottom(".tiles")) < 400 && (await bottom("#p1-errors canvas")) < 800);
    assert.ok((await bottom("#p1-frequency")) < 800);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height <= 6000, String(height));
    await page.context().close();
  });

  it("shows one method in one colour, and both on the same test trajectories", async () => {
    const { page } = await open(browser, join(reports, "demo.html"), { javaScriptEnabled: false });
    const ink = (selector) => page.locator(selector).first().evaluate((e) => getComputedStyle(e).stroke === "none"
      ? getComputedStyle(e).fill : getComputedStyle(e).stroke);
    const data = JSON.parse(await page.textContent("#report-data"));
    const [first] = data.charts["p1-errors"].variants;
    for (const { label, group } of first.series.filter((s) => !s.seed)) {
      const colour = await ink(`#p1-errors svg .line.g${group}`);
      for (const [id, chart] of Object.entries(data.charts))
        for (const s of chart.variants[0].series) if (s.label === label) assert.equal(s.group, group, id);
      for (const [id, field] of Object.entries(data.fields)) {
        const model = field.models.find((m) => m.label === label);
        assert.equal(model.group, group, id);
      }
      assert.equal(await ink(`#p1-case svg .bar.g${group}`), colour);
    }
    assert.deepEqual(data.fields["p1-case"].models.map((m) => m.label), ["random", "sbal+stap"]);
    await page.context().close();
  });

  it("of three methods and three seeds has the errors it always had", async () => {
    const { rows } = JSON.parse(readFileSync(join(reports, "three.json"), "utf8"));
    const logs = Object.fromEntries(rows.map((row) => [row.label, row.log_rmse_mean]));
    // Other instruction sets and numbers of cores round differently, hardly.
    for (const [method, log] of [["random", -4.244], ["sbal", -4.345], ["sbal+stap", -4.457]])
      assert.ok(Math.abs(logs[method] - log) < 0.02, `${method}: ${logs[method]}`);
  });
});
