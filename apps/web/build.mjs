// SPDX-License-Identifier: ISC
// build.mjs CORE UNPACK OUT ASSEMBLY: makes the page OUT, one file that needs no others, from the core
// and what unpacks it (wasm files) and the files beside this script. The same input and tools give the same bytes.
// ASSEMBLY becomes an assembler file that puts the page into a program.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, transformSync } from "esbuild";
import { split } from "./split.mjs";

const [corePath, unpackPath, outPath, assemblyPath] = process.argv.slice(2);
// Bytes of a page without traces, so that mail and bug trackers take it. A quarter finds causes,
// tells why a task was slow and compares two traces: whoever gets a page may have no thrum for that.
const LIMIT = 373_000;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const wasm = readFileSync(corePath);
const ask = await loadCore();

/** Loads the core, and returns a function that calls one of its exports and parses the answer. */
async function loadCore() {
  const nothing = () => 0;
  const { instance } = await WebAssembly.instantiate(wasm, {
    page: {
      read: nothing,
      size: nothing,
      progress: nothing,
      measure: nothing,
      pow: nothing,
      exp: nothing,
    },
    wasi_snapshot_preview1: { fd_close: nothing, fd_seek: nothing, fd_write: nothing },
  });
  const { memory, core_out, core_out_size } = instance.exports;
  return (name) => {
    instance.exports[name]();
    return JSON.parse(Buffer.from(memory.buffer, core_out(), core_out_size()).toString());
  };
}

/** Custom properties for each theme, for the system's preference or [data-theme]. */
function themes({ colours, themes, face }) {
  const values = (name) =>
    `color-scheme:${name === "light" ? "light" : "dark"};` +
    colours
      .map((colour, i) => `--${colour}:#${themes[name][i].toString(16).padStart(6, "0")}`)
      .join(";");
  const system = {
    dark: "(prefers-color-scheme:dark)",
    contrast: "(prefers-contrast:more),(forced-colors:active)",
  };
  let css = `:root{--face:${face};${values("light")}}`;
  for (const [name, query] of Object.entries(system))
    css += `@media ${query}{:root{${values(name)}}}`;
  for (const name of Object.keys(themes)) css += `:root[data-theme=${name}]{${values(name)}}`;
  return css;
}

/** The modules that src/core-numbers.d.ts declares. */
const coreModules = {
  name: "core-modules",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^core:/ }, ({ path }) => ({ path, namespace: "core" }));
    onLoad({ filter: /^core:unpack$/, namespace: "core" }, () => ({
      contents: readFileSync(unpackPath, "latin1"),
      loader: "text",
    }));
    onLoad({ filter: /^core:numbers$/, namespace: "core" }, () => ({
      contents: Object.entries(ask("core_numbers"))
        .map(([name, value]) => `export const ${name} = ${value};`)
        .join("\n"),
    }));
  },
};

async function script(entry) {
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["chrome90", "firefox105", "safari16.4"],
    charset: "utf8",
    legalComments: "none",
    plugins: [coreModules],
    logOverride: { "import-is-undefined": "error" },
  });
  return outputFiles[0].text;
}

/** The reverse of fromText in src/unpack.ts. It takes 4 % less room than ASCII alone could. */
function toText(bytes) {
  const padded = Buffer.concat([bytes, Buffer.alloc(4)]);
  const end = 8 * bytes.length;
  let text = "";
  let at = 0;
  const take = (size) => {
    const value = (padded.readUInt32BE(at >> 3) << (at & 7)) >>> (32 - size);
    at += size;
    return value;
  };
  const next = () => {
    const first = take(7);
    if (first < 94) return first === 28 ? 126 : 32 + first;
    if (first < 123) return 0xc0 + ((first - 94) << 6) + take(6);
    return 0x3800 + ((first - 123) << 13) + take(13);
  };
  while (at < end) text += String.fromCharCode(next());
  return `${(at - end) >> 3}${text}`;
}

/** Returns the output of a tool, or that of `other` where the tool is missing. */
function packedBy(tool, args, input, other) {
  try {
    return execFileSync(tool, args, { input });
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    console.log(`${tool} is missing, so the page is larger than necessary: tools/setup web`);
    return other();
  }
}

