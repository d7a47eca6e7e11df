// SPDX-License-Identifier: ISC
// Parts a wasm module into streams of what is alike, for join.c, which explains them.

const OUTSIDE = 0;
const DECLARATIONS = 1;
const CODE = 2;
const LOCALS = 3;
const OFFSETS = 4;
const STREAMS = 8;

const CODE_SECTION = 10;
const FIRST_ACCESS = 0x28;
const NATURAL = "23230011001122232301012";
const ODD = 0x9d;

/** The numbers that follow an opcode in the stream CODE, of those that have any. */
const NUMBERS = new Map([
  ...[0x02, 0x03, 0x04, 0x0c, 0x0d, 0x10, 0x23, 0x24, 0x3f, 0x40, 0x41, 0x42].map((op) => [op, 1]),
  [0x11, 2],
]);
/** The same of those that follow 0xfc. */
const NUMBERS_MORE = new Map([
  ...[0, 1, 2, 3, 4, 5, 6, 7].map((op) => [op, 0]),
  [8, 2],
  [9, 1],
  [10, 2],
  [11, 1],
]);
const IS_PLAIN = (opcode) =>
  [0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b].includes(opcode) || (opcode >= 0x45 && opcode <= 0xc4);

/** Reads a module from its beginning. */
class Reader {
  at = 0;
  constructor(bytes) {
    this.bytes = bytes;
  }
  byte() {
    return this.bytes[this.at++];
  }
  take(size) {
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }
  /** A LEB128 number as it stands there. */
  leb() {
    let size = 1;
    while (this.bytes[this.at + size - 1] >= 128) size++;
    return this.take(size);
  }
  number() {
    return this.leb().reduce((value, byte, i) => value + (byte & 127) * 128 ** i, 0);
  }
}

/** Returns the streams, with the numbers before them by which join.c finds them. */
export function split(wasm) {
  const streams = Array.from({ length: STREAMS }, () => []);
  const reader = new Reader(wasm);

  /** Moves a number into a stream, the highest bits first. Returns its value, if it isn't negative. */
  function move(stream) {
    const bits = [...reader.leb()].reverse().map((byte) => byte & 127);
    streams[stream].push(...bits.map((byte, i) => (i < bits.length - 1 ? byte | 128 : byte)));
    return bits.reduce((value, byte) => value * 128 + byte, 0);
  }
  const moveAll = (stream, count) => {
    for (; count > 0; count--) move(stream);
  };

  function access(opcode) {
    const natural = Number(NATURAL[opcode - FIRST_ACCESS]);
    const isNatural = reader.bytes[reader.at] === natural;
    streams[CODE].push(isNatural ? opcode : opcode + ODD);
    if (isNatural) reader.byte();
    else move(CODE);
    move(OFFSETS + natural);
  }

  /** Returns by how much the blocks are deeper after an instruction. */
  function instruction() {
    const opcode = reader.byte();
    if (opcode >= FIRST_ACCESS && opcode < FIRST_ACCESS + NATURAL.length) {
      access(opcode);
      return 0;
    }
    streams[CODE].push(opcode);
    if (NUMBERS.has(opcode)) moveAll(CODE, NUMBERS.get(opcode));
    else if (opcode === 0x0e) moveAll(CODE, move(CODE) + 1);
    else if (opcode >= 0x20 && opcode <= 0x22) move(LOCALS);
    else if (opcode === 0x43) streams[CODE].push(...reader.take(4));
    else if (opcode === 0x44) streams[CODE].push(...reader.take(8));
    else if (opcode === 0xfc && NUMBERS_MORE.has(reader.bytes[reader.at]))
      moveAll(CODE, NUMBERS_MORE.get(move(CODE)));
    else if (!IS_PLAIN(opcode)) throw new Error(`join.c doesn't know the opcode ${opcode}`);
    return opcode >= 0x02 && opcode <= 0x04 ? 1 : opcode === 0x0b ? -1 : 0;
  }

  function functionBody() {
    reader.number(); // its size
    moveAll(DECLARATIONS, 2 * move(DECLARATIONS));
    for (let depth = 1; depth > 0;) depth += instruction();
  }

  reader.take(8);
  for (;;) {
    const id = reader.byte();
    if (id === undefined) throw new Error("the module has no code");
    const size = reader.number();
    if (id === CODE_SECTION) break;
    reader.take(size);
  }
  const functions = reader.number();
  const before = reader.at;
  for (let i = 0; i < functions; i++) functionBody();
  streams[OUTSIDE] = [...wasm.subarray(0, before), ...wasm.subarray(reader.at)];
  const numbers = [functions, before, ...streams.map((stream) => stream.length)];
  return Buffer.concat([
    Buffer.from(new Uint32Array(numbers).buffer),
    ...streams.map((stream) => Buffer.from(stream)),
  ]);
}
