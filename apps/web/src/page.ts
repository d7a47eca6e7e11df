// SPDX-License-Identifier: ISC
// The page: makes its parts, starts the worker, opens the embedded traces. The worker has all
// knowledge of traces; the page only has the controls around the picture.
import type { Source } from "./messages";
import { addressState, isEmbedded, makeAddress } from "./page-address";
import { makeDialogs, isGoing } from "./page-dialogs";
import { byId, isNarrow, listen, make } from "./page-dom";
import { makeHeader } from "./page-header";
import { makeCard, makeMenu } from "./page-menu";
import { makeOutline } from "./page-outline";
import { listenToKeys, listenToPicture, makeScrollBar, showCursor } from "./page-input";
import { clearNotices, notice } from "./page-notices";
import { embedded, listenToFiles, whenRead } from "./page-open";
import { look, makeTheme } from "./page-theme";
import { fail, now, on, onChange, post, startWorker } from "./page-wire";
import { makePanel, openTab, setTab } from "./panel";
import { askSlow, makeDetails, showFinding } from "./panel-document";
import { makeTables } from "./panel-tables";
import { fromText } from "./unpack";

let canvas: HTMLCanvasElement | undefined;
let coarse: HTMLCanvasElement | undefined; // while a trace is read
let workerUrl = "";

function tellSize() {
  const { clientWidth: width, clientHeight: height } = byId("picture");
  post({ is: "size", width, height, scale: window.devicePixelRatio });
}

/** Starts a worker with a new canvas: the old worker keeps the old one. */
function begin() {
  canvas?.remove();
  canvas = make("canvas", {
    id: "canvas",
    role: "application",
    "aria-label": "Picture",
    "aria-owns": "outline",
  });
  canvas.tabIndex = 0;
  byId("picture").prepend(canvas);
  listenToPicture(canvas, isEmbedded);
  workerUrl ||= URL.createObjectURL(
    new Blob([byId("worker").textContent ?? ""], { type: "text/javascript" }),
  );
  startWorker(workerUrl);
  const offscreen = canvas.transferControlToOffscreen();
  post({ is: "start", canvas: offscreen, ...look() }, [offscreen]);
  tellSize();
  // Made bytes while the worker starts, to save time.
  const packed = fromText(byId("core").textContent ?? "");
  post({ is: "core", packed }, [packed.buffer]);
}

/** Shows the empty page, the progress of opening, or the trace. */
function show(state: "empty" | "opening" | "trace") {
  const hasTrace = now.parts.length > 0;
  byId("empty").hidden = state !== "empty";
  byId("opening").hidden = state !== "opening";
  byId("loading").hidden = state !== "opening";
  coarse?.remove();
  coarse = undefined;
  document.body.classList.toggle("blank", state === "empty");
  if (hasTrace) return;
  // All parts have their place while it opens, so that the picture is made only once.
  for (const id of ["find", "tools", "status", "panel"]) byId(id).hidden = state === "empty";
  for (const id of ["name", "words"]) byId(id).textContent = "";
  document.title = "thrum";
}

function open(sources: Source[], state: string, add: boolean) {
  clearNotices();
  show("opening");
  tellSize();
  const bytes = sources.flatMap(({ blocks }) => (blocks instanceof ArrayBuffer ? [blocks] : []));
  post({ is: "open", sources, state, add }, bytes);
}

function listenToOpening() {
  const bar = byId("loading");
  const filled = bar.firstElementChild as HTMLElement;
  on("progress", ({ step, part }) => {
    const share = Math.min(Math.max(part, 0), 1);
    filled.style.transform = `scaleX(${share})`;
    bar.setAttribute("aria-valuenow", String(Math.round(100 * share)));
    byId("opening-words").textContent = step;
  });
  on("coarse", ({ picture }) => {
    if (now.parts.length > 0) return;
    if (!coarse) {
      coarse = make("canvas", { id: "coarse", "aria-hidden": "true" });
      byId("opening").before(coarse);
    }
    coarse.getContext("bitmaprenderer")?.transferFromImageBitmap(picture);
  });
  onChange(({ shown }) => {
    if (!shown) return;
    show(now.parts.length ? "trace" : "empty");
    performance.mark("shown");
  });
  on("failed", ({ name, message, hint }) => {
    notice(name ? `${name}: ${message}` : message, hint, true);
    show(now.parts.length ? "trace" : "empty");
  });
  on("unable", ({ message }) => fail(`The viewer can't start: ${message}`));
  on("warned", ({ name, message }) => notice(`${name}: ${message}`, "", false));
  on("refused", ({ message }) => {
    if (!isGoing()) notice(message, "The page stays as it was.", true);
  });
  listen(byId("cancel"), "click", () => {
    begin();
    show("empty");
  });
}

/** Shows the details and moves the focus there. */
function showDetails() {
  setTab("details");
  if (!isNarrow()) byId("details").focus();
}

/** Escape goes from the panel back to the picture. */
function listenToPanel() {
  listen(byId("panel"), "keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    canvas?.focus();
  });
}

/** Copy takes the details of the selected task, if no text is chosen. */
function listenToCopy() {
  listen(document, "copy", (event) => {
    const isChosen = getSelection()?.toString() || event.target instanceof HTMLInputElement;
    if (isChosen || now.selected < 0 || openTab() !== "details") return;
    event.clipboardData?.setData("text/plain", byId("document").innerText);
    event.preventDefault();
  });
}

/** Opens the embedded traces; a page without any asks for files. */
function openEmbedded() {
  const isWhole = !!document.getElementById("end");
  const found = embedded();
  byId("open-button").hidden = !!found;
  if (found) {
    now.title = found.title;
    open(found.traces, addressState() || found.view, false);
  } else show("empty");
  if (!isWhole)
    notice("This page is incomplete: a part of its trace is missing.", "Download it again.", true);
}

function run() {
  begin(); // first: a worker takes its time to start
  document.body.classList.toggle("embed", isEmbedded);
  makeTheme();
  makePanel();
  makeDetails();
  const openSearch = makeHeader(makeTables());
  listenToKeys({
    search: openSearch,
    details: showDetails,
    note: showFinding,
    slow: askSlow,
    ...makeDialogs(),
  });
  listenToPanel();
  listenToCopy();
  makeScrollBar();
  makeCard(() => canvas);
  makeMenu(() => canvas);
  makeOutline(() => canvas);
  showCursor(() => canvas);
  makeAddress();
  listenToOpening();
  new ResizeObserver(tellSize).observe(byId("picture"));
  listen(window, "resize", tellSize); // the scale, too
  // The view in the address belongs to the open traces, if there are any.
  listenToFiles((sources, add, compares) => {
    open(sources, now.parts.length ? "" : addressState(), add);
    if (compares) setTab("differences");
  });
  whenRead(openEmbedded); // the traces stand behind this script
}

run();
