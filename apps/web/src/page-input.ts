// SPDX-License-Identifier: ISC
// Passes pointer, wheel, fingers and keys on to the worker, which decides what they mean.
import { WITH_CONTROL, WITH_SHIFT, WITH_TOUCH } from "core:numbers";
import { byId, isNarrow, listen } from "./page-dom";
import { command, now, on, onChange, post } from "./page-wire";

const TAP_MS = 300;
const TAP_PX = 24;

const CURSORS: Record<string, string> = {
  ground: "default",
  task: "pointer",
  strip: "crosshair",
  edge: "ew-resize",
  ruler: "default",
  divider: "ns-resize",
};

interface Place {
  x: number;
  y: number;
}

/** The modifiers that a drag has besides the keys that are held: Shift, if the menu says so. */
export const drag = { with: 0 };

function modifiers(event: MouseEvent): number {
  const touch = event instanceof PointerEvent && event.pointerType === "touch";
  return (
    (event.shiftKey ? WITH_SHIFT : 0) |
    (event.ctrlKey || event.metaKey ? WITH_CONTROL : 0) |
    (touch ? WITH_TOUCH : 0)
  );
}

/** Fingers on the picture: one drags, two pinch, two taps at the same place are a double press. */
class Fingers {
  private readonly down = new Map<number, Place>();
  private isPinch = false;
  private lastTap = { x: 0, y: 0, at: 0 };
  private start: Place = { x: 0, y: 0 };

  press(id: number, place: Place) {
    this.down.set(id, place);
    if (this.down.size === 1) {
      this.isPinch = false;
      this.start = place;
      post({ is: "pointer", action: "press", ...place, with: WITH_TOUCH | drag.with });
    } else if (!this.isPinch) {
      this.isPinch = true; // until all fingers are gone, so that the last one doesn't select
      post({ is: "pointer", action: "leave", ...place, with: WITH_TOUCH });
    }
  }

  private middle() {
    const [a, b] = [...this.down.values()];
    if (!a) return { x: 0, y: 0, apart: 1 };
    if (!b) return { ...a, apart: 1 };
    return {
      x: (a.x + b.x) / 2,
      y: (a.y + b.y) / 2,
      apart: Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1),
    };
  }

  move(id: number, place: Place) {
    if (!this.down.has(id)) return;
    const before = this.middle();
    this.down.set(id, place);
    const { x, y, apart } = this.middle();
    if (this.isPinch)
      post({
        is: "pinch",
        x: before.x,
        y: before.y,
        dx: x - before.x,
        dy: y - before.y,
        factor: apart / before.apart,
      });
    else post({ is: "pointer", action: "move", ...place, with: WITH_TOUCH });
  }

  release(id: number, place: Place, isCancelled: boolean) {
    if (!this.down.delete(id) || this.isPinch) return;
    const action = isCancelled ? "leave" : "release";
    post({ is: "pointer", action, ...place, with: WITH_TOUCH });
    const at = performance.now();
    const near = (to: Place) => Math.hypot(to.x - place.x, to.y - place.y) < TAP_PX;
    if (isCancelled || !near(this.start)) return;
    if (at - this.lastTap.at < TAP_MS && near(this.lastTap)) {
      post({ is: "pointer", action: "double", ...place, with: WITH_TOUCH });
      this.lastTap.at = 0;
    } else this.lastTap = { ...place, at };
  }
}

/** Converts a wheel event's lines or pages to pixels. */
function wheelPixels(event: WheelEvent): { dx: number; dy: number } {
  const unit = event.deltaMode === 1 ? 32 : event.deltaMode === 2 ? window.innerHeight : 1;
  const dx = event.deltaX * unit;
  const dy = event.deltaY * unit;
  // Some browsers turn the wheel sideways while Shift is held.
  return event.shiftKey && dy === 0 ? { dx: 0, dy: dx } : { dx, dy };
}

