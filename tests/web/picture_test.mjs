// SPDX-License-Identifier: ISC
// The picture: pointer, wheel, fingers and keys.
import {
  counting,
  crowded,
  countingMuch,
  good,
  hanging,
  huge,
  made,
  page,
  real,
  steady,
} from "./fixtures.mjs";
import { expect, same, settled, test, until } from "./harness.mjs";
import {
  address,
  canvas,
  drag,
  opened,
  pixels,
  place,
  reaches,
  reachesWhole,
  reachesWindow,
  tab,
  timeAt,
  uprightOf,
} from "./page.mjs";

const linear = "#fold=2&squeeze=2";
const near = `${linear}&t=20000..40000`;

test("opens and says what it shows", async (open) => {
  const view = await opened(open, page(hanging()));
  await view.getByRole("heading", { name: "arp.thrum", level: 1 }).waitFor();
  await view
    .getByRole("banner")
    .getByText(/^14 tasks · \d/)
    .waitFor();
  await view.getByRole("banner").getByText("1 finding").waitFor();
  same(await view.getByRole("progressbar").count(), 0, "bars of progress left");
  const colours = await pixels(view, await place(view));
  expect(Object.keys(colours).length > 20, "there is something in the picture");
});

test("a real trace opens, with its finding", async (open) => {
  const view = await opened(open, page(real("arp-hang.ctf")));
  await view
    .getByRole("banner")
    .getByText(/2\d tasks · 150\.\d ms/)
    .waitFor();
  await view.getByRole("complementary").getByText("Lost wake-up on “arp-reply”").waitFor();
});

test("findings that come after the first picture turn it red without any input", async (open) => {
  const view = await opened(open, page(huge()));
  await until("the finding is told", async () =>
    /^findings 1/i.test(await view.locator("#findings").innerText()),
  );
  const bad = "196,22,28"; // of the light theme
  const isRed = async () => (await pixels(view, await place(view)))[bad] > 0;
  await until("the picture shows it, too", isRed, 5000);
});

test("the wheel zooms, and what is at the pointer stays", async (open) => {
  const view = await opened(open, page(steady()), { hash: linear });
  const { x, y, width } = await place(view);
  const [left, top] = [x + width * 0.7, y + 200];
  const before = await timeAt(view, left, top);
  for (let i = 0; i < 4; i++) await view.mouse.wheel(0, -100);
  const [from, to] = await reachesWindow(view, "it zooms in", (from, to) => to - from < 50_000);
  const pixel = (to - from) / width;
  const after = await timeAt(view, left, top - 1);
  expect(Math.abs(after - before) <= 2 * pixel + 1, `${before} ns was there, now ${after} ns`);
  for (let i = 0; i < 8; i++) await view.mouse.wheel(0, 100);
  await reachesWindow(view, "it zooms out to the whole", (a, b) => a <= 0 && b >= 79_390);
});

test("dragging pans, and what was grabbed stays below the pointer", async (open) => {
  const view = await opened(open, page(steady()), { hash: near });
  const { x, y } = await place(view);
  const before = await timeAt(view, x + 500, y + 300);
  await drag(view, [x + 500, y + 300], [x + 300, y + 300]);
  const [from, to] = await reachesWindow(view, "it pans", (from) => from > 20_000);
  same(to - from, 20_000, "the window's length");
  const after = await timeAt(view, x + 300, y + 301);
  expect(Math.abs(after - before) < 60, `${before} ns was grabbed, now there is ${after} ns`);
});

test("the wheel with shift, and dragging down, go through the rows", async (open) => {
  const view = await opened(open, page(steady()), { hash: `${near}&height=400` });
  const { x, y } = await place(view);
  const bar = view.getByRole("scrollbar", { name: "Tracks" });
  const at = async () => Number(await bar.getAttribute("aria-valuenow"));
  await view.mouse.move(x + 300, y + 300);
  await view.keyboard.down("Shift");
  await view.mouse.wheel(0, 300);
  await view.keyboard.up("Shift");
  const down = await until("the rows move", at);
  await drag(view, [x + 300, y + 200], [x + 300, y + 320]);
  await until("they move back", async () => (await at()) < down);
});

