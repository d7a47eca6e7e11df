// SPDX-License-Identifier: ISC
// Texts from traces and files stay text, and a file that is no trace gets a message.
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { good, hanging, huge, page, steady, thrum, viewer, written } from "./fixtures.mjs";
import { expect, here, same, test, until } from "./harness.mjs";
import { trace } from "./mirage.mjs";
import { opened, shown } from "./page.mjs";

const markup = `</script><script>window.harmed=1</script><img src=x onerror="window.harmed=1">`;
const labels = [
  markup,
  "<!--<script>",
  "]]>&lt;&#0;\u2028\\u003c{{page}}",
  "\u202egnirts\u202c \u2066isolated \u200f\u200b",
  "x".repeat(100_000),
  Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf4, 0x90, 0x80, 0x80, 0x41]),
  "javascript:window.harmed=1",
  "\u0001\u001b[31m\u007f\r\n\ttabs",
];

const hostile = () =>
  written("hostile.ctf", () =>
    trace([
      [1000, "switch", 0],
      ...labels.flatMap((label, i) => [
        [2000 + i * 1000, "create", 0, i + 1, "promise"],
        [2100 + i * 1000, "label", i + 1, label],
        [2200 + i * 1000, "counter", 0, i, Buffer.concat([Buffer.from(label), Buffer.of(65 + i)])],
        [2300 + i * 1000, "wait", 0, i + 1],
      ]),
      [20_000, "switch", 0],
    ]),
  );

const unharmed = async (view) => {
  same(await view.evaluate(() => window.harmed), undefined, "harm");
  const extra = await view.evaluate(
    () =>
      document.querySelectorAll("body img, body iframe, body a[href^='javascript'], script[src]")
        .length,
  );
  same(extra, 0, "elements made of text");
};

