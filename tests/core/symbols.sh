#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# libthrum-core.a calls nothing and defines the public names only; on x86-64 it has no vector
# instructions.
set -u
library=$BUILD/src/core/libthrum-core.a
[[ -e $library ]] || {
	echo "skipped: libthrum-core.a isn't built with sanitizers"
	exit 77
}
failed=0
undefined=$(nm --undefined-only "$library" | awk 'NF == 2')
[[ -z $undefined ]] || {
	echo "it calls: $undefined"
	failed=1
}
others=$(nm --defined-only --extern-only "$library" |
	awk 'NF == 3 && $3 !~ /^thrum_/ { print $3 }')
[[ -z $others ]] || {
	echo "it defines: $others"
	failed=1
}
nm --defined-only --extern-only "$library" | grep -q ' thrum_core_start$' || {
	echo "thrum_core_start is missing"
	failed=1
}
if objdump -f "$library" | grep -q x86-64; then
	vectors=$(objdump -d "$library" | grep -E '%[xyz]mm|%st\b' | head -n 3)
	[[ -z $vectors ]] || {
		echo "it has vector instructions: $vectors"
		failed=1
	}
fi
exit $failed
