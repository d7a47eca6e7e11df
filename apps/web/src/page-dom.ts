// SPDX-License-Identifier: ISC
// Making and finding elements. Texts become text nodes only, so that a trace's label is never
// markup.

/** Returns the element of page.html with this id. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`page.html has no #${id}`);
  return element as E;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function button(words: string, act: () => void, attributes: Record<string, string> = {}) {
  const element = make("button", { type: "button", ...attributes }, words);
  listen(element, "click", act);
  return element;
}

type Events = DocumentEventMap & WindowEventMap;

export function listen<K extends keyof Events>(
  target: EventTarget,
  type: K,
  handler: (event: Events[K]) => void,
  options?: AddEventListenerOptions,
) {
  target.addEventListener(type, handler as EventListener, options);
}

/** Calls `act` for each element with this data attribute. */
export function withData(name: string, act: (element: HTMLElement, value: string) => void) {
  for (const element of document.querySelectorAll<HTMLElement>(`[data-${name}]`))
    act(element, element.getAttribute(`data-${name}`) ?? "");
}

/** Announces a text to screen readers. */
export function say(words: string) {
  byId("live").textContent = words;
}

/** "1,234", as the core writes numbers. (toLocaleString takes 30 ms when it is first called.) */
export const count = (number: number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

/** A number where there is little room: "9,999", "279 k", "1.93 M". */
export function roughly(number: number): string {
  if (number < 10_000) return count(number);
  return number < 999_500 ? `${Math.round(number / 1e3)} k` : `${Math.round(number / 1e4) / 100} M`;
}

/** page.css puts the tabs to the bottom below the same width. */
export const isNarrow = () => matchMedia("(max-width: 699px)").matches;

/** Returns a function that calls `act` at once, but at most once in `ms`, and always at the end. */
export function throttled(ms: number, act: () => void): () => void {
  let timer = 0;
  let isWanted = false;
  const run = () => {
    timer = window.setTimeout(() => {
      timer = 0;
      if (isWanted) run();
    }, ms);
    isWanted = false;
    act();
  };
  return () => {
    if (timer) isWanted = true;
    else run();
  };
}

export function saveFile(name: string, bytes: Blob) {
  const url = URL.createObjectURL(bytes);
  make("a", { href: url, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
