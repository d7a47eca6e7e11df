// SPDX-License-Identifier: ISC
// The picture as a tree of sentences beside the canvas, for screen readers. It is in step with the
// picture, and the item with the focus is the canvas's active descendant.
import { byId, listen, make, throttled } from "./page-dom";
import { on, onChange, post } from "./page-wire";

const PAUSE_MS = 300;

export function makeOutline(canvas: () => HTMLElement | undefined) {
  const tree = byId("outline");
  onChange(throttled(PAUSE_MS, () => post({ is: "outline" })));
  on("outline", ({ items }) => {
    while (tree.children.length > items.length) tree.lastElementChild!.remove();
    let active = "";
    items.forEach(({ words, level, chosen, open }, i) => {
      const item =
        tree.children[i] ?? tree.appendChild(make("div", { role: "treeitem", id: `item-${i}` }));
      if (item.textContent !== words) item.textContent = words;
      item.ariaLevel = String(level);
      item.ariaSelected = String(chosen);
      item.ariaExpanded = open === undefined ? null : String(open);
      if (chosen) active = item.id;
    });
    canvas()?.setAttribute("aria-activedescendant", active);
  });
  listen(tree, "click", ({ target }) => {
    const item = [...tree.children].indexOf(target as Element);
    if (item >= 0) post({ is: "follow", item });
  });
}
