// SPDX-License-Identifier: ISC
// The header with name, search, buttons and menus, and the status line.
import { WITH_SHIFT } from "core:numbers";
import { button, byId, count, listen, make, saveFile, say, withData } from "./page-dom";
import { drag, listenToHeld } from "./page-input";
import { notice } from "./page-notices";
import { command, helpOf, keyOf, now, on, onChange, post } from "./page-wire";
import { applyTheme } from "./page-theme";
import type { Format, TableName } from "./messages";
import { openTab, setTab } from "./panel";

/** Commands that the menu "View" switches. */
const SWITCHES = ["squeeze", "fisheye", "related", "legend"];
/** Commands in the status line, from its right; the last ones give way to longer words. */
const HINTS: [string, string][] = [
  ["help", "all keys"],
  ["details", "details"],
  ["bands", "rows or bands"],
  ["fold", "fold idle"],
  ["fit", "fit"],
];

/** Menus close on Escape and when something else is clicked or focused. */
function makeMenus() {
  const menus = [...document.querySelectorAll<HTMLDetailsElement>("details.menu")];
  const closeOthers = (stays?: Element | null) => {
    for (const menu of menus) if (menu !== stays) menu.open = false;
  };
  listen(document, "pointerdown", (event) =>
    closeOthers((event.target as Element).closest("details.menu")),
  );
  for (const menu of menus) {
    listen(menu, "focusout", (event) => {
      if (event.relatedTarget && !menu.contains(event.relatedTarget as Node)) menu.open = false;
    });
    listen(menu, "keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.preventDefault();
      menu.open = false;
      menu.querySelector("summary")?.focus();
    });
    listen(menu, "click", (event) => {
      if ((event.target as Element).closest("button")) menu.open = false;
    });
  }
}

function check(words: string, act: (isOn: boolean) => void, key = ""): HTMLLabelElement {
  const box = make("input", { type: "checkbox" });
  listen(box, "change", () => act(box.checked));
  const label = make("label", {}, box, make("bdi", {}, words));
  if (key) label.append(make("kbd", { "aria-hidden": "true" }, key));
  return label;
}

const setCheck = (label: HTMLElement, isOn: boolean) => {
  label.querySelector("input")!.checked = isOn;
};

/** Buttons that close one of several traces. */
export const closingButtons = () =>
  now.parts.length < 2
    ? []
    : now.parts.map(({ name }, part) => button(`Close ${name}`, () => post({ is: "close", part })));

function makeViewMenu() {
  const switches = make("div");
  const items = new Map<string, HTMLLabelElement>();
  const measure = check(
    "Measure by dragging",
    (isOn) => (drag.with = isOn ? WITH_SHIFT : 0),
    "Shift",
  );
  const link = check("Share one time axis", (isOn) => post({ is: "link", on: isOn }));
  on("ready", () => {
    switches.replaceChildren();
    for (const name of SWITCHES) {
      const item = check(helpOf(name), () => command(name), keyOf(name));
      items.set(name, item);
      switches.append(item);
    }
    switches.append(measure, link);
  });
  byId("view-menu").prepend(switches);
  byId("view-menu").append(button("Go to a time…", () => command("go-to-time")));
  byId("view-menu").append(button("Mark a time…", () => command("mark")));
  const closing = make("div");
  byId("view-menu").append(closing);
  onChange(({ parts }) => {
    if (parts) closing.replaceChildren(...closingButtons());
  });
  onChange((changes) => {
    if (changes.on) for (const [name, item] of items) setCheck(item, changes.on.includes(name));
    if (changes.linked !== undefined) setCheck(link, changes.linked);
    link.hidden = now.parts.length < 2;
  });
}

const MANY = 12; // counters, from which on the menu groups them

