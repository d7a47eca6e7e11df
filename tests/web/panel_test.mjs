// SPDX-License-Identifier: ISC
// The panel: details and their links, findings, the table of tasks, statistics, and saved files.
import { readFileSync } from "node:fs";
import {
  big,
  counting,
  good,
  hanging,
  huge,
  idOf,
  killed,
  page,
  steady,
  viewer,
} from "./fixtures.mjs";
import { expect, same, test, until } from "./harness.mjs";
import { address, canvas, drag, opened, place, reaches, shown, tab } from "./page.mjs";

const panel = (view) => view.getByRole("complementary");
const rows = (view) => panel(view).getByRole("row");
const texts = (view) => rows(view).allTextContents();

async function openTasks(view) {
  await tab(view, /Tasks/).click();
  await until("there are rows", async () => (await rows(view).count()) > 10);
}

test("details follow the links, to who waits and who woke it", async (open) => {
  const waiter = idOf(hanging(), "wait for arp-reply");
  const connect = idOf(hanging(), "connect 10.0.0.2");
  const view = await opened(open, page(hanging()), { hash: `#sel=${waiter}` });
  await panel(view).getByRole("heading", { name: "wait for arp-reply" }).waitFor();
  await panel(view)
    .getByText(/examples\/arp\/arp\.c:\d+/)
    .first()
    .waitFor();
  await panel(view)
    .getByRole("link", { name: /connect 10\.0\.0\.2/ })
    .first()
    .click();
  await panel(view).getByRole("heading", { name: "connect 10.0.0.2" }).waitFor();
  await reaches(view, "it is selected", (at) => at.get("sel") === connect);
  await view.keyboard.press("Backspace");
  await reaches(view, "back is back", (at) => at.get("sel") === waiter);
});

test("a finding tells its steps, and shows them", async (open) => {
  const view = await opened(open, page(hanging()));
  await panel(view).getByText("Lost wake-up on “arp-reply”").waitFor();
  await panel(view)
    .getByText(/is signalled/)
    .waitFor();
  await panel(view)
    .getByRole("button", { name: /Show me/ })
    .click();
  await reaches(view, "it is shown", (at) => at.has("sel") && at.get("related") === "1");
});

test("findings come first, but for what was chosen", async (open) => {
  const top = async (view, part) => (await panel(view).locator(part).boundingBox()).y;
  const view = await opened(open, page(hanging()));
  await panel(view).getByText("Lost wake-up on “arp-reply”").waitFor();
  expect((await top(view, "#findings")) < (await top(view, "#document")), "they come first");
  await view.keyboard.press("b");
  await reaches(view, "a task is selected", (at) => at.has("sel"));
  await until(
    "the task comes first",
    async () => (await top(view, "#document")) < (await top(view, "#findings")),
  );
});

test("what has nothing to do says so", async (open) => {
  const view = await opened(open, page(counting()), { hash: "#as=bands" });
  const counters = view.locator("#counters-menu");
  await counters.locator("summary").click();
  same(await counters.getAttribute("open"), null, "the menu stays closed in bands");
  same(await counters.locator("summary").getAttribute("title"), "Only rows show counters");
  await view.locator("#export-menu summary").click();
  const cut = view.getByRole("button", { name: /This time as a recording/ });
  await until("all is visible", () => cut.isDisabled());
  await view.keyboard.press("Escape");
  await canvas(view).focus();
  await view.keyboard.press("e");
  await until("the status line tells", async () =>
    /not in bands/.test(await view.locator("#seen").innerText()),
  );
  await view.keyboard.press("w");
  await reaches(view, "it is zoomed", (at) => at.has("t"));
  await view.locator("#export-menu summary").click();
  await until("a part is visible", () => cut.isEnabled());
  await view.keyboard.press("Escape");
  await canvas(view).click({ button: "right" });
  await view.getByRole("menuitem", { name: "Copy link" }).click();
  await until("it is told", async () => (await view.locator("#seen").innerText()) === "Copied");
});