test("the buttons zoom, again and again while they are held", async (open) => {
  const view = await opened(open, page(steady()), { hash: linear });
  const button = view.getByRole("button", { name: "Zoom in" });
  await button.click();
  const [from, to] = await reachesWindow(view, "a click zooms in", () => true);
  await button.hover();
  await view.mouse.down();
  await reachesWindow(view, "holding goes on", (a, b) => (b - a) * 8 < to - from);
  await view.mouse.up();
  await view.getByRole("button", { name: "Fit" }).click();
  await reachesWhole(view);
});

test("dragging in the overview goes there", async (open) => {
  const view = await opened(open, page(steady()), { hash: `${linear}&t=0..8000` });
  const { x, y, width } = await place(view);
  await drag(view, [x + width * 0.05, y + 30], [x + width * 0.55, y + 30]);
  const [from, to] = await reachesWindow(view, "it goes there", (from) => from > 30_000);
  expect(from < 50_000 && to - from === 8000, `it went to ${from}..${to}`);
});

test("dragging with shift measures, and dragging alone if the menu says so", async (open) => {
  const view = await opened(open, page(steady()), { hash: `${linear}&t=0..20000` });
  const { x, y, width } = await place(view);
  const measures = async (from, to) => {
    const [start, end] = [await timeAt(view, from, y + 300), await timeAt(view, to, y + 300)];
    await drag(view, [from, y + 300], [to, y + 300]);
    await until("the length is told", async () => {
      const words = await view.locator("#pointer").textContent();
      const lengths = [...words.matchAll(/([\d.]+) µs/g)].map((match) => Number(match[1]) * 1000);
      return lengths.some((one) => Math.abs(one - Math.abs(end - start)) < 100);
    });
    same((await address(view)).get("t"), "0..20000", "the window");
  };
  await view.keyboard.down("Shift");
  await measures(x + width * 0.25, x + width * 0.75);
  await view.keyboard.up("Shift");
  const menu = view.getByText("View", { exact: true });
  await menu.click();
  await view.getByLabel("Measure by dragging").check();
  await view.keyboard.press("Escape"); // the menu
  await view.keyboard.press("Escape"); // the measure
  await measures(x + width * 0.3, x + width * 0.4);
  await menu.click();
  await view.getByLabel("Measure by dragging").uncheck();
  await view.keyboard.press("Escape");
  await drag(view, [x + width * 0.4, y + 300], [x + width * 0.3, y + 300]);
  await reachesWindow(view, "it moves again", (from) => from > 0);
});

test("a press selects, a double press fades what isn't related", async (open) => {
  const view = await opened(open, page(hanging()));
  const { x, y, width, height } = await place(view);
  // Over an item, the pointer changes its shape.
  const spot = await until("the pointer finds a task", async () => {
    for (let down = 100; down < height - 40; down += 12) {
      await view.mouse.move(x + width / 2, y + down);
      await new Promise((wake) => setTimeout(wake, 60));
      const shape = await canvas(view).evaluate((element) => getComputedStyle(element).cursor);
      if (shape === "pointer") return [x + width / 2, y + down];
    }
  });
  await view.mouse.click(...spot);
  const id = (await reaches(view, "it is selected", (at) => at.has("sel"))).get("sel");
  await view.getByRole("tabpanel", { name: "Details" }).getByText(` ${id}`).first().waitFor();
  await view.mouse.dblclick(...spot);
  await reaches(view, "the others are faded", (at) => at.get("related") === "1");
  await view.keyboard.press("Escape");
  await reaches(view, "nothing is selected after Escape", (at) => !at.has("sel"));
});

