// SPDX-License-Identifier: ISC
// What page and worker say to each other. The worker has the core (C as wasm32) and the canvas; the
// page has the document and the input. Everything that is said or decided comes from the core.

/** A table's or document's piece of text; `task` or `time` where it is a link. */
export interface Piece {
  text: string;
  task?: number;
  /** ns, as text: more than a double can hold exactly. */
  time?: string;
  bad?: true;
}

export interface Paragraph {
  role: "title" | "remark" | "section" | "pair" | "line" | "row" | "header" | "step" | "more";
  key?: string;
  number?: number;
  pieces: Piece[];
  aside?: Piece;
}

export type Document = Paragraph[];

export interface Command {
  name: string;
  /** Keys as KeyboardEvent.key, with spaces between. */
  keys: string;
  help: string;
}

/** What stands around tables and the chart. */
export interface Words {
  filter: string;
  all: string;
  hint: string;
  list: string;
  measures: string[];
  /** What people call tables: all but the tasks can be chosen as statistics. */
  tables: Record<TableName, string>;
}

export interface Column {
  name: string;
  right: boolean;
  /** Where it stands among those that are shown; -1: it isn't. */
  place: number;
  /** Its numbers count tasks, which can be listed. */
  counts: boolean;
}

/** What tasks are narrowed by, beside a text: the chart's label and range, or a number ("count"). */
export type NarrowedBy = "" | "chart" | "count";

/** One trace on the stage. */
export interface Part {
  name: string;
  words: string;
  findingWords: string;
  tasks: number;
  findings: number;
  counters: { name: string; shown: boolean }[];
}

/** What changed after input: only what did is there. */
export interface Changes {
  /** What was opened is painted for the first time. */
  shown?: true;
  parts?: Part[];
  /** The part that keys and panels are about. */
  focus?: number;
  /** The selected task of the focused part, or -1. */
  selected?: number;
  search?: { text: string; found: number; at: number };
  status?: { pointer: string; seen: string };
  /** The state, for the URL's fragment. */
  address?: string;
  panel?: string;
  /** Commands that are on now, as "fold", "squeeze", "fisheye", "related", "counters", "legend". */
  on?: string[];
  linked?: boolean;
  theme?: "light" | "dark" | "contrast";
  rows?: { all: number; at: number; page: number };
  over?: "ground" | "task" | "strip" | "strip-edge" | "ruler" | "divider";
}

export type TableName = "task" | "label" | "kind" | "site" | "lane" | "counter" | "run";

/** A table as it is now: sorted, narrowed. Its rows are asked for. */
export interface TableHead {
  part: number;
  table: TableName;
  columns: Column[];
  count: number;
  all: number;
  sorted: number;
  descending: boolean;
}

export interface Source {
  name: string;
  /** How many of the embedded blocks that were sent ahead; or the bytes of an opened file. */
  blocks: number | ArrayBuffer;
  /** Of an embedded one: what only the machine that recorded it can know of its end. */
  state?: string;
}

export type ToWorker =
  | { is: "start"; canvas: OffscreenCanvas; theme: string; moves: boolean }
  | { is: "core"; module: WebAssembly.Module } // at any time: "start" waits for it
  | { is: "block"; text: string } // of an embedded trace, base64 of gzip: at any time before "open"
  | { is: "open"; sources: Source[]; state: string; add: boolean }
  | { is: "size"; width: number; height: number; scale: number }
  | {
      is: "pointer";
      what: "press" | "move" | "release" | "double" | "leave";
      x: number;
      y: number;
      with: number;
    }
  | { is: "wheel"; x: number; y: number; dx: number; dy: number; with: number }
  | { is: "pinch"; x: number; y: number; dx: number; dy: number; factor: number }
  | { is: "command"; name: string }
  | { is: "go"; part: number; task?: number; time?: string; finding?: number }
  | { is: "hover"; part: number; task: number }
  | { is: "goText"; text: string }
  | { is: "search"; text: string }
  | { is: "counter"; part: number; counter: number; on: boolean }
  | { is: "link"; on: boolean }
  | { is: "theme"; theme: string; moves: boolean }
  | { is: "state"; text: string }
  | { is: "panel"; word: string }
  | { is: "scroll"; row: number }
  | { is: "window" } // asks for the window's words, for "go to a time"
  | {
      is: "document";
      id: number;
      part: number;
      what: "task" | "finding" | "trace";
      index: number;
    }
  | {
      is: "table";
      part: number;
      table: TableName;
      sort?: number;
      descending?: boolean;
      text?: string;
      by?: NarrowedBy;
    }
  | { is: "count"; part: number; table: TableName; row: number; column: number }
  | { is: "where"; part: number; table: TableName; task: number } // asks for a task's row
  | { is: "rows"; part: number; table: TableName; first: number; count: number }
  | {
      is: "chart";
      part: number;
      tally: number;
      measure: number;
      width: number;
      scale: number;
      choose?: [number, number] | null;
      key?: string;
      shift?: boolean;
    }
  | { is: "export"; what: "svg" | "png" | "csv"; part: number; table?: TableName };

export type FromWorker =
  | { is: "ready"; commands: Command[]; words: Words }
  | { is: "progress"; what: string; part: number } // part: 0 … 1
  | { is: "failed"; name: string; message: string; hint: string }
  | { is: "warned"; name: string; message: string } // lost, damaged: shown, but the trace is there
  | { is: "changed"; changes: Changes }
  | { is: "yours"; command: string } // search, details, go-to-time, help
  | { is: "window"; words: string } // also when a "goText" was understood
  | { is: "refused"; message: string } // what was typed to go to, or an address, isn't one
  | { is: "document"; id: number; document: Document }
  | { is: "table"; head: TableHead }
  | { is: "rows"; part: number; table: TableName; first: number; rows: Row[] }
  | { is: "where"; part: number; table: TableName; row: number } // -1: not in it
  | { is: "count"; words: string } // what a number counts
  | { is: "chart"; words: string; picture: ImageBitmap }
  | { is: "file"; name: string; type: string; bytes: Blob };

export interface Row {
  cells: string[];
  /** The task it is about, or -1; and, in a table of labels, its tally. */
  task: number;
  tally: number;
}
