// SPDX-License-Identifier: ISC
// Run it from the top folder, to which the patterns are relative, as tests/check/web.sh does.
import js from "@eslint/js";
import ts from "typescript-eslint";

const names = (list) => Object.fromEntries(list.split(" ").map((name) => [name, "readonly"]));

// Texts come from traces: they become text nodes, never markup or code.
const markup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "write", "setHTMLUnsafe"];

export default [
  { ignores: ["**/node_modules/", "build*/"] },
  js.configs.recommended,
  ...ts.configs.recommended.map((config) => ({ ...config, files: ["apps/web/src/**/*.ts"] })),
  {
    files: ["apps/web/src/**/*.ts"],
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-properties": ["error", ...markup.map((property) => ({ property }))],
    },
  },
  {
    // Scripts for node. Functions that tests pass to the browser use its names, too.
    files: ["**/*.mjs", "**/*.js"],
    languageOptions: {
      globals: names(
        "process console Buffer URL URLSearchParams setTimeout clearTimeout setInterval performance " +
          "TextDecoder TextEncoder WebAssembly globalThis window document location self navigator " +
          "getComputedStyle requestAnimationFrame File DataTransfer DragEvent Event DOMParser Image " +
          "atob innerWidth MutationObserver OffscreenCanvasRenderingContext2D",
      ),
    },
  },
];
