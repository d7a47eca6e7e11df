// SPDX-License-Identifier: ISC
// Unpacks the data embedded in a page, which is gzip as text. Traces are in base64, a common format;
// the page itself, which has to be small, is in base 85.

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
 * Five characters are four bytes. The digits 0 … 84 are "#" … "w", but "x" stands for "<", which
 * could end a script element. The first character is the number of excess bytes at the end.
 */
export function fromBase85(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new DataView(new ArrayBuffer(((text.length - 1) / 5) * 4));
  const digit = (at: number) => {
    const code = text.charCodeAt(at);
    return (code === 120 ? 60 : code) - 35;
  };
  for (let at = 0; at < bytes.byteLength; at += 4) {
    let value = 0;
    for (let i = 1; i <= 5; i++) value = value * 85 + digit((at / 4) * 5 + i);
    bytes.setUint32(at, value);
  }
  return new Uint8Array(bytes.buffer, 0, bytes.byteLength - digit(0));
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