test("search counts, and goes from match to match", async (open) => {
  const view = await opened(open, page(steady()), { hash: linear });
  const selected = (what, good) => reaches(view, what, (at) => good(at.get("sel")));
  await view.keyboard.press("/");
  await view.keyboard.type("get /TWO");
  await view
    .getByRole("search")
    .getByText(/\b13\b/)
    .waitFor();
  await reaches(view, "the address knows", (at) => at.get("find") === "get /TWO");
  await view.keyboard.press("Enter");
  const first = (await selected("the first is selected", Boolean)).get("sel");
  await canvas(view).focus();
  await view.keyboard.press("n");
  const second = (await selected("n goes on", (id) => id !== first)).get("sel");
  await view.keyboard.press("N");
  await selected("N goes back", (id) => id !== second);
});

test("a link shows what its sender saw", async (open) => {
  const first = await opened(open, page(hanging()));
  await first
    .getByRole("button", { name: /Show me/ })
    .first()
    .click();
  await first.keyboard.press("/");
  await first.keyboard.type("arp");
  await first.keyboard.press("Enter");
  await tab(first, /Tasks/).click();
  await first.mouse.move(1, 1);
  const sent = (await address(first)).toString();
  const hash = await first.evaluate(() => location.hash);
  const second = await opened(open, page(hanging()), { hash });
  same((await address(second)).toString(), sent, "the address");
  await second.getByRole("tab", { name: /Tasks/, selected: true }).waitFor();
  same(await second.getByRole("searchbox").first().inputValue(), "arp", "what is searched");
  const clip = await place(first);
  const pictures = [await first.screenshot({ clip }), await second.screenshot({ clip })];
  expect(pictures[0].equals(pictures[1]), "both pictures are the same");
});

test("another address in the same page is followed, a wrong one refused", async (open) => {
  const view = await opened(open, page(steady()));
  await view.evaluate(() => (location.hash = "#t=10000..20000&fold=2"));
  const spread = (await timeAt(view, 700, 300)) - (await timeAt(view, 200, 300));
  expect(spread > 4000 && spread < 8000, `500 px are ${spread} ns`);
  await view.evaluate(() => (location.hash = "#t=nonsense"));
  await view.getByText(/t is FROM\.\.TO/).waitFor();
});

test("an address that is set while the page writes its own stays", async (open) => {
  const view = await opened(open, page(hanging()));
  await view.evaluate(() => {
    let read = location.hash;
    window.lost = [];
    window.addEventListener("hashchange", () => (read = location.hash));
    const write = window.history.replaceState.bind(window.history);
    window.history.replaceState = (data, title, hash) => {
      if (location.hash !== read) window.lost.push(location.hash);
      write(data, title, hash);
      read = location.hash;
    };
  });
  for (let i = 0; i < 300; i++)
    await view.evaluate((id) => (location.hash = `#sel=${id}`), 1 + (i % 3));
  same(await view.evaluate(() => window.lost), [], "addresses that were written over");
  await reaches(view, "the last one is followed", (at) => at.get("sel") === "3");
});

test("the browser's Back and Forward walk through jumps", async (open) => {
  const view = await opened(open, page(hanging()));
  const canvas = view.locator("#picture canvas");
  await canvas.focus();
  await view.keyboard.press("+");
  const before = await reaches(view, "it is nearer", (at) => at.has("t") && !at.has("sel"));
  await view.keyboard.press("b");
  const there = await reaches(view, "a finding is shown", (at) => at.has("sel"));
  expect(there.get("t") !== before.get("t"), "it jumped");
  await view.goBack();
  await reaches(view, "it is back", (at) => at.get("t") === before.get("t") && !at.has("sel"));
  await view.goForward();
  await reaches(view, "it is there again", (at) => at.get("t") === there.get("t"));
});

test("two traces, on one time or each on its own", async (open) => {
  const view = await opened(open, page(hanging(), good()));
  const { x, y, width } = await place(view);
  const zoom = async () => {
    await view.mouse.move(x + width / 2, y + 150);
    for (let i = 0; i < 3; i++) await view.mouse.wheel(0, -100);
  };
  await zoom();
  await reaches(view, "both have one window", (at) => at.has("t"));
  same((await address(view)).get("2.t"), null, "a window of the second's own");
  await view.getByText("View", { exact: true }).click();
  await view.getByLabel("Share one time axis").click();
  await zoom();
  const areFree = (at) => at.get("link") === "0" && at.get("2.t") !== at.get("t");
  await reaches(view, "each has its own", areFree);
});

