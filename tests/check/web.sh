#!/bin/sh
# SPDX-License-Identifier: ISC
# The page's sources, and the scripts of its tests: types (tsc), what eslint finds, and layout
# (prettier).
set -eu
cd "$SOURCE"
bin=apps/web/node_modules/.bin
for tool in tsc eslint prettier; do
	[ -x "$bin/$tool" ] || {
		echo "skipped: $tool is missing (npm ci in apps/web)"
		exit 77
	}
done

# The declarations of the browser's own interfaces are not ours to check.
types() {
	"$bin/tsc" --skipLibCheck -p "$@"
}

lint() {
	"$bin/eslint" --config apps/web/eslint.config.js --max-warnings 0 "$@"
}

layout() {
	"$bin/prettier" --check --log-level warn "$@"
}

# A check that can't fail is none.
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT
refuse() {
	echo "$1 accepts what is bad"
	exit 1
}
echo 'document.body.innerHTML = "";' >"$bad/bad.ts"
! lint --stdin --stdin-filename apps/web/src/bad.ts <"$bad/bad.ts" >/dev/null || refuse eslint
echo 'const x  =  1 ;' >"$bad/bad.ts"
! layout --stdin-filepath apps/web/src/bad.ts <"$bad/bad.ts" >/dev/null 2>&1 || refuse prettier
echo 'export const x: string = 1;' >"$bad/bad.ts"
echo "{\"extends\": \"$PWD/apps/web/tsconfig.json\", \"include\": [\"bad.ts\"]}" >"$bad/tsconfig.json"
! types "$bad" >/dev/null || refuse tsc

status=0
types apps/web || status=1
types apps/web/tsconfig.worker.json || status=1
lint apps/web/src apps/web/*.mjs apps/web/*.js tests/web bench/web tools/*.mjs || status=1
layout apps/web/src apps/web/*.mjs apps/web/*.js apps/web/*.css tests/web bench/web tools/*.mjs ||
	status=1
exit $status
