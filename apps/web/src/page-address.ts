// SPDX-License-Identifier: ISC
// The page's address: its fragment says what is seen. "embed" in it is the page's own.
import { listen, throttled } from "./page-dom";
import { onChange, post } from "./page-wire";

const WAIT_MS = 350; // browsers refuse more than about 100 changes in 30 s

let state = "";

function fragment(): string[] {
  return location.hash.slice(1).split("&").filter(Boolean);
}

export const isEmbedded = fragment().includes("embed");

/** What the address says, without what is the page's own. */
export const addressState = () =>
  fragment()
    .filter((part) => part !== "embed")
    .join("&");

const write = throttled(WAIT_MS, () => {
  const parts = [isEmbedded ? "embed" : "", state].filter(Boolean);
  try {
    history.replaceState(null, "", `#${parts.join("&")}`);
  } catch {
    // Some frames may not change their address: they do without.
  }
});

export function makeAddress() {
  onChange(({ address }) => {
    if (address === undefined) return;
    state = address;
    write();
  });
  listen(window, "hashchange", () => post({ is: "state", text: addressState() }));
}
