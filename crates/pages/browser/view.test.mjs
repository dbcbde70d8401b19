// `prony view` in a real browser: no error, no request to elsewhere, filter, comparison, history, a run
// that goes on, keyboard, light, dark and narrow. Needs Chromium (CHROMIUM says which), the command (PRONY)
// and the program that makes up notebooks (NOTEBOOK: `cargo build -p prony-view --example notebook`).
// Screenshots go to SHOTS.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const prony = resolve(process.env.PRONY ?? "prony");
const maker = resolve(process.env.NOTEBOOK ?? "notebook");
const scratch = mkdtempSync(join(tmpdir(), "prony-view-"));
const shots = resolve(process.env.SHOTS ?? join(scratch, "shots"));
const notebook = join(scratch, "notebook.db");
const started = [];
let browser, site, facts;

// The first line that a program prints; the program goes on.
async function start(command, args) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  started.push(child);
  child.said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return [child, (await child.said.next()).value];
}

before(async () => {
  mkdirSync(shots, { recursive: true });
  const made = spawnSync(maker, [notebook], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  facts = JSON.parse(made.stdout);
  let url;
  [, url] = await start(prony, ["view", "--notebook", notebook, "--listen", ":0"]);
  site = url.replace(/\/$/, "");
  assert.match(site, /^http:\/\/127\.0\.0\.1:\d+$/);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });
});
after(async () => {
  await browser?.close();
  for (const child of started) child.kill("SIGKILL");
  rmSync(scratch, { recursive: true, force: true });
});

// Opens a page, and hands it over with everything that went wrong or went elsewhere.
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [], elsewhere = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${site}/`) && !url.startsWith("data:")) elsewhere.push(url);
  });
  await page.goto(site + path);
  const close = async () => {
    assert.deepEqual(wrong, []);
    assert.deepEqual(elsewhere, []);
    await context.close();
  };
  return { page, close };
}
const text = async (page, selector) => (await page.locator(selector).first().textContent()).replace(/\s+/g, " ").trim();

test("every page opens without an error, in light, dark and narrow", async () => {
  const pages = {
    list: "/", run: "/run/13", report: "/run/13/report", compare: "/compare?run=12&run=13", histories: "/histories",
    history: `/history/${facts.trial}`, hostile: "/run/26", files: "/run/13/export/svg",
  };
  for (const [name, path] of Object.entries(pages)) {
    for (const [look, options] of [
      ["light", { colorScheme: "light" }],
      ["dark", { colorScheme: "dark" }],
      ["narrow", { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }],
    ]) {
      const { page, close } = await open(path, options);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name}, ${look}: ${wide} pixels too wide`);
      assert.equal(await page.locator("h1").count(), 1, name);
      // Screen readers are told what tables and parts are.
      const nameless = await page.evaluate(() => [...document.querySelectorAll("table")].filter((table) => !table.caption?.textContent).length);
      assert.equal(nameless, 0, `${name}: tables without a caption`);
      const outside = await page.evaluate(() => [...document.querySelectorAll("figure svg.chart text")].filter((one) => {
        const own = one.getBoundingClientRect(), all = one.ownerSVGElement.getBoundingClientRect();
        return own.width && (own.left < all.left - 1 || own.right > all.right + 1 || own.bottom > all.bottom + 1);
      }).map((one) => one.textContent));
      assert.deepEqual(outside, [], `${name}, ${look}`);
      await page.screenshot({ path: join(shots, `view-${name}-${look}.png`), fullPage: true });
      await close();
    }
  }
});

test("runs are found by text and by experiment", async () => {
  const { page, close } = await open("/");
  const rows = page.locator("table.runs tbody tr");
  assert.equal(await rows.count(), facts.runs);
  await page.locator("input[name=q]").fill("NODE");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=NODE/);
  assert.equal(await rows.count(), 24);
  await page.locator("input[name=q]").fill("");
  await page.locator("select[name=name]").selectOption("nightly");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL(/name=nightly/);
  assert.equal(await rows.count(), 24);
  await page.locator("input[name=q]").fill("no such thing");
  await page.keyboard.press("Enter");
  await page.waitForURL(/such/);
  assert.match(await text(page, "main"), /No run is like that/);
  await close();
});