test("why a task was slow: by link, key and tab; its links lead to details", async (open) => {
  const view = await opened(open, page(steady()), { hash: "#panel=slow" });
  await panel(view).getByText("Select a task").waitFor();
  await tab(view, /Tasks/).click();
  await until("there are rows", async () => (await rows(view).count()) > 10);
  await rows(view).filter({ hasText: "GET /one" }).first().locator("td").first().click();
  await tab(view, "Details").click();
  await panel(view).getByRole("link", { name: "why slow?" }).click();
  await panel(view)
    .getByRole("heading", { name: /Where the time of “GET/ })
    .waitFor();
  await panel(view)
    .getByText(/usual \(the median\) is/)
    .waitFor();
  same(await tab(view, "Why slow").getAttribute("aria-selected"), "true", "the tab is open");
  const asked = (await address(view)).get("sel");
  const heading = panel(view).getByRole("heading", { name: /Where the time of/ });
  const before = await heading.textContent();
  await panel(view).locator("dd").getByRole("link").click();
  await reaches(view, "the usual one is selected", (at) => at.get("sel") !== asked);
  same(await tab(view, "Details").getAttribute("aria-selected"), "true", "its details are shown");
  await view.locator("#picture canvas").focus();
  await view.keyboard.press("Backspace");
  await reaches(view, "going back leads to that page", (at) => at.get("panel") === "slow");
  await until("the page is about the same", async () => (await heading.textContent()) === before);
  same((await address(view)).get("sel"), asked, "the task is selected again");
  await view.keyboard.press("y");
  await until("the page is about it", async () => (await heading.count()) === 1);
  expect(before.includes("GET"), before);
  const picture = panel(view).locator("#document canvas");
  await until("there is a picture", async () => (await picture.boundingBox()).height > 100);
  await picture.hover({ position: { x: 60, y: 60 } });
  await until("it tells what is there", async () => (await picture.getAttribute("title")) !== null);
  await view.keyboard.press("Escape");
});

test("a lock tells who held it; a long run leads to its time", async (open) => {
  const lock = idOf(killed(), "database");
  const view = await opened(open, page(killed()), { hash: `#as=bands&sel=${lock}` });
  const longest = panel(view).locator("section", { hasText: "Held longest by" });
  await longest.getByRole("link").first().click();
  await reaches(view, "who held it is selected", (at) => at.get("sel") !== String(lock));
  await tab(view, "Statistics").click();
  await panel(view).getByRole("combobox").first().selectOption({ label: "Longest runs" });
  await until("there are rows", async () => (await rows(view).count()) > 3);
  const before = (await address(view)).get("t");
  await rows(view).nth(1).locator("td").first().click();
  await reaches(view, "its time is shown", (at) => at.has("t") && at.get("t") !== before);
});

test("the details are those of a run, a thread, or a band", async (open) => {
  const view = await opened(open, page(killed()), { hash: "#as=bands" });
  const { x, y } = await place(view);
  const says = (words) => view.locator("#document").getByText(words).first().waitFor();

  // The thread is the first row below the ruler, its name at the left.
  await view.mouse.click(x + 30, y + 118);
  await says("Its longest runs");
  await view.locator("#document [data-run]").first().click();
  await says(/^A run of /);
  await says("In this run");
  await reaches(view, "the run is in the address", (address) => address.has("run"));
  expect((await view.locator("#document .marked").count()) > 0, "the run's lines are marked");
  await view.keyboard.press("Escape");
  await view.keyboard.press("Escape");
  await says("How fast it answers");
  await view.locator("#document [data-group]").first().click();
  await says("half within");
  await reaches(view, "the band has the focus", (address) => address.has("band"));
});