test("fingers: one pans, two zoom, a tap selects", async (open) => {
  const view = await opened(open, page(steady()), { hash: near, hasTouch: true });
  const { x, y } = await place(view);
  const fingers = await view.context().newCDPSession(view);
  const touch = (type, ...points) =>
    fingers.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: points.map(([px, py], id) => ({ x: x + px, y: y + py, id })),
    });
  await touch("touchStart", [350, 250]);
  for (let i = 1; i <= 5; i++) await touch("touchMove", [350 - i * 20, 250]);
  await touch("touchEnd");
  const [from, to] = await reachesWindow(view, "a finger pans", (from) => from > 20_500);
  expect(Math.abs(to - from - 20_000) < 2, `the window has ${to - from} ns`);
  await touch("touchStart", [250, 250], [350, 250]);
  for (let i = 1; i <= 5; i++) await touch("touchMove", [250 - i * 10, 250], [350 + i * 10, 250]);
  await touch("touchEnd");
  const isHalf = (a, b) => Math.abs((b - a) / (to - from) - 0.5) < 0.03;
  await reachesWindow(view, "twice the distance is half the window", isHalf);
});

test("keys alone reach everything, and focus is seen", async (open) => {
  const view = await opened(open, page(hanging()));
  const seen = [];
  for (let i = 0; i < 60; i++) {
    await view.keyboard.press("Tab");
    const [name, isSeen] = await view.evaluate(() => {
      const element = document.activeElement;
      const look = () => {
        const { outline, boxShadow, background, border } = getComputedStyle(element);
        return [outline, boxShadow, background, border].join();
      };
      const focused = look();
      element.blur();
      const plain = look();
      element.focus();
      const name = element.getAttribute("aria-label") || element.textContent.trim();
      return [name || element.tagName, focused !== plain || element === document.body];
    });
    seen.push(name);
    expect(isSeen, `focus is seen on “${name}”`);
  }
  for (const name of [
    "Find a task",
    "Zoom in",
    "Fit",
    "Idle folded",
    "Export",
    "Details",
    "Show me",
  ])
    expect(
      seen.some((one) => one.startsWith(name)),
      `Tab reaches “${name}”, not only: ${seen.join(" | ")}`,
    );
});

test("keys: zoom, pan, fit, folds, findings, back, help", async (open) => {
  const view = await opened(open, page(hanging()));
  const key = (name) => view.keyboard.press(name);
  await key("w");
  const [from] = await reachesWindow(view, "w zooms", () => true);
  await key("d");
  const [right] = await reachesWindow(view, "d goes right", (now) => now > from);
  await key("ArrowLeft");
  await reachesWindow(view, "the arrow goes left", (now) => now < right);
  await key("f");
  await reachesWhole(view);
  for (const [name, what] of [
    ["i", "fold"],
    ["r", "squeeze"],
    ["e", "fisheye"],
    ["k", "legend"],
  ]) {
    const before = (await address(view)).get(what);
    await key(name);
    await reaches(view, `${name} changes ${what}`, (at) => at.get(what) !== before);
    await key(name);
  }
  const before = (await address(view)).toString();
  await key("b");
  await reaches(view, "b shows a finding", (at) => at.toString() !== before);
  await key("?");
  const help = view.getByRole("dialog", { name: "Help" });
  await help.getByText("fish-eye").waitFor();
  same(await help.getByRole("heading", { level: 3 }).first().innerText(), "Reading the picture");
  await key("Escape");
  await until("help is closed", async () => (await view.getByRole("dialog").count()) === 0);
});

test("g goes to a time, and says what it doesn't understand", async (open) => {
  const view = await opened(open, page(steady()), { hash: linear });
  await view.keyboard.press("g");
  const dialog = view.getByRole("dialog", { name: "Go to a time" });
  await dialog.getByRole("textbox").fill("nowhere");
  await view.keyboard.press("Enter");
  await until("it is refused", async () => (await dialog.getByRole("alert").textContent()) !== "");
  await dialog.getByRole("textbox").fill("20 µs .. 30 µs");
  await view.keyboard.press("Enter");
  await reachesWindow(view, "it goes", (from, to) => from === 20_000 && to === 30_000);
  same(await view.getByRole("dialog").count(), 0, "dialogs left open");
});

