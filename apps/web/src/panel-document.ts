// SPDX-License-Identifier: ISC
// Documents as elements: each role has one look. All words come from the core.
import { button, byId, isNarrow, listen, make, say, throttled } from "./page-dom";
import type { Document, Paragraph, Piece, ToWorker } from "./messages";
import { copyLink } from "./page-menu";
import { command, isShown, now, on, onChange, onTrace, post } from "./page-wire";
import { onTab, openTab, setTab } from "./panel";
import { showTasks } from "./panel-tables";

const FINDINGS_AT_ONCE = 20;
const SETTLED_MS = 500; // a range that stays so long is announced

/** The kinds of links, as members of pieces and of elements' data. */
const LINKS = ["task", "run", "time", "slow", "difference", "filter", "group"] as const;

function link(piece: Piece, part: number): HTMLElement {
  // Not a button: its words couldn't break between lines like those around them.
  const element = make("a", { role: "link", tabindex: "0" }, make("bdi", {}, piece.text));
  element.dataset.part = String(part + (piece.side ?? 0));
  for (const kind of LINKS)
    if (piece[kind] !== undefined) element.dataset[kind] = String(piece[kind]);
  return element;
}

function piece(from: Piece, part: number): Node {
  const isLink = LINKS.some((kind) => from[kind] !== undefined);
  if (!isLink && !from.bad) return make("bdi", {}, from.text);
  const element = isLink ? link(from, part) : make("bdi", {}, from.text);
  if (from.bad) element.classList.add("bad");
  return element;
}

const pieces = (from: Paragraph, part: number) => from.pieces.map((each) => piece(each, part));

/** Lines of the run that the document is about stand out. */
const marked = (from: Paragraph): Record<string, string> =>
  from.marked ? { class: "marked" } : {};

function line(from: Paragraph, part: number): HTMLElement {
  const item = make("li", marked(from), make("span", {}, ...pieces(from, part)));
  if (from.aside) item.append(make("span", { class: "at" }, piece(from.aside, part)));
  return item;
}

function step(from: Paragraph, part: number): HTMLElement {
  const number = make("i", from.number === 1 ? { class: "cause" } : {}, String(from.number ?? ""));
  const words = make("div", {}, ...pieces(from, part));
  if (from.aside) words.append(make("p", { class: "aside" }, piece(from.aside, part)));
  return make("li", {}, number, words);
}

function row(from: Paragraph, part: number, cell: "td" | "th"): HTMLElement {
  const attributes: Record<string, string> = cell === "th" ? { scope: "col" } : {};
  const element = make(
    "tr",
    marked(from),
    ...from.pieces.map((each) => make(cell, attributes, piece(each, part))),
  );
  if (from.bar !== undefined) {
    element.classList.add("bar");
    element.style.setProperty("--bar", `var(--${from.colour})`);
    element.style.setProperty("--share", `${from.bar / 10}%`);
  }
  return element;
}

/** Makes the element for adjacent paragraphs of a role: a list, a table; null: each stands alone. */
function container(role: Paragraph["role"]): HTMLElement | null {
  switch (role) {
    case "pair":
      return make("dl");
    case "line":
      return make("ul");
    case "step":
      return make("ol");
    case "row":
    case "header":
      return make("table");
    default:
      return null;
  }
}

function alone(from: Paragraph, part: number, level: number): HTMLElement {
  const words = pieces(from, part);
  if (from.role === "title") return make(`h${level}` as "h2", {}, ...words);
  if (from.role === "section") return make(`h${level + 1}` as "h3", {}, ...words);
  return make("p", { class: from.role }, ...words);
}

function put(from: Paragraph, part: number, into: HTMLElement) {
  switch (from.role) {
    case "pair":
      into.append(make("dt", {}, from.key ?? ""), make("dd", {}, ...pieces(from, part)));
      break;
    case "step":
      into.append(step(from, part));
      break;
    case "row":
      into.append(row(from, part, "td"));
      break;
    case "header":
      into.append(row(from, part, "th"));
      break;
    default:
      into.append(line(from, part));
  }
}

/** Makes a document into sections; `level` is the title's heading level. */
export function documentElements(from: Document, part: number, level: number): HTMLElement[] {
  let section = make("section");
  const sections = [section];
  let open = null as { element: HTMLElement; kind: string } | null;

  for (const paragraph of from) {
    if (paragraph.role === "section") {
      section = make("section");
      sections.push(section);
    }
    const kind = paragraph.role === "header" ? "row" : paragraph.role;
    if (open?.kind !== kind) {
      const element = container(paragraph.role);
      open = element && { element, kind };
      section.append(element ?? alone(paragraph, part, level));
    }
    if (open) put(paragraph, part, open.element);
  }
  return sections;
}

