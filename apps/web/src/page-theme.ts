// SPDX-License-Identifier: ISC
// Light, dark or high contrast, as the system says until somebody chooses; and whether things move.
import { listen } from "./page-dom";
import { onChange, post } from "./page-wire";

const QUERIES = {
  dark: matchMedia("(prefers-color-scheme: dark)"),
  contrast: matchMedia("(prefers-contrast: more)"),
  forced: matchMedia("(forced-colors: active)"),
  still: matchMedia("(prefers-reduced-motion: reduce)"),
};

let chosen = ""; // "": as the system
try {
  chosen = sessionStorage.getItem("theme") ?? "";
} catch {
  // Who embeds the page may forbid it.
}

/** Until the page is closed; addresses don't say it. */
function choose(theme: string) {
  chosen = theme;
  try {
    sessionStorage.setItem("theme", theme);
  } catch {
    // Then a page that is loaded again looks as the system does.
  }
}

function systemTheme(): string {
  if (QUERIES.forced.matches) return QUERIES.dark.matches ? "contrast" : "light";
  if (QUERIES.contrast.matches) return "contrast";
  return QUERIES.dark.matches ? "dark" : "light";
}

/** What the worker is to be told. */
export const look = () => ({ theme: chosen || systemTheme(), moves: !QUERIES.still.matches });

function apply() {
  document.documentElement.dataset.theme = look().theme;
  for (const radio of radios()) radio.checked = radio.value === chosen;
}

function radios(): HTMLInputElement[] {
  return [...document.querySelectorAll<HTMLInputElement>("input[name=theme]")];
}

export function makeTheme() {
  apply();
  const tell = () => {
    apply();
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
    choose(theme); // an address brought it
    apply();
  });
}