test("the window may get smaller and larger", async (open) => {
  const view = await opened(open, page(hanging()));
  for (const [width, height] of [
    [700, 400],
    [1500, 850],
    [360, 640],
  ]) {
    await view.setViewportSize({ width, height });
    await until(`the picture fits ${width} × ${height}`, async () => {
      const box = await place(view);
      return box && box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height;
    });
    const wide = await view.evaluate(() => document.documentElement.scrollWidth);
    expect(wide <= width, `nothing sticks out: ${wide} of ${width} px`);
    const clip = await place(view);
    await until("the whole picture is painted", async () => {
      const right = { x: clip.x + clip.width - 60, y: clip.y + 60, width: 60, height: 200 };
      return Object.keys(await pixels(view, right)).length > 1;
    });
  }
});

test("counters are switched one by one, and all", async (open) => {
  const view = await opened(open, page(counting()));
  await view.getByRole("banner").getByText("Counters", { exact: true }).click();
  await view.getByRole("checkbox", { name: "received" }).click();
  const one = (await reaches(view, "the address knows it", (at) => at.size > 0)).toString();
  await canvas(view).focus();
  await view.keyboard.press("Space");
  await reaches(view, "space switches all", (at) => at.toString() !== one);
});

test("many counters are grouped by their paths", async (open) => {
  const view = await opened(open, page(countingMuch()));
  await view.getByRole("banner").getByText("Counters", { exact: true }).click();
  const group = view.getByRole("group", { name: "net/tcp" });
  await group.getByRole("checkbox", { name: "l", exact: true }).click();
  await reaches(view, "the address has the path", (at) => at.get("counter") === "net/tcp/l");
});

test("each kind of task has a band, or each task a row", async (open) => {
  const view = await opened(open, page(hanging()), { hash: "#as=bands" });
  const choice = (name) => view.getByRole("button", { name, exact: true });
  const chosen = (name) => choice(name).getAttribute("aria-pressed");
  same(await chosen("Bands"), "true", "bands are shown");
  await choice("Bands").click();
  same(await chosen("Bands"), "true", "they stay");
  await choice("Rows").click();
  await reaches(view, "rows are shown", (at) => at.get("as") === "rows");
  same(await chosen("Rows"), "true", "so the button says");
  await canvas(view).click({ position: { x: 700, y: 300 } });
  await view.keyboard.press("v");
  await reaches(view, "the key shows bands", (at) => at.get("as") === "bands");
});

test("a press on a finding's note tells about the finding; a story can be put away", async (open) => {
  const view = await opened(open, page(hanging()), { hash: "#as=bands&panel=tasks" });
  const [x, y] = await uprightOf(view, "196,22,28", 20, 84);
  await view.mouse.click(x, y + 5);
  await reaches(view, "it is shown", (at) => at.has("sel") && at.get("panel") === "details");
  await until("its card is in sight", () =>
    view
      .locator("#findings article")
      .first()
      .evaluate((card) => {
        const { top, bottom } = card.getBoundingClientRect();
        return bottom > 0 && top < window.innerHeight;
      }),
  );
  const box = await place(view);
  await canvas(view).focus();
  await view.keyboard.press("p");
  await reaches(view, "its story is above", (at) => at.has("story"));
  await view.mouse.click(box.x + box.width - 56 - 20, box.y + 52 + 30 + 8);
  await reaches(view, "it is put away", (at) => !at.has("story"));
});

test("the list of keys fits a narrow screen", async (open) => {
  const view = await opened(open, page(hanging()), { width: 1024, height: 700 });
  await view.keyboard.press("?");
  const dialog = view.getByRole("dialog");
  const { width } = await dialog.boundingBox();
  expect(width <= 1024, `it is ${width} px wide`);
  const [seen, all] = await dialog.evaluate((its) => [its.clientWidth, its.scrollWidth]);
  expect(all <= seen, "nothing is cut");
  await dialog.evaluate((its) => its.scrollTo(0, its.scrollHeight));
  await dialog.getByRole("button", { name: "Close" }).click();
});