type Asked = (document: Document) => void;
const asked = new Map<number, Asked>();
let lastId = 0;

type About = Extract<ToWorker, { is: "document" }>["about"];

function askDocument(about: About, index: number, then: Asked): number {
  asked.set(++lastId, then);
  post({ is: "document", id: lastId, part: now.focus, about, index });
  return lastId;
}

/** Links go to their target and, under the pointer, show related tasks in the picture. */
export function listenToLinks(root: HTMLElement) {
  const find = (event: Event) => (event.target as Element).closest<HTMLElement>("[role=link]");
  const go = (event: Event) => {
    const data = find(event)?.dataset;
    if (!data) return;
    event.preventDefault();
    const part = Number(data.part);
    if (data.task !== undefined) goTask(part, Number(data.task));
    else if (data.run !== undefined) post({ is: "go", part, run: Number(data.run) });
    else if (data.filter !== undefined) showTasks(data.filter);
    else if (data.slow !== undefined) {
      now.selected = Number(data.slow); // soon
      post({ is: "go", part, slow: now.selected });
      askSlow();
    } else if (data.difference !== undefined)
      post({ is: "go", part, difference: Number(data.difference) });
    else if (data.group !== undefined) post({ is: "go", part, group: Number(data.group) });
    else post({ is: "go", part, time: data.time });
  };
  const hover = (event: Event, isOver: boolean) => {
    const { task, part } = find(event)?.dataset ?? {};
    if (task !== undefined)
      post({ is: "hover", part: Number(part), task: isOver ? Number(task) : -1 });
  };
  listen(root, "click", go);
  listen(root, "keydown", (event) => {
    if (event.key === "Enter") go(event);
  });
  listen(root, "pointerover", (event) => hover(event, true));
  listen(root, "pointerout", (event) => hover(event, false));
  listen(root, "focusin", (event) => hover(event, true));
  listen(root, "focusout", (event) => hover(event, false));
}

/** A link on the page about a slow task leads to another: then the details tell of that one. */
function goTask(part: number, task: number) {
  post({ is: "go", part, task }); // first, so that Back leads to this page
  if (openTab() === "slow") setTab("details");
}

let shownDocument = ""; // its tab and what it is about
let openings = 0;
let lastDetails = 0;
let nothingSelected = ""; // words

/** The question that the open tab's document answers. */
function wanted(): { about: About; index: number; part: number } {
  const { focus, selected } = now;
  const tab = openTab();
  const index = Math.max(selected, 0);
  if (tab === "differences" && now.parts.length > 1) return { about: tab, index: 0, part: 0 };
  if (tab === "slow") return { about: tab, index: selected, part: focus };
  return { about: selected >= 0 ? "task" : "trace", index, part: focus };
}

function showDocument(document: Document, about: About, part: number) {
  const article = byId("document");
  article.className = about;
  article.replaceChildren(...documentElements(document, part, 2));
  placeFindings(about);
  if (about === "slow") article.append(slowPicture(part));
  article.removeAttribute("aria-busy");
  if (isFindingWanted) scrollToFinding();
  else byId("details").scrollTop = 0;
  isFindingWanted = false;
  const isRange = tellsRange() && (about === "task" || about === "trace");
  if (isRange) {
    article.classList.add("range");
    article.append(rangeButtons());
  }
  window.clearTimeout(announcing);
  if (!isRange && (now.selected < 0 || about === "differences")) return;
  // A range is announced with its greatest differences, once it stays.
  const rows = isRange ? [...(article.querySelector("table")?.rows ?? [])] : [];
  const words = [
    ...[...article.querySelectorAll("h2, .remark")].map(({ textContent }) => textContent),
    ...rows.map(({ cells }) =>
      [...cells]
        .map(({ textContent }) => textContent)
        .join(" ")
        .trim(),
    ),
  ].join(", ");
  announcing = window.setTimeout(() => say(words), isRange ? SETTLED_MS : 0);
}
let announcing = 0;

/** The findings come first, unless something was chosen that the document tells of. */
function placeFindings(about: About) {
  const section = byId("findings");
  const isFirst = about === "trace" && !(now.subject & 5);
  if ((section.nextElementSibling === byId("document")) === isFirst) return;
  byId("details")[isFirst ? "prepend" : "append"](section);
}

/** Whether the panel tells about the range of the bands; the core tells that with the subject. */
const tellsRange = () => (now.subject & 1) > 0;

