// SPDX-License-Identifier: ISC
// Unpacks the page's markup, style and scripts, which build.mjs has packed, and starts them. The page's
// policy names their hashes, so nothing else can be started this way.

import { isAble } from "./page-able";
import { fromText, gunzip } from "./unpack";

interface Bundle {
  body: string;
  style: string;
  worker: string;
  page: string;
}

function add(name: "style" | "script", text: string): void {
  const element = document.createElement(name);
  element.textContent = text;
  document.head.append(element);
}

async function boot(): Promise<void> {
  const element = document.getElementById("bundle")!;
  const bytes = await gunzip(fromText(element.textContent ?? ""));
  const { body, style, worker, page } = JSON.parse(new TextDecoder().decode(bytes)) as Bundle;
  element.remove();
  document.body.prepend(...new DOMParser().parseFromString(body, "text/html").body.childNodes);
  document.getElementById("worker")!.textContent = worker;
  add("style", style);
  document.documentElement.hidden = false; // the page's script measures elements
  add("script", page);
}

const tellIncomplete = window.onload!; // by page.html's first script
window.onload = null;
void (async () => {
  try {
    if (isAble()) await boot();
  } catch {
    tellIncomplete.call(window, new Event("load"));
  } finally {
    document.documentElement.hidden = false;
  }
})();