test("a range tells its numbers, aloud too, and what can be done with it", async (open) => {
  const lock = idOf(killed(), "database");
  const view = await opened(open, page(killed()), { hash: `#as=bands&sel=${lock}&panel=slow` });
  const { x, y, width } = await place(view);
  const button = (name) => panel(view).getByRole("button", { name, exact: true });

  // On the ruler, below the strip.
  await drag(view, [x + width / 2, y + 68], [x + width / 2 + 120, y + 68]);
  await panel(view).getByRole("heading", { name: "Greatest differences" }).waitFor();
  same(await tab(view, "Details").getAttribute("aria-selected"), "true", "though a task is chosen");
  await until("it is said", async () =>
    /… .* beside the other .*(here else|Nothing differs)/.test(
      await view.locator("#live").textContent(),
    ),
  );
  same(await button("Open").count(), 0, "no durations are chosen");
  await button("Note…").click();
  await view.getByRole("dialog").waitFor();
  await view.keyboard.press("Escape");
  const range = (await address(view)).get("range");
  await button("Zoom here").click();
  await reaches(view, "the range fills the picture", (at) => at.get("t") === range);
  await button("Copy link").waitFor();
});

test("differences of two traces lead to both", async (open) => {
  const view = await opened(open, page(good(), hanging()), { hash: "#panel=differences" });
  await panel(view).getByRole("heading", { name: "Differences" }).waitFor();
  const first = panel(view).locator("#document li [role=link]").first();
  await first.click();
  await reaches(view, "both are selected", (at) => at.has("sel") || at.has("2.sel"));
  expect(await first.isVisible(), "the page stays");
  await panel(view).locator("#document dd [role=link]").last().click();
  await reaches(view, "a task of the second is selected", (at) => at.has("2.sel"));
});

test("a second trace is opened to compare it", async (open) => {
  const view = await opened(open, page(good()));
  same(await tab(view, "Diff").count(), 0, "tabs of differences");
  const [chooser] = await Promise.all([
    view.waitForEvent("filechooser"),
    view.getByRole("button", { name: "Compare" }).click(),
  ]);
  await chooser.setFiles(hanging());
  await panel(view).getByRole("heading", { name: "Differences" }).waitFor();
  expect(!(await view.getByRole("button", { name: "Compare" }).isVisible()), "of two is enough");
});

test("the table of tasks: sorted, filtered, and by keys", async (open) => {
  const view = await opened(open, page(hanging()));
  await openTasks(view);
  const titles = await panel(view).getByRole("columnheader").allTextContents();
  same(titles.slice(0, 4), ["label", "life", "state", "start"], "what people look for is first");
  const [start, room] = await panel(view)
    .getByRole("columnheader", { name: "start" })
    .evaluate((its) => [
      its.getBoundingClientRect().right - its.closest(".scroller").getBoundingClientRect().left,
      its.closest(".scroller").clientWidth,
    ]);
  expect(Math.abs(start - room) < 2, `the label takes the rest: ${start} of ${room}`);
  const filter = panel(view).getByRole("searchbox", { name: "Filter tasks" });
  same(
    await filter.getAttribute("placeholder"),
    "Filter: name, state:failed, life>5ms",
    "its hint",
  );
  const header = panel(view).getByRole("columnheader", { name: /running/i });
  const before = (await texts(view)).join();
  await header.getByRole("button").click();
  await until("it is sorted", async () => (await texts(view)).join() !== before);
  expect(/ascending|descending/.test(await header.getAttribute("aria-sort")), "it says so");
  const place = JSON.stringify(await header.boundingBox());
  await filter.fill("FLIGHT");
  await until("only some are left", async () => {
    const left = (await texts(view)).slice(1);
    return left.length === 2 && left.every((text) => text.includes("flight"));
  });
  same(JSON.stringify(await header.boundingBox()), place, "the titles stay where they are");
  await reaches(
    view,
    "the address has both",
    (at) => at.get("order") === "-running" && at.get("filter") === "FLIGHT",
  );
  await rows(view).nth(1).click();
  const first = (await reaches(view, "it is shown", (at) => at.has("sel") && at.has("t"))).get(
    "sel",
  );
  same(await tab(view, "Details").getAttribute("aria-selected"), "true", "the details are open");
  await tab(view, /Tasks/).click();
  await panel(view).getByRole("grid", { name: "Tasks" }).focus();
  await view.keyboard.press("ArrowDown");
  await view.keyboard.press("Enter");
  await reaches(view, "the next one is", (at) => at.get("sel") !== first);
});

