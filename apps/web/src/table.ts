// SPDX-License-Identifier: ISC
// A table that asks for its rows when they become visible, so that a million rows are as quick as
// ten. The worker sorts and narrows.
import { count, listen, make, throttled } from "./page-dom";
import type { Column, NarrowedBy, Row, TableHead, TableName } from "./messages";
import { now, post } from "./page-wire";

const BLOCK = 128; // rows in a question for rows
const BLOCKS_KEPT = 64;
const TALLEST = 8_000_000; // pixels; browsers have a limit between 16 and 33 million

export interface Asked {
  sort?: number;
  descending?: boolean;
  text?: string;
  by?: NarrowedBy;
}

interface Listeners {
  choose(row: Row): void;
  hover?(row: Row | null): void;
  /** `starts`: the table was asked for with another text or narrowing, and begins at its first row. */
  head?(head: TableHead, starts: boolean): void;
  /** The user chose another order. */
  sort?(): void;
  /** A number that counts tasks was clicked. */
  count?(row: number, column: number): void;
}

let tables = 0;

const LABEL = 104; // least px of a column that takes the rest of the width
/** Widths in px of columns that need more than a number or a word. */
const WIDTHS: Record<string, number> = { start: 88, site: 220, failure: 160, task: 72, parent: 72 };

/** The width of a column that counts tasks: that of all of them, if that is more than usual. */
const countWidth = () => Math.max(64, 22 + 8 * count(now.parts[now.focus]?.tasks ?? 0).length);

/** A column's width: fixed, so that titles stay where they are, whatever rows are in sight. */
function widthOf({ name, right }: Column): string {
  if (["label", "counter", "site"].includes(name) && !WIDTHS[name]) return "auto";
  if (name === "tasks") return `${countWidth()}px`;
  return `${WIDTHS[name] ?? (right ? Math.max(64, 24 + 6 * name.length) : 72)}px`;
}

export class VirtualTable {
  readonly element: HTMLElement;
  head: TableHead | null = null;
  /** Whether the selected task is kept visible, until the user scrolls. */
  follows = false;
  #name: TableName;
  readonly #listeners: Listeners;
  readonly #id = `table${++tables}`;
  readonly #table: HTMLTableElement;
  readonly #titles = make("tr");
  readonly #body = make("tbody");
  readonly #spacer: HTMLElement;
  readonly #blocks = new Map<number, Row[] | null>(); // null: asked for, not answered yet
  #asked: Asked = {};
  #isAsking = false;
  #asksAgain = false;
  #widths: number[] = []; // px, the columns' least widths
  #starts = false; // the next answer is shown from its first row on
  #shown: number[] = []; // columns
  #first = 0; // the row at the top, with its fraction
  #setTop = -1; // the scroll position that was set for #first
  #active = -1; // the row for the keyboard
  #mark = -1; // the tally whose row is marked like the selected task

