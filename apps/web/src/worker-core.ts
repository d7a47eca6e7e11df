// SPDX-License-Identifier: ISC
// The core, C compiled to wasm32 (apps/web/*.c): its exports and the functions that it imports.

import unpack from "core:unpack";
import { gunzip } from "./unpack";
import type { Bytes } from "./worker-source";

/** Colours, fonts and dashes: core_tokens. */
export interface Tokens {
  face: string;
  colours: string[];
  themes: Record<string, number[]>;
  fonts: { size: number; weight: number }[];
  dashes: number[][];
}

/** Takes and returns numbers. A text is put into core_in before: Core.callText. */
type Call = (...numbers: number[]) => number;

export interface Host {
  progress(step: string, part: number): void;
  measure(text: string, font: number): number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The bytes that are the characters of a text. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Unpacks LZMA, and joins the streams in it, by the module that unlzma.c and join.c make. */
function unpackStreams(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const wrong = new Error("the page is incomplete or damaged");
  if (packed.length < 18) throw wrong;
  const head = new DataView(packed.buffer);
  const size = head.getUint32(5, true);
  const moduleSize = head.getUint32(9, true);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytesOf(unpack)));
  const memory = exports.memory as WebAssembly.Memory;
  const from = memory.buffer.byteLength;
  const streams = from + ((packed.length + 3) & ~3);
  const to = streams + size;
  memory.grow((to - from + moduleSize + 65535 + 8) >> 16); // join.c needs a few bytes more
  new Uint8Array(memory.buffer).set(packed, from);
  if (!(exports.unlzma as Call)(from, packed.length, streams, size)) throw wrong;
  if ((exports.join as Call)(streams, to) !== moduleSize) throw wrong;
  return new Uint8Array(memory.buffer, to, moduleSize);
}

/** Unpacks and compiles the core, which is LZMA, or gzip where the page was built without xz. */
export async function compileCore(packed: Uint8Array<ArrayBuffer>): Promise<WebAssembly.Module> {
  return WebAssembly.compile(packed[0] === 0x1f ? await gunzip(packed) : unpackStreams(packed));
}

export class Core {
  readonly memory: WebAssembly.Memory;
  private readonly exports: Record<string, Call>;

  private constructor(
    instance: WebAssembly.Instance,
    private readonly from: { source?: Bytes },
  ) {
    this.memory = instance.exports.memory as WebAssembly.Memory;
    this.exports = instance.exports as Record<string, Call>;
    this.call("_initialize");
  }

  static async load(module: WebAssembly.Module, host: Host): Promise<Core> {
    const from: { source?: Bytes } = {};
    const bytes = (at: number, size: number) =>
      new Uint8Array(core.memory.buffer, at >>> 0, size >>> 0);
    const zero = () => 0;
    const instance = await WebAssembly.instantiate(module, {
      page: {
        read: (offset: number, to: number, size: number) =>
          from.source?.read(offset, bytes(to, size)) ?? 0,
        size: () => from.source?.size ?? 0,
        progress: (step: number, part: number) => {
          host.progress(core.string(step), part);
        },
        pow: Math.pow,
        exp: Math.exp,
        measure: (text: number, size: number, font: number) =>
          host.measure(decoder.decode(bytes(text, size)), font),
      },
      // wasi-libc's stdio needs these. Nothing is printed.
      wasi_snapshot_preview1: { fd_close: zero, fd_seek: zero, fd_write: zero },
    });
    const core = new Core(instance, from);
    return core;
  }

  call(name: string, ...numbers: number[]): number {
    return this.exports[name]!(...numbers);
  }

  /** Calls an export that takes a text, too. */
  callText(name: string, text: string, ...numbers: number[]): number {
    const bytes = encoder.encode(text);
    const to = this.call("core_in", bytes.length) >>> 0;
    if (to === 0) throw new Error("out of memory");
    new Uint8Array(this.memory.buffer, to, bytes.length).set(bytes);
    return this.call(name, ...numbers);
  }

  /** Opens a trace. `adds`: below the others, else in their place. */
  open(name: string, source: Bytes, adds: boolean): number {
    this.from.source = source;
    try {
      return this.callText("core_open", name, Number(adds));
    } finally {
      delete this.from.source;
    }
  }

  /** Returns a copy of the last call's answer. */
  bytes(): Uint8Array<ArrayBuffer> {
    const size = this.call("core_out_size");
    if (size < 0) throw new Error("out of memory");
    return new Uint8Array(this.memory.buffer, this.call("core_out") >>> 0, size).slice();
  }

  answer(): string {
    return decoder.decode(this.bytes());
  }

  json<T>(): T {
    return JSON.parse(this.answer()) as T;
  }

  /** Reads a text that ends in NUL. */
  private string(at: number): string {
    const bytes = new Uint8Array(this.memory.buffer, at >>> 0);
    return decoder.decode(bytes.subarray(0, bytes.indexOf(0)));
  }
}
