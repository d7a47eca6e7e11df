// SPDX-License-Identifier: ISC
// The worker owns the core and the canvas. It passes input to the core, whose results tell what has
// changed, and paints the display lists once a frame while anything changes.

import {
  CHANGED_ALL,
  CHANGED_PARTS,
  CHANGED_PICTURE,
  DOCUMENT_DIFF,
  DOCUMENT_FINDING,
  DOCUMENT_SLOW,
  DOCUMENT_TASK,
  DOCUMENT_TRACE,
  MORE,
  NARROW_BY_CHART,
  NARROW_BY_COUNT,
  NARROW_BY_TEXT,
  STAGE_YOURS,
} from "core:numbers";
import type {
  Changes,
  Command,
  Document,
  FromWorker,
  Item,
  Menu,
  NarrowedBy,
  Row,
  TableHead,
  ToWorker,
  Words,
} from "./messages";
import { Painter } from "./painter";
import { compileCore, Core, type Tokens } from "./worker-core";
import { unpack, unpackAhead } from "./worker-source";

const DOCUMENTS = {
  task: DOCUMENT_TASK,
  finding: DOCUMENT_FINDING,
  trace: DOCUMENT_TRACE,
  slow: DOCUMENT_SLOW,
  differences: DOCUMENT_DIFF,
};
const NARROWED_BY: Record<NarrowedBy, number> = {
  "": NARROW_BY_TEXT,
  chart: NARROW_BY_CHART,
  count: NARROW_BY_COUNT,
};

const WIDTHS_KEPT = 10000;
const PNG_SCALE = 2;
const SEARCH_WAIT_MS = 5; // in which the messages arrive that came during the search before
const PROGRESS_MS = 50;
const COARSE_MS = 200; // between two coarse pictures
const COARSE_SPARE = 60; // px below them, for the progress
const PAINTED_MS = 100;
const STEPS_MS = 10; // in which steps are made before input is looked at
const CSV_ROWS = 5000; // in one call

type Context = OffscreenCanvasRenderingContext2D;
type Message<Is extends ToWorker["is"]> = Extract<ToWorker, { is: Is }>;
/** Messages whose answers need statistics. */
type Question = Message<"document" | "table" | "count" | "where" | "rows" | "chart">;

const post = (message: FromWorker): void => {
  postMessage(message);
};

let progressed = 0; // when progress was told last, in ms

function progress(step: string, part: number): void {
  const now = performance.now();
  if (now - progressed < PROGRESS_MS) return;
  progressed = now;
  post({ is: "progress", step, part });
  viewer?.sendCoarse(now);
}

