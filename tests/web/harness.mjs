// SPDX-License-Identifier: ISC
// One browser for all tests, a fresh page for each. A test fails on an exception in page or worker,
// on anything written to the console, on a violation of the page's own security policy, and on any
// request but for the page itself: nobody has to look for these.
import { createRequire } from "node:module";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export const source = resolve(process.env.SOURCE);
export const require = createRequire(join(source, "apps/web/package.json"));
/** The browser. The shell is the same engine without windows of its own: it opens a page with less
 *  than half of the work. */
const browsers = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
export const chromium = process.env.CHROMIUM ?? browsers.find(existsSync) ?? browsers[1];

/** How long a test waits for an answer, in ms: on a busy machine a page may take long. */
const PATIENCE = 60_000;

export const here = mkdtempSync(join(tmpdir(), "thrum-web-"));
process.on("exit", () => rmSync(here, { recursive: true, force: true }));

const tests = [];
let topic = "";

/** test(name, what): `what` gets `open`, which opens a page in the test's own browser context. */
export function test(name, what) {
  tests.push({ name: `${topic}: ${name}`, what });
}

/** Takes in the tests of a file. */
export async function load(file) {
  topic = file.replace("_test.mjs", "");
  await import(`./${file}`);
}

/** Skips the test that calls it. */
export class Skip extends Error {}

export function expect(is, what) {
  if (!is) throw new Error(what);
}

export function same(got, wanted, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  expect(a === b, `${what}: ${a} instead of ${b}`);
}

/** Asks until the answer is good, and returns it. */
export async function until(what, ask, milliseconds = PATIENCE) {
  const end = performance.now() + milliseconds;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`it never came that ${what}`);
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

/** The answer when it has been the same for a while: what moves has come to rest. */
export async function settled(ask, milliseconds = 60) {
  let last = JSON.stringify(await ask());
  return until("it comes to rest", async () => {
    await new Promise((wake) => setTimeout(wake, milliseconds));
    const [answer, before] = [await ask(), last];
    last = JSON.stringify(answer);
    return last === before && [answer];
  }).then(([answer]) => answer);
}

/** Opens a browser as the tests do, and as the benchmark and the pictures do. */
export function launch(args = []) {
  return require("playwright-core").chromium.launch({
    executablePath: chromium,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...args,
    ],
  });
}

function watch(page, faults) {
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    const isPage = /^(file|about):/.test(request.url()) && request.isNavigationRequest();
    if (!isPage && !/^(blob|data):/.test(request.url()))
      faults.push(`request: ${request.url().slice(0, 200)}`);
  });
}

/** A page in a context of its own; what is wrong with it is added to `faults`. */
async function openPage(browser, faults, file, options) {
  const { hash = "", width = 1200, height = 700, ...others } = options ?? {};
  const context = await browser.newContext({ viewport: { width, height }, ...others });
  await context.setOffline(true);
  await context.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    ),
  );
  context.on("page", (page) => watch(page, faults));
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(pathToFileURL(file).href + hash);
  return page;
}

async function run({ name, what }, browser) {
  const faults = [];
  const pages = [];
  const open = async (file, options) => {
    pages.push(await openPage(browser, faults, file, options));
    return pages.at(-1);
  };
  try {
    await what(open);
    if (faults.length > 0) throw new Error(faults.join("\n"));
    console.log(`[       OK ] ${name}`);
    return true;
  } catch (error) {
    if (error instanceof Skip) {
      console.log(`skipped: ${error.message}\n[  SKIPPED ] ${name}`);
      return true;
    }
    console.log([error.stack, ...faults].join("\n"));
    console.log(`[   FAILED ] ${name}`);
    return false;
  } finally {
    for (const page of pages) await page.context().close();
  }
}

/** What goes wrong by itself is seen: each of these pages is to fail. */
async function trySelf(browser) {
  const policy = `<meta http-equiv=Content-Security-Policy content="img-src 'none'"><p>`;
  const worker = `new Worker(URL.createObjectURL(new Blob(["throw Error()"])))`;
  for (const bad of [
    `${policy}<img src=data:,>`,
    "<script>throw Error()</script>",
    `<script>${worker}</script>`,
    "<script>console.warn(1)</script>",
    "<img src=https://example.org/x>",
    "<link rel=icon href=data:,><script src=beside.js></script>",
  ]) {
    const faults = [];
    const file = join(here, "bad.html");
    writeFileSync(file, bad);
    const page = await openPage(browser, faults, file);
    await until(`it is seen what is wrong with ${bad}`, () => faults.length > 0);
    await page.context().close();
  }
}

/** Runs all tests, or those with `only` in their name, three at a time, as they wait most of the
 *  time; returns how many failed. */
export async function runAll(only = "") {
  const browser = await launch();
  const left = tests.filter(({ name }) => name.includes(only));
  let failed = 0;
  const work = async () => {
    for (let next; (next = left.shift());) if (!(await run(next, browser))) failed++;
  };
  await trySelf(browser);
  await Promise.all([work(), work(), work()]);
  await browser.close();
  return failed;
}
