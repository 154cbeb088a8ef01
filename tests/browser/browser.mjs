// Debian's Chromium, without a window, and what the tests ask of pages in it.
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const executable = process.env.CHROMIUM || "/usr/bin/chromium";

export function launch() {
  const args = process.getuid() === 0 ? ["--no-sandbox"] : []; // it refuses to be root with one
  return chromium.launch({ executablePath: executable, args });
}

/// A page with `problems` (errors and warnings of the console, exceptions, breaches of the
/// Content-Security-Policy, dialogs) and `requests` (all but data: addresses).
export async function open(browser, where, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [], requests = [];
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) problems.push(m.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => { problems.push("dialog: " + dialog.message()); dialog.dismiss(); });
  page.on("request", (r) => { if (!r.url().startsWith("data:")) requests.push(r.url()); });
  await page.goto(address(where));
  return { page, context, problems, requests };
}

export const address = (where) => (existsSync(where) ? pathToFileURL(where).href : where);

/// Opens all that is closed and scrolls through a page, since figures become interactive when they
/// are seen, and waits for them. `fields`: that all fields become so.
export async function settle(page, { fields = true, open = true } = {}) {
  await page.evaluate(async (opened) => {
    if (opened) for (const part of document.querySelectorAll("details")) part.open = true;
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    for (let y = 0; y <= document.body.scrollHeight; y += 600) {
      scrollTo({ top: y, behavior: "instant" });
      await frame();
      await frame();
    }
    scrollTo({ top: 0, behavior: "instant" });
    await frame();
  }, open);
  if (!fields) return;
  // They decode their pictures first.
  await page.waitForFunction(() => {
    const data = JSON.parse(document.getElementById("report-data").textContent);
    return Object.keys(data.fields || {}).every((id) => !document.getElementById(id) ||
      document.getElementById(id).matches(".live"));
  }, null, { timeout: 10000 });
}

/// Pixels of a canvas: how many are not empty, and how many are near each of the groups' colours.
export function pixels(canvas) {
  return canvas.evaluate((element) => {
    const probe = Object.assign(document.createElement("canvas"), { width: element.width, height: element.height })
      .getContext("2d", { willReadFrequently: true });
    probe.drawImage(element, 0, 0);
    const { data } = probe.getImageData(0, 0, element.width, element.height);
    const style = getComputedStyle(document.documentElement);
    const colours = Array.from({ length: 8 }, (_, g) => {
      probe.fillStyle = style.getPropertyValue("--g" + g).trim();
      probe.fillRect(0, 0, 1, 1);
      return probe.getImageData(0, 0, 1, 1).data;
    });
    const groups = new Array(8).fill(0);
    let drawn = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 0) continue;
      ++drawn;
      colours.forEach((c, g) => {
        if (data[i + 3] > 60 && [0, 1, 2].every((k) => Math.abs(c[k] - data[i + k]) < 12)) ++groups[g];
      });
    }
    return { drawn, groups };
  });
}

/// What makes a page wider than its window.
export function tooWide(page) {
  return page.evaluate(() => {
    const found = [];
    const limit = document.documentElement.clientWidth + 1;
    if (document.documentElement.scrollWidth > limit) found.push("the page: " + document.documentElement.scrollWidth);
    for (const element of document.querySelectorAll("body *")) {
      if (element.closest(".scroll, pre, svg, .canvas, .profile, script, style")) continue;
      const box = element.getBoundingClientRect();
      if (box.width && box.right > limit) found.push(element.tagName + "." + element.className + " " + Math.round(box.right));
    }
    return found.slice(0, 10);
  });
}

/// Texts whose contrast with what is behind them is below 4.5 (WCAG's AA of small letters).
export function tooFaint(page) {
  return page.evaluate(() => {
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const parse = (text) => {
      probe.clearRect(0, 0, 1, 1);
      probe.fillStyle = text;
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    };
    const luminance = (rgb) => {
      const [r, g, b] = rgb.slice(0, 3).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
      for (let e = element; e; e = e.parentElement) {
        const colour = parse(getComputedStyle(e).backgroundColor);
        if (colour[3] === 1) return colour;
      }
      return [255, 255, 255, 1];
    };
    const faint = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || element.closest("script, style, :disabled, option")) continue;
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      if (!box.width || style.visibility === "hidden") continue;
      const ink = parse(element.closest("svg") ? style.fill : style.color), ground = behind(element);
      let alpha = ink[3];
      for (let e = element; e; e = e.parentElement) alpha *= Number(getComputedStyle(e).opacity);
      const seen = ink.map((value, k) => alpha * value + (1 - alpha) * ground[k]);
      const [a, b] = [luminance(seen), luminance(ground)].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < 4.5) faint.add(element.tagName + "." + (element.getAttribute("class") || "") + " " + ratio.toFixed(2) +
        " " + walker.currentNode.textContent.trim().slice(0, 30));
    }
    return [...faint].slice(0, 10);
  });
}