function messageOf(error: unknown): string {
  if (error instanceof RangeError) return "This trace is too large for a browser's memory.";
  if (error instanceof WebAssembly.RuntimeError) return `The viewer stopped: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function contextOf(canvas: OffscreenCanvas): Context {
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) throw new Error("This browser provides no canvas.");
  return context;
}

/** Measures and remembers widths of texts. The core remembers those of ASCII characters itself. */
class Ruler {
  private readonly context = contextOf(new OffscreenCanvas(1, 1));
  private readonly known = new Map<string, number>();

  constructor(private readonly fonts: string[]) {}

  measure(text: string, font: number): number {
    const key = font + text;
    let width = this.known.get(key);
    if (width === undefined) {
      if (this.known.size >= WIDTHS_KEPT) this.known.clear();
      this.context.font = this.fonts[font] ?? "";
      width = this.context.measureText(text).width;
      this.known.set(key, width);
    }
    return width;
  }
}

/** Resolves when a frame is visible, or soon if the page is hidden. */
const painted = (): Promise<void> =>
  new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, PAINTED_MS);
  });

const pause = () => new Promise<void>((done) => setTimeout(done));

class Viewer {
  private width = 0;
  private height = 0;
  private scale = 1;
  private bits = 0; // the changes since the last frame
  private isAsked = false;
  private isNew = false; // an opened trace isn't painted yet
  private readonly told = new Map<string, string>();
  private readonly questions: Question[] = [];
  private coarseSent = 0; // in ms
  private isMaking = false; // rows or bands, in steps
  private isPaused = false; // while input is looked at, between two steps
  private isFinding = false;
  private slow?: Message<"slow">; // the latest

  constructor(
    private readonly core: Core,
    private readonly painter: Painter,
    private readonly context: Context,
  ) {}

  // ---- Frames

  /** Takes the result of each call that may change something. */
  changed(bits: number): void {
    if (bits < 0) throw new Error("out of memory");
    this.bits |= bits;
    if (bits !== 0 && !this.isAsked) {
      this.isAsked = true;
      requestAnimationFrame(() => {
        this.isAsked = false;
        if (this.bits !== 0) this.frame();
      });
    }
  }

  private frame(): void {
    const { core } = this;
    if (this.width === 0) return;
    const moves = core.call("core_frame", this.width, this.height, performance.now());
    if (core.call("core_list_count") > 0) this.paint(this.context, this.scale);
    core.call("core_changes", this.bits);
    this.bits = 0;
    this.tell(core.json<Changes>());
    if (moves !== 0) this.changed(moves < 0 ? moves : CHANGED_PICTURE);
    if (!this.isMaking) this.makeView();
  }

  /** Makes a step of the rows or bands that are to be shown; returns whether there was one to make. */
  private step(): boolean {
    const { core, width, height } = this;
    const made = width === 0 ? 0 : core.call("core_step_view", width, height);
    if (made < 0) throw new Error("out of memory");
    return made > 0;
  }

  /** Makes what is to be shown: between some steps and the next, input is handled, and frames show the other. */
  private makeView(): void {
    const end = performance.now() + STEPS_MS;
    const wasMaking = this.isMaking;
    let made = false;
    do {
      this.isMaking = this.step();
      made ||= this.isMaking;
    } while (this.isMaking && performance.now() < end);
    if (this.isMaking) setTimeout(() => inTurn(() => this.makeView()));
    else if (made || wasMaking) {
      this.changed(CHANGED_PICTURE);
      this.find();
    }
  }

  private paint(context: Context, scale: number): void {
    const { canvas } = context;
    const width = Math.round(this.width * scale);
    const height = Math.round(this.height * scale);
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const { core } = this;
    const lists = core.call("core_lists") >>> 0;
    const count = core.call("core_list_count");
    this.painter.paint(context, lists, count, core.call("core_theme_now"), scale);
  }

  /** Tells the page the values that have changed. */
  private tell(all: Changes): void {
    const news = Object.entries(all).filter(([key, value]) => {
      const text = JSON.stringify(value);
      if (this.told.get(key) === text) return false;
      this.told.set(key, text);
      return true;
    });
    if (this.isNew) news.push(["shown", true]);
    this.isNew = false;
    if (news.length > 0) post({ is: "changed", changes: Object.fromEntries(news) });
  }

  // ---- Messages of the page

  size(message: Message<"size">): void {
    const { width, height, scale } = message;
    if (width === this.width && height === this.height && scale === this.scale) return;
    Object.assign(this, { width, height, scale });
    this.changed(CHANGED_PICTURE);
  }

  theme(message: { theme: string; moves: boolean }): void {
    this.core.call("core_animate", Number(message.moves));
    this.core.callText("core_theme", message.theme);
    this.changed(CHANGED_ALL);
  }

  async open(message: Message<"open">): Promise<void> {
    const { core } = this;
    this.answerAll(Infinity);
    const failures: FromWorker[] = []; // told last, since the page takes them as the end
    let adds = message.add;
    for (const source of message.sources) {
      const { name } = source;
      try {
        const result = core.open(name, await unpack(source, progress), adds);
        if (result < 0)
          failures.push({ is: "failed", name, ...core.json<{ message: string; hint: string }>() });
        else {
          adds = true;
          if (source.state) core.callText("core_found_state", source.state);
          this.warn(name);
        }
      } catch (error) {
        failures.push({ is: "failed", name, message: messageOf(error), hint: "" });
      }
    }
    failures.forEach(post);
    if (message.state !== "") this.state(message.state);
    while (this.step()) progress("Laying out", 1);
    this.told.clear();
    this.isNew = true;
    this.changed(CHANGED_ALL);
    this.frame();
    this.find();
  }

  /** Looks for findings, and for what bands wait for, in steps: between some and the next, input is handled. */
  private find(wait = painted()): void {
    if (this.isFinding) return;
    this.isFinding = true;
    void wait.then(() => {
      inTurn(() => {
        const end = performance.now() + STEPS_MS;
        let bits = 0;
        do bits = this.core.call("core_find");
        while (bits === MORE && performance.now() < end);
        this.isFinding = false;
        const more = bits > 0 ? bits & MORE : 0;
        if (bits !== more) this.told.delete("status"); // so that the outline is asked for again
        this.changed(bits - more);
        if (more) this.find(this.isAsked ? painted() : pause());
      });
    });
  }

  private warn(name: string): void {
    this.core.call("core_warning");
    const message = this.core.answer();
    if (message !== "") post({ is: "warned", name, message });
  }

  pointer({ action, x, y, with: keys }: Message<"pointer">): void {
    this.did(this.core.call("core_" + action, x, y, keys), "note");
  }

  menu(x: number, y: number): void {
    this.changed(this.core.call("core_menu", x, y));
    post({ is: "menu", menu: this.core.json<Menu>() });
  }

  /** The traces below the closed one get other numbers, so the page learns all anew. */
  close(part: number): void {
    this.answerAll(Infinity);
    const bits = this.core.call("core_close", part);
    if (bits === 0) return;
    this.told.clear();
    this.isNew = true;
    this.changed(bits);
  }

  command(name: string): void {
    const bits = this.core.callText("core_command", name);
    this.did(bits > 0 ? bits | CHANGED_PARTS : bits, name);
  }

  private did(bits: number, command: string): void {
    if (bits > 0 && bits & STAGE_YOURS) post({ is: "yours", command });
    this.changed(bits > 0 ? bits & ~STAGE_YOURS : bits);
  }

  /** A search of millions of tasks takes seconds: only the latest of those that came is made. */
  async search(message: Message<"search">): Promise<void> {
    if (message === latestSearch)
      await new Promise((resolve) => setTimeout(resolve, SEARCH_WAIT_MS));
    if (message === latestSearch) this.changed(this.core.callText("core_search", message.text));
  }

  go({ part, task, run, slow, time, finding, difference, group }: Message<"go">): void {
    const { core } = this;
    if (task !== undefined) this.changed(core.call("core_go_task", part, task));
    if (run !== undefined) this.changed(core.call("core_go_run", part, run));
    if (slow !== undefined) this.changed(core.call("core_go_slow", part, slow));
    if (time !== undefined) this.changed(core.callText("core_go_time", time, part));
    if (group !== undefined) this.changed(core.call("core_go_group", part, group));
    if (finding !== undefined) this.changed(core.call("core_go_finding", part, finding));
    if (difference !== undefined) this.changed(core.call("core_go_difference", difference));
  }

  /** Runs a call on typed text or an address, which may refuse it. */
  private typed(call: string, text: string): boolean {
    const bits = this.core.callText(call, text);
    if (bits < 0) post({ is: "refused", message: this.core.answer() });
    else this.changed(bits | CHANGED_PARTS);
    return bits >= 0;
  }

  goText(text: string): void {
    if (this.typed("core_go_text", text)) this.window();
  }

  state(text: string): void {
    this.typed("core_state", text);
  }

  window(): void {
    this.core.call("core_window");
    post({ is: "window", words: this.core.answer() });
  }

  // ---- Documents, tables, charts

  /**
   * Answers questions in turn, each prepared a step at a time: between two, input is handled. But
   * all are answered before their traces get other numbers or go away.
   */
  private answerAll(most = STEPS_MS): void {
    const { core, questions } = this;
    this.isPaused = false;
    // A picture that moves goes first: some answers take a while.
    if (this.isAsked && most < Infinity) {
      this.isPaused = true;
      void painted().then(() => inTurn(() => this.answerAll()));
      return;
    }
    for (let question = questions[0]; question; question = questions[0]) {
      const end = performance.now() + most;
      const [about, index] =
        question.is === "document"
          ? [DOCUMENTS[question.about], question.index]
          : [DOCUMENT_TASK, 0];
      while (core.call("core_step", about, question.part, index) !== 0)
        if (performance.now() > end) {
          this.isPaused = true;
          setTimeout(() => inTurn(() => this.answerAll()));
          return;
        }
      questions.shift();
      this.answer(question);
    }
  }

  /** Takes a question. The panel's text is wanted only about what was chosen last. */
  private ask(question: Question): void {
    const { questions } = this;
    if (question.is === "document") {
      if (question.about === "finding") return this.document(question); // nothing has to be made
      const old = questions.findIndex((one) => one.is === "document");
      if (old >= 0) questions.splice(old, 1);
    }
    questions.push(question);
    if (!this.isPaused) this.answerAll();
  }

  private answer(question: Question): void {
    switch (question.is) {
      case "document":
        return this.document(question);
      case "table":
        return this.table(question);
      case "count":
        return this.count(question);
      case "where":
        return this.where(question);
      case "rows":
        return this.rows(question);
      case "chart":
        return this.drawChart(question);
    }
  }

  document({ id, part, about, index }: Message<"document">): void {
    this.core.call("core_document", DOCUMENTS[about], part, index);
    post({ is: "document", id, document: this.core.json<Document>() });
  }

  table({ part, table, sort, descending, text, by }: Message<"table">): void {
    const { core } = this;
    const kind = core.callText("core_kind", table, part);
    if (text !== undefined || by !== undefined)
      this.call("core_narrow", text ?? "", part, kind, NARROWED_BY[by ?? ""]);
    const order = descending === undefined ? -1 : Number(descending);
    this.call("core_table", table, part, sort ?? -1, order);
    post({ is: "table", head: core.json<TableHead>() });
  }

  count({ part, table, row, column }: Message<"count">): void {
    this.core.callText("core_count", table, part, row, column);
    post({ is: "count", words: this.core.answer() });
  }

  where({ part, table, task }: Message<"where">): void {
    const row = this.core.callText("core_where", table, part, task);
    post({ is: "where", part, table, row });
  }

  /** Runs a call that fails only when out of memory. */
  private call(name: string, text: string, ...numbers: number[]): void {
    if (this.core.callText(name, text, ...numbers) < 0) throw new Error("out of memory");
  }

  rows({ part, table, first, count }: Message<"rows">): void {
    this.core.callText("core_rows", table, part, first, count);
    post({ is: "rows", part, table, first, rows: this.core.json<Row[]>() });
  }

  drawChart(message: Message<"chart">): void {
    const { part, tally, measure, width, scale, choose, key, shift } = message;
    const { core } = this;
    if (core.call("core_chart", part, tally, measure, width) < 0) return;
    if (choose !== undefined) {
      const [x0, x1] = choose ?? [0, -1];
      core.call("core_choose", part, width, x0, x1);
    }
    if (key) core.callText("core_chart_key", key, part, Number(shift));
    core.call("core_chart", part, tally, measure, width);
    const words = core.answer();
    const picture = this.picture(width, scale);
    postMessage({ is: "chart", words, picture } satisfies FromWorker, [picture]);
  }

  /** Paints the list that the core has made for a picture in the panel. */
  private picture(width: number, scale: number): ImageBitmap {
    const { core } = this;
    const list = core.call("core_chart_list") >>> 0;
    const height = new Float32Array(core.memory.buffer, list, 4)[3] ?? 0;
    const canvas = new OffscreenCanvas(Math.round(width * scale), Math.round(height * scale));
    this.painter.paint(contextOf(canvas), list, 1, core.call("core_theme_now"), scale);
    return canvas.transferToImageBitmap();
  }

  /** Sends a coarse picture while a trace is read: a worker at work can't change its canvas. */
  sendCoarse(now: number): void {
    const { core, width, height, scale } = this;
    if (now - this.coarseSent < COARSE_MS) return;
    if (core.call("core_coarse", width, Math.max(1, height - COARSE_SPARE)) < 0) return;
    this.coarseSent = now;
    const picture = this.picture(width, scale);
    postMessage({ is: "coarse", picture } satisfies FromWorker, [picture]);
  }

  drawSlow(message: Message<"slow">): void {
    const { width, scale } = (this.slow = message);
    if (this.core.call("core_slow", width) < 0) return;
    const picture = this.picture(width, scale);
    postMessage({ is: "slow", picture } satisfies FromWorker, [picture]);
    this.makeFlame(message);
  }

  /** Makes the flame graph below the path in steps, and draws both. */
  private makeFlame(message: Message<"slow">): void {
    if (message !== this.slow) return; // a later one goes on
    const end = performance.now() + STEPS_MS;
    let made = 0;
    do made = this.core.call("core_flame");
    while (made === 1 && performance.now() < end);
    if (made === 1) setTimeout(() => inTurn(() => this.makeFlame(message)));
    else if (made === 2) this.drawSlow(message);
  }

  spot({ part, width, x, y, go }: Message<"spot">): void {
    const task = this.core.call("core_slow_spot", width, x, y);
    post({ is: "spot", words: this.core.answer(), task: go ? task : -1 });
    if (go && task >= 0) this.changed(this.core.call("core_go_task", part, task));
  }

  // ---- Files

  async export({ format, part, table }: Message<"export">): Promise<void> {
    const { core } = this;
    core.call("core_name", part);
    const base = core.answer();
    if (format === "png") {
      const context = contextOf(new OffscreenCanvas(1, 1));
      this.paint(context, PNG_SCALE);
      const bytes = await context.canvas.convertToBlob({ type: "image/png" });
      post({ is: "file", name: `${base}.png`, bytes });
    } else if (table) {
      const bytes = new Blob([...this.csv(part, table)], { type: "text/csv" });
      post({ is: "file", name: `${base}-${table}.csv`, bytes });
    } else if (format !== "csv") {
      const isFile = format === "svg";
      this.changed(core.call("core_svg", isFile ? core.call("core_theme_now") : 0));
      const bytes = new Blob([core.bytes()], { type: "image/svg+xml" });
      post({ is: "file", name: isFile ? `${base}.svg` : "", bytes });
    }
  }

  private *csv(part: number, table: string): Iterable<Uint8Array<ArrayBuffer>> {
    for (let first = 0; ; first += CSV_ROWS) {
      this.core.callText("core_csv", table, part, first, CSV_ROWS);
      const bytes = this.core.bytes();
      if (bytes.length === 0) return;
      yield bytes;
    }
  }

  async handle(message: ToWorker): Promise<void> {
    const { core } = this;
    switch (message.is) {
      case "open":
        return this.open(message);
      case "export":
        return this.export(message);
      case "size":
        return this.size(message);
      case "pointer":
        return this.pointer(message);
      case "wheel": {
        const { x, y, dx, dy, with: keys } = message;
        return this.changed(core.call("core_wheel", x, y, dx, dy, keys));
      }
      case "pinch": {
        const { x, y, dx, dy, factor } = message;
        return this.changed(core.call("core_pinch", x, y, dx, dy, factor));
      }
      case "command":
        return this.command(message.name);
      case "go":
        return this.go(message);
      case "hover":
        return this.changed(core.call("core_hover", message.part, message.task));
      case "menu":
        return this.menu(message.x, message.y);
      case "close":
        return this.close(message.part);
      case "outline":
        core.call("core_outline");
        return post({ is: "outline", items: core.json<Item[]>() });
      case "follow":
        return this.changed(core.call("core_follow", message.item));
      case "goText":
        return this.goText(message.text);
      case "mark":
        return void this.typed("core_mark", message.text);
      case "search":
        return this.search(message);
      case "counter": {
        const { part, counter, on } = message;
        return this.changed(core.call("core_counter", part, counter, Number(on)) | CHANGED_PARTS);
      }
      case "link":
        return this.changed(core.call("core_link", Number(message.on)));
      case "theme":
        return this.theme(message);
      case "state":
        return this.state(message.text);
      case "panel":
        return this.changed(core.callText("core_panel", message.word, 0));
      case "list":
        this.changed(core.callText("core_panel", message.order, 1));
        return this.changed(core.callText("core_panel", message.filter, 2));
      case "scroll":
        return this.changed(core.call("core_scroll", message.track));
      case "window":
        return this.window();
      case "document":
      case "table":
      case "count":
      case "where":
      case "rows":
      case "chart":
        return this.ask(message);
      case "slow":
        return this.drawSlow(message);
      case "spot":
        return this.spot(message);
      case "start":
      case "core":
      case "block":
        return;
    }
  }
}

async function start(message: Message<"start">): Promise<Viewer> {
  let ruler: Ruler | undefined = undefined; // needs the fonts, which come from the core
  const core = await Core.load(await compiled, {
    progress,
    measure: (text, font) => ruler?.measure(text, font) ?? 0,
  });
  if (core.call("core_clear") < 0) throw new Error("out of memory");
  core.call("core_tokens");
  const painter = new Painter(core, core.json<Tokens>());
  ruler = new Ruler(painter.fonts);
  const viewer = new Viewer(core, painter, contextOf(message.canvas));
  viewer.theme(message);
  core.call("core_commands");
  const commands = core.json<Command[]>();
  core.call("core_words");
  post({ is: "ready", commands, words: core.json<Words>() });
  return viewer;
}

// Messages are handled one after the other, even if one takes its time.
let compile: (core: Promise<WebAssembly.Module>) => void;
const compiled = new Promise<WebAssembly.Module>((resolve) => (compile = resolve));
let viewer: Viewer | undefined;
let last = Promise.resolve();
let latestSearch: ToWorker | undefined;

/** Does some work after all that came before. */
function inTurn(work: () => void | Promise<void>): void {
  last = last.then(work).catch((error: unknown) => {
    post({ is: "failed", name: "", message: messageOf(error), hint: "" });
  });
}

async function take(message: ToWorker): Promise<void> {
  if (message.is !== "start") return viewer?.handle(message);
  try {
    viewer = await start(message);
  } catch (error) {
    post({ is: "unable", message: messageOf(error) });
  }
}

onmessage = (event: MessageEvent<ToWorker>) => {
  if (event.data.is === "search") latestSearch = event.data;
  if (event.data.is === "core") compile(compileCore(event.data.packed));
  else if (event.data.is === "block") unpackAhead(event.data.text);
  else inTurn(() => take(event.data));
};
