// SPDX-License-Identifier: ISC
// Runs the tests of the page; page_long_serial.sh calls it. Arguments: a part of the names of those to run.
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { load, runAll } from "./harness.mjs";

for (const name of readdirSync(dirname(fileURLToPath(import.meta.url))).sort())
  if (name.endsWith("_test.mjs")) await load(name);
process.exit((await runAll(process.argv[2])) > 0 ? 1 : 0);
