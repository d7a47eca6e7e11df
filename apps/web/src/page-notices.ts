// SPDX-License-Identifier: ISC
// Messages above the picture.
import { byId, button, make } from "./page-dom";

/** Shows a message until it is closed. The same message is shown only once. */
export function notice(words: string, hint: string, isFailure: boolean) {
  const all = byId("notices");
  const text = `${words}\n${hint}`;
  if ([...all.children].some((each) => (each as HTMLElement).dataset.text === text)) return;
  const element = make(
    "div",
    { class: "notice", role: isFailure ? "alert" : "note" },
    make("p", {}, make("bdi", isFailure ? { class: "bad" } : {}, words)),
  );
  element.dataset.text = text;
  if (hint) element.firstChild!.appendChild(make("span", { class: "hint" }, hint));
  element.append(button("Close", () => element.remove(), { class: "plain" }));
  all.append(element);
}

export function clearNotices() {
  byId("notices").replaceChildren();
}
