// SPDX-License-Identifier: ISC
// Help, and going to a time.
import { byId, listen, make } from "./page-dom";
import { now, on, post } from "./page-wire";

/** What has no key. */
const POINTER = [
  ["Wheel, or two fingers", "zoom at the pointer"],
  ["Drag", "move; the grabbed track stays under the pointer"],
  ["Shift and drag", "measure"],
  ["Shift and wheel", "go up and down the tracks"],
  ["Press", "select a task; on the ground: none"],
  ["Double press", "fade what isn't related, or all again"],
  ["Drag in the strip at the top", "go there; its edges make the window longer or shorter"],
];
const KEY_NAMES: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
};

function keysRow(keys: string, help: string) {
  const cell = make("td");
  for (const key of keys.split(" ")) cell.append(make("kbd", {}, KEY_NAMES[key] ?? key), " ");
  return make("tr", {}, cell, make("td", {}, help));
}

function makeHelp(): () => void {
  const dialog = byId<HTMLDialogElement>("help");
  return () => {
    const keys = now.commands.map((known) => keysRow(known.keys, known.help));
    const pointer = POINTER.map(([what, help]) =>
      make("tr", {}, make("th", { scope: "row" }, what!), make("td", {}, help!)),
    );
    byId("help-body").replaceChildren(make("table", {}, ...keys), make("table", {}, ...pointer));
    dialog.showModal();
  };
}

function makeGo(): () => void {
  const dialog = byId<HTMLDialogElement>("go");
  const field = byId<HTMLInputElement>("go-text");
  const refused = byId("go-refused");
  let isFresh = false; // nothing typed yet: the field takes the window's words
  let isSent = false;

  on("window", ({ words }) => {
    if (isSent) dialog.close();
    else if (isFresh) {
      field.value = words;
      field.select();
    }
  });
  on("refused", ({ message }) => {
    if (!isSent) return;
    isSent = false;
    refused.textContent = message;
    field.focus();
  });
  listen(field, "input", () => (isFresh = false));
  listen(byId("go-cancel"), "click", () => dialog.close());
  listen(byId("go-form"), "submit", (event) => {
    event.preventDefault();
    isSent = true;
    post({ is: "goText", text: field.value });
  });
  return () => {
    isFresh = true;
    isSent = false;
    refused.textContent = "";
    post({ is: "window" });
    dialog.showModal();
    field.focus();
  };
}

/** What the commands "help" and "go-to-time" open. */
export const makeDialogs = () => ({ help: makeHelp(), "go-to-time": makeGo() });

export const isGoing = () => byId<HTMLDialogElement>("go").open;
