// SPDX-License-Identifier: ISC
// The tabs "Tasks" and "Statistics": tables, and the histogram, whose range narrows the tasks.
import { CHART_HEIGHT } from "core:numbers";
import { button, byId, count, listen, make, throttled } from "./page-dom";
import type { NarrowedBy, TableHead, TableName, Words } from "./messages";
import { isShown, now, on, onChange, onTrace, post } from "./page-wire";
import { setTab } from "./panel";
import { VirtualTable } from "./table";

const ALL = -1; // the histogram's tally: all tasks

/** A drop-down whose entries come with "ready". */
function choice(words: string, names: (words: Words) => string[], act: (index: number) => void) {
  const select = make("select");
  on("ready", (message) => {
    if (select.options.length > 0) return; // another worker says the same
    select.append(...names(message.words).map((name) => make("option", {}, name)));
  });
  listen(select, "change", () => act(select.selectedIndex));
  return make("label", {}, words, " ", select);
}

/** The tables that can be chosen as statistics. */
const groups = ({ tables }: Words) =>
  (Object.keys(tables) as TableName[]).filter((name) => name !== "task");

/**
 * Narrows the list of tasks. `words` describe the tasks; "": all. Unless `isWanted`, it only follows
 * a change of the range or number by which the list is narrowed already.
 */
type Narrow = (words: string, by: NarrowedBy, isWanted: boolean) => void;

/** Goes to a task in the picture, and tells about it. */
function goTask(task: number) {
  post({ is: "go", part: now.focus, task });
  setTab("details");
}

let filterTasks: (text: string) => void;

/** Shows the tasks that a search finds. */
export function showTasks(text: string) {
  filterTasks(text);
  setTab("tasks");
}

/** The list of tasks. */
function makeTasks(): Narrow {
  const table = new VirtualTable("Tasks", "task", {
    choose: ({ task }) => goTask(task),
    hover: (row) => post({ is: "hover", part: now.focus, task: row?.task ?? -1 }),
    head: (head, starts) => {
      const isAll = head.count === head.all;
      shown.textContent = isAll ? "" : head.fault || `${count(head.count)} of ${count(head.all)}`;
      if (order) sortAs(head);
      else if (starts) table.follows = false;
      else follow();
      tell(head);
    },
    sort: () => (order = ""),
  });
  let order = ""; // the address asks for it
  /** Sorts by a column that the address names: "life", or "-life" with the greatest first. */
  const sortAs = (head: TableHead) => {
    const descending = order.startsWith("-");
    const sort = head.columns.findIndex(({ name }) => name === order.slice(Number(descending)));
    order = "";
    if (sort >= 0 && (sort !== head.sorted || descending !== head.descending))
      table.ask({ sort, descending });
  };
  let told = { order: "", filter: "" }; // to the address
  const tell = ({ columns, sorted, descending }: TableHead) => {
    const sort = sorted < 0 ? "" : (descending ? "-" : "") + columns[sorted]!.name;
    if (order || (sort === told.order && filter.value === told.filter)) return;
    told = { order: sort, filter: filter.value };
    post({ is: "list", ...told });
  };
  onChange(({ list }) => {
    if (!list || (list.order === told.order && list.filter === told.filter)) return;
    if (document.activeElement === filter) return; // which is ahead of the worker
    told = list;
    order = list.order;
    filter.value = list.filter;
    table.ask({ text: list.filter });
  });
  const follow = () => {
    const { focus: part, selected: task } = now;
    table.follows = task >= 0;
    if (task >= 0 && table.head) post({ is: "where", part, table: "task", task });
    else table.draw();
  };
  const filter = make("input", {
    type: "search",
    "aria-label": "Filter tasks",
    autocomplete: "off",
    spellcheck: "false",
  });
  on("ready", ({ words }) => (filter.placeholder = words.filter));
  const shown = make("output", { class: "aside" });
  let narrowedBy: NarrowedBy = "";
  const narrowed = button("", () => narrow("", "", true), { class: "chip", hidden: "" });
  const narrow: Narrow = (words, by, isWanted) => {
    if (!isWanted && by !== narrowedBy) return;
    narrowedBy = words === "" ? "" : by;
    narrowed.hidden = words === "";
    narrowed.textContent = `${words} ×`;
    narrowed.setAttribute("aria-label", `${words}: show all tasks`);
    table.ask({ by: narrowedBy });
  };
  const ask = () => table.ask({ text: filter.value });
  listen(filter, "input", ask);
  filterTasks = (text) => {
    filter.value = text;
    ask();
  };
  listen(filter, "keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    table.element.querySelector("table")?.focus();
  });
  byId("tasks").append(make("div", { class: "row" }, filter, narrowed, shown), table.element);

  on("table", ({ head }) => table.answer(head));
  on("rows", ({ part, table: name, first, rows }) => {
    if (table.isIts(part, name)) table.answerRows(first, rows);
  });
  on("where", ({ part, table: name, row }) => {
    if (!table.isIts(part, name)) return;
    if (row >= 0 && table.follows) table.reveal(row);
    else table.draw();
  });
  onTrace(() => {
    narrowed.hidden = true;
    narrowedBy = "";
    table.reset({ by: "" });
  });
  onChange(({ selected }) => {
    if (selected !== undefined && isShown()) follow();
  });
  return narrow;
}

