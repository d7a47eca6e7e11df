#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A stretch of a recording's time as a recording of its own: it has the same events.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

{
	THRUM_TRACE=$here/whole.thrum THRUM_SIZE=4M "$BUILD/tests/thrum/programs/crowd" 4 1000
} 2>/dev/null
"$THRUM" dump --format=tsv whole.thrum | awk 'NR > 1 { print $1 }' | sort -n >times.txt
count=$(wc -l <times.txt)
[[ $count -gt 100 ]] || wrong "there are only $count events"
start=$(sed -n $((count * 4 / 10))p times.txt)
end=$(sed -n $((count * 6 / 10))p times.txt)

"$THRUM" snapshot whole.thrum --start="$start" --end="$end" -o part.thrum 2>err || wrong "$(cat err)"
# Remembered events come first.
"$THRUM" dump part.thrum | grep -c '^~' >remembered
"$THRUM" dump --format=tsv part.thrum | tail -n +$(($(cat remembered) + 2)) | cut -f 3- >part
"$THRUM" dump --format=tsv whole.thrum |
	awk -F '\t' -v start="$start" -v end="$end" 'NR > 1 && $1 >= start && $1 <= end' |
	cut -f 3- >wanted
[[ -s wanted ]] || wrong "no event is wanted"
sort part >part.sorted
sort wanted | comm -13 part.sorted - >missing
sort wanted | comm -23 part.sorted - >surplus
# The ticks of a time are rounded, so an event at an end may be on either side.
[[ $(wc -l <missing) -le 2 && $(wc -l <surplus) -le 2 ]] ||
	wrong "$(wc -l <missing) events are missing, $(wc -l <surplus) too many: $(head -3 missing surplus)"
"$THRUM" info --format=tsv part.thrum >about.txt || wrong "info fails"
grep -qP '^damaged\t0$' about.txt || wrong "it is damaged"
grep -qP '^state\tsnapshot$' about.txt || wrong "it is no snapshot"
"$THRUM" snapshot part.thrum --duration=1ns -o less.thrum 2>err || wrong "a part of a part: $(cat err)"
"$THRUM" why less.thrum >why.txt 2>err
[[ $? -le 1 ]] || wrong "why fails: $(cat err)"

"$THRUM" snapshot whole.thrum --start=2s --end=1s 2>err
[[ $? == 64 ]] || wrong "an end before the start is taken"
"$THRUM" snapshot whole.thrum --start=1s --end=2s --duration=1s 2>err
[[ $? == 64 ]] || wrong "an end and a duration are taken"
"$THRUM" snapshot whole.thrum --start=1s -o - >out 2>err
[[ $? == 64 ]] || wrong "a part goes to standard output"
exit $failed
