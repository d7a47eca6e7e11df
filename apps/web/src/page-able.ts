// SPDX-License-Identifier: ISC
// Whether this browser has what the page needs; where not, the page says so. Runs first, by itself:
// it is plain enough for browsers that lack the rest.

export function isAble(): boolean {
  const able =
    typeof WebAssembly === "object" &&
    typeof Worker === "function" &&
    typeof DecompressionStream === "function" &&
    typeof OffscreenCanvas === "function" &&
    "transferControlToOffscreen" in HTMLCanvasElement.prototype;
  if (!able) {
    const words = document.getElementById("unable") as HTMLTemplateElement;
    document.getElementById("picture")?.replaceChildren(words.content);
  }
  return able;
}
