// SPDX-License-Identifier: ISC
// Paints display lists (src/draw/list.h) straight from the core's memory. Where their members lie is
// asserted in core.c, so that what is read here can't go stale.

import type { Core, Tokens } from "./worker-core";

const LIST_SIZE = 48;
const BATCH_SIZE = 24;

type Context = OffscreenCanvasRenderingContext2D;

enum Op {
  Rect,
  Line,
  Poly,
  Tri,
  Ring,
  Text,
}

const css = (colour: number): string => "#" + colour.toString(16).padStart(6, "0");

export class Painter {
  private readonly colours: string[][];
  readonly fonts: string[];
  private readonly dashes: number[][];
  private readonly decoder = new TextDecoder();

  constructor(
    private readonly core: Core,
    tokens: Tokens,
  ) {
    this.colours = Object.values(tokens.themes).map((theme) => theme.map(css));
    this.fonts = tokens.fonts.map((font) => `${font.weight} ${font.size}px ${tokens.face}`);
    this.dashes = tokens.dashes;
  }

  /** `count` lists at `at`, one upon the other. Lengths in CSS pixels; `scale` device pixels each. */
  paint(context: Context, at: number, count: number, theme: number, scale: number): void {
    const colours = this.colours[theme] ?? [];
    const { canvas } = context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colours[0] ?? "";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.textBaseline = "alphabetic";
    const memory = this.core.memory.buffer;
    const words = new Uint32Array(memory);
    const floats = new Float32Array(memory);
    for (let i = 0; i < count; i++) {
      const list = (at + i * LIST_SIZE) >>> 2;
      const [x = 0, y = 0, width = 0, height = 0] = floats.subarray(list, list + 4);
      context.save();
      context.setTransform(scale, 0, 0, scale, x * scale, y * scale);
      context.beginPath();
      context.rect(0, 0, width, height);
      context.clip();
      const first = words[list + 4]! >>> 2;
      for (let j = 0; j < words[list + 5]!; j++)
        this.batch(context, words, floats, first + (j * BATCH_SIZE) / 4, words[list + 8]!, colours);
      context.restore();
    }
  }

  private batch(
    context: Context,
    words: Uint32Array,
    floats: Float32Array,
    at: number,
    text: number,
    colours: string[],
  ): void {
    const bytes = new Uint8Array(words.buffer, at * 4, 8);
    const op = bytes[0] as Op;
    const colour = colours[bytes[2]!]!;
    const count = words[at + 3]!;
    let item = words[at + 5]! >>> 2;

    if (op === Op.Rect) {
      context.fillStyle = colour;
      for (const end = item + 4 * count; item < end; item += 4)
        context.fillRect(floats[item]!, floats[item + 1]!, floats[item + 2]!, floats[item + 3]!);
      return;
    }
    if (op === Op.Text) {
      context.fillStyle = colour;
      context.font = this.fonts[bytes[5]!]!;
      for (const end = item + 4 * count; item < end; item += 4) {
        const from = text + words[item + 2]!;
        const label = this.text(words.buffer, from, words[item + 3]!);
        context.fillText(label, floats[item]!, floats[item + 1]!);
      }
      return;
    }
    context.fillStyle = op === Op.Ring ? colours[bytes[3]!]! : colour;
    context.strokeStyle = colour;
    context.lineWidth = floats[at + 2]!;
    context.setLineDash(this.dashes[bytes[4]!]!);
    context.beginPath();
    if (op === Op.Line) lines(context, floats, item, count);
    else if (op === Op.Poly) polylines(context, floats, item, count);
    else if (op === Op.Tri) triangles(context, floats, item, count);
    else rings(context, floats, item, count);
    if (op === Op.Tri || op === Op.Ring) context.fill();
    if (op !== Op.Tri) context.stroke();
  }

  private text(memory: ArrayBufferLike, from: number, size: number): string {
    return this.decoder.decode(new Uint8Array(memory, from, size));
  }
}

function lines(context: Context, floats: Float32Array, item: number, count: number): void {
  for (const end = item + 4 * count; item < end; item += 4) {
    context.moveTo(floats[item]!, floats[item + 1]!);
    context.lineTo(floats[item + 2]!, floats[item + 3]!);
  }
}

/** A point with x = NaN ends each. */
function polylines(context: Context, floats: Float32Array, item: number, count: number): void {
  let begins = true;
  for (const end = item + 2 * count; item < end; item += 2) {
    const x = floats[item]!;
    if (Number.isNaN(x)) begins = true;
    else if (begins) context.moveTo(x, floats[item + 1]!);
    else context.lineTo(x, floats[item + 1]!);
    if (!Number.isNaN(x)) begins = false;
  }
}

function triangles(context: Context, floats: Float32Array, item: number, count: number): void {
  for (const end = item + 6 * count; item < end; item += 6) {
    context.moveTo(floats[item]!, floats[item + 1]!);
    context.lineTo(floats[item + 2]!, floats[item + 3]!);
    context.lineTo(floats[item + 4]!, floats[item + 5]!);
    context.closePath();
  }
}

function rings(context: Context, floats: Float32Array, item: number, count: number): void {
  for (const end = item + 3 * count; item < end; item += 3) {
    const radius = floats[item + 2]!;
    context.moveTo(floats[item]! + radius, floats[item + 1]!);
    context.arc(floats[item]!, floats[item + 1]!, radius, 0, 2 * Math.PI);
  }
}
