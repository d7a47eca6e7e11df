// SPDX-License-Identifier: ISC
// Using and asking a page. The picture is a canvas, so tests read its state from the address, which
// describes the whole view, and from the status line.
import { expect, settled, until } from "./harness.mjs";

/** Waits until the first frame is painted. */
export async function shown(page) {
  await until("the picture is shown", () =>
    page.evaluate(() => performance.getEntriesByName("shown").length > 0),
  );
  return page;
}

/** Opens a page and waits until its first frame is painted. */
export const opened = async (open, file, options) => shown(await open(file, options));

export const canvas = (page) => page.locator("#picture canvas");

/** The place of the picture on the page. */
export const place = (page) => canvas(page).boundingBox();

const parameters = (page) =>
  page.evaluate(() => location.hash).then((hash) => new URLSearchParams(hash.slice(1)));

const windowOf = (address) => address.get("t")?.split("..").map(Number);

/** Waits until the address, which follows the view with a delay, satisfies `good`. */
export function reaches(page, what, good) {
  return until(what, async () => {
    const address = await parameters(page);
    return good(address, windowOf(address)) && address;
  });
}

/** The same for the visible time in ns, which is undefined if it is the whole trace. */
export const reachesWindow = (page, what, good) =>
  reaches(page, what, (_, span) => span && good(...span)).then(windowOf);

export const reachesWhole = (page) =>
  reaches(page, "the whole trace is seen", (address) => !address.has("t"));

/** The address once it no longer changes. */
export async function address(page) {
  const text = await settled(() => page.evaluate(() => location.hash), 450);
  return new URLSearchParams(text.slice(1));
}

const units = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };

/** Moves the pointer; returns the time below it, in ns. */
export async function timeAt(page, x, y) {
  await page.mouse.move(x, y);
  const words = await settled(() => page.locator("#pointer").textContent());
  const [, number, unit] = /([\d.  ]+)\s*(ns|µs|ms|s)\b/.exec(words) ?? [];
  expect(unit, `the status line tells a time, not “${words}”`);
  return Number(number.replace(/[  ]/g, "")) * units[unit];
}

/** Drags in small steps. */
export async function drag(page, from, to) {
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 5 });
  await page.mouse.up();
}

export const tab = (page, name) => page.getByRole("tab", { name });

/** Returns the upper end of the leftmost upright line of a colour ("r,g,b") with at least so many pixels,
 *  below so many px of the picture. */
export async function uprightOf(page, colour, least, top = 0) {
  const clip = await place(page);
  const png = await page.screenshot({ clip });
  const [x, y] = await page.evaluate(
    async ([url, colour, least, top]) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const { width, height } = image;
      const made = Object.assign(document.createElement("canvas"), { width, height });
      const context = made.getContext("2d");
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      for (let x = 0; x < width; x++)
        for (let y = top, run = 0; y < height; y++) {
          const at = 4 * (y * width + x);
          run = data.slice(at, at + 3).join() === colour ? run + 1 : 0;
          if (run === least) return [x, y - least + 1];
        }
      return [];
    },
    [`data:image/png;base64,${png.toString("base64")}`, colour, least, top],
  );
  expect(x !== undefined, `there is a line of ${colour}`);
  return [clip.x + x, clip.y + y];
}

/** Counts the pixels of each colour in an area of the page. */
export async function pixels(page, clip) {
  const png = await page.screenshot({ clip });
  return page.evaluate(
    async (url) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const { width, height } = image;
      const context = Object.assign(document.createElement("canvas"), {
        width,
        height,
      }).getContext("2d");
      context.drawImage(image, 0, 0);
      const counts = {};
      const { data } = context.getImageData(0, 0, width, height);
      for (let i = 0; i < data.length; i += 4) {
        const colour = `${data[i]},${data[i + 1]},${data[i + 2]}`;
        counts[colour] = (counts[colour] ?? 0) + 1;
      }
      return counts;
    },
    `data:image/png;base64,${png.toString("base64")}`,
  );
}