function rangeButtons(): HTMLElement {
  const open = button("Open", () => command("open"));
  return make(
    "section",
    { class: "buttons" },
    ...(now.subject & 2 ? [open] : []),
    button("Zoom here", () => command("zoom-to")),
    button("Note…", () => command("mark")),
    button("Copy link", () => void copyLink()),
  );
}

function showDetails() {
  const { about, index, part } = wanted();
  const name = `${openings} ${about} ${part} ${index}`;
  // These pages stay as they are while their links are followed.
  if ((about === "slow" || about === "differences") && name === shownDocument) return;
  shownDocument = name;
  if (index < 0) {
    lastDetails = 0;
    byId("document").removeAttribute("aria-busy");
    byId("document").replaceChildren(make("p", { class: "none" }, nothingSelected));
    return;
  }
  asked.delete(lastDetails); // the worker leaves it out if it hasn't answered
  const id = askDocument(about, index, (document) => {
    if (id === lastDetails) showDocument(document, about, part); // else another is wanted by now
  });
  lastDetails = id;
  byId("document").setAttribute("aria-busy", "true");
}

let isFindingWanted = false; // the next document stays below it

const scrollToFinding = () => byId("findings").children[now.finding + 1]?.scrollIntoView();

/** Shows the chosen finding beside the picture. */
export function showFinding() {
  setTab(isNarrow() ? "findings" : "details");
  isFindingWanted = true;
  scrollToFinding();
}

/** Shows why the selected task was slow. */
export function askSlow() {
  setTab("slow");
  showDetails();
}

/** The path of the slow task and the flame graph of its label, which come as a picture. */
function slowPicture(part: number): HTMLElement {
  const canvas = make("canvas", {
    role: "img",
    "aria-label": "Its path, and a flame graph of all tasks with its label",
  });
  const draw = () => {
    const width = canvas.clientWidth;
    if (width > 0 && canvas.isConnected)
      post({ is: "slow", width, scale: window.devicePixelRatio });
  };
  const spot = (event: MouseEvent, go: boolean) => {
    const { offsetX: x, offsetY: y } = event;
    post({ is: "spot", part, width: canvas.clientWidth, x, y, go });
  };
  drawSlow = draw;
  new ResizeObserver(throttled(50, draw)).observe(canvas);
  listen(canvas, "pointermove", (event) => spot(event, false));
  listen(canvas, "click", (event) => spot(event, true));
  return make("section", {}, canvas);
}
let drawSlow = () => {};

function findingCard(index: number): HTMLElement {
  const card = make("article", { class: "finding" });
  const part = now.focus;
  askDocument("finding", index, (document) => {
    const show = () => post({ is: "go", part, finding: index });
    card.append(...documentElements(document, part, 3), button("Show me", show));
  });
  return card;
}

let shownFindings = 0; // their number

function showFindings() {
  const count = now.parts[now.focus]?.findings ?? 0;
  shownFindings = count;
  const section = byId("findings");
  section.hidden = count === 0;
  section.replaceChildren(make("h2", { class: "small" }, `Findings ${count}`));
  const more = (first: number) => {
    const end = Math.min(first + FINDINGS_AT_ONCE, count);
    for (let index = first; index < end; index++) section.append(findingCard(index));
    if (end === count) return;
    const next = button(`${count - end} more`, () => {
      next.remove();
      more(end);
    });
    section.append(next);
  };
  more(0);
}

export function makeDetails() {
  on("document", ({ id, document }) => {
    asked.get(id)?.(document);
    asked.delete(id);
  });
  on("ready", ({ words }) => (nothingSelected = words.slow));
  on("slow", ({ picture }) => {
    const canvas = byId("document").querySelector("canvas");
    if (!canvas) return;
    canvas.style.height = `${picture.height / window.devicePixelRatio}px`;
    canvas.getContext("bitmaprenderer")!.transferFromImageBitmap(picture);
  });
  on("spot", ({ words, task }) => {
    const canvas = byId("document").querySelector("canvas");
    if (canvas) canvas.title = words;
    if (task >= 0) setTab("details");
  });
  onTrace(() => {
    showFindings();
    showDetails();
  });
  onTab(() => {
    if (isShown()) showDetails();
  });
  onChange(({ parts, selected, shown, subject, theme }) => {
    if (shown) openings++;
    if (theme) drawSlow();
    if (parts && isShown() && parts[now.focus]?.findings !== shownFindings) showFindings();
    if (!isShown()) return;
    if (subject !== undefined && tellsRange() && openTab() === "slow") setTab("details");
    if (selected !== undefined || subject !== undefined) showDetails();
  });
  listenToLinks(byId("panel"));
}
