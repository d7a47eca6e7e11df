// SPDX-License-Identifier: ISC
// The page's address: its fragment describes the view. "embed" in it is for the page itself.
import { listen, throttled } from "./page-dom";
import { onChange, post } from "./page-wire";

const WAIT_MS = 350; // browsers refuse more than about 100 changes in 30 s

let state = "";

function fragment(): string[] {
  return location.hash.slice(1).split("&").filter(Boolean);
}

export const isEmbedded = fragment().includes("embed");

/** The view in the address. */
export const addressState = () =>
  fragment()
    .filter((part) => part !== "embed")
    .join("&");

const write = throttled(WAIT_MS, () => {
  const parts = [isEmbedded ? "embed" : "", state].filter(Boolean);
  try {
    history.replaceState(null, "", `#${parts.join("&")}`);
  } catch {
    // Some frames may not change their address.
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
