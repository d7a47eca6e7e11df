// SPDX-License-Identifier: ISC
// The page tells the findings that `thrum why` tells, of kept recordings: programs that hang in
// different ways, and one that is well.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { page } from "./fixtures.mjs";
import { expect, here, same, source, test, until } from "./harness.mjs";
import { opened } from "./page.mjs";

/** The steps for which the recording is here, or none. */
const kept = [
  ["xx_agent.broken", ["begins-none"]],
  ["zz_uv_slots.broken", ["begins-none"]],
  ["af_buildgraph.broken", ["short-way"]],
  ["hh_batch.broken", ["signal-lost", "waits-late"]],
  ["dd_sighandler.broken", ["waits-in-cycle", "holds"]],
  ["am_lease.broken", ["pending", "behind"]],
  ["k_resizer.broken", ["failed"]],
  ["e_edge.broken", ["first-pending", "last-pending"]],
  ["xx_agent.healthy", []],
];

function unpack() {
  const names = kept.map(([name]) => `${name}.thrum`);
  const archive = join(source, "tests/why/unseen/recordings.tar.xz");
  execFileSync("tar", ["-C", here, "--occurrence", "-xf", archive, ...names]);
}

/** The findings as `thrum why` tells them. */
function told(file) {
  let text = "";
  try {
    text = execFileSync(process.env.THRUM, ["why", "--format=json", file], { stdio: "pipe" });
  } catch (failure) {
    text = failure.stdout; // there are findings
  }
  return text
    .toString()
    .split("\n")
    .filter((line) => line)
    .map((line) => JSON.parse(line));
}

/** The cards of the panel: how certain a finding is, the names in its title, and how many steps. */
const shown = (view) =>
  view
    .locator("#findings article.finding")
    .evaluateAll((cards) =>
      cards.map((card) => [
        card.querySelector(".remark").textContent.split(" ")[0],
        card.querySelector("h3").textContent.match(/“[^”]*”/g),
        card.querySelectorAll("ol > li").length,
      ]),
    );

test("the page has the findings of thrum why, of each kind", async (open) => {
  unpack();
  for (const [name, steps] of kept) {
    const file = join(here, `${name}.thrum`);
    const findings = told(file);
    const kinds = findings.flatMap((finding) => finding.steps.map((step) => step.step));
    for (const step of steps) expect(kinds.includes(step), `why finds ${step} in ${name}`);
    if (steps.length === 0) same(findings.length, 0, `findings of ${name}`);
    const view = await opened(open, page(file));
    await until(
      `the page tells all findings of ${name}`,
      async () => (await shown(view)).length === findings.length,
    );
    (await shown(view)).forEach(([certainty, names, count], i) => {
      same(certainty, findings[i].certainty, `certainty of ${i} in ${name}`);
      same(count, findings[i].steps.length, `steps of ${i} in ${name}`);
      for (const word of names)
        expect(JSON.stringify(findings[i]).includes(word.slice(1, -1)), `why names ${word}`);
    });
  }
});
