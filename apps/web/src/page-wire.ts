// SPDX-License-Identifier: ISC
// The connection to the worker: its last values, and the handlers of its messages.
import type { Changes, Command, FromWorker, Part, ToWorker } from "./messages";

type Kind = FromWorker["is"];
type Handler<K extends Kind> = (message: Extract<FromWorker, { is: K }>) => void;

const handlers = new Map<Kind, ((message: never) => void)[]>();
let worker: Worker | undefined;

/** The last values from the worker. */
export const now = {
  /** The title that `thrum html` was given, or "". */
  title: "",
  parts: [] as Part[],
  focus: 0,
  selected: -1,
  finding: 0,
  /** Odd: the panel tells about the range. With bit 1, its band can be opened. */
  subject: 0,
  on: [] as string[],
  commands: [] as Command[],
};
let looked = -1; // the part that the panel is about; -1: nothing was shown yet
const traceHandlers: (() => void)[] = [];

export function on<K extends Kind>(kind: K, handler: Handler<K>) {
  handlers.set(kind, [...(handlers.get(kind) ?? []), handler]);
}

export function onChange(handler: (changes: Changes) => void) {
  on("changed", ({ changes }) => handler(changes));
}

/** Calls the handler when another trace is looked at: it was opened, or another part is focused. */
export function onTrace(handler: () => void) {
  traceHandlers.push(handler);
}

function look(isNew: boolean) {
  if (now.parts.length === 0 || (!isNew && (looked < 0 || looked === now.focus))) return;
  looked = now.focus;
  for (const handler of traceHandlers) handler();
}

export const isShown = () => looked >= 0;

function hear(message: FromWorker) {
  if (message.is === "ready") now.commands = message.commands;
  if (message.is === "changed") {
    const { parts, focus, selected, finding, subject, on } = message.changes;
    if (parts) now.parts = parts;
    if (focus !== undefined) now.focus = focus;
    if (selected !== undefined) now.selected = selected;
    if (finding !== undefined) now.finding = finding;
    if (subject !== undefined) now.subject = subject;
    if (on) now.on = on;
  }
  for (const handler of handlers.get(message.is) ?? []) handler(message as never);
  if (message.is === "changed") look(message.changes.shown ?? false);
}

export function post(message: ToWorker, transfer: Transferable[] = []) {
  worker?.postMessage(message, transfer);
}

/** Reports a failure that stops the page. */
export function fail(message: string) {
  const hint =
    "Reload the page. “thrum render”, “thrum tasks” and “thrum why” show the recording without this page.";
  hear({ is: "failed", name: "", message, hint });
}

/** Starts a worker, in place of a running one. */
export function startWorker(url: string) {
  worker?.terminate();
  Object.assign(now, { parts: [], focus: 0, selected: -1, subject: 0, on: [] });
  looked = -1;
  worker = new Worker(url);
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    fail(`The viewer stopped: ${event.message || "its worker couldn't start"}.`);
  };
}

export const command = (name: string) => post({ is: "command", name });

/** Returns a command's help with a capital letter. */
export function helpOf(name: string): string {
  const help = now.commands.find((known) => known.name === name)?.help ?? "";
  return help.slice(0, 1).toUpperCase() + help.slice(1);
}

/** Returns the first key of a command. */
export function keyOf(name: string): string {
  return now.commands.find((known) => known.name === name)?.keys.split(" ")[0] ?? "";
}
