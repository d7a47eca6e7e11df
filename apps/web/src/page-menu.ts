// SPDX-License-Identifier: ISC
// At the pointer: the card about the task that it rests on, and the picture's menu.
import type { Menu } from "./messages";
import { button, byId, listen, make, say } from "./page-dom";
import { closingButtons } from "./page-header";
import { command, helpOf, keyOf, now, on, onChange, post } from "./page-wire";
import { setTab } from "./panel";
import { showTasks } from "./panel-tables";

const REST_MS = 400; // the pointer rests before the card appears
const APART = 14; // px between them
const EDGE = 8; // px to the window's edge

type Canvas = () => HTMLCanvasElement | undefined;

/** Puts an element beside a place, inside the window. */
function placeAt(element: HTMLElement, x: number, y: number, apart: number) {
  element.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = element;
  const right = x + apart + width + EDGE <= innerWidth ? x + apart : x - apart - width;
  const below = y + apart + height + EDGE <= innerHeight ? y + apart : y - apart - height;
  element.style.left = `${Math.max(right, EDGE)}px`;
  element.style.top = `${Math.max(below, EDGE)}px`;
}

/** Shows the card while the pointer rests on a task. */
export function makeCard(canvas: Canvas) {
  const card = byId("card");
  let words = "";
  let timer = 0;
  const hide = () => {
    window.clearTimeout(timer);
    card.hidden = true;
  };
  onChange(({ status }) => {
    if (!status) return;
    words = status.card.join("\n");
    if (!words) card.hidden = true;
  });
  listen(document, "pointermove", (event) => {
    hide();
    if (event.target !== canvas() || event.buttons || event.pointerType !== "mouse") return;
    timer = window.setTimeout(() => {
      if (!words || !byId("menu").hidden) return;
      card.textContent = words;
      placeAt(card, event.clientX, event.clientY, APART);
    }, REST_MS);
  });
  for (const end of ["pointerdown", "wheel", "keydown"] as const)
    listen(document, end, hide, { capture: true, passive: true });
}

async function copy(words: string) {
  try {
    await navigator.clipboard.writeText(words);
  } catch {
    // A page that isn't secure may only copy through a selection.
    const field = make("textarea", {}, words);
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  byId("seen").textContent = "Copied";
  say("Copied");
}

export const copyLink = () => copy(location.href);

/** An item that runs a command, with its key. */
const commandItem = (name: string, words = helpOf(name)): HTMLElement => {
  const item = button(words, () => command(name));
  item.append(make("kbd", { "aria-hidden": "true" }, keyOf(name)));
  return item;
};

function itemsOf({ task, name }: Menu): HTMLElement[] {
  const about =
    task < 0
      ? []
      : [
          button("Details", () => setTab("details")),
          commandItem("slow", "Why slow"),
          commandItem("alone", "Show it alone"),
          commandItem("awaited", "Go to the task it waits for"),
          commandItem("waker", "Go to the task that woke it"),
          commandItem("creator", "Go to the task that created it"),
          button("List tasks of this name", () => showTasks(name)),
          button("Copy name", () => void copy(name)),
          make("hr"),
        ];
  const found = byId<HTMLInputElement>("search").value && task < 0;
  return [
    ...about,
    ...(found ? [commandItem("alone", "Hide what the search didn’t find")] : []),
    commandItem("fit", "Fit"),
    commandItem("back", "Back"),
    button("Copy link", () => void copyLink()),
    ...closingButtons(),
  ];
}

/** The menu of the picture, on a press of the right button or of the menu key. */
export function makeMenu(canvas: Canvas) {
  const menu = byId("menu");
  let at = { x: 0, y: 0 };
  const close = () => {
    if (menu.hidden) return;
    menu.hidden = true;
    canvas()?.focus();
  };
  listen(document, "contextmenu", (event) => {
    const target = canvas();
    if (event.defaultPrevented || event.target !== target || now.parts.length === 0) return;
    event.preventDefault();
    const box = target!.getBoundingClientRect();
    at = { x: event.clientX, y: event.clientY };
    post({ is: "menu", x: at.x - box.left, y: at.y - box.top });
  });
  on("menu", ({ menu: about }) => {
    const items = itemsOf(about);
    for (const item of items) if (item.tagName !== "HR") item.setAttribute("role", "menuitem");
    menu.replaceChildren(...items);
    placeAt(menu, at.x, at.y, 2);
    items[0]?.focus();
  });
  listen(menu, "click", close);
  listen(document, "pointerdown", (event) => {
    if (!menu.contains(event.target as Node)) menu.hidden = true;
  });
  listen(menu, "keydown", (event) => {
    const items = [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (step) {
      const index = items.indexOf(document.activeElement as HTMLElement);
      items[(index + step + items.length) % items.length]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
