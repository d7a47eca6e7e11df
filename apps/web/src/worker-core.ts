// SPDX-License-Identifier: ISC
// The core, C compiled to wasm32 (apps/web/*.c): its exports and the functions that it imports.

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
