// SPDX-License-Identifier: ISC
// The side panel: its tabs and its width. On a narrow page it is a sheet below the picture, with the
// tabs at the bottom.
import { byId, isNarrow, listen, roughly } from "./page-dom";
import { now, onChange, post } from "./page-wire";

const TABS = [
  "picture",
  "findings",
  "details",
  "tasks",
  "statistics",
  "slow",
  "differences",
] as const;
/** The tabs whose documents stand in one place. */
const DOCUMENTS: readonly Tab[] = ["findings", "details", "slow", "differences"];
export type Tab = (typeof TABS)[number];
const WIDTH = { least: 240, most: 800, first: 340, step: 20 };

let current: Tab = "details";
let shown: Tab | undefined;
const tabHandlers: (() => void)[] = [];

/** Calls the handler when another tab is shown. */
export const onTab = (handler: () => void) => tabHandlers.push(handler);

const tabElement = (tab: Tab) => byId(`tab-${tab}`);

/** The tab on a wide page, where the findings are below the details. */
const onWide = (tab: Tab): Tab => (tab === "findings" ? "details" : tab);

function show() {
  const tab = isNarrow() ? current : onWide(current);
  document.body.dataset.tab = tab;
  for (const each of TABS) {
    tabElement(each).setAttribute("aria-selected", String(each === tab));
    tabElement(each).tabIndex = each === tab ? 0 : -1;
  }
  const isDocument = DOCUMENTS.includes(tab);
  byId("details").hidden = !isDocument;
  if (isDocument) byId("details").setAttribute("aria-labelledby", `tab-${tab}`);
  tabElement("differences").hidden = now.parts.length < 2;
  byId("tasks").hidden = tab !== "tasks";
  byId("statistics").hidden = tab !== "statistics";
  const isHidden = tab === "picture" && !isNarrow();
  byId("panel").hidden = isHidden || now.parts.length === 0;
  byId("panel-button").hidden = !isHidden;
  if (tab === shown) return;
  shown = tab;
  tabElement(tab).scrollIntoView({ block: "nearest", inline: "nearest" });
  for (const handler of tabHandlers) handler();
}

export const openTab = () => current;

/** Opens a tab, which becomes part of the address. */
export function setTab(tab: Tab) {
  if (tab === current) return;
  current = tab;
  show();
  post({ is: "panel", word: tab });
}

function makeTabs() {
  for (const tab of TABS) listen(tabElement(tab), "click", () => setTab(tab));
  listen(byId("panel"), "keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !(event.target as Element).matches("[role=tab]")) return;
    event.preventDefault();
    const seen = TABS.filter((tab) => tabElement(tab).offsetWidth > 0);
    const next = seen[(seen.indexOf(current) + step + seen.length) % seen.length]!;
    setTab(next);
    tabElement(next).focus();
  });
  listen(byId("hide-panel"), "click", () => {
    setTab("picture");
    byId("panel-button").focus();
  });
  listen(byId("panel-button"), "click", () => {
    setTab("details");
    tabElement("details").focus();
  });
}

function makeDivider() {
  const divider = byId("divider");
  let width = WIDTH.first;
  const setWidth = (wanted: number) => {
    width = Math.min(Math.max(wanted, WIDTH.least), WIDTH.most, window.innerWidth - 300);
    document.body.style.setProperty("--panel-width", `${width}px`);
    divider.setAttribute("aria-valuenow", String(Math.round(width)));
  };
  listen(divider, "pointerdown", (event) => divider.setPointerCapture(event.pointerId));
  listen(divider, "pointermove", (event) => {
    if (divider.hasPointerCapture(event.pointerId)) setWidth(window.innerWidth - event.clientX);
  });
  listen(divider, "dblclick", () => setWidth(WIDTH.first));
  listen(divider, "keydown", (event) => {
    const step = { ArrowLeft: WIDTH.step, ArrowRight: -WIDTH.step }[event.key];
    if (!step) return;
    event.preventDefault();
    setWidth(width + step);
  });
}

export function makePanel() {
  makeTabs();
  makeDivider();
  listen(matchMedia("(max-width: 699px)"), "change", show);
  let isChosen = false; // a tab was chosen by the address or at the start
  onChange(({ parts, focus, panel }) => {
    const part = now.parts[now.focus];
    if (panel !== undefined && TABS.includes(panel as Tab)) {
      isChosen = true;
      current = panel as Tab;
    }
    if (part && (!isChosen || panel === "")) {
      isChosen = true;
      current = isNarrow() ? (part.findings ? "findings" : "picture") : "details";
    }
    if (!part || (!parts && focus === undefined && panel === undefined)) return;
    // Beside the differences there is no room for a number.
    const tasks = now.parts.length > 1 && !isNarrow() ? "" : ` ${roughly(part.tasks)}`;
    tabElement("tasks").textContent = `Tasks${tasks}`;
    tabElement("findings").textContent = part.findings ? `Findings ${part.findings}` : "Findings";
    show();
  });
}