test("a list opens as its address says", async (open) => {
  const hash = "#panel=tasks&order=-life&filter=bind";
  const view = await opened(open, page(hanging()), { hash });
  const header = panel(view).getByRole("columnheader", { name: "life" });
  await until(
    "it is sorted",
    async () => (await header.getAttribute("aria-sort")) === "descending",
  );
  same(await panel(view).getByRole("searchbox").inputValue(), "bind", "the filter");
});

test("copying takes the selected task's details, and printing keeps the picture", async (open) => {
  const view = await opened(open, page(hanging()));
  await view.locator("#picture canvas").focus();
  await view.keyboard.press("b");
  await panel(view).getByRole("heading", { level: 2 }).first().waitFor();
  const copied = () =>
    view.evaluate(() => {
      const clipboardData = new DataTransfer();
      document.dispatchEvent(new window.ClipboardEvent("copy", { clipboardData }));
      return clipboardData.getData("text/plain");
    });
  await until("it is copied", async () => /State\s+never resolved/.test(await copied()));
  const shape = async () => {
    const { width, height } = await view.locator("#canvas").boundingBox();
    return width / height;
  };
  const before = await shape();
  await view.emulateMedia({ media: "print" });
  const change = (await shape()) / before;
  expect(change > 0.98 && change < 1.02, `its shape changes by ${change}`);
  same(await view.locator("#tools").isVisible(), false, "no buttons are printed");
});

