// Pages that `stap watch` serves: first by a server by hand, then by the program.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createServer, request } from "node:http";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, open, tooFaint, tooWide } from "./browser.mjs";
import { page as fixture } from "./fixture.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const running = { folder: "runs/<b>a</b>", phase: "acquire", words: "buying, round 2 of 4", round: 2, rounds: 4, budget: 24, spent: 6, failed: 1,
  refused: 0, open: 3, slots: 2, running: [{ candidate: 17, step: 3, seconds: 4.25, where: "node <i>7</i>" }], error: "", seconds_left: 90 };

async function served(test, first) {
  let state = { mark: "first", status: first, asked: 0 };
  const server = createServer((ask, answer) => {
    if (ask.url === "/token/") answer.end(fixture({ live: true, mark: state.mark, names: state.names }));
    else if (ask.url === "/token/status.json") {
      ++state.asked;
      answer.setHeader("Content-Type", "application/json");
      answer.end(typeof state.status === "string" ? state.status : JSON.stringify(state.status));
    } else answer.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const it = await open(browser, `http://127.0.0.1:${server.address().port}/token/`);
  test.after(async () => { await it.context.close(); server.closeAllConnections(); server.close(); });
  return { ...it, state, server };
}

describe("a live page", () => {
  it("shows what runs, as text, and is replaced when its version changes", async (test) => {
    const { page, state, problems, requests } = await served(test, { version: "1", runs: [running], ended: false });
    const live = page.locator("#live");
    await live.getByText("buying, round 2 of 4").waitFor();
    const text = await live.textContent();
    for (const part of ["runs/<b>a</b>", "6 of 24", "3 in 2 slots", "90 s", "candidate 17, step 4: 4.25 s on node <i>7</i>"]) {
      assert.ok(text.includes(part), part + " in " + text);
    }
    assert.equal(await live.locator("b, i").count(), 0);
    // What the reader has chosen stays.
    await page.locator("#p1-errors select").selectOption({ index: 1 });
    await page.locator("#p1-trajectories summary").click();
    state.mark = "second";
    state.names = ["random", "sbal", "another method"];
    state.status = { ...state.status, version: "2" };
    await page.getByRole("heading", { name: "A study by hand second" }).waitFor();
    await page.locator("#p1-errors").scrollIntoViewIfNeeded(); // figures wait until they are seen
    await page.locator("#p1-errors.live").waitFor();
    assert.equal(await page.locator("#p1-errors select").evaluate((s) => s.selectedIndex), 1);
    assert.equal(await page.locator("#p1-trajectories").getAttribute("open"), null);
    assert.ok((await page.locator("#p1-errors .legend").textContent()).includes("another method"));
    await page.locator("#live").getByText("buying, round 2 of 4").waitFor();
    assert.equal(await page.locator("#live").count(), 1);
    assert.equal(await page.locator(".tools button").count(), 1);
    assert.deepEqual(problems, []);
    const origin = new URL(page.url()).origin;
    assert.ok(requests.every((url) => url.startsWith(origin + "/token/")));
  });

  it("shows epochs, the time of the phase in a first round, and what is wrong once", async (test) => {
    const gone = "training, round 0 of 4: process 7 is gone; the same command continues";
    const first = { ...running, phase: "train", words: "training, round 0 of 4", budget: 0, spent: 0, running: [], epochs: 40, epochs_done: 10,
      seconds_left: null, phase_seconds_left: 35 };
    const { page } = await served(test, { version: "1", ended: false, runs: [first, { ...running, folder: "b", state: "dead", words: gone, error: gone }] });
    const live = page.locator("#live");
    await live.getByText("10 of 40 epochs").waitFor();
    assert.ok((await live.textContent()).includes("35 s for this part"));
    assert.equal(await live.getByText("is gone; the same command continues").count(), 1);
  });

  it("is read in a narrow window and by keys while it changes", async (test) => {
    const long = "a message that does not end ".repeat(15) + "x".repeat(300);
    for (const colorScheme of ["light", "dark"]) {
      const { page, state } = await served(test, { version: "1", runs: [{ ...running, error: long }], ended: false });
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width: 320, height: 640 });
      const scroll = page.locator("#live .scroll");
      await scroll.waitFor();
      assert.deepEqual(await tooWide(page), []);
      assert.deepEqual(await tooFaint(page), []);
      await scroll.focus();
      await scroll.evaluate((e) => { e.scrollLeft = 90; });
      state.status = { ...state.status, runs: [{ ...running, spent: 7 }] };
      await page.getByText("7 of 24").waitFor();
      assert.deepEqual(await scroll.evaluate((e) => [e.scrollLeft, e === document.activeElement]), [90, true]);
    }
  });

  it("shows progress and time left in a window of 500 px", async (test) => {
    const folder = "method=sbal+stap,seed=0", words = "buying, round 2 of 4 (process 31910 on a-machine)";
    const { page } = await served(test, { version: "1", runs: [{ ...running, folder, words }], ended: false });
    await page.setViewportSize({ width: 500, height: 800 });
    const edge = await page.locator("#live .scroll").evaluate((e) => e.getBoundingClientRect().right);
    for (const text of ["6 of 24", "90 s"]) {
      const { x, width } = await page.locator("#live td", { hasText: text }).first().boundingBox();
      assert.ok(x + width <= edge + 1, text + " ends at " + (x + width) + " of " + edge);
    }
    assert.notEqual(await page.locator("#live .scroll").evaluate((e) => getComputedStyle(e).backgroundImage), "none");
  });

  it("stops asking when all has ended", async (test) => {
    const { page, state } = await served(test, { version: "1", runs: [], ended: false });
    await page.locator("#live h2").waitFor();
    state.mark = "last";
    state.status = { version: "2", runs: [running], ended: true };
    await page.getByRole("heading", { name: "A study by hand last" }).waitFor();
    await page.locator("#live").getByText("Ended").waitFor();
    const asked = state.asked;
    await page.waitForTimeout(2500);
    assert.equal(state.asked, asked);
  });

  it("stays as it is when answers are odd or do not come", async (test) => {
    const { page, state, server } = await served(test, { version: "1", runs: [null, 3, { folder: 7, running: "x", budget: "y" }], ended: "no" });
    await page.locator("#live table").waitFor();
    state.status = "no JSON";
    await page.locator("#live").getByText("No answer from stap watch").waitFor();
    state.status = { version: "1", runs: [running] };
    await page.locator("#live").getByText("buying, round 2 of 4").waitFor();
    server.closeAllConnections();
    server.close();
    await page.locator("#live").getByText("No answer from stap watch").waitFor();
    assert.equal(await page.locator("#p1-errors.live").count(), 1);
  });
});

