#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# What `dump`, `info`, `tasks` and `stats` print, compared with the files in golden/. After a wanted change:
# UPDATE=1 THRUM=build/thrum BUILD=build SOURCE=. bash tests/thrum/golden.sh, and look at the diff.
set -u
golden=$SOURCE/tests/thrum/golden
mirage=$SOURCE/tests/read/data/mirage
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
export TZ=UTC
unset NO_COLOR
failed=0

# Removes text that differs from run to run or between folders: pids, hosts, dates, sites' folders.
steady() {
	sed -E -e "s|$here/||g; s|$mirage/||g" \
		-e 's/pid [0-9]+ on [^,]+,/pid N on HOST,/; s/began [-0-9: .]+\+0000/began DATE/' \
		-e 's|[^ \t"]*/?tests/thrum/programs/||; s/(every\.c):[0-9]+/\1:LINE/' \
		-e 's/^((pid|start|host)[ \t]+).*/\1X/'
}

# same NAME ARGUMENT...: thrum's output, on both streams, and its status are those of golden/NAME.
same() {
	local name=$1
	shift
	{
		"$THRUM" "$@" 2>&1
		echo "status $?"
	} | steady >"$here/$name.out"
	if [[ ${UPDATE:-} ]]; then
		cp "$here/$name.out" "$golden/$name"
	elif ! diff -u "$golden/$name" "$here/$name.out"; then
		echo "thrum $*: not what golden/$name says"
		failed=1
	fi
}

for trace in ops labels ring lost zeroed truncated-packet torn-text; do
	same "mirage-$trace.tsv" dump --format=tsv "$mirage/$trace.ctf"
done
same mirage-ops.text dump "$mirage/ops.ctf"
same mirage-ops.color dump --color=always "$mirage/ops.ctf"
same mirage-labels.text dump "$mirage/labels.ctf"
same mirage-labels.json dump --format=json "$mirage/labels.ctf"
same mirage-zeroed.text dump "$mirage/zeroed.ctf"
same mirage-ring.info info "$mirage/ring.ctf"
same mirage-ring.info.tsv info --format=tsv "$mirage/ring.ctf"
same mirage-ring.info.json info --format=json "$mirage/ring.ctf"

programs=$BUILD/tests/thrum/programs
"$programs/every" "$here/every.thrum" || exit 1
"$programs/every" "$here/wrap.thrum" wrap || exit 1
same every.text dump "$here/every.thrum"
same every.tsv dump --format=tsv "$here/every.thrum"
same every.json dump --format=json "$here/every.thrum"
# An event's former name is understood.
"$THRUM" dump --event=wait "$here/every.thrum" >"$here/waits"
"$THRUM" dump --event=try-read "$here/every.thrum" | cmp - "$here/waits" || failed=1
same every.clock dump --clock --format=tsv --duration=2us "$here/every.thrum"
same every.clock.text dump --clock --duration=2us "$here/every.thrum"
same wrap.text dump --end=3.0097011s "$here/wrap.thrum"

# Tasks and numbers.
same mirage-ops.tasks tasks "$mirage/ops.ctf"
same mirage-ops.tasks.color tasks --color=always "$mirage/ops.ctf"
same mirage-labels.tasks tasks "$mirage/labels.ctf"
same mirage-labels.tasks.tsv tasks --format=tsv "$mirage/labels.ctf"
same mirage-labels.tasks.json tasks --format=json "$mirage/labels.ctf"
same mirage-lost.tasks.tsv tasks --format=tsv "$mirage/lost.ctf"
same mirage-ops.stats stats "$mirage/ops.ctf"
same mirage-ops.stats.tsv stats --format=tsv "$mirage/ops.ctf"
same every.tasks.text tasks "$here/every.thrum"
same every.tasks.tsv tasks --format=tsv "$here/every.thrum"
same every.tasks.json tasks --format=json "$here/every.thrum"
same every.stats stats "$here/every.thrum"
same every.stats.color stats --color=always --top=2 "$here/every.thrum"
for table in label kind site lane counter run; do
	same "every.stats.$table" stats --format=tsv --by=$table "$here/every.thrum"
done
same every.stats.json stats --format=json --by=lane "$here/every.thrum"
LC_ALL=C.UTF-8 same every.histogram stats --histogram='*' "$here/every.thrum"
LC_ALL=C same every.histogram.ascii stats --histogram='get *' "$here/every.thrum"
same every.histogram.tsv stats --histogram='*' --format=tsv "$here/every.thrum"

# Filters.
same every.task dump --format=tsv --task=3 "$here/every.thrum"
same every.tasks dump --format=tsv -t2,4 -t 5 "$here/every.thrum"
same every.events dump --format=tsv --event=create,resolve -e fail "$here/every.thrum"
same every.lane dump --format=tsv --lane=1 "$here/every.thrum"
same every.start dump --format=tsv --start=3s --end 3001.23557ms "$here/every.thrum"
same every.middle dump --format=tsv --start=1us --duration=10 "$here/every.thrum"
same mirage-ops.task dump --format=tsv --task=-1 "$mirage/ops.ctf"

# All formats tell the same events.
"$THRUM" dump --format=tsv "$here/every.thrum" | tail -n +2 | cut -f 3 >"$here/tsv"
"$THRUM" dump --format=json "$here/every.thrum" |
	sed 's/.*"event":"\([a-z-]*\)".*/\1/' >"$here/json"
cmp "$here/tsv" "$here/json" || failed=1
exit $failed