export function listenToPicture(canvas: HTMLCanvasElement, isEmbedded: boolean) {
  const fingers = new Fingers();
  const place = (event: MouseEvent): Place => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const pointer = (action: "press" | "move" | "release" | "double" | "leave", event: MouseEvent) =>
    post({
      is: "pointer",
      action,
      ...place(event),
      with: modifiers(event) | (action === "press" ? drag.with : 0),
    });
  const isTouch = (event: PointerEvent) => event.pointerType === "touch";
  let lastWasTouch = false;

  listen(canvas, "pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    lastWasTouch = isTouch(event);
    if (lastWasTouch) fingers.press(event.pointerId, place(event));
    else pointer("press", event);
  });
  listen(canvas, "pointermove", (event) => {
    if (isTouch(event)) fingers.move(event.pointerId, place(event));
    else pointer("move", event);
  });
  listen(canvas, "pointerup", (event) => {
    if (isTouch(event)) fingers.release(event.pointerId, place(event), false);
    else if (event.button === 0) pointer("release", event);
  });
  listen(canvas, "pointercancel", (event) => {
    if (isTouch(event)) fingers.release(event.pointerId, place(event), true);
    else pointer("leave", event);
  });
  listen(canvas, "pointerleave", (event) => {
    if (!isTouch(event) && !canvas.hasPointerCapture(event.pointerId)) pointer("leave", event);
  });
  listen(canvas, "dblclick", (event) => {
    if (!lastWasTouch) pointer("double", event);
  });
  listen(canvas, "contextmenu", (event) => {
    if (lastWasTouch) event.preventDefault(); // a long press does nothing
  });
  listen(
    canvas,
    "wheel",
    (event) => {
      // In a frame of another page the wheel scrolls that page until the picture was clicked.
      if (isEmbedded && document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      post({
        is: "wheel",
        ...place(event),
        ...wheelPixels(event),
        with: modifiers(event),
      });
    },
    { passive: false },
  );
}

/** Whether a key belongs to the focused element: text to fields, Space and Enter to buttons. */
function isTheirs(event: KeyboardEvent): boolean {
  const target = event.target as Element;
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return true;
  if (document.querySelector("dialog[open]")) return true;
  if (target.matches("input:not([type=checkbox]), select, textarea")) return true;
  if (event.key === "Tab") return true;
  if (/^((Arrow|Page)(Up|Down)|Home|End)$/.test(event.key) && target.closest("[role=tabpanel]"))
    return true; // scrolls
  const isPressed = event.key === " " || event.key === "Enter";
  return isPressed && target.matches("button, summary, input, a, [role=link]");
}

export function listenToKeys(own: Record<string, () => void>) {
  listen(document, "keydown", (event) => {
    if (isTheirs(event)) return;
    const key = event.key === " " ? "Space" : event.key;
    const known = now.commands.find(({ keys }) => keys.split(" ").includes(key));
    // While a trace is being opened, only the search is of use.
    if (!known || (now.parts.length === 0 && known.name !== "search")) return;
    event.preventDefault();
    // The page runs its own commands at once, so that the next keys reach the focused field.
    (own[known.name] ?? (() => command(known.name)))();
    // The picture shows a story, too, and knows the time below the pointer.
    if (known.name === "slow" || known.name === "mark") command(known.name);
  });
  on("yours", ({ command: name }) => own[name]?.());
}

/** Repeats a command while its button is held: the zoom buttons. */
export function listenToHeld(button: HTMLElement, name: string) {
  let timer = 0;
  const stop = () => {
    window.clearInterval(timer);
    timer = 0;
  };
  listen(button, "pointerdown", (event) => {
    if (event.button !== 0) return;
    stop();
    command(name);
    timer = window.setInterval(() => command(name), 170);
  });
  for (const end of ["pointerup", "pointerleave", "pointercancel", "blur"] as const)
    listen(button, end, stop);
  listen(button, "click", (event) => {
    if (event.detail === 0) command(name); // by keyboard
  });
}

/** The scroll bar of the tracks. */
export function makeScrollBar() {
  const bar = byId("scroll");
  const thumb = bar.firstElementChild as HTMLElement;
  let tracks = { all: 0, at: 0, page: 0 };
  let grabbed = 0; // the grabbed place in the thumb, as a part of the bar

  onChange((changes) => {
    if (!changes.tracks) return;
    tracks = changes.tracks;
    const { all, at, page } = tracks;
    bar.hidden = !(all > page) || isNarrow();
    bar.setAttribute("aria-valuemax", String(Math.ceil(Math.max(all - page, 0))));
    bar.setAttribute("aria-valuenow", String(Math.round(at)));
    thumb.style.top = `${(100 * at) / all}%`;
    thumb.style.height = `${(100 * page) / all}%`;
  });
  const part = (event: PointerEvent) => {
    const box = bar.getBoundingClientRect();
    return (event.clientY - box.top) / box.height;
  };
  const go = (event: PointerEvent) =>
    post({ is: "scroll", track: Math.max((part(event) - grabbed) * tracks.all, 0) });
  listen(bar, "pointerdown", (event) => {
    if (event.button !== 0) return;
    bar.setPointerCapture(event.pointerId);
    // A press beside the thumb moves its middle to the pointer.
    const { all, at, page } = tracks;
    grabbed = event.target === thumb ? part(event) - at / all : page / all / 2;
    go(event);
  });
  listen(bar, "pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) go(event);
  });
}

export function showCursor(canvas: () => HTMLCanvasElement | undefined) {
  onChange(({ over }) => {
    const shown = canvas();
    if (over && shown) shown.style.cursor = CURSORS[over] ?? "default";
  });
}