test("Ctrl+P prints the picture as SVG, and the page is light on paper", async (open) => {
  const view = await opened(open, page(hanging()), { colorScheme: "dark" });
  await view.evaluate(() => {
    const urlOf = URL.createObjectURL;
    window.print = () => (window.isPrinted = true);
    URL.createObjectURL = (blob) => urlOf((window.made = blob));
  });
  await view.keyboard.press("Control+p");
  await until("it is printed", () => view.evaluate(() => window.isPrinted));
  const image = view.locator("#print");
  const svg = await view.evaluate(() => window.made.text());
  expect(svg.includes("ARP reply"), "the picture has texts");
  expect(/#ffffff/i.test(svg) && !/#14171b/i.test(svg), "it is light");
  same(await image.isVisible(), false, "it isn't on the screen");
  await view.emulateMedia({ media: "print" });
  same(await image.isVisible(), true, "it is on paper");
  same(await canvas(view).isVisible(), false, "the canvas isn't");
  const theme = () => view.evaluate(() => document.documentElement.dataset.theme);
  const tell = (type) => view.evaluate((type) => window.dispatchEvent(new Event(type)), type);
  await tell("beforeprint");
  same(await theme(), "light", "the theme on paper");
  await tell("afterprint");
  same(await theme(), "dark", "the theme afterwards");
  same(await image.count(), 0, "pictures that are left");
});

test("the counts of states lead to their tasks", async (open) => {
  const view = await opened(open, page(steady()));
  const link = panel(view).getByRole("link", { name: / resolved$/ });
  const count = (await link.textContent()).replace(/\D/g, "");
  await link.click();
  same(await tab(view, /Tasks/).getAttribute("aria-selected"), "true", "the list is open");
  await panel(view)
    .getByText(new RegExp(`^${count.replace(/\B(?=(\d{3})+$)/g, ",")} of `))
    .waitFor();
  const filter = panel(view).getByRole("searchbox", { name: "Filter tasks" });
  same(await filter.inputValue(), "state:resolved", "the filter tells it");
});

test("100,000 tasks are a table of what is seen", async (open) => {
  const view = await opened(open, page(big()));
  await openTasks(view);
  expect((await rows(view).count()) < 200, `${await rows(view).count()} rows are elements`);
  const grid = panel(view).getByRole("grid", { name: "Tasks" });
  const all = Number(await grid.getAttribute("aria-rowcount"));
  expect(all > 100_000, `all are counted: ${all}`);
  await rows(view).nth(3).click();
  await reaches(view, "it is selected", (at) => at.has("sel"));
  await tab(view, /Tasks/).click();
  await grid.focus();
  await view.keyboard.press("End");
  await until("the last is reached", async () => {
    const at = await rows(view).evaluateAll((list) => list.map((row) => Number(row.ariaRowIndex)));
    return Math.max(...at) === all;
  });
});

test("the panel gets wider, and the picture narrower", async (open) => {
  const view = await opened(open, page(steady()));
  const divider = view.getByRole("separator", { name: "Width of the panel" });
  const wide = async () => (await panel(view).boundingBox()).width;
  const before = [await wide(), (await place(view)).width];
  const { x, y, height } = await divider.boundingBox();
  await drag(view, [x + 4, y + height / 2], [x - 96, y + height / 2]);
  await until("the panel is wider", async () => (await wide()) - before[0] > 90);
  await until("the picture follows", async () => before[1] - (await place(view)).width > 90);
  const dragged = await wide();
  await divider.press("ArrowRight");
  await until("keys do, too", async () => dragged - (await wide()) === 20);
});

test("statistics, and a histogram's range that narrows the list", async (open) => {
  const view = await opened(open, page(steady()));
  await tab(view, /Statistics/).click();
  await rows(view).filter({ hasText: "GET /one" }).first().locator("td").first().click();
  await panel(view).getByRole("heading", { name: "GET /one" }).waitFor();
  const chart = panel(view).getByRole("slider", { name: "Histogram" });
  await until("it is said", async () =>
    /^14 tasks/.test(await chart.getAttribute("aria-valuetext")),
  );
  const { x, y, width, height } = await chart.boundingBox();
  await drag(view, [x + width * 0.5, y + height / 2], [x + width - 1, y + height / 2]);
  await panel(view).getByText("12 tasks, 1 µs to 2 µs").waitFor();
  // Keys do the same: the start of the range moves to the left from the last column.
  const said = (words) =>
    until(words, async () => (await chart.getAttribute("aria-valuetext")).startsWith(words));
  await chart.press("Escape");
  await said("14 tasks");
  await chart.press("ArrowLeft");
  await said("12 tasks");
  await chart.press("Shift+ArrowLeft");
  await said("14 tasks, 500 ns");
  await chart.press("Escape");
  await chart.press("ArrowLeft");
  await said("12 tasks");
  await panel(view).getByRole("button", { name: "Show in list" }).click();
  await view.getByRole("tab", { name: /Tasks/, selected: true }).waitFor();
  await until("only some are left", async () => {
    const left = (await texts(view)).slice(1);
    return left.length === 12 && left.every((text) => text.includes("GET /one"));
  });
  await panel(view)
    .getByRole("button", { name: /show all tasks/ })
    .click();
  await until("all are there again", async () => (await rows(view).count()) > 15);
});

test("counters are a tree in the statistics", async (open) => {
  const view = await opened(open, page(counting()));
  await tab(view, /Statistics/).click();
  await panel(view).getByRole("combobox", { name: "Table" }).selectOption("Counters");
  await until("the parent has the sum", async () => {
    const [, ...found] = await texts(view);
    return /^net\D*28/.test(found[0]) && /^\s+received\D*21/.test(found[1]);
  });
});

test("a count in the statistics leads to its tasks", async (open) => {
  const view = await opened(open, page(steady()));
  await tab(view, /Statistics/).click();
  const row = rows(view).filter({ hasText: "GET /two" }).first();
  await row.getByRole("link", { name: "13", exact: true }).first().click();
  await view.getByRole("tab", { name: /Tasks/, selected: true }).waitFor();
  await until("only those are left", async () => {
    const left = (await texts(view)).slice(1);
    return left.length === 13 && left.every((text) => text.includes("GET /two"));
  });
  // A list that is narrowed by a count doesn't follow the histogram.
  await tab(view, /Statistics/).click();
  await rows(view).filter({ hasText: "GET /one" }).first().locator("td").first().click();
  await panel(view).getByRole("heading", { name: "GET /one" }).waitFor();
  await tab(view, /Tasks/).click();
  const all = panel(view).getByRole("button", { name: "GET /two: 13 tasks: show all tasks" });
  await until("they still are", async () => (await texts(view)).length === 14);
  await all.click();
  await until("all are there again", async () => (await rows(view).count()) > 15);
});

async function save(view, name) {
  await view.getByText("Export", { exact: true }).click();
  const button = view.getByRole("button", { name });
  const [download] = await Promise.all([view.waitForEvent("download"), button.click()]);
  return [download.suggestedFilename(), readFileSync(await download.path())];
}

test("saves the picture as SVG and PNG", async (open) => {
  const view = await opened(open, page(hanging()));
  const [svgName, svg] = await save(view, /SVG/);
  expect(/^[^.]+\.svg$/.test(svgName), `${svgName} is its name`);
  const blank = await view.context().newPage(); // without the policy of the page
  const broken = await blank.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    return parsed.querySelector("parsererror")?.textContent ?? "";
  }, svg.toString());
  same(broken, "", "what the SVG's parser says");
  expect(svg.includes("arp-reply"), "names are text in it");
  const [pngName, png] = await save(view, /PNG/);
  expect(pngName.endsWith(".png"), `${pngName} is its name`);
  same(png.subarray(1, 4).toString(), "PNG", "its first bytes");
  const { width, height } = await place(view);
  const twice = [width, height].map((length) => Math.round(length * 2));
  same([png.readUInt32BE(16), png.readUInt32BE(20)], twice, "its size");
});

