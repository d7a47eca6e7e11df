// SPDX-License-Identifier: ISC
// The page's end of the wire: the worker, what it last told, and who wants to hear of it.
import type { Changes, Command, FromWorker, Part, ToWorker } from "./messages";

type Kind = FromWorker["is"];
type Handler<K extends Kind> = (message: Extract<FromWorker, { is: K }>) => void;

const handlers = new Map<Kind, ((message: never) => void)[]>();
let worker: Worker | undefined;

/** What the worker said last. */
export const now = {
  /** The page's, where somebody gave one. */
  title: "",
  parts: [] as Part[],
  focus: 0,
  selected: -1,
  on: [] as string[],
  commands: [] as Command[],
};
let looked = -1; // the part that panels are about; -1: nothing was shown yet
const lookers: (() => void)[] = [];

export function on<K extends Kind>(kind: K, handler: Handler<K>) {
  handlers.set(kind, [...(handlers.get(kind) ?? []), handler]);
}

export function onChange(handler: (changes: Changes) => void) {
  on("changed", ({ changes }) => handler(changes));
}

/** Another trace is looked at: it was opened, or keys went to another part. */
export function onTrace(handler: () => void) {
  lookers.push(handler);
}

function look(isNew: boolean) {
  if (now.parts.length === 0 || (!isNew && (looked < 0 || looked === now.focus))) return;
  looked = now.focus;
  for (const handler of lookers) handler();
}

export const isShown = () => looked >= 0;

function hear(message: FromWorker) {
  if (message.is === "ready") now.commands = message.commands;
  if (message.is === "changed") {
    const { parts, focus, selected, on } = message.changes;
    if (parts) now.parts = parts;
    if (focus !== undefined) now.focus = focus;
    if (selected !== undefined) now.selected = selected;
    if (on) now.on = on;
  }
  for (const handler of handlers.get(message.is) ?? []) handler(message as never);
  if (message.is === "changed") look(message.changes.shown ?? false);
}

export function post(message: ToWorker, transfer: Transferable[] = []) {
  worker?.postMessage(message, transfer);
}

/** Nothing goes on. */
export function fail(message: string) {
  const hint =
    "Reload the page. “thrum render”, “thrum tasks” and “thrum why” show the recording without it.";
  hear({ is: "failed", name: "", message, hint });
}

/** Starts a worker, in place of one that was there. */
export function startWorker(url: string) {
  worker?.terminate();
  Object.assign(now, { parts: [], focus: 0, selected: -1, on: [] });
  looked = -1;
  worker = new Worker(url);
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    fail(`The viewer stopped: ${event.message || "its worker couldn't start"}.`);
  };
}

export const command = (name: string) => post({ is: "command", name });

/** The first key of a command, as people know it. */
export function keyOf(name: string): string {
  return now.commands.find((known) => known.name === name)?.keys.split(" ")[0] ?? "";
}