test("two runs are chosen and compared", async () => {
  const { page, close } = await open("/");
  const button = page.getByRole("button", { name: "Compare the two chosen" });
  assert.equal(await button.isDisabled(), true);
  await page.getByLabel("Compare run 13").check();
  assert.equal(await text(page, "#chosen"), "One chosen: choose another.");
  assert.equal(await button.isDisabled(), true);
  await page.getByLabel("Compare run 12").check();
  assert.equal(await text(page, "#chosen"), "Two chosen.");
  await page.getByLabel("Compare run 11").check();
  assert.equal(await button.isDisabled(), true);
  await page.getByLabel("Compare run 11").uncheck();
  await button.click();
  await page.waitForURL(/\/compare/);
  assert.equal(await text(page, "h1"), "Run 13 against run 12");
  // Table and chart say what the notebook gives.
  const shown = await page.locator("main > .scroll table tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  const labels = await page.locator("#compared-throughput .on-wide .m").evaluateAll((all) => all.map((mark) => mark.getAttribute("aria-label")));
  assert.equal(shown.length, facts.compared.cells.length);
  for (const [at, cell] of facts.compared.cells.entries()) {
    const { value, low, high } = cell.throughput;
    const interval = `${low.toFixed(3)} to ${high.toFixed(3)}`;
    assert.deepEqual(shown[at].slice(0, 5), [cell.server, cell.load, `${value.toFixed(3)}×`, interval, cell.throughput_verdict]);
    assert.equal(labels[at], `${cell.server}, ${cell.load}: ${value.toFixed(3)}×, 95% CI ${interval}, ${cell.throughput_verdict}`);
  }
  assert.match(await text(page, ".lead"), /^Slower: go-net-http \(0\.9\d\d×\)\. /);
  await close();
});

test("a history shows the notebook's values and where they changed", async () => {
  const { page, close } = await open("/histories");
  await page.getByRole("link", { name: "go-net-http, c64" }).click();
  await page.waitForURL(/\/history\//);
  const number = (label) => {
    const [, value, unit] = label.match(/^run \d+, [^:]*:\d\d: ([\d,.]+) (req\/s|ns|µs|ms|s)/);
    return Number(value.replace(/,/g, "")) * { "req/s": 1, ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit];
  };
  for (const [link, name] of [["Throughput", "throughput"], ["p99 of the response time", "p99"], ["CPU time per request", "cpu"]]) {
    await page.getByRole("link", { name: link, exact: true }).click();
    await page.waitForURL(new RegExp(`value=${name}`));
    const { sentence, values } = facts.history[name];
    assert.equal(await text(page, ".lead"), sentence);
    const labels = await page.locator(`#history-${name} .m`).evaluateAll((all) => all.map((mark) => mark.getAttribute("aria-label")));
    assert.equal(labels.length, values.length);
    for (const [at, [run, value]] of values.entries()) {
      assert.ok(labels[at].startsWith(`run ${run}, `), labels[at]);
      // Rates to the last answer, times to three digits.
      const near = name === "throughput" ? 0.5 : 0.005 * value;
      assert.ok(Math.abs(number(labels[at]) - value) <= near, `${labels[at]} is not ${value}`);
    }
  }
  await page.goBack(); await page.goBack();
  assert.match(await text(page, ".lead"), /^Slower since run 13 \(go-net-http 1\.2\.3, 2026-03-13\): 0\.9/);
  assert.equal(await page.locator("#history-throughput path.rule").count(), 1);
  // By keyboard: to the chart, then from run to run.
  await page.locator("#history-throughput .scroll").first().focus();
  await page.keyboard.press("ArrowRight");
  const first = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(first, /^run 1, 2026-03-01/);
  assert.equal(await page.locator("#tip").textContent(), first);
  await close();
});

test("a run that goes on appears as it goes on", async () => {
  const list = await open("/");
  await list.page.getByLabel("Compare run 13").check();
  await list.page.getByLabel("Compare run 12").focus();
  const [live, id] = await start(maker, [notebook, "live"]);
  const row = list.page.locator(`#run-${id}`);
  await row.waitFor();
  assert.match(await row.textContent(), /A run that goes on/);
  await row.locator(".state.live").waitFor();
  // Nothing that was there has moved: the choice and the focus are where they were.
  assert.equal(await list.page.getByLabel("Compare run 13").isChecked(), true);
  assert.equal(await list.page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Compare run 12");

  const run = await open(`/run/${id}`);
  assert.match(await text(run.page, "[data-part=state]"), /under way, 0 trials/);
  // A mark on the document itself is gone after a reload.
  for (const page of [list.page, run.page]) await page.evaluate(() => { window.unmoved = true; });
  const trials = run.page.locator("[data-rows=trials] tr");
  for (const n of [1, 2, 3]) {
    live.stdin.write("trial\n");
    await trials.nth(n - 1).waitFor();
    assert.equal(await trials.count(), n);
    await run.page.locator("#said", { hasText: `Run ${id}: under way, ${n} trial` }).waitFor();
  }
  assert.match(await trials.first().textContent(), /live-one/);
  // The links to histories have come too.
  assert.equal(await run.page.locator("[data-part=cells] a").count(), 2);
  await list.page.locator(`#run-${id} td.n`, { hasText: /^3$/ }).waitFor();
  assert.match(await text(list.page, "#said"), new RegExp(`Run ${id}: under way, 3 trials`));
  await run.page.screenshot({ path: join(shots, "view-live.png"), fullPage: true });
  await list.page.screenshot({ path: join(shots, "view-live-list.png") });
  // The process goes without a word: that is told, and not that it is under way.
  live.stdin.end();
  await run.page.locator("[data-part=state]", { hasText: "broken off" }).waitFor();
  await row.locator(".state", { hasText: "broken off" }).waitFor();
  for (const page of [list.page, run.page]) assert.equal(await page.evaluate(() => window.unmoved), true);
  await list.close();
  await run.close();
});

test("a run that ends is told so, and its report is there", async () => {
  const [live, id] = await start(maker, [notebook, "live"]);
  const { page, close } = await open(`/run/${id}`);
  for (let n = 0; n < 4; n++) live.stdin.write("trial\n");
  live.stdin.write("finish\n");
  await page.locator("[data-part=state]", { hasText: "finished, 4 trials" }).waitFor();
  await page.getByRole("link", { name: "Read the report" }).click();
  await page.waitForURL(/report$/);
  assert.equal(await text(page, "h1"), "A run that goes on");
  await close();
});

test("by keyboard: skip, choose, compare", async () => {
  const { page, close } = await open("/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  const focused = () => page.evaluate(() => document.activeElement.name || document.activeElement.getAttribute("href") || document.activeElement.id);
  assert.equal(await focused(), "main");
  const seen = [];
  for (let n = 0; n < 12 && seen.filter((name) => name === "run").length < 2; n++) {
    await page.keyboard.press("Tab");
    seen.push(await focused());
    if (seen.at(-1) === "run") await page.keyboard.press("Space");
  }
  assert.equal(seen.filter((name) => name === "run").length, 2, `${seen}`);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/compare\?run=\d+&run=\d+/);
  await close();
});

test("hostile names are names", async () => {
  for (const path of ["/", "/run/26", "/compare?run=25&run=26", "/histories", "/run/26/report"]) {
    const { page, close } = await open(path);
    assert.equal(await page.evaluate(() => window.evil), undefined, path);
    assert.equal(await page.locator("img").count(), 0, path);
    await close();
  }
  // Should one become markup all the same, the policy keeps it from running.
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${site}/`);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.evil = 4";
    document.body.append(script);
  });
  assert.equal(await page.evaluate(() => window.evil), undefined);
  await context.close();
});

test("without its script it says the same", async () => {
  const { page, close } = await open("/", { javaScriptEnabled: false });
  await page.getByLabel("Compare run 13").check();
  await page.getByLabel("Compare run 12").check();
  await page.getByRole("button", { name: "Compare the two chosen" }).click();
  await page.waitForURL(/\/compare/);
  assert.equal(await text(page, "h1"), "Run 13 against run 12");
  await close();
});