// ---- the program --------------------------------------------------------------------------------

const stap = process.env.STAP || "";
const helped = stap && spawnSync(stap, ["watch", "--help"]);
const missing = !stap ? "no program given in STAP" : helped.status !== 0 ? "this stap has no 'watch'" : false;

describe("stap watch", { skip: missing }, () => {
  const out = join(mkdtempSync(join(tmpdir(), "stap-watch-")), "run <script>");
  let study, watcher, url, words = "";
  // Raw, since browsers and fetch do not let one choose all headers.
  const ask = (path, options = {}) => new Promise((done, failed) => {
    const { port } = new URL(url);
    const r = request({ host: "127.0.0.1", port, path, agent: false, ...options }, (answer) => {
      let body = "";
      answer.on("data", (part) => { body += part; });
      answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, body }));
    });
    r.on("error", failed);
    r.end();
  });

  before(async () => {
    study = spawn(stap, ["run", "demo", "study.rounds=6", "train.epochs=150", "--out", out], { stdio: "ignore" });
    watcher = spawn(stap, ["watch", out, "--no-open", "--wait"], { stdio: ["ignore", "pipe", "inherit"] });
    watcher.stdout.on("data", (part) => { words += part; });
    while (!/^http:\S+\n/m.test(words)) {
      if (watcher.exitCode !== null) throw new Error("stap watch ended: " + words);
      await new Promise((done) => setTimeout(done, 50));
    }
    url = words.match(/^http:\S+/m)[0];
  });
  after(() => {
    for (const child of [study, watcher]) if (child && child.exitCode === null) child.kill("SIGTERM");
  });

  it("has a random address of the loopback interface", () => {
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32,}\/$/);
  });

  it("refuses other methods, hosts, origins and paths", async () => {
    const { pathname: path, host, port } = new URL(url);
    assert.equal((await ask(path)).status, 200);
    assert.equal((await ask(path, { method: "HEAD" })).body, "");
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
      assert.ok((await ask(path, { method })).status >= 400, method);
    for (const name of ["evil.example", "evil.example:" + port, "127.0.0.1:1", "127.0.0.1.evil.example:" + port, "localhost.:" + port])
      assert.equal((await ask(path, { headers: { Host: name } })).status, 403, name);
    for (const Origin of ["http://evil.example", "null", "https://" + host, "http://127.0.0.1:1"])
      assert.equal((await ask(path, { headers: { Origin } })).status, 403, Origin);
    assert.equal((await ask(path, { headers: { "Sec-Fetch-Site": "cross-site" } })).status, 403);
    const wrong = path.replace(/[0-9a-f]/, (c) => (c === "0" ? "1" : "0"));
    for (const other of ["/", "/status.json", wrong, wrong + "status.json", path + "config.yaml", path + "../", path + "..%2f..%2fetc/passwd",
      path + "%2e%2e/config.yaml", path + "status.json/", path + "status.json?x", path.slice(0, -1), path.toUpperCase()])
      assert.equal((await ask(other)).status, 404, other);
    const { headers } = await ask(path);
    assert.match(headers["content-security-policy"], /default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["access-control-allow-origin"], undefined);
  });

  it("answers what is no HTTP with nothing that helps", async () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.end("nonsense\r\n\r\n");
    let got = "";
    socket.on("data", (part) => { got += part; });
    socket.on("error", () => {});
    await once(socket, "close");
    assert.ok(!got.includes("200 OK"));
    assert.equal((await ask(new URL(url).pathname)).status, 200);
  });

  it("shows the run live and ends with it", { timeout: 300000 }, async (test) => {
    const { page, problems, requests } = await open(browser, url);
    test.after(() => page.context().close());
    await page.locator("#live table").waitFor({ timeout: 60000 });
    assert.ok((await page.textContent("h1")).includes("<script>"));
    await page.locator("#live").getByText("Ended").waitFor({ timeout: 240000 });
    await page.locator("#p1-errors").scrollIntoViewIfNeeded();
    await page.locator("#p1-errors.live").waitFor();
    assert.ok(requests.length > 4);
    assert.ok(requests.every((one) => one.startsWith(url)));
    assert.deepEqual(problems, []);
    if (watcher.exitCode === null) await once(watcher, "exit");
    assert.equal(watcher.exitCode, 0);
    assert.equal((await import("node:fs")).existsSync(join(out, "report.html")), true);
  });
});
