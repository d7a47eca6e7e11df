// SPDX-License-Identifier: ISC
// Opens traces: those embedded in the page, and files that the user chooses or drops.
import type { Source } from "./messages";
import { byId, listen } from "./page-dom";
import { notice } from "./page-notices";
import { now, onChange, post } from "./page-wire";

interface Embedded {
  title: string;
  view: string;
  traces: Source[];
}

/** Sends blocks of traces ahead. Without `isLast` it leaves the last one, which may be incomplete. */
function sendBlocks(isLast: boolean) {
  for (const block of document.querySelectorAll("script.block"))
    if (isLast || block.nextElementSibling) {
      post({ is: "block", text: block.textContent ?? "" });
      block.remove();
    }
}

/** Calls `then` when the whole page is read. Meanwhile the worker unpacks the blocks that are. */
export function whenRead(then: () => void) {
  const finish = () => {
    watch.disconnect();
    sendBlocks(true);
    then();
  };
  const watch = new MutationObserver(() => sendBlocks(false));
  watch.observe(document.body, { childList: true });
  if (document.readyState === "loading") listen(document, "DOMContentLoaded", finish);
  else finish();
}

/** Returns the traces that `thrum html` has embedded; null: a page without any, or cut in their list. */
export function embedded(): Embedded | null {
  const list = document.getElementById("traces");
  return list?.nextSibling ? (JSON.parse(list.textContent ?? "") as Embedded) : null;
}

async function read(files: File[]): Promise<Source[]> {
  return Promise.all(
    files.map(async (file) => ({ name: file.name, blocks: await file.arrayBuffer() })),
  );
}

type Open = (sources: Source[], add: boolean, compares: boolean) => void;

/**
 * `open` gets the chosen or dropped files; `add`: below the open traces, else in their place;
 * `compares`: to compare them with the open one.
 */
export function listenToFiles(open: Open) {
  const input = byId<HTMLInputElement>("files");
  const drop = byId("drop");
  let compares = false;
  const take = async (files: File[], add: boolean, compares = false) => {
    if (files.length === 0) return;
    try {
      open(await read(files), add, compares);
    } catch (error) {
      const names = files.map(({ name }) => name).join(", ");
      notice(
        `${names} can't be read: ${String(error)}.`,
        "Check that it still exists and is a file.",
        true,
      );
    }
  };
  const choose = (isToCompare: boolean) => () => {
    compares = isToCompare;
    input.click();
  };
  for (const id of ["open-button", "open-first"]) listen(byId(id), "click", choose(false));
  listen(byId("compare-button"), "click", choose(true));
  onChange(({ parts }) => {
    if (parts) byId("compare-button").hidden = parts.length !== 1;
  });
  listen(input, "change", () => {
    void take([...(input.files ?? [])], compares, compares);
    input.value = ""; // so that choosing the same file again is a change
  });
  listen(document, "dragover", (event) => {
    event.preventDefault();
    if (!event.dataTransfer?.types.includes("Files")) return;
    drop.firstElementChild!.textContent = now.parts.length ? "Drop to open below" : "Drop to open";
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
