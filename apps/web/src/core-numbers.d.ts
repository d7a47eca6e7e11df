// SPDX-License-Identifier: ISC
// The numbers of numbers.c. build.mjs asks the core for their values and makes this module; a name
// that the core doesn't have stops the build. Offsets and sizes count 32-bit words, or bytes where
// the name says so.
declare module "core:numbers" {
  // Bits: the changes of a call, or a request to the page (STAGE_YOURS).
  export const CHANGED_PICTURE: number;
  export const CHANGED_PARTS: number;
  export const CHANGED_ALL: number;
  export const MORE: number;
  export const STAGE_YOURS: number;

  // Bits: modifiers of the pointer.
  export const WITH_SHIFT: number;
  export const WITH_CONTROL: number;
  export const WITH_TOUCH: number;

  export const DOCUMENT_TASK: number;
  export const DOCUMENT_FINDING: number;
  export const DOCUMENT_TRACE: number;
  export const DOCUMENT_SLOW: number;
  export const DOCUMENT_DIFF: number;

  export const NARROW_BY_TEXT: number;
  export const NARROW_BY_CHART: number;
  export const NARROW_BY_COUNT: number;

  export const CHART_HEIGHT: number;
  export const COLOUR_BG: number;

  export const OP_RECT: number;
  export const OP_LINE: number;
  export const OP_POLY: number;
  export const OP_TRI: number;
  export const OP_RING: number;
  export const OP_TEXT: number;
  export const OP_CELLS: number;
  export const CELL_WIDTH: number;

  // struct thrum__draw_list
  export const LIST_WORDS: number;
  export const LIST_X: number;
  export const LIST_Y: number;
  export const LIST_WIDTH: number;
  export const LIST_HEIGHT: number;
  export const LIST_BATCHES: number;
  export const LIST_BATCH_COUNT: number;
  export const LIST_TEXT: number;

  // struct thrum__draw_batch
  export const BATCH_WORDS: number;
  export const BATCH_OP_BYTE: number;
  export const BATCH_COLOUR_BYTE: number;
  export const BATCH_FILL_BYTE: number;
  export const BATCH_DASH_BYTE: number;
  export const BATCH_FONT_BYTE: number;
  export const BATCH_WIDTH: number;
  export const BATCH_COUNT: number;
  export const BATCH_ITEMS: number;

  // A batch's items
  export const RECT_WORDS: number;
  export const SEGMENT_WORDS: number;
  export const POINT_WORDS: number;
  export const CIRCLE_WORDS: number;
  export const TEXT_WORDS: number;
  export const CELLS_WORDS: number;
}

/** The module that unpacks the core (unlzma.c and join.c): wasm, a character for each byte. */
declare module "core:unpack" {
  const bytes: string;
  export default bytes;
}