test("a screen reader finds all that the picture shows", async (open) => {
  const view = await opened(open, page(hanging()), { hash: "#as=bands" });
  const item = (name) => view.getByRole("treeitem", { name });
  await item(/: runs /)
    .first()
    .dispatchEvent("click");
  await view.waitForFunction(() => {
    const active = document.getElementById("canvas").getAttribute("aria-activedescendant");
    return active && document.getElementById(active).ariaSelected === "true";
  });
  await view.keyboard.press("v");
  await item(/never resolved for /)
    .first()
    .dispatchEvent("click");
  await reaches(view, "the task is selected", (at) => at.has("sel"));
});

test("m marks the time below the pointer with a text", async (open) => {
  const view = await opened(open, page(hanging()), { hash: "#as=rows" });
  const time = await timeAt(view, 700, 300);
  await view.keyboard.press("m");
  const field = view.getByLabel("The mark’s text");
  await field.waitFor();
  await field.fill("a pause");
  await view.keyboard.press("Enter");
  await reaches(view, "it is marked there", (at) => {
    const [, marked] = /^([0-9]+):a pause$/.exec(at.get("mark") ?? "") ?? [];
    return Math.abs(Number(marked) - time) < time / 50;
  });
  await timeAt(view, 701, 300);
  await view.keyboard.press("m");
  await field.waitFor();
  await view.keyboard.press("Enter");
  await reaches(view, "an empty text removes it", (at) => !at.has("mark"));
});

test("a card tells about the task below the pointer, and a menu goes on from it", async (open) => {
  const view = await opened(open, page(hanging()));
  await view.locator("#picture canvas").focus();
  await view.keyboard.press("b"); // the finding's task is in sight
  await address(view);
  const { x, y, width, height } = await place(view);
  const card = view.locator("#card");
  const spots = [];
  for (let up = 60; up < height - 40; up += 12) spots.push([x + width / 2, y + up]);
  let spot;
  for (const each of spots) {
    await view.mouse.move(...each);
    const words = await settled(() => view.locator("#pointer").textContent());
    if (!/(ns|µs|ms|s)\s+\S/.test(words)) continue;
    spot = each;
    break;
  }
  await until("the card appears", async () => /\n/.test(await card.innerText()));
  await view.mouse.click(...spot, { button: "right" });
  const menu = view.getByRole("menu");
  await menu.getByRole("menuitem", { name: /^Why slow/ }).waitFor();
  expect(!(await card.isVisible()), "the card gives way");
  await view.keyboard.press("Escape");
  same(await menu.count(), 0, "menus left");
  await view.mouse.click(...spot, { button: "right" });
  await menu.getByRole("menuitem", { name: "Details" }).click();
  await reaches(view, "the task is selected", (at) => at.has("sel"));
});

test("a link that chooses something tells where the time of bands goes, too", async (open) => {
  const queued = page(made("queued", "tests/thrum/programs/queued"));
  const view = await opened(open, queued, { hash: "#as=bands&sel=162&range=200000000..300000000" });
  await view
    .locator("#outline")
    .getByText(/GET .* % waits for /)
    .first()
    .waitFor({ state: "attached" });
});

test("in bands, Why slow in the menu opens the story", async (open) => {
  const queued = page(made("queued", "tests/thrum/programs/queued"));
  const hash = "#as=bands&open=GET%20/user/%23&t=190000000..330000000";
  const view = await opened(open, queued, { hash });
  const { x, y, width, height } = await place(view);
  const item = view.getByRole("menuitem", { name: /^Why slow/ });
  for (let down = 100; down < height && !(await item.isVisible()); down += 8) {
    await view.mouse.click(x + width / 2, y + down, { button: "right" });
    await view.getByRole("menuitem").first().waitFor();
  }
  await item.click();
  await reaches(view, "its story is shown", (at) => at.has("story"));
  same(await tab(view, "Why slow").getAttribute("aria-selected"), "true", "the tab is open");
});