/** The switches of a part's counters; those of many stand below the path that they share. */
function countersOf(index: number): HTMLElement[] {
  const { counters } = now.parts[index]!;
  const groups = new Map<string, HTMLElement>();
  const items = counters.map(({ name, shown }, counter) => {
    const path = counters.length < MANY ? "" : name.slice(0, Math.max(name.lastIndexOf("/"), 0));
    const words = (path && name.slice(path.length + 1)) || name;
    const item = check(words, (on) => post({ is: "counter", part: index, counter, on }));
    setCheck(item, shown);
    if (!path) return item;
    const group =
      groups.get(path) ??
      make("div", { role: "group", "aria-label": path }, make("bdi", { class: "aside" }, path));
    groups.set(path, group);
    group.append(item);
    return group;
  });
  return [...new Set(items)];
}

function makeCounters() {
  const list = byId("counters");
  const menu = byId("counters-menu");
  const all = check("Show counters", () => command("counters"), "c");
  const build = () => {
    const focused = [...list.querySelectorAll("input")].indexOf(
      document.activeElement as HTMLInputElement,
    );
    list.replaceChildren(all);
    now.parts.forEach(({ name, counters }, index) => {
      if (counters.length === 0) return;
      const legend = make("legend", {}, now.parts.length > 1 ? name : "One by one");
      list.append(make("fieldset", {}, legend, ...countersOf(index)));
    });
    menu.hidden = !now.parts.some(({ counters }) => counters.length);
    list.querySelectorAll("input")[focused]?.focus();
  };
  const summary = menu.firstElementChild as HTMLElement;
  listen(summary, "click", (event) => {
    if (summary.ariaDisabled === "true") event.preventDefault();
  });
  onChange((changes) => {
    if (changes.parts) build();
    if (!changes.on) return;
    const isOff = changes.on.includes("bands");
    const isOn = !isOff && changes.on.includes("counters");
    setCheck(all, isOn);
    menu.classList.toggle("on", isOn);
    summary.ariaDisabled = String(isOff);
    summary.title = isOff ? "Only rows show counters" : "";
    if (isOff) menu.removeAttribute("open");
  });
}

function makeSearch() {
  const field = byId<HTMLInputElement>("search");
  const found = byId("found");
  const form = byId("find");
  listen(field, "input", () => post({ is: "search", text: field.value }));
  listen(form, "submit", (event) => event.preventDefault());
  listen(field, "keydown", (event) => {
    if (event.key === "Enter") command(event.shiftKey ? "previous-match" : "next-match");
    else if (event.key === "Escape") {
      field.value = "";
      post({ is: "search", text: "" });
      document.body.classList.remove("searching");
      byId("canvas").focus();
    } else return;
    event.preventDefault();
  });
  onChange(({ search }) => {
    if (!search) return;
    // While the user types, the field is ahead of the worker.
    if (document.activeElement !== field) field.value = search.text;
    form.classList.toggle("filled", search.text !== "");
    found.textContent = !search.text
      ? ""
      : search.at
        ? `${count(search.at)} of ${count(search.found)}`
        : `${count(search.found)} found`;
    if (search.text) say(found.textContent);
  });
  const open = () => {
    document.body.classList.add("searching");
    document.body.classList.remove("more");
    field.focus();
    field.select();
  };
  listen(byId("find-button"), "click", open);
  return open;
}

function makeStatus() {
  let seen = "";
  on("ready", () => {
    const hints = HINTS.map(([name, words]) =>
      make("span", {}, make("kbd", {}, keyOf(name)), ` ${words}`),
    );
    byId("hints").replaceChildren(...hints);
  });
  onChange(({ status }) => {
    if (!status) return;
    byId("pointer").textContent = status.pointer;
    // Words that were told there meanwhile stay until the picture changes.
    if (status.seen !== seen) byId("seen").textContent = seen = status.seen;
  });
}

function showFindings() {
  setTab("findings");
  byId("findings").scrollIntoView();
}

function makeNames() {
  let findings = "";
  onChange(({ parts, focus, findingWords }) => {
    const part = now.parts[now.focus];
    findings = findingWords ?? findings;
    if (!part || (!parts && focus === undefined)) return;
    byId("name").textContent = part.name;
    byId("words").replaceChildren(part.words);
    if (findings) byId("words").append(" · ", button(findings, showFindings, { class: "plain" }));
    const title = now.parts.map(({ name }) => name).join(", ");
    document.title = now.title || `${title} – thrum`;
    const summary = now.parts.map((each) =>
      [each.name, each.words, each.findingWords].filter(Boolean).join(", "),
    );
    byId("canvas").setAttribute(
      "aria-label",
      `Picture of ${summary.join("; ")}. The panel lists its tasks and findings as text.`,
    );
  });
}

