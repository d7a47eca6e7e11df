#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# large_pages.sh [WRAPPER...]: runs unit tests with pages of 16 and 64 KiB: programs/large_pages.c makes
# the system behave so. The wrapper is QEMU's, for another processor; it can't do all that Linux does.
set -u
module=$BUILD/tests/port/programs/large_pages.so
tests=(format-copy read-thrum_live record-counters record-definitions record-discard record-levels
	record-live_tasks)
if [[ $# == 0 ]]; then
	tests+=(port-memory record-counter_pages record-files record-fork source-segment source-snapshot)
fi
if [[ ${SANITIZE:-none} != none ]]; then
	echo "skipped: sanitizers must be the first library"
	exit 77
fi
if [[ ! -x $BUILD/tests/${tests[0]} ]]; then
	echo "skipped: the unit tests aren't built"
	exit 77
fi
if [[ ! -e $module ]]; then
	echo "skipped: 32-bit processors have small pages only"
	exit 77
fi
failed=0
for page in 16384 65536; do
	for name in "${tests[@]}"; do
		variables=("LD_PRELOAD=$module" "THRUM_TEST_PAGE=$page")
		[[ $# == 0 ]] || variables=("QEMU_PAGESIZE=$page"
			"QEMU_SET_ENV=${variables[0]},${variables[1]}")
		output=$(env "${variables[@]}" "$@" "$BUILD/tests/$name" 2>&1) && continue
		echo "$name with pages of $page bytes:"
		echo "$output" | tail -n 30
		failed=1
	done
done
exit $failed
