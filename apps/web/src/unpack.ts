// SPDX-License-Identifier: ISC
// Unpacks the data embedded in a page, which is text. Traces are gzip in base64, common formats; the
// page itself, which has to be small, is in base 93, and its core is LZMA (worker-core.ts).

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
 * The digits are "!" … "~" without "<", which could end a script element. Two of them are 14 bits, the
 * lowest first, if the lower 13 are less than 93² - 2¹³; else they are 13 bits. The first digit is the
 * number of excess bytes at the end.
 */
export function fromBase93(text: string): Uint8Array<ArrayBuffer> {
  const digit = (at: number) => {
    const code = text.charCodeAt(at) - 33;
    return code > 27 ? code - 1 : code;
  };
  const bytes = new Uint8Array(text.length);
  let size = 0;
  for (let at = 1, bits = 0, count = 0; at < text.length; at += 2) {
    const pair = digit(at) + 93 * digit(at + 1);
    bits |= pair << count;
    count += (pair & 8191) < 457 ? 14 : 13;
    for (; count > 7; count -= 8, bits >>= 8) bytes[size++] = bits;
  }
  return bytes.subarray(0, size - digit(0));
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