function makeFullScreen() {
  if (!document.fullscreenEnabled) return;
  const toggle = () =>
    document.fullscreenElement
      ? void document.exitFullscreen()
      : void document.documentElement.requestFullscreen();
  const slim = byId("full-screen-button");
  slim.hidden = !document.body.classList.contains("embed");
  listen(slim, "click", toggle);
  byId("view-menu").append(button("Full screen", toggle));
}

/** The chosen range, or the visible time; nothing if that is all of the recording. */
const chosenTime = () =>
  ["range", "t"]
    .map((key) => new RegExp(`[#&]${key}=(\\d+)\\.\\.(\\d+)`).exec(location.hash))
    .find(Boolean);

/** Tells how to save the chosen time as a recording: the page has no recorder. */
function tellCut() {
  const [, from, to] = chosenTime() ?? [];
  const name = (now.parts[now.focus]?.name ?? "").replaceAll("'", "'\\''");
  if (from)
    notice(
      `thrum snapshot '${name}' --start=${from} --end=${to} -o part.thrum`,
      "This command saves this time as a recording of its own.",
      false,
    );
}

/** Prints the page with the picture as SVG, whose texts and edges are sharp on paper: a canvas isn't. */
async function print(bytes: Blob) {
  const src = URL.createObjectURL(bytes);
  const image = make("img", { id: "print", src, alt: "" });
  await image.decode();
  byId("picture").append(image);
  const remove = () => {
    image.remove();
    URL.revokeObjectURL(src);
  };
  listen(window, "afterprint", remove, { once: true });
  window.print();
}

/** `tableOf` returns the table of a tab. Returns a function that moves the focus to the search. */
export function makeHeader(tableOf: (tab: string) => TableName): () => void {
  makeMenus();
  makeViewMenu();
  makeCounters();
  makeStatus();
  makeNames();
  makeFullScreen();
  withData("command", (element, name) => listen(element, "click", () => command(name)));
  withData("hold", listenToHeld);
  const askFor = (format: Format) => {
    const table = format === "csv" ? tableOf(openTab()) : undefined;
    post({ is: "export", format, part: now.focus, table });
  };
  withData("export", (element, format) => listen(element, "click", () => askFor(format as Format)));
  on("file", ({ name, bytes }) => (name ? saveFile(name, bytes) : void print(bytes)));
  listen(document, "keydown", (event) => {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || now.parts.length === 0) return;
    event.preventDefault();
    askFor("print");
  });
  // Paper is light.
  listen(window, "beforeprint", () => (document.documentElement.dataset.theme = "light"));
  listen(window, "afterprint", applyTheme);
  const cut = byId<HTMLButtonElement>("cut");
  listen(cut, "click", tellCut);
  listen(byId("export-menu"), "toggle", () => {
    cut.disabled = !chosenTime();
    cut.title = cut.disabled ? "All of the recording is visible: zoom in to save a part of it" : "";
  });
  const more = byId("more-button");
  const setMore = (isOpen: boolean) => {
    document.body.classList.toggle("more", isOpen);
    more.setAttribute("aria-expanded", String(isOpen));
  };
  listen(more, "click", () => setMore(more.getAttribute("aria-expanded") !== "true"));
  listen(document, "pointerdown", (event) => {
    if (!(event.target as Element).closest("header")) setMore(false);
  });
  const as = [...byId("as").children]; // rows, bands
  for (const choice of as)
    listen(choice, "click", () => {
      if (choice.ariaPressed !== "true") command("bands");
    });
  onChange(({ on: names }) => {
    if (!names) return;
    as.forEach((choice, i) =>
      choice.setAttribute("aria-pressed", String(names.includes("bands") === (i === 1))),
    );
    const fold = document.querySelector("[data-command=fold]");
    fold?.setAttribute("aria-pressed", String(names.includes("fold")));
  });
  return makeSearch();
}
