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
# Prints the events of a recording but for remembered ones, without the lanes' numbers.
events() {
	"$THRUM" dump --format=tsv "$1" 2>err | tail -n +2 >rows.txt
	"$THRUM" dump "$1" 2>err | tail -n "$(wc -l <rows.txt)" | cut -c 1 | paste - rows.txt |
		grep -v '^~' | cut -f 2,4-
}

# The ticks of a time are rounded, so an event at an end may be on either side.
between() { # FROM TO
	awk -F '\t' -v from="$1" -v to="$2" '$1 >= from && $1 <= to' whole | cut -f 2- | sort
}

events whole.thrum >whole
events part.thrum | cut -f 2- | sort >part
between $((start + 1000)) $((end - 1000)) >wanted
between $((start - 1000)) $((end + 1000)) >allowed
[[ -s wanted ]] || wrong "no event is wanted"
comm -13 part wanted >missing
comm -23 part allowed >surplus
[[ ! -s missing && ! -s surplus ]] ||
	wrong "$(wc -l <missing) events are missing, $(wc -l <surplus) too many: $(head -3 missing surplus)"
"$THRUM" info --format=tsv part.thrum >about.txt || wrong "info fails"
grep -qP '^damaged\t0$' about.txt || wrong "it is damaged"
grep -qP '^state\tsnapshot$' about.txt || wrong "it is no snapshot"
"$THRUM" snapshot part.thrum --duration=1ns -o less.thrum 2>err || wrong "a part of a part: $(cat err)"
"$THRUM" why less.thrum >why.txt 2>err
[[ $? -le 1 ]] || wrong "why fails: $(cat err)"

# Other commands take the same times: the same tasks lived then.
"$THRUM" tasks --start="$start" --end="$end" --format=tsv whole.thrum 2>err | tail -n +2 | grep -vc thread >listed
"$THRUM" stats --start="$start" --end="$end" --by=kind --format=tsv whole.thrum 2>err |
	awk -F '\t' 'NR > 1 && $1 != "thread" { sum += $2 } END { print sum }' >counted
cmp -s listed counted || wrong "tasks lists $(cat listed), stats counts $(cat counted)"
"$THRUM" stats --counters --start="$start" whole.thrum 2>err
[[ $? == 64 ]] || wrong "stats --counters takes times"
if "$THRUM" html whole.thrum -o whole.html 2>err; then
	"$THRUM" html --start="$start" --end="$end" whole.thrum -o part.html 2>err || wrong "html: $(cat err)"
	[[ $(stat -c %s part.html) -lt $(stat -c %s whole.html) ]] || wrong "the page has all of the time"
fi

# convert takes the times for each format; a recording is the same one, also from a pipe to a pipe.
time=(--start="$start" --end="$end")
events part.thrum >wanted
"$THRUM" convert --to=recording "${time[@]}" whole.thrum same.thrum 2>err || wrong "convert: $(cat err)"
events same.thrum >same
cmp -s wanted same || wrong "convert cuts other events than snapshot"
"$THRUM" convert --to=recording "${time[@]}" - - <whole.thrum >piped.thrum 2>err || wrong "pipes: $(cat err)"
events piped.thrum >piped
cmp -s wanted piped || wrong "convert cuts other events from a pipe"
[[ $(stat -c %a same.thrum) == 600 ]] || wrong "others may read the part"
"$THRUM" convert --to=chrome "${time[@]}" whole.thrum part.json 2>err || wrong "chrome: $(cat err)"
"$THRUM" convert --to=chrome part.thrum wanted.json 2>err || wrong "chrome: $(cat err)"
cmp -s part.json wanted.json || wrong "convert writes another part as JSON"
"$THRUM" convert "${time[@]}" whole.thrum part-ctf 2>err || wrong "ctf: $(cat err)"
"$THRUM" convert part.thrum wanted-ctf 2>err || wrong "ctf: $(cat err)"
diff -rq part-ctf wanted-ctf >err || wrong "convert writes another part: $(cat err)"
"$THRUM" bundle whole.thrum part.thrum -o both.thrums 2>err || wrong "bundle: $(cat err)"
"$THRUM" convert --to=recording "${time[@]}" both.thrums none.thrum 2>err
[[ $? == 2 && ! -e none.thrum ]] || wrong "a part of a bundle is written"
"$THRUM" convert --end=1s --duration=1s whole.thrum none 2>err
[[ $? == 64 ]] || wrong "convert takes an end and a duration"

# Tasks that began before are known by what the table of live tasks says.
"$THRUM" tasks --format=tsv same.thrum >listed 2>err || wrong "tasks: $(cat err)"
"$THRUM" stats same.thrum >counted 2>err || wrong "stats: $(cat err)"
[[ $(wc -l <listed) -gt 1 && -s counted ]] || wrong "the part has no tasks"

# Nothing is written of a time behind the end.
for words in "snapshot -o late.thrum" dump tasks stats why; do
	# shellcheck disable=SC2086
	"$THRUM" $words --start=1000s whole.thrum >out 2>err
	[[ $? -eq 2 && ! -e late.thrum ]] || wrong "$words: no word of a time behind the end"
	grep -q 'whole.thrum: it ends after .* s, before that time' err || wrong "$words: $(cat err)"
done
"$THRUM" convert --to=recording --start=1000s whole.thrum late.thrum 2>err
[[ $? -eq 2 && ! -e late.thrum ]] || wrong "convert: no word of a time behind the end"
"$THRUM" snapshot whole.thrum --start=2s --end=1s 2>err
[[ $? == 64 ]] || wrong "an end before the start is taken"
"$THRUM" snapshot whole.thrum --start=1s --end=2s --duration=1s 2>err
[[ $? == 64 ]] || wrong "an end and a duration are taken"
"$THRUM" snapshot whole.thrum --start=1s -o - >out 2>err
[[ $? == 64 ]] || wrong "a part goes to standard output"
exit $failed
