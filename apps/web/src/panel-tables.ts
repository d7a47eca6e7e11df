// SPDX-License-Identifier: ISC
// The tabs "Tasks" and "Statistics": tables, and the histogram whose range narrows the tasks.
import { button, byId, count, listen, make, throttled } from "./page-dom";
import type { TableName } from "./messages";
import { isShown, now, on, onChange, onTrace, post } from "./page-wire";
import { VirtualTable } from "./table";

const CHART_HEIGHT = 96;
const ALL = -1; // the chart's tally: all tasks

const GROUPS: [TableName, string][] = [
  ["label", "Label"],
  ["kind", "Kind"],
  ["site", "Call site"],
  ["lane", "Lane"],
  ["counter", "Counter"],
  ["run", "Longest runs"],
];
const MEASURES = ["Life", "Running", "Waiting"];

function choice<T>(words: string, from: T[], name: (each: T) => string, act: (each: T) => void) {
  const select = make("select", {}, ...from.map((each) => make("option", {}, name(each))));
  listen(select, "change", () => act(from[select.selectedIndex]!));
  return make("label", {}, words, " ", select);
}

/** Words for what the chart chose; "": all. Tells whether the list of tasks is to show only those,
 *  or (not `isWanted`) to follow where it does already. */
type Narrow = (words: string, isWanted: boolean) => void;

/** The list of tasks. */
function makeTasks(): Narrow {
  const table = new VirtualTable("Tasks", "task", {
    choose: ({ task }) => post({ is: "go", part: now.focus, task }),
    hover: (row) => post({ is: "hover", part: now.focus, task: row?.task ?? -1 }),
    head: (head) => {
      const isAll = head.count === head.all;
      shown.textContent = isAll ? "" : `${count(head.count)} of ${count(head.all)}`;
      follow();
    },
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
    placeholder: "Filter",
    autocomplete: "off",
    spellcheck: "false",
  });
  const shown = make("output", { class: "aside" });
  const narrowed = button("", () => narrow("", true), { class: "chip", hidden: "" });
  const narrow = (words: string, isWanted: boolean) => {
    if (!isWanted && narrowed.hidden) return;
    narrowed.hidden = words === "";
    narrowed.textContent = `${words} ×`;
    narrowed.setAttribute("aria-label", `${words}: show all tasks`);
    table.ask({ chart: words !== "" });
  };
  listen(filter, "input", () => table.ask({ text: filter.value }));
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
    table.reset({ chart: false });
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

function makeChart(narrow: Narrow, openTasks: () => void): Chart {
  const canvas = make("canvas", { role: "img", "aria-label": "Histogram" });
  const title = make("h2");
  const words = make("output", {});
  const list = button("Show in list", () => {
    narrow(chosen(), true);
    openTasks();
  });
  const chosen = () => `${title.textContent}: ${words.value}`;
  const hint = make("p", { class: "aside" }, "Drag over the columns to choose a range.");
  const measure = choice("Measure", MEASURES, String, (name) => {
    shown.measure = MEASURES.indexOf(name);
    setRange(false);
    ask(null);
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
  let from: number | null = null; // where a drag began

  const ask = (choose?: [number, number] | null) => {
    const width = canvas.clientWidth;
    if (width === 0 || !isShown()) return;
    const scale = window.devicePixelRatio;
    post({ is: "chart", part: now.focus, ...shown, width, scale, choose });
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
  on("chart", (message) => {
    canvas.getContext("bitmaprenderer")!.transferFromImageBitmap(message.picture);
    words.value = message.words;
    canvas.setAttribute("aria-label", `Histogram: ${message.words}`);
    narrow(list.hidden ? "" : chosen(), false);
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

function makeStatistics(narrow: Narrow, openTasks: () => void) {
  const chart = makeChart(narrow, openTasks);
  let name: TableName = "label";
  const table = new VirtualTable("Statistics", name, {
    choose: (row) => {
      if (name === "label") {
        show(row.tally, row.cells[0] || "(no label)");
      } else if (row.task >= 0) post({ is: "go", part: now.focus, task: row.task });
    },
  });
  const groups = choice(
    "By",
    GROUPS,
    ([, words]) => words,
    ([group]) => {
      name = group;
      table.reset({}, name);
      all();
    },
  );
  const show = (tally: number, name: string) => {
    chart.show(tally, name);
    table.markTally(tally);
    reset.hidden = tally === ALL;
  };
  const all = () => show(ALL, "All tasks");
  const reset = button("All tasks", all);
  byId("statistics").append(
    make("div", { class: "row" }, groups, reset),
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

/** Returns which table an export of the open tab is about. */
export function makeTables(openTasks: () => void): (tab: string) => TableName {
  const group = makeStatistics(makeTasks(), openTasks);
  return (tab) => (tab === "statistics" ? group() : "task");
}
