// SPDX-License-Identifier: ISC
// measure.mjs BUILD: measures how long the page takes to show traces and to make frames, in headless
// Chromium without a GPU. The worker times its frames with their painting: it reads back a pixel,
// which waits for the canvas.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const source = (process.env.SOURCE = resolve(dirname(fileURLToPath(import.meta.url)), "../.."));
const { launch, until } = await import("../../tests/web/harness.mjs");
const build = resolve(process.argv[2] ?? join(source, "build"));
const thrum = join(build, "thrum");
const folder = mkdtempSync(join(tmpdir(), "thrum-bench-web-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const width = 1600;
const height = 900;

const limit = (value, most) => (value <= most ? `limit ${most} ok` : `limit ${most} OVER`);
const row = (name, ...cells) => console.log(`  ${name.padEnd(34)} ${cells.join("  ")}`);
const number = (value, digits = 1) => value.toFixed(digits).padStart(8);
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

function real(name) {
  const beside = readdirSync(dirname(source)).map((one) =>
    join(dirname(source), one, "data/mirage"),
  );
  const folders = [process.env.THRUM_MIRAGE_DATA ?? [], beside].flat();
  return folders.map((one) => join(one, name)).find(existsSync);
}

function page(name, ...traces) {
  const file = join(folder, `${name}.html`);
  execFileSync(thrum, ["html", ...traces, "-o", file], { stdio: "pipe" });
  return file;
}

/** Opens a page; returns it with the ms until its first frame was painted, or its message. */
async function show(browser, file, seconds = 120) {
  const view = await browser.newPage({ viewport: { width, height } });
  await view.goto(pathToFileURL(file).href, { waitUntil: "commit" });
  const alerts = view.getByRole("alert").filter({ hasText: /\w/ });
  const refused = async () => (await alerts.allInnerTexts())[0]?.replaceAll(/\s+/g, " ");
  const time = await until(
    "it is shown",
    async () =>
      (await refused()) ??
      (await view.evaluate(() => performance.getEntriesByName("shown")[0]?.startTime)),
    seconds * 1000,
  );
  await view.waitForTimeout(100); // a page that refuses its trace is shown before the message
  return [view, (await refused()) ?? time];
}

/** Makes the worker time each of its frames from now on. */
const timeFrames = (worker) =>
  worker.evaluate(() => {
    const request = self.requestAnimationFrame.bind(self);
    const { clip } = OffscreenCanvasRenderingContext2D.prototype; // called once for each list
    let painted;
    OffscreenCanvasRenderingContext2D.prototype.clip = function () {
      painted = this;
      clip.call(this);
    };
    self.times = [];
    self.requestAnimationFrame = (frame) =>
      request((now) => {
        painted = undefined;
        const start = performance.now();
        frame(now);
        if (!painted) return;
        painted.getImageData(0, 0, 1, 1);
        self.times.push(performance.now() - start);
      });
  });

/** Zooms to details and back at several places, and pans there. */
async function move(view) {
  await view.locator("#picture canvas").hover({ position: { x: 400, y: 400 } });
  for (const x of [300, 900, 600]) {
    await view.mouse.move(x, 450);
    for (let i = 0; i < 40; i++) await view.mouse.wheel(0, -50);
    await view.mouse.down();
    for (let i = 0; i < 40; i++) await view.mouse.move(x + 5 * i, 450 + i);
    await view.mouse.up();
    for (let i = 0; i < 20; i++) await view.mouse.wheel(0, 50);
    for (let i = 0; i < 20; i++) await view.mouse.wheel(30, 0);
    for (let i = 0; i < 20; i++) await view.mouse.wheel(0, 50);
  }
}

async function frames(view, name) {
  const [worker] = view.workers();
  await timeFrames(worker);
  await move(view);
  const times = (await worker.evaluate(() => self.times)).sort((a, b) => a - b);
  const p95 = times[Math.floor(times.length * 0.95)];
  const [middle, worst] = [times[times.length >> 1], times.at(-1)];
  const figures = `median ${middle.toFixed(1)}  p95 ${p95.toFixed(1)}  worst ${worst.toFixed(1)} ms`;
  row(`frames of ${name}`, `${times.length} frames: ${figures}`, limit(p95, 16));
}

/** Measures from the last letter to the visible number of matches, and clears the search. */
async function search(view, name, text) {
  const times = [];
  for (let i = 0; i < 7; i++) {
    times.push(
      await view.evaluate(async (wanted) => {
        const field = document.querySelector("input[type=search]");
        const count = document.querySelector("output");
        const set = (value) =>
          new Promise((done) => {
            const watch = new MutationObserver(() => {
              watch.disconnect();
              done(performance.now());
            });
            watch.observe(count, {
              childList: true,
              characterData: true,
              subtree: true,
            });
            field.value = value;
            field.dispatchEvent(new Event("input", { bubbles: true }));
          });
        const start = performance.now();
        const time = (await set(wanted)) - start;
        await set("");
        return time;
      }, text),
    );
  }
  row(`search in ${name}`, `${number(median(times))} ms`, limit(median(times), 100));
}

async function opens(browser, name, file, most) {
  const [view, time] = await show(browser, file);
  const refused = typeof time === "string";
  const size = `${number(statSync(file).size / 1e6)} MB`;
  row(`open ${name}`, size, refused ? time : `${number(time, 0)} ms  ${limit(time, most)}`);
  if (refused) return view.close();
  const found = await until("its findings are told", () =>
    view.evaluate(() => !document.getElementById("findings").hidden && performance.now()),
  );
  row(`findings of ${name}`, `${number(found - time, 0)} ms later`);
  return view;
}

const browser = await launch(["--js-flags=--max-old-space-size=8192"]);
console.log(`${width} × ${height}, Chromium ${browser.version()}, without a GPU`);
row("page without data", `${statSync(page("viewer", "--viewer")).size} bytes`);

const net = real("net.ctf");
if (net) {
  const file = page("net", net);
  await (await browser.newPage()).goto(pathToFileURL(file).href); // reads the file into the cache
  const times = [];
  for (let i = 0; i < 7; i++) {
    const [view, time] = await show(browser, file);
    times.push(time);
    if (i === 6) await frames(view, "net.ctf");
    await view.close();
  }
  row("open net.ctf", `${number(median(times))} ms  ${limit(median(times), 250)}`);
} else {
  row("net.ctf", "left out: not found; THRUM_MIRAGE_DATA names the folder of such traces");
}

for (const [millions, most] of [
  [1, 4000],
  [5, 4000],
  [10, 4000],
  [50, 60_000],
]) {
  const recording = join(folder, "big.thrum");
  const name = `${millions} M events`;
  execFileSync(join(build, "bench/web/recording"), [recording, String(millions * 1_000_000)]);
  const view = await opens(browser, name, page("big", recording), most);
  if (view) {
    await frames(view, name);
    if (millions === 10) await search(view, "1.5 M tasks", "LABEL");
    await view.close();
  }
}
await browser.close();
