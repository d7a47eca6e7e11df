#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum record --faults` and `--kernel`: page faults, and what the kernel does on the machine.
set -u
here=$(mktemp -d)
# On a device, if the build folder is; /tmp may be memory.
data=$(mktemp -d "$BUILD/kernel-XXXXXX")
trap 'rm -rf "$here" "$data"' EXIT
cd "$here" || exit 1
failed=0
program=$BUILD/tests/thrum/programs/kernel

wrong() {
	echo "$*"
	failed=1
}

for option in --faults --kernel; do
	"$THRUM" record $option --counters-only -- true 2>err
	[[ $? -eq 64 ]] || wrong "$option --counters-only is taken"
	grep -q -e "$option can't be combined with --counters-only" err || wrong "$(cat err)"
done

# Without rights: page faults are no part of the time in which a task runs.
as_nobody=()
if [[ $(id -u) -eq 0 ]] && command -v setpriv >/dev/null; then
	chmod 777 .
	as_nobody=(setpriv --reuid=65534 --clear-groups)
	"${as_nobody[@]}" "$THRUM" record --kernel -o none.thrum -- "$program" 2>err
	if [[ $? -ne 2 ]] || ! grep -q '^thrum: --\(kernel\|sched\): ' err; then
		# Where the machine permits it to everybody, it must work.
		[[ $(cat /proc/sys/kernel/perf_event_paranoid) -lt 0 ]] || wrong "nobody may: $(cat err)"
	fi
fi
"${as_nobody[@]}" "$THRUM" record --faults -o faults.thrum -- "$program" 2>err
status=$?
if [[ $status -eq 2 ]] && grep -q '^thrum: --sched: ' err; then
	[[ $failed -eq 0 ]] || exit 1
	echo "skipped: $(cat err)"
	exit 77
fi
[[ $status -eq 0 ]] || wrong "record --faults: $(cat err)"
"$THRUM" dump --format=tsv faults.thrum >dumped 2>err || wrong "dump: $(cat err)"
[[ $(grep -c $'\toff-cpu\t.*\tpage fault\t$' dumped) -ge 1000 ]] || wrong "no page faults: $(tail dumped)"
"$THRUM" why --slow=touches --format=json faults.thrum >slow 2>err || wrong "slow: $(cat err)"
grep -q '"doing":"faults"' slow || wrong "touches: $(cat slow)"
"$THRUM" why --slow=touches faults.thrum >slow 2>err
grep -q 'the kernel handles its page faults, [0-9,]* times' slow || wrong "touches: $(cat slow)"
"$THRUM" stats --by=lane --format=tsv faults.thrum >numbers
grep -q $'\toff-cpu\tpage fault\t' numbers || wrong "stats: $(cat numbers)"

# Where the machine is so busy that the kernel tells too fast, some of it is missing: then again.
for ((try = 0; try < 5; try++)); do
	"$THRUM" record --kernel -o run.thrum -- "$program" "$data/file" 2>err
	status=$?
	if [[ $status -eq 2 ]] && grep -q '^thrum: --kernel: ' err; then
		[[ $failed -eq 0 ]] || exit 1
		echo "skipped: $(cat err)"
		exit 77
	fi
	[[ $status -eq 0 ]] || wrong "record --kernel: $(cat err)"
	"$THRUM" dump --format=tsv run.thrum >dumped 2>err || wrong "dump: $(cat err)"
	[[ -s err ]] || break
	grep -q 'kernel told too fast' err || wrong "dump: $(cat err)"
done
grep -q $'\tlabel\t.*\tCPU [0-9]*\t$' dumped || wrong "no lane of a processor"
grep -q $'\tspan-begin\t.*\tsoftirq [A-Z]' dumped || wrong "no softirq"
grep -q $'\toff-cpu\t.*\tinterrupted\t$' dumped || wrong "no interrupt took the time of a thread"
# Lanes and tasks are the machine's own: nothing of the program is told twice.
"$THRUM" tasks --format=tsv run.thrum >list 2>err || wrong "tasks: $(cat err)"
[[ $(cut -f1 list | sort | uniq -d | wc -l) -eq 0 ]] || wrong "two tasks have one number"
for label in touches writes maps asks answers; do
	[[ $(cut -f10 list | grep -c "^$label$") -eq 1 ]] || wrong "$label: $(cat list)"
done
grep -q $'\thandle\t.*\tinterrupts of CPU ' list || wrong "no interrupts: $(cat list)"

# The path goes on with the task of the thread that woke the blocked one.
"$THRUM" why --slow=asks run.thrum >slow 2>err || wrong "slow: $(cat err)"
grep -q 'of its time .*it waited .*to be woken by .*“answers”' slow || wrong "asks: $(cat slow)"
"$THRUM" why --slow=asks --format=json run.thrum >slow
grep -q '"stack":\["asks","answers"\]' slow || wrong "asks: $(cat slow)"
"$THRUM" why run.thrum >found 2>err
grep -q 'no findings' found || wrong "why: $(cat found err)"

# A task that waits for a device: its requests are those of the thread that issued them.
if [[ $(stat -f -c %T "$data") == tmpfs || ! -s $data/file ]] || ! lsblk >/dev/null 2>&1; then
	echo "skipped: no file on a block device can be written directly"
elif ! grep -q $'\thandle\t.*\t[^\t]* write 64 KiB\t' list; then
	wrong "no request: $(cat list)"
else
	grep -q $'\thandle\t.*\trequests of ' list || wrong "no device: $(cat list)"
	main=$(grep $'\tthread\t.*\tkernel\t' list | head -n 1 | cut -f1)
	# Where the disk is busy, workers of the kernel issue some of the ten.
	[[ $(grep $'\thandle\t.* write 64 KiB\t' list | cut -f2 | grep -c "^$main$") -ge 5 ]] ||
		wrong "the requests are not those of $main: $(cat list)"
	grep -q $'\toff-cpu\t.*\tblocked in a page fault\t$' dumped || wrong "no page was read"
fi

# They are there in a copy, a bundle and other formats, and a picture has them.
"$THRUM" snapshot -o copy.thrum run.thrum 2>err || wrong "snapshot: $(cat err)"
"$THRUM" bundle -o all.thrums run.thrum 2>err || wrong "bundle: $(cat err)"
for copy in copy.thrum all.thrums; do
	[[ $("$THRUM" dump --format=tsv $copy 2>/dev/null | grep -c $'\tspan-begin\t') -eq \
		$(grep -c $'\tspan-begin\t' dumped) ]] || wrong "$copy lacks some"
done
"$THRUM" render --as=bands -o run.svg run.thrum || wrong "render"
grep -q '>CPU [0-9]' run.svg || wrong "the picture lacks the processors"
"$THRUM" convert --to=perfetto run.thrum run.pftrace || wrong "convert"
grep -q 'softirq' run.pftrace || wrong "Perfetto's format lacks them"

# Each segment has those of its own time.
"$THRUM" record --kernel --segment=1M -o many.thrum -- "$BUILD/tests/thrum/programs/crowded" many \
	2>err || wrong "record --segment: $(cat err)"
for segment in many.[0-9]*.thrum; do
	"$THRUM" dump --format=tsv "$segment" >part 2>err || wrong "$segment: $(cat err)"
	grep -q $'\tspan-begin\t' part || wrong "$segment: no interrupt"
	grep -q $'\tdamaged\t' part && wrong "$segment: $(grep $'\tdamaged\t' part)"
done

exit $failed