/** zopfli's gzip is 5 % smaller than zlib's. It reads no pipes. */
function gzip(bytes) {
  const folder = mkdtempSync(join(tmpdir(), "thrum-page-"));
  const part = join(folder, "part");
  writeFileSync(part, bytes);
  const packed = packedBy("zopfli", ["-c", part], "", () => gzipSync(bytes, { level: 9 }));
  rmSync(folder, { recursive: true });
  packed[9] = 255; // the operating system: unknown
  return packed;
}

/** Returns the module that join.c makes of streams. */
function joined(streams, size) {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(unpackPath)));
  const { memory, join } = exports;
  const from = memory.buffer.byteLength;
  memory.grow(Math.ceil((streams.length + size) / 65536) + 1);
  new Uint8Array(memory.buffer).set(streams, from);
  const to = from + streams.length;
  return Buffer.from(memory.buffer, to, join(from, to));
}

/**
 * Parts the module into streams, which LZMA packs: a fifth smaller than gzip. unlzma.c wants these numbers,
 * and the size; behind it comes that of the module, in place of zeros.
 */
function packedCore(module) {
  const streams = split(module);
  if (!joined(streams, module.length).equals(module)) throw new Error("join.c gives other bytes");
  const args = ["--format=lzma", "--lzma1=preset=9e,lc=3,lp=0,pb=0,nice=96", "-c"];
  const packed = packedBy("xz", args, streams, () => gzip(module));
  if (packed[0] === 0x1f) return packed;
  packed.writeUInt32LE(streams.length, 5);
  packed.writeUInt32LE(module.length, 9);
  return packed;
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// The page has to be small, so all is packed but boot.ts, which unpacks it.
const css = themes(ask("core_tokens")) + readFileSync(here("page.css"), "utf8");
const [head, body, rest] = readFileSync(here("page.html"), "utf8").split(
  /(?<=<body>)|<!--packed-->/,
);
const bundle = {
  body: body.replaceAll(/\s+/g, " ").trim(),
  style: transformSync(css, { loader: "css", minify: true, charset: "utf8" }).code,
  worker: await script("src/worker.ts"),
  page: await script("src/page.ts"),
};
const parts = {
  core: toText(packedCore(wasm)),
  bundle: toText(gzip(JSON.stringify(bundle))),
  boot: `<script>${(await script("src/boot.ts")).trimEnd()}</script>`,
};
// The mark at the start makes the page UTF-8, also where a server calls it something else.
let html = ("\ufeff" + head + rest)
  .replaceAll(/<!-- build[^]*?-->|^ *\/\/.*|^ +/gm, "")
  .replaceAll(/\s*<!--(core|bundle|boot)-->\s*/g, (_, name) => parts[name]);
const inline = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map((match) => match[1]);
html = html.replace(
  'content="csp"',
  `content="${[
    "default-src 'none'",
    `script-src ${[...inline, bundle.page].map(hash).join(" ")} 'wasm-unsafe-eval'`,
    "worker-src blob:",
    `style-src ${hash(bundle.style)}`,
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ")}"`,
);
if (html.split("<!--data-->").length !== 2) throw new Error("page.html: no place for traces");

writeFileSync(outPath, html);
writeFileSync(
  assemblyPath,
  `.section .rodata
.global thrum_page_start, thrum_page_end
thrum_page_start:
.incbin "${resolve(outPath)}"
thrum_page_end:
.byte 0
.section .note.GNU-stack, "", %progbits
`,
);
const size = (text) => `${(Buffer.byteLength(text) / 1000).toFixed(1)} kB`;
console.log(
  `${outPath}: ${size(html)} (core ${size(parts.core)}, the rest ${size(parts.bundle)}; ` +
    Object.entries(bundle)
      .map(([name, text]) => `${name} ${size(text)}`)
      .join(", ") +
    " unpacked)",
);
if (Buffer.byteLength(html) > LIMIT) console.log(`the page is larger than ${LIMIT} bytes`);