test("the ruler tells that a trace's program was killed", async (open) => {
  const view = await opened(open, page(killed()));
  const [, svg] = await save(view, /SVG/);
  expect(/>killed at [0-9.]+ m?s</.test(svg.toString()), "it is told at its end");
});

test("the ruler tells that a trace breaks off, whatever became of its program", async (open) => {
  const view = await open(viewer());
  await view.locator("#files").setInputFiles(killed());
  await shown(view);
  const [, svg] = await save(view, /SVG/);
  expect(/>breaks off at [0-9.]+ m?s</.test(svg.toString()), "it is told at its end");
});

test("findings of a small trace are there when it is shown, of a big one they come", async (open) => {
  const findings = (view) => view.locator("#findings").innerText();
  const small = await opened(open, page(hanging()));
  expect(/^findings 1/i.test(await findings(small)), "the small one has its finding at once");
  const view = await opened(open, page(huge()));
  await until("the big one's are told", async () => /^findings 1/i.test(await findings(view)));
  await tab(view, "Statistics").click();
  await view.getByRole("button", { name: "1 finding" }).click();
  await until("they are in sight", () =>
    view
      .locator("#findings h2")
      .evaluate((at) => at.getBoundingClientRect().top < window.innerHeight),
  );
  await view.getByRole("button", { name: "Show me" }).click();
  await reaches(view, "its tasks are seen", (at, span) => at.has("sel") && span?.[0] > 0);
});

test("saves the table as CSV", async (open) => {
  const view = await opened(open, page(hanging()));
  await openTasks(view);
  const [name, csv] = await save(view, /CSV/);
  expect(name.endsWith(".csv"), `${name} is its name`);
  const lines = csv.toString().trimEnd().split("\r\n");
  same(lines.length, 1 + 14, "lines");
  const [header, ...data] = lines.map((line) => line.split(","));
  const at = header.findIndex((word) => /label/i.test(word));
  expect(
    data.some((cells) => cells[at] === "wait for arp-reply"),
    `labels have their column: ${lines[0]}`,
  );
});

test("idle time folds and unfolds by its button", async (open) => {
  const view = await opened(open, page(hanging()));
  const button = view.getByRole("button", { name: "Idle folded" });
  const before = await button.getAttribute("aria-pressed");
  await button.click();
  await until(
    "it is pressed, or not",
    async () => (await button.getAttribute("aria-pressed")) !== before,
  );
  await reaches(view, "the address has it", (at) => at.has("fold") && !at.has("t"));
});