test("hostile labels are text", async (open) => {
  const view = await opened(open, page(hostile()));
  for (let i = 1; i <= labels.length; i++) {
    await view.evaluate((id) => (location.hash = `#sel=${id}`), i);
    await view.getByRole("tabpanel").getByText(`promise ${i}`).first().waitFor();
  }
  for (const name of [/Tasks/, /Statistics/]) {
    await view.getByRole("tab", { name }).click();
    await until("there are rows", async () => (await view.getByRole("row").count()) > 4);
    await view
      .getByRole("row")
      .getByText(/window.harmed=[1#]/)
      .first()
      .waitFor();
  }
  const wide = await view.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  expect(wide, "the long label doesn't make the page wider");
  await unharmed(view);
});

test("a hostile file name is text", async (open) => {
  const name = `a"><img src=x onerror=window.harmed=1>&amp;{{page}}<!--data-->.thrum`;
  const file = join(here, name);
  copyFileSync(hanging(), file);
  const view = await opened(open, page(file));
  await view.getByRole("heading", { name, level: 1 }).waitFor();
  await unharmed(view);
  const script = join(here, "<");
  copyFileSync(hanging(), script);
  const other = join(here, "title.html");
  thrum("html", "--title", "</title><script>window.harmed=1</script>", script, "-o", other);
  await unharmed(await opened(open, other));
});

test("a search for markup, and an address full of it, are text", async (open) => {
  const hash = `#find=${encodeURIComponent(markup.slice(0, 80))}&panel=${encodeURIComponent("<b>")}`;
  const view = await open(page(steady()), { hash });
  await shown(view);
  await unharmed(view);
});

/** Opens files in the viewer with its button. */
async function choose(view, ...files) {
  const button = view.getByRole("button", { name: /^Open( a file)?$/ }).first();
  const [chooser] = await Promise.all([view.waitForEvent("filechooser"), button.click()]);
  await chooser.setFiles(files);
}

test("the viewer opens recordings, .ctf files, and either packed", async (open) => {
  const view = await open(viewer());
  await choose(view, hanging());
  await shown(view);
  await view.getByRole("heading", { name: "arp.thrum", level: 1 }).waitFor();
  for (const file of [steady(), written("good.thrum.gz", () => gzipSync(readFileSync(good())))]) {
    const other = await open(viewer());
    await choose(other, file);
    await shown(other);
    await other
      .getByText(/\d+ tasks · /)
      .first()
      .waitFor();
  }
});

/** As `cat a.gz b.gz` makes it; the name in the second header looks like the start of a member. */
function members(bytes) {
  const [first, second] = [bytes.subarray(0, 9000), bytes.subarray(9000)].map((part) =>
    gzipSync(part),
  );
  const name = Buffer.from("\x1f\x8b\x08\x01.thrum\0", "latin1");
  second[3] = 8; // has a name
  return Buffer.concat([first, second.subarray(0, 10), name, second.subarray(10)]);
}

test("a file packed in several pieces is opened", async (open) => {
  const words = async (file) => {
    const view = await open(viewer());
    await choose(view, file);
    await shown(view);
    return view.locator("#words").innerText();
  };
  const whole = await words(hanging());
  const packed = written("members.thrum.gz", () => members(readFileSync(hanging())));
  same(await words(packed), whole, "what it says");
  expect(/\d tasks/.test(whole), whole);
});

test("the viewer opens several files at once, one above the other", async (open) => {
  const view = await open(viewer());
  await choose(view, hanging(), good());
  await shown(view);
  await view.getByText("View", { exact: true }).click();
  await view.getByLabel("Share one time axis").waitFor();
});

test("a file may be dropped", async (open) => {
  const view = await open(viewer());
  await view.getByRole("button", { name: "Open a file" }).waitFor();
  const bytes = readFileSync(steady()).toString("base64");
  await view.evaluate((text) => {
    const files = new DataTransfer();
    const data = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    files.items.add(new File([data], "dropped.ctf"));
    for (const type of ["dragenter", "dragover", "drop"])
      document.body.dispatchEvent(
        new DragEvent(type, {
          dataTransfer: files,
          bubbles: true,
          cancelable: true,
        }),
      );
  }, bytes);
  await shown(view);
  await view.getByRole("heading", { name: "dropped.ctf", level: 1 }).waitFor();
});

const random = (size) => {
  let state = 1;
  return Buffer.from({ length: size }, () => (state = (state * 48271) % 2147483647) & 255);
};

const broken = [
  ["empty", () => Buffer.alloc(0)],
  ["random.thrum", () => random(100_000)],
  ["random.ctf", () => Buffer.concat([readFileSync(steady()).subarray(0, 20), random(5000)])],
  ["header.thrum", () => readFileSync(hanging()).subarray(0, 3000)],
  ["half.gz", () => gzipSync(readFileSync(hanging())).subarray(0, 900)],
  ["text.txt", () => Buffer.from("This is no recording.\n".repeat(100))],
];

for (const [name, bytes] of broken)
  test(`no trace: ${name} gets a message, and the viewer goes on`, async (open) => {
    const view = await open(viewer());
    await choose(view, written(name, bytes));
    await view.getByText(name).first().waitFor();
    await view
      .locator("#notices")
      .getByText(/\w+ \w+ \w+/)
      .first()
      .waitFor();
    await choose(view, steady());
    await shown(view);
    await view.getByText("40", { exact: false }).first().waitFor();
  });

test("what can't be opened leaves what is open", async (open) => {
  const view = await open(viewer());
  await choose(view, hanging());
  await shown(view);
  await choose(
    view,
    written("noise.ctf", () => random(5000)),
  );
  await view.getByRole("alert").filter({ hasText: "noise.ctf" }).waitFor();
  await view.getByRole("heading", { name: "arp.thrum", level: 1 }).waitFor();
  await view.getByRole("button", { name: "Show me" }).first().waitFor();
  await choose(view, steady());
  await view.getByRole("heading", { name: "steady.ctf", level: 1 }).waitFor();
});

test("while a big trace is read there is a coarse picture of it", async (open) => {
  const view = await open(viewer());
  await view.evaluate(() => {
    new MutationObserver(() => {
      const coarse = document.getElementById("coarse");
      if (!coarse) return;
      const { width, height } = coarse;
      const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext(
        "2d",
      );
      copy.drawImage(coarse, 0, 0);
      const pixels = new Uint32Array(copy.getImageData(0, 0, width, height).data.buffer);
      window.colours = new Set(pixels).size;
      const progress = document.getElementById("opening");
      const rects = [coarse, progress].map((each) => each.getBoundingClientRect());
      window.covers = rects[1].top < rects[0].bottom;
    }).observe(document.getElementById("picture"), { childList: true });
  });
  await choose(view, huge());
  await shown(view);
  const colours = await view.evaluate(() => window.colours);
  expect(colours > 3, `colours seen: ${colours}`);
  same(await view.evaluate(() => window.covers), false, "the progress covers the picture");
  same(await view.locator("#coarse").count(), 0, "coarse pictures left");
});

test("after Cancel, all works with the next trace", async (open) => {
  const view = await open(viewer());
  await choose(view, hanging());
  await shown(view);
  await view.getByRole("tab", { name: "Statistics" }).click();
  const histogram = view.getByRole("slider", { name: "Histogram" });
  const said = () => histogram.getAttribute("aria-valuetext");
  const before = await until("the histogram says something", said);
  await view.evaluate(() => document.getElementById("cancel").click());
  await view.getByRole("heading", { name: "Open a recording" }).waitFor();
  await choose(view, steady());
  await view.getByRole("heading", { name: "steady.ctf", level: 1 }).waitFor();
  await view.getByRole("tab", { name: "Statistics" }).click();
  await until("the histogram is the new one's", async () => {
    const words = await said();
    return words !== before && words;
  });
});

test("a page that was cut says so, wherever it was cut", async (open) => {
  const whole = readFileSync(page(hanging()), "latin1");
  const at = (text, more = 0) => whole.indexOf(text) + more;
  const size = whole.length;
  const cuts = [
    at("</script>", 9), // any shorter page shows nothing: it has no script
    at("script-src", 20),
    at("</head>"),
    ...["unable", "core", "bundle", "worker"].flatMap((id) => [
      at(`id="${id}"`),
      at(`id="${id}"`, 40),
    ]),
    ...[0.1, 0.3, 0.5, 0.7, 0.9].map((part) => Math.floor(at('id="worker"') * part)),
    at('id="worker"', 60), // in boot.ts
    at('id="traces"', -40),
    at('id="traces"', 2),
    at('"traces":[', 15),
    at('class="block">', -8),
    at('class="block">', 500),
    at('id="end"', -4),
  ];
  const view = await open(page(hanging()));
  for (const cut of cuts) {
    expect(cut > 0 && cut < size, `a place to cut: ${cut}`);
    const file = written(`cut-${cut}.html`, () => Buffer.from(whole.slice(0, cut), "latin1"));
    await view.goto(pathToFileURL(file).href);
    await view
      .getByText(/This page is incomplete: .*Download it again/s)
      .waitFor()
      .catch(() => expect(false, `words on a page of ${cut} bytes`));
  }
});

test("a page whose trace was cut tells what it can't open", async (open) => {
  const whole = readFileSync(page(hanging()), "utf8");
  const cut = whole.slice(0, whole.indexOf('class="block">') + 500);
  const view = await open(written("short.html", () => cut));
  await view
    .getByRole("alert")
    .filter({ hasText: /can't be unpacked: it is incomplete/ })
    .waitFor();
});

test("a page whose own code was damaged says so", async (open) => {
  const whole = readFileSync(page(hanging()), "utf8");
  const at = whole.indexOf('id="bundle">') + 1000;
  const text = whole.slice(0, at) + "!!!!!!!!" + whole.slice(at + 8);
  const view = await open(written("bundle.html", () => text));
  await view.getByText(/page is incomplete/).waitFor();
});

test("a page whose core was damaged says so", async (open) => {
  const whole = readFileSync(page(hanging()), "utf8");
  const at = whole.indexOf('id="core">') + 1000;
  const end = whole.indexOf("</script>", at);
  const last = end - 8;
  for (const [name, text] of [
    ["changed", whole.slice(0, at) + "!!!!!!!!" + whole.slice(at + 8)],
    [
      "changed-at-end",
      whole.slice(0, last) + (whole[last] === "a" ? "b" : "a") + whole.slice(last + 1),
    ],
    ["shortened", whole.slice(0, at) + whole.slice(end)],
    ["emptied", whole.slice(0, at - 1000 + 10) + whole.slice(end)],
  ]) {
    const view = await open(written(`core-${name}.html`, () => text));
    await view
      .getByRole("alert")
      .filter({ hasText: /viewer can't start: .*Reload/s })
      .waitFor();
  }
});

test("a truncated recording is shown as far as it goes, with a word of warning", async (open) => {
  const view = await open(viewer());
  const file = written("cut.ctf", () => {
    const whole = readFileSync(steady());
    return whole.subarray(0, whole.length - 700);
  });
  await choose(view, file);
  await until("there is a picture or a message", async () => {
    const marks = await view.evaluate(() => performance.getEntriesByName("shown").length);
    return marks > 0 || (await view.getByRole("alert").filter({ hasText: /\w/ }).count()) > 0;
  });
  await view
    .getByText(/damaged|truncated|ends|missing|lost/i)
    .first()
    .waitFor();
});