interface Chart {
  element: HTMLElement;
  show(tally: number, name: string): void;
}

function makeChart(narrow: Narrow): Chart {
  const canvas = make("canvas", {
    role: "slider",
    tabindex: "0",
    "aria-label": "Histogram",
    "aria-valuenow": "0", // required; aria-valuetext tells the range
  });
  const title = make("h2");
  const words = make("output", {});
  const list = button("", () => {
    narrow(chosen(), "chart", true);
    setTab("tasks");
  });
  const chosen = () => `${title.textContent}: ${words.value}`;
  const hint = make("p", { class: "aside" });
  const measure = choice(
    "Measure",
    ({ measures }) => measures,
    (index) => {
      shown.measure = index;
      setRange(false);
      ask(null);
    },
  );
  on("ready", ({ words }) => {
    list.textContent = words.list;
    hint.textContent = words.hint;
  });
  const element = make(
    "section",
    { class: "chart" },
    make("div", { class: "row" }, title, measure),
    canvas,
    make("div", { class: "row" }, words, list),
    hint,
  );
  const shown = { tally: ALL, measure: 0 };
  const setRange = (isChosen: boolean) => {
    list.hidden = shown.tally === ALL && !isChosen;
    hint.hidden = isChosen;
  };
  let from: number | null = null; // where the drag began

  const ask = (choose?: [number, number] | null, key?: string, shift?: boolean) => {
    const width = canvas.clientWidth;
    if (width === 0 || !isShown()) return;
    const scale = window.devicePixelRatio;
    post({ is: "chart", part: now.focus, ...shown, width, scale, choose, key, shift });
  };
  const drag = (event: PointerEvent) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    from ??= x;
    ask([from, x]);
    setRange(true);
  };
  canvas.style.height = `${CHART_HEIGHT}px`;
  listen(canvas, "pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    from = null;
    drag(event);
  });
  listen(canvas, "pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) drag(event);
  });
  listen(canvas, "keydown", (event) => {
    const moves = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (!moves && (event.key !== "Escape" || !hint.hidden)) return;
    event.preventDefault();
    event.stopPropagation();
    ask(undefined, event.key, event.shiftKey);
    setRange(moves);
  });
  on("chart", (message) => {
    canvas.getContext("bitmaprenderer")!.transferFromImageBitmap(message.picture);
    words.value = message.words;
    canvas.setAttribute("aria-valuetext", message.words);
    narrow(list.hidden ? "" : chosen(), "chart", false);
  });
  const askAgain = throttled(50, () => ask());
  new ResizeObserver(askAgain).observe(canvas);
  onChange(({ theme }) => theme && askAgain());
  return {
    element,
    show(tally, name) {
      shown.tally = tally;
      title.textContent = name;
      setRange(false);
      ask(null);
    },
  };
}

function makeStatistics(narrow: Narrow) {
  const chart = makeChart(narrow);
  let name: TableName = "label";
  const table = new VirtualTable("Statistics", name, {
    choose: (row) => {
      if (name === "label") {
        show(row.tally, row.cells[0]!);
      } else if (row.task >= 0) {
        goTask(row.task);
        if (row.span !== undefined) post({ is: "go", part: now.focus, time: row.span });
      }
    },
    count: (row, column) => post({ is: "count", part: now.focus, table: name, row, column }),
  });
  on("count", ({ words }) => {
    narrow(words, "count", true);
    setTab("tasks");
  });
  let words: Words;
  on("ready", (message) => {
    words = message.words;
    reset.textContent = words.all;
    whole.textContent = words.whole;
  });
  const of = choice(
    "Table",
    (known) => groups(known).map((each) => known.tables[each]),
    (index) => {
      name = groups(words)[index]!;
      table.reset({}, name);
      all();
    },
  );
  const show = (tally: number, name: string) => {
    chart.show(tally, name);
    table.markTally(tally);
    reset.hidden = tally === ALL;
  };
  const all = () => show(ALL, words.all);
  const reset = button("", all);
  const whole = make("p", { class: "aside" });
  byId("statistics").append(
    make("div", { class: "row" }, of, reset, whole),
    table.element,
    chart.element,
  );
  on("table", ({ head }) => table.answer(head));
  on("rows", ({ part, table: of, first, rows }) => {
    if (table.isIts(part, of)) table.answerRows(first, rows);
  });
  onTrace(() => {
    table.reset();
    all();
  });
  return () => name;
}

/** Makes both tabs; returns a function that tells the table of a tab, for exports. */
export function makeTables(): (tab: string) => TableName {
  const group = makeStatistics(makeTasks());
  return (tab) => (tab === "statistics" ? group() : "task");
}
