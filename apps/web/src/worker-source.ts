// SPDX-License-Identifier: ISC
// The bytes of traces. They stay outside of the core's memory, which the model needs.

import type { Source } from "./messages";
import { fromBase64, unzipped } from "./unpack";

const WRONG_MOST = 16; // places that only look like the beginning of another gzip member

/** Bytes in several pieces, which can be read at any offset. */
export class Bytes {
  private readonly starts: number[] = [];
  readonly size: number;

  constructor(private readonly pieces: Uint8Array[]) {
    let size = 0;
    for (const piece of pieces) {
      this.starts.push(size);
      size += piece.length;
    }
    this.size = size;
  }

  /** Copies bytes from `offset` on to `to`; returns their number, less than wanted at the end. */
  read(offset: number, to: Uint8Array): number {
    let done = 0;
    for (let i = this.find(offset); i < this.pieces.length && done < to.length; i++) {
      const from = offset + done - this.starts[i]!;
      const part = this.pieces[i]!.subarray(from, from + to.length - done);
      to.set(part, done);
      done += part.length;
    }
    return done;
  }

  /** Returns the index of the piece in which an offset lies. */
  private find(offset: number): number {
    let low = 0;
    let high = this.pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle]! + this.pieces[middle]!.length <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  const reader = unzipped(packed).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return pieces;
    pieces.push(value);
  }
}

/** Returns where the next member of a gzip file may begin (RFC 1952, 2.3), or the end. */
function nextMember(bytes: Uint8Array, at: number): number {
  while ((at = bytes.indexOf(0x1f, at)) >= 0) {
    if (bytes[at + 1] === 0x8b && bytes[at + 2] === 8 && bytes[at + 3]! < 32) return at;
    at++;
  }
  return bytes.length;
}

/**
 * Unpacks all members of a gzip file. Browsers unpack only one member and don't tell where it ends.
 * So this tries each place where the next member may begin; the checksum tells whether it is right.
 */
async function inflateMembers(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  let wrong = 0;
  for (let start = 0, end = 0; start < packed.length;) {
    end = nextMember(packed, end + 1);
    try {
      pieces.push(...(await inflate(packed.subarray(start, end))));
      start = end;
    } catch (error) {
      if (end === packed.length || ++wrong > WRONG_MOST) throw error;
    }
  }
  return pieces;
}

async function unpacked(pieces: Promise<Uint8Array[]>): Promise<Uint8Array[]> {
  try {
    return await pieces;
  } catch (error) {
    if (error instanceof RangeError) throw error; // out of memory
    throw new Error("it can't be unpacked: it is incomplete or damaged");
  }
}

async function unpackFile(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array[]> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return [bytes];
  return inflate(bytes).catch(() => inflateMembers(bytes));
}

const ahead: Promise<Uint8Array[]>[] = []; // blocks of embedded traces

/** Begins to unpack a block of an embedded trace. */
export function unpackAhead(text: string): void {
  const block = (async () => inflate(fromBase64(text)))();
  block.catch(() => undefined); // told when the block is needed
  ahead.push(block);
}

/** Unpacks a trace. Each block of an embedded one is gzip; an opened file may be gzip, too. */
export async function unpack(
  { blocks }: Source,
  progress: (step: string, part: number) => void,
): Promise<Bytes> {
  if (typeof blocks !== "number")
    return new Bytes(await unpacked(unpackFile(new Uint8Array(blocks))));
  const pieces: Uint8Array[][] = [];
  for (const block of ahead.splice(0, blocks)) {
    progress("Unpacking", pieces.length / blocks);
    pieces.push(await unpacked(block));
  }
  return new Bytes(pieces.flat());
}
