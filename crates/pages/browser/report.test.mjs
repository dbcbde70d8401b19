// The report in a real browser: no error, no request, the notebook's values, hover and keyboard, light,
// dark, narrow and print. Needs Chromium (CHROMIUM says which), and the folder that
// `cargo run -p prony-pages --example made_up -- FOLDER` has written, as PAGES. Screenshots go to SHOTS.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const pages = resolve(process.env.PAGES ?? "pages");
const shots = resolve(process.env.SHOTS ?? join(pages, "shots"));
const names = readdirSync(pages).filter((file) => file.endsWith(".html")).map((file) => file.slice(0, -5));
const kept = (name) => JSON.parse(readFileSync(join(pages, `${name}.json`), "utf8"));
let browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });
});
after(() => browser?.close());

// Opens a page, and hands it over with everything that went wrong or went elsewhere.
async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [], asked = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const own = pathToFileURL(join(pages, `${name}.html`)).href;
  page.on("request", (request) => {
    const url = request.url();
    if (url.split("#")[0] !== own && !url.startsWith("data:")) asked.push(url);
  });
  await page.goto(own);
  return { page, wrong, asked, close: () => context.close() };
}

test("there are pages to look at", () => assert.ok(names.length >= 5, `${pages}: ${names}`));

for (const name of names) {
  test(`${name}: no errors, no requests, the notebook's values`, async () => {
    const { page, wrong, asked, close } = await open(name);
    const { title, sentences, trials, report } = kept(name);
    assert.equal(await page.locator("h1").textContent(), title);
    assert.equal(await page.title(), `${title} – prony`);
    const verdict = await page.locator("#verdict").textContent();
    if (report.run.name !== "capacity") {
      for (const sentence of sentences) assert.ok(verdict.includes(sentence), `${sentence}\nin ${verdict}`);
    }
    // What the page carries is what the notebook gives.
    const carried = await page.locator("#prony-report").evaluate((node) => JSON.parse(node.textContent));
    assert.deepEqual(carried, report);
    // Every trial is a mark that says its rate, to the last answer, in a chart of throughput.
    const labels = await page.locator("#throughput .on-wide .m.t").evaluateAll((all) => all.map((m) => m.getAttribute("aria-label")));
    const number = (label) => Number(label.slice(label.lastIndexOf(": ") + 2).replace(/[^0-9.]/g, ""));
    if (report.run.name !== "capacity") {
      const drawn = labels.filter((label) => /, round \d+: /.test(label));
      assert.equal(drawn.length, trials.length);
      for (const trial of trials) {
        const words = `${trial.server}, round ${trial.round}: `;
        assert.ok(drawn.some((label) => label.startsWith(words) && number(label) === trial.rate), `${words}${trial.rate}`);
      }
    }
    // The tables behind the charts have a row for each server.
    const rows = await page.locator("#throughput figure table tbody th").allTextContents();
    for (const cell of report.cells) {
      const label = cell.workers === 1 ? cell.server : `${cell.server}@${cell.workers}`;
      if (report.run.name !== "capacity") assert.ok(rows.includes(label), label);
    }
    // The download is the run.
    const data = await page.locator("#download").evaluate(async (link) => {
      const bytes = Uint8Array.from(atob(link.href.split(",")[1]), (c) => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      return JSON.parse(await new Response(stream).text());
    });
    assert.equal(data.format, "prony run");
    assert.equal(data.trials.filter((trial) => trial.throughput !== null).length, trials.length);
    assert.deepEqual(wrong, []);
    assert.deepEqual(asked, []);
    await close();
  });

  test(`${name}: light, dark, narrow, print`, async () => {
    for (const [look, options] of [
      ["light", { colorScheme: "light" }],
      ["dark", { colorScheme: "dark" }],
      ["narrow", { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }],
    ]) {
      const { page, wrong, close } = await open(name, options);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${look}: the page is ${wide} pixels too wide`);
      // Every drawn text lies inside its drawing.
      const outside = await page.evaluate(() => [...document.querySelectorAll("figure svg.chart text")].filter((text) => {
        const own = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
        return own.width && (own.left < all.left - 1 || own.right > all.right + 1 || own.bottom > all.bottom + 1);
      }).map((text) => `${text.closest("figure").id}: ${text.textContent}`));
      assert.deepEqual(outside, [], look);
      await page.screenshot({ path: join(shots, `${name}-${look}.png`), fullPage: true });
      assert.deepEqual(wrong, []);
      await close();
    }
    const { page, close } = await open(name, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper, "rgb(255, 255, 255)", "paper is white, whatever the screen is");
    await page.screenshot({ path: join(shots, `${name}-print.png`), fullPage: true });
    await page.pdf({ path: join(shots, `${name}.pdf`), format: "A4", margin: { top: "15mm", bottom: "15mm", left: "14mm", right: "14mm" } });
    await close();
  });
}

test("hover and keyboard say exact values", async () => {
  const { page, wrong, close } = await open("compared");
  const tip = page.locator("#tip");
  assert.equal(await tip.isVisible(), false);
  const mark = page.locator("#throughput .on-wide .m:not(.t)").first();
  await mark.scrollIntoViewIfNeeded();
  await mark.hover();
  await tip.waitFor({ state: "visible" });
  assert.equal(await tip.textContent(), await mark.getAttribute("aria-label"));
  // By keyboard: to the chart, then from mark to mark.
  await page.mouse.move(1, 1);
  const chart = page.locator("#throughput figure .scroll").first();
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  const first = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(first, /round \d+: /);
  assert.equal(await tip.textContent(), first);
  await page.keyboard.press("ArrowRight");
  const second = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.notEqual(second, first);
  assert.equal(await tip.textContent(), second);
  await page.keyboard.press("End");
  await page.keyboard.press("Escape");
  assert.equal(await tip.isVisible(), false);
  assert.deepEqual(wrong, []);
  await close();
});

test("hostile texts are texts", async () => {
  const { page, wrong, asked, close } = await open("hostile");
  assert.equal(await page.evaluate(() => window.evil), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("script").count(), 2);
  // Shown beside a mark they are text as well.
  const mark = page.locator("#throughput .on-wide .m:not(.t)").first();
  await mark.scrollIntoViewIfNeeded();
  await mark.hover();
  await page.locator("#tip").waitFor({ state: "visible" });
  assert.equal(await page.locator("#tip *").count(), 0);
  assert.equal(await page.evaluate(() => window.evil), undefined);
  // Should something slip through all the same, the policy keeps it from running.
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.evil = 4";
    document.body.append(script);
  });
  assert.equal(await page.evaluate(() => window.evil), undefined);
  assert.ok(wrong.every((text) => text.includes("Content Security Policy")), `${wrong}`);
  assert.deepEqual(asked, []);
  await close();
});

test("without its script it still says everything", async () => {
  const { page, close } = await open("compared", { javaScriptEnabled: false });
  assert.equal(await page.locator("#throughput .on-wide .m").count() > 40, true);
  assert.equal(await page.locator("#throughput figure table").count() > 0, true);
  await close();
});

test("flame graphs are searched and looked into", async () => {
  const { page, wrong, asked, close } = await open(join("why", "flames"));
  // Above the table: what differs, drawn once on a wide screen.
  const drawn = page.locator("figure svg.chart:visible");
  assert.equal(await drawn.count(), 1);
  assert.match(await drawn.textContent(), /json_encode/);
  // The difference, then a graph for each server: the last is the second server's.
  const graph = page.locator("svg.flame").last(), controls = page.locator(".flame-controls").last();
  const box = (name) => graph.locator(`g[data-name="${name}"]`);
  const wide = async (name) => Number(await box(name).locator("rect").getAttribute("width"));
  const field = controls.getByRole("searchbox"), share = controls.locator("output");
  // 20 of 100 samples in the function itself and 10 in what it calls: counted once.
  await field.fill("json_encode|copy");
  assert.equal(await share.textContent(), "30.0% of the samples");
  assert.equal(await graph.locator("rect.hit").count(), 2);
  // What is no regular expression is searched for as it stands.
  await field.fill("a<b>(c");
  assert.equal(await share.textContent(), "10.0% of the samples");
  await field.fill("");
  assert.equal(await share.textContent(), "");
  // A click makes a box as wide as the graph; what is beside it goes, what calls it stays.
  await box("json_encode").locator("rect").click();
  assert.equal(await wide("json_encode"), 1200);
  assert.equal(await wide("serve"), 1200);
  assert.ok(await box("send").isHidden());
  assert.ok(Math.abs((await wide("copy")) - 400) < 0.1);
  // Keys: down to what is called, up again, out of it, along a row, into another.
  await page.keyboard.press("ArrowDown");
  const focused = () => page.evaluate(() => document.activeElement.dataset.name);
  assert.equal(await focused(), "copy");
  await page.keyboard.press("Escape");
  assert.equal(await focused(), "all");
  assert.ok(await box("send").isVisible());
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  const other = await focused();
  assert.ok(["send", "serve"].includes(other), other);
  assert.equal(await wide(other), 1200);
  await controls.getByRole("button", { name: "Whole graph" }).click();
  assert.ok(Math.abs((await wide("send")) - 720) < 0.1);
  assert.deepEqual([wrong, asked], [[], []]);
  await page.screenshot({ path: join(shots, "flames.png"), fullPage: true });
  await close();
});
