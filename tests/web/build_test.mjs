// SPDX-License-Identifier: ISC
// The file itself: its size, that the same input makes the same bytes, that its policy allows nothing
// but its own scripts, and its messages in browsers that can't run it.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hanging, page, thrum, viewer } from "./fixtures.mjs";
import { expect, here, same, test, until } from "./harness.mjs";
import { opened, shown } from "./page.mjs";

test("the page without data has at most 360 kB", async () => {
  const { size } = statSync(viewer());
  expect(size <= 373_000, `it has ${size} bytes`);
});

test("the same traces make the same bytes", async () => {
  const again = join(here, "again.html");
  thrum("html", hanging(), "-o", again);
  expect(readFileSync(again).equals(readFileSync(page(hanging()))), "both files are the same");
});

test("the page allows itself nothing but its own scripts", async (open) => {
  const view = await opened(open, page(hanging()));
  const policy = await view
    .locator("meta[http-equiv=Content-Security-Policy]")
    .getAttribute("content");
  expect(policy.startsWith("default-src 'none';"), policy);
  expect(
    !/unsafe-inline|unsafe-eval'(?<!wasm-unsafe-eval')|https?:|connect-src|\*/.test(policy),
    policy,
  );
});

test("the page is UTF-8, whatever a server calls it", async (open) => {
  const blank = await open(viewer());
  const view = await blank.context().newPage();
  const contentType = "text/html; charset=iso-8859-1";
  await view.route("**/*", (route) =>
    route.fulfill({ contentType, body: readFileSync(page(hanging())) }),
  );
  await view.goto(blank.url());
  await shown(view);
});

const without = (name, script, wanted) =>
  test(`without ${name} there is a message`, async (open) => {
    const blank = await open(viewer());
    const view = await blank.context().newPage();
    await view.addInitScript(script);
    await view.goto(blank.url().replace(/viewer\.html.*/, statName(page(hanging()))));
    await until("it says what is wrong", async () =>
      wanted.test(await view.locator("body").innerText()),
    );
  });

const statName = (file) => file.slice(file.lastIndexOf("/") + 1);

without("WebAssembly", () => delete globalThis.WebAssembly, /browser/i);
without("DecompressionStream", () => delete globalThis.DecompressionStream, /browser/i);
without("OffscreenCanvas", () => delete globalThis.OffscreenCanvas, /browser/i);

test("without scripts there is a message", async (open) => {
  const view = await open(page(hanging()), { javaScriptEnabled: false });
  await view.getByText(/scripts are switched off/).waitFor();
  same(await view.title().then((title) => title !== ""), true, "it has a title");
});
