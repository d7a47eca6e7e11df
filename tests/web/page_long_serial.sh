#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The page that `thrum html` writes, in a real browser: node runs what stands in *_test.mjs. To run
# some: THRUM=build/thrum BUILD=build SOURCE=. node tests/web/run.mjs 'part of a name'
set -u
skip() {
	echo "skipped: $1"
	exit 77
}
[[ $SANITIZE == none ]] || skip "the page is the same in builds with sanitizers"
command -v node >/dev/null || skip "node is missing"
[[ -d $SOURCE/apps/web/node_modules/playwright-core ]] || skip "playwright-core is missing (npm ci in apps/web)"
CHROMIUM=${CHROMIUM:-$(command -v chromium-headless-shell || command -v chromium)} ||
	skip "chromium-headless-shell is missing, and chromium, too"
export CHROMIUM
"$THRUM" html --viewer -o /dev/null 2>/dev/null || skip "this thrum was built without its page"
exec node "$SOURCE/tests/web/run.mjs"