  constructor(words: string, name: TableName, listeners: Listeners) {
    this.#name = name;
    this.#listeners = listeners;
    this.#table = make(
      "table",
      { role: "grid", "aria-label": words, tabindex: "0" },
      make("thead", {}, this.#titles),
      this.#body,
    );
    this.#spacer = make("div", { class: "spacer" }, this.#table);
    this.element = make("div", { class: "scroller" }, this.#spacer);
    listen(this.element, "scroll", () => this.#scrolled());
    listen(this.element, "wheel", (event) => this.#wheel(event), {
      passive: false,
    });
    listen(this.#table, "keydown", (event) => this.#key(event));
    listen(this.#body, "click", (event) => this.#click(event));
    listen(this.#body, "pointerover", (event) => {
      const row = this.#rowOf(event);
      if (row) listeners.hover?.(row);
    });
    listen(this.#body, "pointerleave", () => listeners.hover?.(null));
    new ResizeObserver(throttled(16, () => this.#goTo(this.#first))).observe(this.element);
  }

  // ---- Asking -------------------------------------------------------------------------------

  /** Shows another part or another table, in its usual order. */
  reset(change: Asked = {}, name: TableName = this.#name) {
    this.#name = name;
    this.#isAsking = this.#asksAgain = false;
    this.head = null;
    this.#active = this.#mark = -1;
    this.#goTo(0);
    this.ask({ sort: undefined, descending: undefined, ...change });
    this.#starts = false;
  }

  /** Asks for the table. While an answer is awaited, only the last question waits. */
  ask(change: Asked = {}) {
    Object.assign(this.#asked, change);
    if (change.text !== undefined || change.by !== undefined) this.#starts = true;
    if (this.#isAsking) {
      this.#asksAgain = true;
      return;
    }
    this.#isAsking = true;
    post({ is: "table", part: now.focus, table: this.#name, ...this.#asked });
  }

  isIts(part: number, name: TableName) {
    return part === now.focus && name === this.#name;
  }

  answer(head: TableHead) {
    if (!this.isIts(head.part, head.table)) return;
    const isNew = !this.head || this.head.table !== head.table;
    this.head = head;
    this.#isAsking = false;
    this.#blocks.clear();
    this.#active = Math.min(this.#active, head.count - 1);
    const place = (index: number) => head.columns[index]!.place;
    this.#shown = [...head.columns.keys()]
      .filter((index) => place(index) >= 0)
      .sort((a, b) => place(a) - place(b));
    if (isNew) this.#body.replaceChildren();
    this.#makeTitles(head);
    this.#table.setAttribute("aria-rowcount", String(head.count + 1));
    this.#table.setAttribute("aria-colcount", String(this.#shown.length));
    const starts = this.#starts;
    if (!this.#asksAgain) this.#starts = false;
    this.#goTo(starts ? 0 : this.#first);
    this.#listeners.head?.(head, starts);
    if (this.#asksAgain) {
      this.#asksAgain = false;
      this.ask();
    }
  }

  answerRows(first: number, rows: Row[]) {
    this.#blocks.set(first / BLOCK, rows);
    this.draw();
  }

  #row(index: number): Row | null {
    const block = Math.floor(index / BLOCK);
    if (!this.#blocks.has(block)) {
      if (this.#blocks.size > BLOCKS_KEPT) this.#blocks.delete(this.#blocks.keys().next().value!);
      this.#blocks.set(block, null);
      const table = this.#name;
      post({
        is: "rows",
        part: now.focus,
        table,
        first: block * BLOCK,
        count: BLOCK,
      });
    }
    return this.#blocks.get(block)?.[index % BLOCK] ?? null;
  }

  // ---- Showing ------------------------------------------------------------------------------

  #makeTitles(head: TableHead) {
    const focused = (document.activeElement as HTMLElement | null)?.dataset.column;
    this.#titles.replaceChildren(
      ...this.#shown.map((index) => {
        const column = head.columns[index]!;
        const title = make("button", { type: "button" }, column.name.replaceAll("-", " "));
        title.dataset.column = `${this.#id}-${index}`;
        listen(title, "click", () => {
          const isSorted = index === head.sorted;
          this.ask({
            sort: index,
            descending: isSorted ? !head.descending : undefined,
          });
          this.#listeners.sort?.();
        });
        const sort = index !== head.sorted ? "none" : head.descending ? "descending" : "ascending";
        const side = column.right ? "right" : "left";
        const cell = make("th", { scope: "col", class: side, "aria-sort": sort }, title);
        cell.style.width = widthOf(column);
        return cell;
      }),
    );
    // The labels give the counts their room.
    const label = LABEL + 64 - countWidth();
    this.#widths = this.#shown.map((index) => parseInt(widthOf(head.columns[index]!)) || label);
    for (const title of this.#titles.querySelectorAll("button"))
      if (title.dataset.column === focused) title.focus();
  }

  #rowHeight() {
    return parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 24;
  }

  /** The number of rows that fit, with fraction. */
  #page() {
    return Math.max(this.element.clientHeight / this.#rowHeight() - 1, 1);
  }

  #count() {
    return this.head?.count ?? 0;
  }

  #isScaled() {
    return this.#count() * this.#rowHeight() > TALLEST;
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    if (Math.abs(scrollTop - this.#setTop) < 1) return;
    this.#setTop = -1;
    this.follows = false;
    const share = scrollTop / Math.max(scrollHeight - clientHeight, 1);
    this.#first = this.#isScaled()
      ? share * Math.max(this.#count() - this.#page(), 0)
      : scrollTop / this.#rowHeight();
    this.draw();
  }

  /** Where a pixel of the scroll bar is many rows, the wheel still moves by rows. */
  #wheel(event: WheelEvent) {
    if (!this.#isScaled() || event.deltaY === 0) return;
    event.preventDefault();
    this.#goTo(this.#first + event.deltaY / this.#rowHeight());
  }

  /** The table's width: labels also take what the columns that are seen whole leave of the panel's. */
  #width() {
    let least = 0;
    let free = this.element.clientWidth;
    for (const width of this.#widths) {
      least += width;
      if (least <= this.element.clientWidth) free -= width;
    }
    return least + free;
  }

  #goTo(first: number) {
    const last = Math.max(this.#count() - this.#page(), 0);
    this.#first = Math.min(Math.max(first, 0), last);
    const height = this.#rowHeight();
    const all = Math.min((this.#count() + 1) * height, TALLEST);
    this.#spacer.style.height = `${all}px`;
    this.#table.style.width = `${this.#width()}px`;
    const top = this.#isScaled()
      ? (this.#first / last) * (all - this.element.clientHeight)
      : this.#first * height;
    this.#setTop = top;
    this.element.scrollTop = top;
    this.draw();
  }

  /** Scrolls until a row is visible. */
  reveal(index: number) {
    if (this.element.clientHeight === 0) this.#goTo(index - 3);
    else if (index < this.#first) this.#goTo(index);
    else if (index + 1 > this.#first + this.#page()) this.#goTo(index + 1 - this.#page());
    else this.draw();
  }

  draw() {
    const start = Math.floor(this.#first);
    const count = Math.min(Math.ceil(this.#page()) + 1, Math.max(this.#count() - start, 0));
    if (this.element.clientHeight === 0) return;
    while (this.#body.rows.length > count) this.#body.deleteRow(-1);
    for (let place = 0; place < count; place++)
      this.#fill(this.#body.rows[place] ?? this.#body.insertRow(), start + place);
    const shift = (this.#first - start) * this.#rowHeight();
    this.#body.style.transform = `translateY(${-shift}px)`;
    if (this.#active >= 0) this.#table.setAttribute("aria-activedescendant", `${this.#id}-active`);
    else this.#table.removeAttribute("aria-activedescendant");
  }

  #fill(element: HTMLTableRowElement, index: number) {
    const row = this.#row(index);
    while (element.cells.length > this.#shown.length) element.deleteCell(-1);
    this.#shown.forEach((column, place) => {
      const cell = element.cells[place] ?? element.insertCell();
      const words = row?.cells[column] ?? "";
      const { right, counts } = this.head!.columns[column]!;
      const isLink = counts && words !== "" && words !== "0";
      const isUnnamed = row?.unnamed && this.head!.columns[column]!.name === "label";
      cell.className = right ? "right" : isUnnamed ? "left aside" : "left";
      cell.title = right ? "" : words;
      if (cell.textContent === words && isLink === !!cell.firstElementChild) return;
      cell.replaceChildren(isLink ? make("span", { role: "link" }, words) : words);
    });
    const isSelected =
      !!row &&
      ((row.task >= 0 && row.task === now.selected) ||
        (this.#mark >= 0 && row.tally === this.#mark));
    element.setAttribute("aria-rowindex", String(index + 2));
    element.setAttribute("aria-selected", String(isSelected));
    element.toggleAttribute("data-active", index === this.#active);
    if (index === this.#active) element.id = `${this.#id}-active`;
    else element.removeAttribute("id");
  }

  /** Marks the row of a tally. */
  markTally(tally: number) {
    this.#mark = tally;
    this.draw();
  }

  // ---- Input --------------------------------------------------------------------------------

  #indexOf(event: Event): number {
    const element = (event.target as Element).closest("tr");
    return element ? Number(element.getAttribute("aria-rowindex")) - 2 : -1;
  }

  #rowOf(event: Event): Row | null {
    const index = this.#indexOf(event);
    return index >= 0 && index < this.#count() ? this.#row(index) : null;
  }

  #click(event: Event) {
    const row = this.#rowOf(event);
    if (!row) return;
    this.#active = this.#indexOf(event);
    this.draw();
    const count = (event.target as Element).closest("[role=link]")?.closest("td");
    if (!count) return this.#listeners.choose(row);
    event.stopPropagation(); // not a link of a document
    this.#listeners.count?.(this.#active, this.#shown[count.cellIndex]!);
  }

  #key(event: KeyboardEvent) {
    if (event.target !== this.#table || event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.floor(this.#page());
    const step: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -this.#count(),
      End: this.#count(),
    };
    const by = step[event.key];
    if (by !== undefined) {
      this.follows = false;
      this.#active = Math.min(Math.max(this.#active + by, 0), this.#count() - 1);
      const row = this.#active >= 0 ? this.#row(this.#active) : null;
      this.#listeners.hover?.(row);
      this.reveal(this.#active);
    } else if (event.key === "Enter" && this.#active >= 0) {
      const row = this.#row(this.#active);
      if (row) this.#listeners.choose(row);
    } else return;
    event.preventDefault();
  }
}
