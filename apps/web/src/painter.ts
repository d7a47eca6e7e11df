// SPDX-License-Identifier: ISC
// Paints display lists (src/draw/list.h) straight from the core's memory. The places of their members
// come from the core at build time (numbers.c), where the order of an item's words is asserted, too.

import * as C from "core:numbers";
import type { Core, Tokens } from "./worker-core";

type Context = OffscreenCanvasRenderingContext2D;

const css = (colour: number): string => "#" + colour.toString(16).padStart(6, "0");

/** The pixels of the bytes of cells: 0 is nothing, else a colour + 1. Bytes are red, green, blue. */
const palette = (theme: number[]): Uint32Array =>
  Uint32Array.from([0, ...theme], (colour, byte) =>
    byte === 0 ? 0 : 0xff000000 | (colour << 16) | (colour & 0xff00) | (colour >> 16),
  );

export class Painter {
  private readonly colours: string[][];
  /** By theme: the pixel of each cell's byte. */
  private readonly palettes: Uint32Array[];
  readonly fonts: string[];
  private readonly dashes: number[][];
  private readonly decoder = new TextDecoder();

  constructor(
    private readonly core: Core,
    tokens: Tokens,
  ) {
    this.colours = Object.values(tokens.themes).map((theme) => theme.map(css));
    this.palettes = Object.values(tokens.themes).map(palette);
    this.fonts = tokens.fonts.map((font) => `${font.weight} ${font.size}px ${tokens.face}`);
    this.dashes = tokens.dashes;
  }

  /**
   * Paints the `count` lists that begin at the address `lists`, each over those before it. A list's
   * lengths are CSS pixels; each of them is `scale` pixels of the device.
   */
  paint(context: Context, lists: number, count: number, theme: number, scale: number): void {
    const colours = this.colours[theme] ?? [];
    const { canvas } = context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colours[C.COLOUR_BG] ?? "";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.textBaseline = "alphabetic";
    const memory = this.core.memory.buffer;
    const words = new Uint32Array(memory);
    const floats = new Float32Array(memory);
    for (let i = 0; i < count; i++) {
      const list = (lists >>> 2) + i * C.LIST_WORDS;
      const x = floats[list + C.LIST_X]!;
      const y = floats[list + C.LIST_Y]!;
      context.save();
      context.setTransform(scale, 0, 0, scale, x * scale, y * scale);
      context.beginPath();
      context.rect(0, 0, floats[list + C.LIST_WIDTH]!, floats[list + C.LIST_HEIGHT]!);
      context.clip();
      const text = words[list + C.LIST_TEXT]!;
      const first = words[list + C.LIST_BATCHES]! >>> 2;
      const end = first + words[list + C.LIST_BATCH_COUNT]! * C.BATCH_WORDS;
      for (let batch = first; batch < end; batch += C.BATCH_WORDS)
        this.paintBatch(context, words, floats, batch, text, theme);
      context.restore();
    }
  }

