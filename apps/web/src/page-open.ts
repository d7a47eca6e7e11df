// SPDX-License-Identifier: ISC
// Where traces come from: those in the page, and files that somebody chooses or drops.
import type { Source } from "./messages";
import { byId, listen } from "./page-dom";
import { notice } from "./page-notices";
import { now } from "./page-wire";

interface Embedded {
  title: string;
  view: string;
  traces: { name: string; blocks: number }[];
}

/** The traces that `thrum html` put in; null: a page without any. Their text is let go. */
export function embedded(): { title: string; view: string; sources: Source[] } | null {
  const list = document.getElementById("traces");
  if (!list?.textContent) return null;
  const { title, view, traces } = JSON.parse(list.textContent) as Embedded;
  const blocks = [...document.querySelectorAll("script.block")].map((block) => {
    const text = block.textContent ?? "";
    block.remove();
    return text;
  });
  const sources = traces.map((trace) => ({
    name: trace.name,
    blocks: blocks.splice(0, trace.blocks),
  }));
  return { title, view, sources };
}

async function read(files: File[]): Promise<Source[]> {
  return Promise.all(
    files.map(async (file) => ({ name: file.name, blocks: await file.arrayBuffer() })),
  );
}

/** `open` gets what was chosen or dropped; `add`: below those that are there. */
export function listenToFiles(open: (sources: Source[], add: boolean) => void) {
  const input = byId<HTMLInputElement>("files");
  const drop = byId("drop");
  const take = async (files: File[], add: boolean) => {
    if (files.length === 0) return;
    try {
      open(await read(files), add);
    } catch (error) {
      const names = files.map(({ name }) => name).join(", ");
      notice(`${names} can't be read: ${String(error)}.`, "Is it still there, a file?", true);
    }
  };
  for (const id of ["open-button", "open-first"]) listen(byId(id), "click", () => input.click());
  listen(input, "change", () => {
    void take([...(input.files ?? [])], false);
    input.value = ""; // choosing the same file again is a change, too
  });
  listen(document, "dragover", (event) => {
    event.preventDefault();
    if (!event.dataTransfer?.types.includes("Files")) return;
    drop.firstElementChild!.textContent = now.parts.length
      ? "Drop to show it below"
      : "Drop to open";
    drop.hidden = false;
  });
  listen(document, "dragleave", (event) => {
    if (!event.relatedTarget) drop.hidden = true;
  });
  listen(document, "drop", (event) => {
    event.preventDefault();
    drop.hidden = true;
    void take([...(event.dataTransfer?.files ?? [])], now.parts.length > 0);
  });
}
