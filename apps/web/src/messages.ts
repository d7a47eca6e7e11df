// SPDX-License-Identifier: ISC
// The messages between page and worker. The worker has the core (C as wasm32) and the canvas, the
// page has the document and the input. All words and decisions about traces come from the core.

/** A piece of text in a table or document; a link if it has one of the members below `text`. */
export interface Piece {
  text: string;
  task?: number;
  /** A task; the link asks why it was slow. */
  slow?: number;
  /** A difference of the first two parts. */
  difference?: number;
  /** The text of a search: the link leads to the tasks that it finds. */
  filter?: string;
  /** A run of the part's model. */
  run?: number;
  /** A group of the part's bands. */
  group?: number;
  /** The part of the link in a document about the first two parts, if that isn't the first. */
  side?: number;
  /** ns, as text: a double can't hold all times exactly; or two with ".." between them. */
  time?: string;
  bad?: true;
}

export interface Paragraph {
  role: "title" | "remark" | "section" | "pair" | "line" | "row" | "header" | "step" | "more";
  key?: string;
  number?: number;
  /** Belongs to the run that the document is about. */
  marked?: true;
  /** A bar below a row: thousandths of its width, and a token. */
  bar?: number;
  colour?: string;
  pieces: Piece[];
  aside?: Piece;
}

export type Document = Paragraph[];

export interface Command {
  name: string;
  /** Keys as KeyboardEvent.key, separated by spaces. */
  keys: string;
  help: string;
  /** Lists of keys show the commands by groups. */
  group: string;
}

/** The words around tables and histogram. */
export interface Words {
  filter: string;
  whole: string;
  all: string;
  hint: string;
  list: string;
  measures: string[];
  /** Stands in the place of the document on a slow task while none is selected. */
  slow: string;
  /** The pointer's gestures, each with what it does. */
  gestures: [string, string][];
  /** Words and signs of the picture, each with its meaning. */
  reading: [string, string][];
  /** The titles of the tables. All but the tasks can be chosen as statistics. */
  tables: Record<TableName, string>;
}

export interface Column {
  name: string;
  right: boolean;
  /** Its place among the visible columns; -1: it is hidden. */
  place: number;
  /** Its numbers count tasks that can be listed. */
  counts: boolean;
}

/**
 * The list of tasks is narrowed by a text and by one of these: nothing else, the histogram's label
 * and range, or the tasks that a number in the statistics counts.
 */
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

/** The values that have changed; others are missing. */
export interface Changes {
  /** The opened traces are painted for the first time. */
  shown?: true;
  parts?: Part[];
  /** "3 findings in 2 traces"; "": there are none. */
  findingWords?: string;
  /** The part that keys and panel are about. */
  focus?: number;
  /** The selected task of the focused part, or -1. */
  selected?: number;
  /** The chosen finding of the focused part. */
  finding?: number;
  /** Changes when a document is to be asked for again. */
  subject?: number;
  search?: { text: string; found: number; at: number };
  status?: { pointer: string; seen: string; card: string[] };
  /** The view, for the fragment of the page's URL. */
  address?: string;
  /** How often the view jumped: each jump is an entry of the browser's history. */
  jumps?: number;
  panel?: string;
  /** The order of the list of tasks, such as "-life", and the text that narrows it. */
  list?: { order: string; filter: string };
  /** The switches that are on: "bands", "fold", "squeeze", "fisheye", "related", "counters", "legend". */
  on?: string[];
  linked?: boolean;
  theme?: "light" | "dark" | "contrast";
  tracks?: { all: number; at: number; page: number };
  over?: "ground" | "task" | "strip" | "edge" | "ruler" | "divider";
}

export type TableName = "task" | "label" | "kind" | "site" | "lane" | "run" | "counters";

/** A table, sorted and narrowed, without its rows. */
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
  /** The number of its blocks, sent before as "block"; or the bytes of an opened file. */
  blocks: number | ArrayBuffer;
  /** "killed": the machine that recorded an embedded trace knows how its program ended. */
  state?: string;
}

