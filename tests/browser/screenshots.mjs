// Pictures of a report for the documentation, of few colours: node screenshots.mjs REPORT FOLDER
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open, settle } from "./browser.mjs";
import { palettePng } from "./png.mjs";

const [report, folder] = process.argv.slice(2);
const kWidth = 1200;
const browser = await launch();
for (const colorScheme of ["light", "dark"]) {
  const { page } = await open(browser, report, { colorScheme, viewport: { width: kWidth, height: 900 }, deviceScaleFactor: 1 });
  await settle(page);
  // The head of the page and some of its figures: all of it is ten times as long.
  const parts = [];
  const take = async (from, to) => {
    const box = await page.evaluate(([a, b]) => {
      const top = document.querySelector(a).getBoundingClientRect().top + scrollY;
      const bottom = document.querySelector(b).getBoundingClientRect().bottom + scrollY;
      return { y: Math.max(0, top - 4), height: bottom - Math.max(0, top - 4) + 2 };
    }, [from, to]);
    parts.push(await page.screenshot({ fullPage: true, clip: { x: 0, width: kWidth, ...box } }));
  };
  await take("body", "#p1-errors");
  const fields = await page.locator("figure.field").evaluateAll((all) => all.map((e) => e.id));
  const shown = fields.filter((id) => id.endsWith("worst")).pop();
  await page.locator(`#${shown} input[type=range]`).fill("3");
  await page.evaluate(() => document.activeElement.blur());
  await take(".pair", ".pair");
  await take(".raster", ".raster");
  await take("#p1-pays .whatif", "#p1-pays .whatif");
  await take("#" + shown, "#" + shown);
  const bytes = await palettePng(page, parts);
  if (bytes.length > 400e3) throw new Error(`${colorScheme}: ${bytes.length} bytes`);
  writeFileSync(join(folder, `report-${colorScheme}.png`), bytes);
  console.log(`report-${colorScheme}.png: ${bytes.length} bytes`);
  await page.context().close();
}
await browser.close();
