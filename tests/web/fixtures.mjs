// SPDX-License-Identifier: ISC
// The traces and pages of the tests, made when first needed.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Skip, here, source } from "./harness.mjs";
import { server, trace } from "./mirage.mjs";

const build = process.env.BUILD;

export function thrum(...words) {
  return execFileSync(process.env.THRUM, words, { stdio: ["ignore", "pipe", "pipe"] });
}

/** The id of the first task of this name in a trace. */
export function idOf(file, name) {
  const row = thrum("tasks", "--format=tsv", file)
    .toString()
    .split("\n")
    .map((line) => line.split("\t"))
    .find((cells) => cells[9] === name);
  if (!row) throw new Error(`${file} has no task ${name}`);
  return row[0];
}

const kept = new Map();

/** Calls `make` once for a name, and returns its result. */
function once(name, make) {
  if (!kept.has(name)) kept.set(name, make());
  return kept.get(name);
}

/** Records an example. */
export function record(name, program, ...words) {
  return once(name, () => {
    const file = join(here, `${name}.thrum`);
    const env = { ...process.env, THRUM_TRACE: file, THRUM_SIZE: "1M" };
    try {
      execFileSync(join(build, "examples", program), words, {
        env,
        stdio: "pipe",
      });
    } catch {
      // An example whose bug occurs exits with a status of its own.
    }
    if (!existsSync(file)) throw new Skip(`examples/${program} isn't built (libuv is missing)`);
    return file;
  });
}

/** The recording that a program makes by itself. */
export const made = (name, program) =>
  once(name, () => {
    const file = join(here, `${name}.thrum`);
    execFileSync(join(build, program), [file], { stdio: "pipe" });
    return file;
  });

/** A recording of a program that hangs, with a lost wake-up on arp-reply; and one without the bug. */
export const hanging = () => record("arp", "arp", "--bug", "--seed", "3");
export const good = () => record("arp-good", "arp", "--bug", "--seed", "1");

/** A recording whose program was killed. */
export const killed = () => record("killed", "server", "--requests", "50", "--die");

/** A trace with known times: each of 40 requests begins 2 µs after the one before. */
export const steady = () =>
  written("steady.ctf", () => server(40, ["GET /one", "GET /two", "PUT /three"]));
export const big = () =>
  written("big.ctf", () => server(50_000, ["GET /one", "GET /two", "PUT /three"]));
/** A trace so large that it is shown before its findings are made; it has one. */
export const huge = () => written("huge.ctf", () => server(105_000, ["GET /one"], true));

/** A recording with so many tasks at once that its rows are only made when they are asked for. */
export const crowded = () =>
  once("crowded", () => {
    const file = join(here, "crowded.thrum");
    execFileSync(join(build, "bench/web/recording"), [file, "2000000"], { stdio: "pipe" });
    return file;
  });

/** A trace with counters; the others have none. */
export const counting = () =>
  written("counting.ctf", () =>
    trace([
      [1000, "switch", 0],
      ...[1, 4, 9, 2, 7].flatMap((value, i) => [
        [2000 + i * 1000, "counter", 0, value, "net/sent"],
        [2100 + i * 1000, "counter", 0, value * 3, "net/received"],
      ]),
      [9000, "switch", 0],
    ]),
  );

/** A trace with so many counters that their menu has groups. As it has a task, none is shown at first. */
export const countingMuch = () =>
  written("counting-much.ctf", () =>
    trace([
      [1000, "switch", 0],
      [1000, "create", 0, 2, "task"],
      ...[..."abcdefghijkl"].map((name) => [2000, "counter", 0, 1, `net/tcp/${name}`]),
      [9000, "switch", 0],
    ]),
  );

/** A file with these contents. */
export function written(name, contents) {
  return once(name, () => {
    const file = join(here, name);
    writeFileSync(file, contents());
    return file;
  });
}

/** The path of a real trace in a folder beside the checkout. */
export function real(name) {
  const folders = process.env.THRUM_MIRAGE_DATA
    ? [process.env.THRUM_MIRAGE_DATA]
    : readdirSync(dirname(source)).map((name) => join(dirname(source), name, "data/mirage"));
  const file = folders.map((folder) => join(folder, name)).find(existsSync);
  if (!file) throw new Skip(`${name} isn't there; THRUM_MIRAGE_DATA says where such traces are`);
  return file;
}

/** The page with these traces. */
export function page(...traces) {
  return once(`page ${traces}`, () => {
    const file = join(here, `page${kept.size}.html`);
    thrum("html", ...traces, "-o", file);
    return file;
  });
}

export const viewer = () =>
  once("viewer", () => {
    const file = join(here, "viewer.html");
    thrum("html", "--viewer", "-o", file);
    return file;
  });
