// SPDX-License-Identifier: ISC
// Themes, embedding, sizes, and the rules of axe-core.
import { readFileSync } from "node:fs";
import { hanging, page, viewer } from "./fixtures.mjs";
import { expect, require, same, test, until } from "./harness.mjs";
import { address, opened, pixels, place } from "./page.mjs";

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const ground = async (view) => {
  const colours = await pixels(view, await place(view));
  return Object.entries(colours).sort((a, b) => b[1] - a[1])[0][0];
};

const light = "255,255,255";
const dark = "20,23,27";
const contrast = "0,0,0";

test("light and dark follow the system, at once", async (open) => {
  const view = await opened(open, page(hanging()), { colorScheme: "dark" });
  same(await ground(view), dark, "the ground");
  await view.emulateMedia({ colorScheme: "light" });
  await until("it is light", async () => (await ground(view)) === light);
  await view.emulateMedia({ colorScheme: "dark", contrast: "more" });
  await until("it has high contrast", async () => (await ground(view)) === contrast);
});

test("a theme can be chosen, stays, and is in no address but may be", async (open) => {
  const view = await opened(open, page(hanging()));
  await view.getByText("View", { exact: true }).click();
  await view.getByRole("radio", { name: "Dark" }).click();
  await until("it is dark", async () => (await ground(view)) === dark);
  expect(!(await address(view)).has("theme"), "the address says no theme");
  await view.reload();
  await until("it is dark again", async () => (await ground(view)) === dark);
  const hash = "#theme=1";
  const again = await opened(open, page(hanging()), { hash });
  same(await ground(again), dark, "the ground of who got the link");
  const page_ground = await again.evaluate(() => getComputedStyle(document.body).backgroundColor);
  same(page_ground, "rgb(20, 23, 27)", "the page around it");
});

test("embedded, there is the picture and little else", async (open) => {
  const view = await opened(open, page(hanging()), { hash: "#embed", width: 700, height: 400 });
  const { width, height } = await place(view);
  expect(width >= 680 && height >= 350, `the picture has the room: ${width} × ${height}`);
  same(await view.getByRole("complementary").count(), 0, "panels");
  await view.getByRole("button", { name: "Full screen" }).waitFor();
  expect((await view.evaluate(() => location.hash)).includes("embed"), "it stays embedded");
});

for (const [name, options] of [
  ["light", {}],
  ["dark", { colorScheme: "dark" }],
  ["high contrast", { contrast: "more" }],
  ["phone", { width: 360, height: 640, hasTouch: true, isMobile: true }],
])
  test(`axe finds nothing: ${name}`, async (open) => {
    const view = await opened(open, page(hanging()), options);
    for (const tab of [/Details/, /Tasks/, /Statistics/]) {
      await view.getByRole("tab", { name: tab }).click();
      await check(view);
    }
  });

test("axe finds nothing: the viewer without a file, and help", async (open) => {
  const view = await open(viewer());
  await view.getByRole("button", { name: "Open a file" }).waitFor();
  await check(view);
  const other = await opened(open, page(hanging()));
  await other.keyboard.press("?");
  await other.getByRole("dialog").waitFor();
  await check(other);
});

async function check(view) {
  await view.evaluate(axe);
  const { violations } = await view.evaluate(() => globalThis.axe.run());
  const told = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 120))}`,
  );
  expect(told.length === 0, told.join("\n"));
}

test("reduced motion: the view jumps", async (open) => {
  const frames = async (options) => {
    const view = await opened(open, page(hanging()), options);
    const start = await view.evaluate(() => location.hash);
    await view.keyboard.press("w");
    const seen = new Set();
    for (let i = 0; i < 15; i++) {
      seen.add(await view.locator("#seen").textContent());
      await new Promise((wake) => setTimeout(wake, 16));
    }
    expect(start !== (await view.evaluate(() => location.hash)), "the view moves");
    return seen.size;
  };
  const jumps = await frames({ reducedMotion: "reduce" });
  expect(jumps <= 2, `with reduced motion there are ${jumps} stops`);
});
