// SPDX-License-Identifier: ISC
// Unpacks the data embedded in a page, which is text. Traces are gzip in base64, common formats; the
// page itself, which has to be small, is in denser text, and its core is LZMA (worker-core.ts).

declare global {
  interface Uint8ArrayConstructor {
    fromBase64?(text: string): Uint8Array<ArrayBuffer>; // not in every browser yet
  }
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * Each character stands for bits, the highest first, and is one of 128 beginnings of 7 bits: " " … "~"
 * is a beginning; U+00C0 … U+07FF are 29 beginnings with 6 bits more each, and U+3800 … U+D7FF are 5 with
 * 13 bits more. "~" takes the place of "<", which could end a script element. The first character is the
 * number of excess bytes at the end.
 */
export function fromText(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 2);
  let size = 0;
  for (let at = 1, bits = 0, count = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 127) bits = (bits << 7) | (code < 126 ? code - 32 : 28);
    else if (code < 2048) bits = (bits << 13) | ((94 << 6) + code - 0xc0);
    else bits = (bits << 20) | ((123 << 13) + code - 0x3800);
    count += code < 127 ? 7 : code < 2048 ? 13 : 20;
    while (count > 7) bytes[size++] = bits >> (count -= 8);
  }
  return bytes.subarray(0, size - Number(text[0]));
}

/** Unpacks gzip. A Blob would be simpler, but its bytes would go to another process and back. */
export function unzipped(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  return packed.pipeThrough(new DecompressionStream("gzip"));
}

export function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  return new Response(unzipped(bytes)).arrayBuffer();
}
