// SPDX-License-Identifier: ISC
// The standard views of bands: the page paints what `thrum render` does.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { made, page, thrum } from "./fixtures.mjs";
import { Skip, expect, settled, source, test } from "./harness.mjs";
import { opened, place } from "./page.mjs";

const MOST = 0.02; // of the pixels that may differ: edges of letters

const views = readFileSync(join(source, "tests/support/views"), "utf8")
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => line.split(" "));

const trace = () => made("queued", "tests/thrum/programs/queued");

/** The part of pixels that differ clearly between two pictures of the same size. */
async function differ(view, ...pictures) {
  return view.evaluate(
    async (urls) => {
      const [one, other] = await Promise.all(
        urls.map(async (url) => {
          const image = new Image();
          image.src = url;
          await image.decode();
          const { width, height } = image;
          const canvas = Object.assign(document.createElement("canvas"), { width, height });
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, width, height).data;
        }),
      );
      if (one.length !== other.length) return 1;
      let count = 0;
      for (let i = 0; i < one.length; i += 4)
        if ([0, 1, 2].some((part) => Math.abs(one[i + part] - other[i + part]) > 64)) count++;
      return (4 * count) / one.length;
    },
    pictures.map((png) => `data:image/png;base64,${png.toString("base64")}`),
  );
}

/** The picture as `thrum render` makes it. */
function rendered(state, { width, height }) {
  const words = [`--view=${state}`, `--width=${width}`, `--height=${height}`];
  try {
    return thrum("render", trace(), "--format=png", "--output=-", ...words);
  } catch (error) {
    throw new Skip(`thrum renders no PNG: ${error.stderr}`);
  }
}

for (const [name, state] of views)
  test(name, async (open) => {
    const view = await opened(open, page(trace()), { hash: `#embed&${state}` });
    const clip = await place(view);
    await view.mouse.move(0, 0);
    // Where time goes, and what is chosen, is told after the first picture.
    await settled(async () => (await view.screenshot({ clip })).toString("base64"), 300);
    const shown = await view.screenshot({ clip });
    const parts = await differ(view, shown, rendered(state, clip));
    expect(parts < MOST, `${Math.round(parts * 1000) / 10} % of the pixels differ`);
    for (const [other, its] of views)
      if (other !== name) {
        const apart = await differ(view, shown, rendered(its, clip));
        expect(apart > parts, `it looks rather as ${other}`);
      }
  });
