// SPDX-License-Identifier: ISC
// The dialogs: help, and going to a time.
import type { Words } from "./messages";
import { byId, listen, make } from "./page-dom";
import { now, on, post } from "./page-wire";

const KEY_NAMES: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
};

function keysRow(keys: string, help: string) {
  const cell = make("td");
  for (const key of keys.split(" ")) cell.append(make("kbd", {}, KEY_NAMES[key] ?? key), " ");
  return make("tr", {}, cell, make("td", {}, help.replace("bands: ", "")));
}

const pairRow = ([word, help]: [string, string]) =>
  make("tr", {}, make("th", { scope: "row" }, word), make("td", {}, help));

function makeHelp(): () => void {
  const dialog = byId<HTMLDialogElement>("help");
  let told: Words;
  on("ready", ({ words }) => (told = words));
  const section = (title: string, rows: HTMLElement[]) =>
    make("section", {}, make("h3", {}, title), make("table", {}, ...rows));
  return () => {
    const groups = new Map<string, HTMLElement[]>();
    for (const { group, keys, help } of now.commands)
      groups.set(group, [...(groups.get(group) ?? []), keysRow(keys, help)]);
    byId("help-body").replaceChildren(
      section("Reading the picture", told.reading.map(pairRow)),
      ...[...groups].map(([group, rows]) => section(group, rows)),
      section("Pointer", told.gestures.map(pairRow)),
    );
    dialog.showModal();
  };
}

function makeGo(): () => void {
  const dialog = byId<HTMLDialogElement>("go");
  const field = byId<HTMLInputElement>("go-text");
  const refused = byId("go-refused");
  let isFresh = false; // nothing was typed yet: the field takes the visible time
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

function makeMark(): () => void {
  const dialog = byId<HTMLDialogElement>("mark");
  const field = byId<HTMLInputElement>("mark-text");

  listen(byId("mark-cancel"), "click", () => dialog.close());
  // The form closes the dialog; a refusal is told as a notice.
  listen(byId("mark-form"), "submit", () => post({ is: "mark", text: field.value }));
  return () => {
    if (dialog.open) return;
    field.value = "";
    dialog.showModal();
    field.focus();
  };
}

/** Makes the dialogs; returns functions that open them, by command. */
export const makeDialogs = () => ({ help: makeHelp(), "go-to-time": makeGo(), mark: makeMark() });

export const isGoing = () => byId<HTMLDialogElement>("go").open;