test("what the search didn't find is hidden by a key, and shown again", async (open) => {
  const view = await opened(open, page(hanging()));
  await view.getByRole("searchbox", { name: /Find/ }).fill("flight");
  await view.locator("#picture canvas").focus();
  await view.keyboard.press("h");
  await reaches(view, "it is hidden", (at) => at.get("related") === "1" && at.has("squeeze"));
  await view.keyboard.press("h");
  await reaches(view, "all is shown", (at) => !at.has("related") && !at.has("squeeze"));
});

test("one of two traces is closed", async (open) => {
  const view = await opened(open, page(good(), hanging()));
  await view.getByText("View", { exact: true }).click();
  const closing = view.getByRole("button", { name: /^Close .*thrum/ });
  await until("both can be", async () => (await closing.count()) === 2);
  await closing.first().click();
  await view.getByRole("heading", { name: "arp.thrum", level: 1 }).waitFor();
  await until("one is left", async () => (await closing.count()) === 0);
  await view.getByRole("banner").getByText("1 finding").waitFor();
});

test("what the picture told of a trace isn't followed after it was closed", async (open) => {
  const view = await opened(open, page(hanging(), hanging()), { hash: "#as=bands" });
  await view
    .getByRole("treeitem", { name: /^finding 1/ })
    .first()
    .waitFor({ state: "attached" });
  await view.evaluate(() => {
    const buttons = [...document.querySelectorAll("button")];
    buttons.find(({ textContent }) => /^Close .*thrum/.test(textContent)).click();
    document.querySelector("#outline > *").click();
  });
  await view.getByRole("heading", { name: "arp.thrum", level: 1 }).waitFor();
  await canvas(view).focus();
  await view.keyboard.press("v");
  const now = await reaches(view, "rows are shown", (at) => at.get("as") === "rows");
  same(now.has("sel"), false, "a task is selected");
});

test("while the rows of a busy program are made, the page answers", async (open) => {
  const view = await opened(open, page(crowded()));
  await canvas(view).focus();
  const answers = await view.evaluate(async () => {
    const [picture, seen, pointer] = ["canvas", "seen", "pointer"].map((id) =>
      document.getElementById(id),
    );
    const { left, top } = picture.getBoundingClientRect();
    const changed = (element) =>
      new Promise((done) => {
        const watch = new MutationObserver(() => done(watch.disconnect()));
        watch.observe(element, { childList: true, characterData: true, subtree: true });
      });
    const makes = () => seen.textContent.includes("the rows are being made");
    picture.dispatchEvent(new window.KeyboardEvent("keydown", { key: "v", bubbles: true }));
    while (!makes()) await changed(seen);
    for (let count = 0; ; count++) {
      const told = changed(pointer);
      const at = {
        clientX: left + 400 + 9 * (count % 40),
        clientY: top + 99,
        pointerType: "mouse",
      };
      picture.dispatchEvent(new window.PointerEvent("pointermove", { ...at, bubbles: true }));
      await told;
      if (!makes()) return count;
    }
  });
  expect(answers > 2, `answers before the rows were there: ${answers}`);
  await reaches(view, "rows are shown", (at) => at.get("as") === "rows");
});

test("the visible time, or the chosen range, can be saved as a recording, by a command", async (open) => {
  const view = await opened(open, page(hanging()), { hash: near });
  const ask = async () => {
    await view.getByText("Export", { exact: true }).click();
    await view.getByRole("button", { name: /as a recording/ }).click();
  };
  await ask();
  await view.getByText(/^thrum snapshot '.*' --start=20000 --end=40000 -o/).waitFor();
  await view.evaluate((hash) => (location.hash = hash), `${near}&range=25000..30000&as=bands`);
  await reaches(view, "a range is chosen", (at) => at.has("range"));
  await ask();
  await view.getByText(/^thrum snapshot '.*' --start=25000 --end=30000 -o/).waitFor();
});
