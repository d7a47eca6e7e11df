// SPDX-License-Identifier: ISC
// Tells whether this browser has the features that the page needs, and shows a message if not. It
// runs first and is plain enough for browsers that lack them.

export function isAble(): boolean {
  const able =
    typeof WebAssembly === "object" &&
    typeof Worker === "function" &&
    typeof DecompressionStream === "function" &&
    typeof OffscreenCanvas === "function" &&
    "transferControlToOffscreen" in HTMLCanvasElement.prototype;
  if (!able) {
    const message = document.getElementById("unable") as HTMLTemplateElement;
    document.body.prepend(message.content);
  }
  return able;
}
