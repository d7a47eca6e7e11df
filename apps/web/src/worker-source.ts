// SPDX-License-Identifier: ISC
// Where a trace's bytes come from. They stay outside of the core's memory, which the model needs.

import type { Source } from "./messages";
import { fromBase64, gunzip } from "./unpack";

/** Bytes in pieces, which are read at any place. */
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

  /** Copies what there is from `offset` on; returns how much. */
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

  /** The piece in which an offset lies. */
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

async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  try {
    return new Uint8Array(await gunzip(packed));
  } catch (error) {
    if (error instanceof RangeError) throw error; // memory
    throw new Error("it can't be unpacked: cut short, damaged, or several in one");
  }
}

/** An embedded trace's blocks are gzip each; an opened file may be gzip as a whole. */
export async function unpack(
  source: Source,
  progress: (what: string, part: number) => void,
): Promise<Bytes> {
  const { blocks } = source;
  if (!Array.isArray(blocks)) {
    const bytes = new Uint8Array(blocks);
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    return new Bytes([isPacked ? await inflate(bytes) : bytes]);
  }
  const pieces: Uint8Array[] = [];
  for (let i = 0; i < blocks.length; i++) {
    progress("Unpacking", i / blocks.length);
    pieces.push(await inflate(fromBase64(blocks[i]!)));
    blocks[i] = ""; // not needed any more
  }
  return new Bytes(pieces);
}
