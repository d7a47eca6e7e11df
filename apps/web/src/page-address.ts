// SPDX-License-Identifier: ISC
// The page's address: its fragment describes the view. "embed" in it is for the page itself.
import { listen, throttled } from "./page-dom";
import { onChange, post } from "./page-wire";

const WAIT_MS = 350; // browsers refuse more than about 100 changes in 30 s

let state = "";
let known = location.hash; // as the page last read or wrote it

function fragment(): string[] {
  return location.hash.slice(1).split("&").filter(Boolean);
}

export const isEmbedded = fragment().includes("embed");

/** The view in the address. */
export const addressState = () =>
  fragment()
    .filter((part) => part !== "embed")
    .join("&");

/** A fragment that somebody else has just changed stays: its event is on the way. */
function write(how: "replaceState" | "pushState") {
  if (location.hash !== known) return;
  const parts = [isEmbedded ? "embed" : "", state].filter(Boolean);
  try {
    history[how](null, "", `#${parts.join("&")}`);
  } catch {
    // Some frames may not change their address.
  }
  known = location.hash;
}

const follow = throttled(WAIT_MS, () => write("replaceState"));

/** A jump makes an entry of the browser's history, so that its Back returns from it. */
export function makeAddress() {
  let jumps = 0;
  let lastJump = -WAIT_MS;
  onChange((changes) => {
    const isJump = changes.jumps !== undefined && changes.jumps > jumps;
    const isSoon = performance.now() - lastJump < WAIT_MS;
    jumps = changes.jumps ?? jumps;
    if (isJump && !isSoon) write("replaceState"); // the view before it
    if (changes.address === undefined) return;
    state = changes.address;
    if (!isJump || isSoon) return follow();
    lastJump = performance.now();
    write("pushState");
  });
  listen(window, "hashchange", () => {
    known = location.hash;
    post({ is: "state", text: addressState() });
  });
}
