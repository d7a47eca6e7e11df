// SPDX-License-Identifier: ISC
// Unpacks the data embedded in a page, which is gzip as text. Traces are in base64, a common format;
// the page itself, which has to be small, is in base 91.

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
 * Two characters are 13 bits, the lowest first. The digits 0 … 90 are "#" … "}", but "~" stands for
 * "<", which could end a script element. The first character is the number of excess bytes at the end.
 */
export function fromBase91(text: string): Uint8Array<ArrayBuffer> {
  const digit = (at: number) => {
    const code = text.charCodeAt(at);
    return (code === 126 ? 60 : code) - 35;
  };
  const bytes = new Uint8Array(((13 * (text.length - 1)) >> 4) - digit(0));
  for (let at = 1, bits = 0, count = 0, size = 0; at < text.length; at += 2) {
    bits |= (digit(at) + 91 * digit(at + 1)) << count;
    for (count += 13; count > 7; count -= 8, bits >>= 8) bytes[size++] = bits;
  }
  return bytes;
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
