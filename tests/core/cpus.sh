#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The recorder without a system: several processors, interrupts in calls. Nothing is lost, and the
# recording is found in a copy of the memory.
set -u
program=$BUILD/tests/core/programs/cpus
[[ -x $program ]] || {
	echo "skipped: libthrum-core.a isn't built with sanitizers"
	exit 77
}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

read -r created interrupts < <("$program" memory.bin)
[[ $created -ge 4800 ]] || wrong "created ${created:-nothing}"
[[ $interrupts -gt 1000 ]] || wrong "$interrupts interrupts"
"$THRUM" snapshot --memory=memory.bin -o copy.thrum 2>err || wrong "no copy: $(cat err)"
information=$("$THRUM" info --format=tsv copy.thrum) || wrong "no information"
value() {
	awk -F '\t' -v name="$1" '$1 == name { print $2 }' <<<"$information"
}
# Each processor and each depth of interrupts had a lane.
[[ $(value program) == cpus && $(value damaged) == 0 && $(value gaps) == 0 ]] || wrong "$information"
[[ $(value lanes) == 12 ]] || wrong "$(value lanes) lanes"
# Four lanes have tasks of their own. An id stands for a task whose creation was lost.
"$THRUM" tasks --format=tsv copy.thrum | awk -F '\t' '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{ state[$column["state"]]++ }
	$column["label"] ~ /^cpu [0-3]\/-0007 ff -3 200$/ { formatted++ }
	END { print NR - 1, state["resolved"], formatted }' >counts
read -r tasks resolved formatted <counts
[[ $(value lost) == 0 && $tasks == $((created + 4)) && $resolved == "$created" &&
	$formatted == $((created / 2)) ]] ||
	wrong "$created created, $tasks tasks, $resolved resolved, $formatted formatted: $information"

# The copy can be read itself; and where there is no recording, the message says so.
"$THRUM" dump --memory=memory.bin | tail -n +2 >direct
"$THRUM" dump copy.thrum | tail -n +2 >copied
cmp -s direct copied || wrong "the copy differs"
head -c 500000 /dev/urandom >noise
"$THRUM" why --memory noise 2>err
status=$?
[[ $status == 2 && $(cat err) == *"no recording of thrum in this memory"* ]] ||
	wrong "noise: status $status, $(cat err)"
"$THRUM" why --memory nothing 2>err
status=$?
[[ $status == 2 && $(cat err) == *"No such file"* ]] || wrong "nothing: status $status, $(cat err)"
exit $failed