export type ToWorker =
  | { is: "start"; canvas: OffscreenCanvas; theme: string; moves: boolean }
  | { is: "core"; packed: Uint8Array<ArrayBuffer> } // at any time: "start" waits for it
  | { is: "block"; text: string } // of an embedded trace, gzip in base64: any time before "open"
  | { is: "open"; sources: Source[]; state: string; add: boolean }
  | { is: "size"; width: number; height: number; scale: number }
  | {
      is: "pointer";
      action: "press" | "move" | "release" | "double" | "leave";
      x: number;
      y: number;
      with: number;
    }
  | { is: "wheel"; x: number; y: number; dx: number; dy: number; with: number }
  | { is: "pinch"; x: number; y: number; dx: number; dy: number; factor: number }
  | { is: "command"; name: string }
  | {
      is: "go";
      part: number;
      task?: number;
      run?: number;
      slow?: number;
      time?: string;
      finding?: number;
      difference?: number;
      group?: number;
    }
  | { is: "hover"; part: number; task: number }
  | { is: "menu"; x: number; y: number } // selects the task there and asks about it
  | { is: "close"; part: number }
  | { is: "outline" } // asks for the picture as a list of sentences
  | { is: "follow"; item: number } // goes where an item of the last outline leads
  | { is: "goText"; text: string }
  | { is: "mark"; text: string } // the text of the mark that the command "mark" asked for
  | { is: "search"; text: string }
  | { is: "counter"; part: number; counter: number; on: boolean }
  | { is: "link"; on: boolean }
  | { is: "theme"; theme: string; moves: boolean }
  | { is: "state"; text: string }
  | { is: "panel"; word: string } // a word that the address contains, as the next two
  | { is: "list"; order: string; filter: string }
  | { is: "scroll"; track: number }
  | { is: "window" } // asks for the visible time as text, for "go to a time"
  | {
      is: "document";
      id: number;
      part: number;
      about: "task" | "finding" | "trace" | "slow" | "differences";
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
  | { is: "slow"; width: number; scale: number } // asks for the picture of the last such document
  | { is: "spot"; part: number; width: number; x: number; y: number; go: boolean } // a place in it
  | { is: "export"; format: Format; part: number; table?: TableName };

/** "print": the picture as SVG in the light theme. */
export type Format = "svg" | "png" | "csv" | "print";

export type FromWorker =
  | { is: "ready"; commands: Command[]; words: Words }
  | { is: "progress"; step: string; part: number } // part: 0 … 1
  | { is: "failed"; name: string; message: string; hint: string }
  | { is: "unable"; message: string } // the worker can't start
  | { is: "warned"; name: string; message: string } // it is incomplete, but shown
  | { is: "changed"; changes: Changes }
  // The page runs search, details, mark, go-to-time, help, and "note": a finding was pressed.
  | { is: "yours"; command: string }
  | { is: "menu"; menu: Menu }
  | { is: "outline"; items: Item[] }
  | { is: "window"; words: string } // also after an accepted "goText"
  | { is: "refused"; message: string } // the reason why a "goText" or "state" is wrong
  | { is: "document"; id: number; document: Document }
  | { is: "table"; head: TableHead }
  | { is: "rows"; part: number; table: TableName; first: number; rows: Row[] }
  | { is: "where"; part: number; table: TableName; row: number } // -1: it has none
  | { is: "count"; words: string } // describes the tasks that a number counts
  | { is: "coarse"; picture: ImageBitmap } // of the trace that is being read
  | { is: "chart"; words: string; picture: ImageBitmap }
  | { is: "slow"; picture: ImageBitmap }
  | { is: "spot"; words: string; task: number }
  | { is: "file"; name: string; bytes: Blob }; // name "": to be printed

/** A finding, a band, a thread, a queue, a task: all that the picture shows has a sentence. */
export interface Item {
  words: string;
  level: number;
  chosen: boolean;
  /** Missing: it can't be opened. */
  open?: boolean;
}

/** The task for which the picture's menu was opened; task -1: there was none. */
export interface Menu {
  part: number;
  task: number;
  name: string;
}

export interface Row {
  cells: string[];
  /** Its task has no label, and is called as in the picture. */
  unnamed: boolean;
  /** Its task, or -1; and its tally in a table of labels, or -1. */
  task: number;
  tally: number;
  /** The time of its run, in a table of runs: "FROM..TO" in ns. */
  span?: string;
}
