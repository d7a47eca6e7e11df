// SPDX-License-Identifier: ISC
// The theme: light, dark or high contrast, the system's until the user chooses; and reduced motion.
import { listen } from "./page-dom";
import { onChange, post } from "./page-wire";

const QUERIES = {
  dark: matchMedia("(prefers-color-scheme: dark)"),
  contrast: matchMedia("(prefers-contrast: more)"),
  forced: matchMedia("(forced-colors: active)"),
  still: matchMedia("(prefers-reduced-motion: reduce)"),
};

let chosen = ""; // "": the system's
try {
  chosen = sessionStorage.getItem("theme") ?? "";
} catch {
  // A page that embeds this one may forbid it.
}

/** Keeps the theme until the page is closed. It isn't part of the address. */
function choose(theme: string) {
  chosen = theme;
  try {
    sessionStorage.setItem("theme", theme);
  } catch {
    // Then a reloaded page has the theme of the system.
  }
}

function systemTheme(): string {
  if (QUERIES.forced.matches) return QUERIES.dark.matches ? "contrast" : "light";
  if (QUERIES.contrast.matches) return "contrast";
  return QUERIES.dark.matches ? "dark" : "light";
}

/** The theme and motion, for the worker. */
export const look = () => ({ theme: chosen || systemTheme(), moves: !QUERIES.still.matches });

export function applyTheme() {
  document.documentElement.dataset.theme = look().theme;
  for (const radio of radios()) radio.checked = radio.value === chosen;
}

function radios(): HTMLInputElement[] {
  return [...document.querySelectorAll<HTMLInputElement>("input[name=theme]")];
}

export function makeTheme() {
  applyTheme();
  const tell = () => {
    applyTheme();
    post({ is: "theme", ...look() });
  };
  for (const query of Object.values(QUERIES)) listen(query, "change", tell);
  for (const radio of radios())
    listen(radio, "change", () => {
      choose(radio.value);
      tell();
    });
  onChange(({ theme }) => {
    if (!theme || theme === look().theme) return;
    choose(theme); // it came with an address
    applyTheme();
  });
}
