// SPDX-License-Identifier: ISC
// page-pictures.mjs BUILD FOLDER: makes screenshots of the page for review. They show recordings of
// the examples, which it makes. For each it also writes the data with which the desktop viewer shows
// the same (tools/window-pictures.py): the address, the recording, and the picture's place on the
// page.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

process.env.SOURCE = resolve(dirname(fileURLToPath(import.meta.url)), "..");
process.env.BUILD = resolve(process.argv[2]);
process.env.THRUM = join(process.env.BUILD, "thrum");
const { launch } = await import("../tests/web/harness.mjs");
const { hanging, page, record } = await import("../tests/web/fixtures.mjs");
const { address, place, shown } = await import("../tests/web/page.mjs");

const server = () => record("server", "server", "--threads", "1", "--seconds", "1", "--hang");
const showMe = (view) =>
  view
    .getByRole("button", { name: /Show me/ })
    .first()
    .click();
const tab = (name) => (view) => view.getByRole("tab", { name }).click();
const zoom = async (view) => {
  await showMe(view);
  await address(view);
  for (let i = 0; i < 3; i++) await view.keyboard.press("w");
};

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const views = {
  page: [hanging, showMe], // the README's
  zoomed: [hanging, zoom],
  server: [server],
  tasks: [server, tab(/Tasks/)],
  statistics: [server, tab(/Statistics/)],
  dark: [hanging, showMe, { colorScheme: "dark" }],
  contrast: [hanging, showMe, { contrast: "more" }],
  phone: [hanging, showMe, { ...phone, deviceScaleFactor: 2 }],
};

const themes = ["light", "dark", "contrast"]; // in the order of enum thrum__draw_theme

const folder = resolve(process.argv[3]);
mkdirSync(folder, { recursive: true });
const browser = await launch();
for (const [name, [trace, go, options]] of Object.entries(views)) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 810 },
    ...options,
  });
  const view = await context.newPage();
  await view.goto(pathToFileURL(page(trace())).href);
  await shown(view);
  await go?.(view);
  // The page's address leaves its theme out.
  const theme = themes.indexOf(await view.evaluate(() => document.documentElement.dataset.theme));
  const seen = decodeURIComponent(await address(view));
  const state = [seen, `theme=${theme}`].filter(Boolean).join("&");
  await new Promise((wake) => setTimeout(wake, 500)); // until blinking has ended
  await view.screenshot({ path: join(folder, `${name}.png`) });
  const recording = join(folder, basename(trace()));
  copyFileSync(trace(), recording);
  const told = { state, recording, ...(await place(view)) };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(told));
  await context.close();
}
await browser.close();