  /** `batch` is an index into `words`; `text`, the list's text, is an address. */
  private paintBatch(
    context: Context,
    words: Uint32Array,
    floats: Float32Array,
    batch: number,
    text: number,
    theme: number,
  ): void {
    const colours = this.colours[theme] ?? [];
    const style = new Uint8Array(words.buffer, batch * 4, C.BATCH_WORDS * 4);
    const op = style[C.BATCH_OP_BYTE];
    const colour = colours[style[C.BATCH_COLOUR_BYTE]!]!;
    const count = words[batch + C.BATCH_COUNT]!;
    let item = words[batch + C.BATCH_ITEMS]! >>> 2;

    if (op === C.OP_RECT) {
      context.fillStyle = colour;
      for (const end = item + C.RECT_WORDS * count; item < end; item += C.RECT_WORDS)
        context.fillRect(floats[item]!, floats[item + 1]!, floats[item + 2]!, floats[item + 3]!);
      return;
    }
    if (op === C.OP_TEXT) {
      context.fillStyle = colour;
      context.font = this.fonts[style[C.BATCH_FONT_BYTE]!]!;
      for (const end = item + C.TEXT_WORDS * count; item < end; item += C.TEXT_WORDS) {
        const from = text + words[item + 2]!;
        const label = this.decode(words.buffer, from, words[item + 3]!);
        context.fillText(label, floats[item]!, floats[item + 1]!);
      }
      return;
    }
    if (op === C.OP_CELLS) {
      for (const end = item + C.CELLS_WORDS * count; item < end; item += C.CELLS_WORDS)
        this.paintCells(context, words, floats, item, text, theme);
      return;
    }
    context.fillStyle = op === C.OP_RING ? colours[style[C.BATCH_FILL_BYTE]!]! : colour;
    context.strokeStyle = colour;
    context.lineWidth = floats[batch + C.BATCH_WIDTH]!;
    context.setLineDash(this.dashes[style[C.BATCH_DASH_BYTE]!]!);
    context.beginPath();
    if (op === C.OP_LINE) addLines(context, floats, item, count);
    else if (op === C.OP_POLY) addPolylines(context, floats, item, count);
    else if (op === C.OP_TRI) addTriangles(context, floats, item, count);
    else addRings(context, floats, item, count);
    if (op === C.OP_TRI || op === C.OP_RING) context.fill();
    if (op !== C.OP_TRI) context.stroke();
  }

  /** An image has no clip and no scale when it is put, so it goes through another canvas. */
  private paintCells(
    context: Context,
    words: Uint32Array,
    floats: Float32Array,
    item: number,
    text: number,
    theme: number,
  ): void {
    const columns = words[item + 2]!;
    const rows = words[item + 3]!;
    const from = text + words[item + 4]!;
    const palette = this.palettes[theme]!;
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const cells = new Uint8Array(words.buffer, from, columns * rows);
    cells.forEach((byte, i) => (pixels[i] = palette[byte]!));
    const canvas = new OffscreenCanvas(columns, rows);
    canvas.getContext("2d")!.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(canvas, floats[item]!, floats[item + 1]!, C.CELL_WIDTH * columns, rows);
  }

  private decode(memory: ArrayBufferLike, from: number, size: number): string {
    return this.decoder.decode(new Uint8Array(memory, from, size));
  }
}

function addLines(context: Context, floats: Float32Array, item: number, count: number): void {
  for (const end = item + C.SEGMENT_WORDS * count; item < end; item += C.SEGMENT_WORDS) {
    context.moveTo(floats[item]!, floats[item + 1]!);
    context.lineTo(floats[item + 2]!, floats[item + 3]!);
  }
}

/** A point whose x is NaN ends a polyline. */
function addPolylines(context: Context, floats: Float32Array, item: number, count: number): void {
  let begins = true;
  for (const end = item + C.POINT_WORDS * count; item < end; item += C.POINT_WORDS) {
    const x = floats[item]!;
    if (Number.isNaN(x)) begins = true;
    else if (begins) context.moveTo(x, floats[item + 1]!);
    else context.lineTo(x, floats[item + 1]!);
    if (!Number.isNaN(x)) begins = false;
  }
}

/** Three points are a triangle. */
function addTriangles(context: Context, floats: Float32Array, item: number, count: number): void {
  const end = item + 3 * C.POINT_WORDS * count;
  for (let corner = 0; item < end; item += C.POINT_WORDS, corner = (corner + 1) % 3) {
    if (corner === 0) context.moveTo(floats[item]!, floats[item + 1]!);
    else context.lineTo(floats[item]!, floats[item + 1]!);
    if (corner === 2) context.closePath();
  }
}

function addRings(context: Context, floats: Float32Array, item: number, count: number): void {
  for (const end = item + C.CIRCLE_WORDS * count; item < end; item += C.CIRCLE_WORDS) {
    const radius = floats[item + 2]!;
    context.moveTo(floats[item]! + radius, floats[item + 1]!);
    context.arc(floats[item]!, floats[item + 1]!, radius, 0, 2 * Math.PI);
  }
}
