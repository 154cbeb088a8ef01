// Pictures of a report for the documentation, of few colours: node screenshots.mjs REPORT FOLDER
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open, settle } from "./browser.mjs";
import { palettePng } from "./png.mjs";

const [report, folder] = process.argv.slice(2);
const kSize = { width: 1280, height: 900 };
const browser = await launch();
for (const colorScheme of ["light", "dark"]) {
  const { page } = await open(browser, report, { colorScheme, viewport: kSize, deviceScaleFactor: 1 });
  await settle(page, { open: false });
  // The first screen.
  const height = await page.evaluate(() => Math.ceil(document.querySelector("#summary").getBoundingClientRect().bottom) + 12);
  const picture = await page.screenshot({ fullPage: true, clip: { x: 0, y: 0, width: kSize.width, height } });
  const bytes = await palettePng(page, [picture]);
  if (bytes.length > 300e3) throw new Error(`${colorScheme}: ${bytes.length} bytes`);
  writeFileSync(join(folder, `report-${colorScheme}.png`), bytes);
  console.log(`report-${colorScheme}.png: ${bytes.length} bytes`);
  await page.context().close();
}
await browser.close();
