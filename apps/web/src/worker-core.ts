// SPDX-License-Identifier: ISC
// The core, C compiled to wasm32 (apps/web/*.c): its exports and the functions that it imports.

import unlzma from "core:unlzma";
import { fromBase64, gunzip } from "./unpack";
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

/** Unpacks LZMA by the module that unlzma.c makes. */
function unpackLzma(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const wrong = new Error("the page is incomplete or damaged");
  if (packed.length < 18) throw wrong;
  const size = new DataView(packed.buffer).getUint32(5, true);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fromBase64(unlzma)));
  const memory = exports.memory as WebAssembly.Memory;
  const from = memory.buffer.byteLength;
  const to = from + packed.length;
  memory.grow((packed.length + size + 65535) >> 16);
  new Uint8Array(memory.buffer).set(packed, from);
  if (!(exports.unlzma as Call)(from, packed.length, to, size)) throw wrong;
  return new Uint8Array(memory.buffer, to, size);
}

/** Unpacks and compiles the core, which is LZMA, or gzip where the page was built without xz. */
export async function compileCore(packed: Uint8Array<ArrayBuffer>): Promise<WebAssembly.Module> {
  return WebAssembly.compile(packed[0] === 0x1f ? await gunzip(packed) : unpackLzma(packed));
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
