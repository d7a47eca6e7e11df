#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum why`: its output, exit status, --task, --at and JSON. The traces with a lost
# wake-up lie beside the checkout: see tests/read/mirage_real.c.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

# says STATUS PATTERN ARGUMENT...: the exit status, and a pattern for the output.
says() {
	local status=$1 pattern=$2 got
	shift 2
	"$THRUM" why "$@" >out 2>err
	got=$?
	[[ $got -eq $status && $(cat out err) =~ $pattern ]] || {
		echo "thrum why $*: status $got instead of $status, or not $pattern:"
		cat out err
		failed=1
	}
}

THRUM_TRACE=$here/good.thrum "$BUILD/examples/server" --requests 5 >/dev/null || exit 1
# Whom the system itself stops for long, on a busy machine, has its lane: that looks like starving.
"$THRUM" why good.thrum >out 2>err
[[ $(grep -vE '^( |$|starved \((likely|possible)\))' out) =~ ^(no findings)?$ ]] || {
	echo "a healthy server:"
	cat out err
	failed=1
}
says 0 '^nothing is wrong with #' --task=connection good.thrum
says 2 'no task has the id or label "nonsense"' --task=nonsense good.thrum
says 64 'text or json' --format=tsv good.thrum

ops=$SOURCE/tests/read/data/mirage/ops.ctf
says 1 '^never resolved' --start=32us --duration=0 "$ops"
says 0 '^no findings in that time$' --start=33us "$ops"
says 0 '^no findings in that time$' --end=31us "$ops"

# Killed while it hangs; in a ring that has overwritten the beginning, too.
for size in 16M 1M; do
	(THRUM_TRACE=$here/hang.thrum THRUM_SIZE=$size "$BUILD/examples/server" --hang --die >/dev/null) \
		2>/dev/null
	says 1 'lookup user 42: Waits for “database”' hang.thrum
	says 1 'GET /user/42: ' --task='GET /user/42' hang.thrum
	[[ $("$THRUM" why hang.thrum | awk '/^$/ { exit } { n++ } END { print n }') -lt 10 ]] || {
		echo "ten lines or more"
		failed=1
	}
done

# All is well only if no task that should resolve is pending.
(THRUM_TRACE=$here/young.thrum "$BUILD/tests/thrum/programs/young") 2>/dev/null
says 1 '3 tasks that should resolve are pending and not judged:.*#2 answer: .*#4 answer: ' young.thrum
(THRUM_TRACE=$here/done.thrum "$BUILD/tests/thrum/programs/young" resolves) 2>/dev/null
says 0 '^no findings' done.thrum

for mirage in "${THRUM_MIRAGE_DATA:-}" "$SOURCE"/../*/data/mirage; do
	[[ -e $mirage/arp-hang.ctf ]] && break
done
if [[ ! -e $mirage/arp-hang.ctf ]]; then
	echo "skipped: the traces with a lost wake-up are not there"
	exit $((failed ? 1 : 77))
fi
says 1 '^lost wake-up \(certain\)' "$mirage/arp-hang.ctf"
says 1 '0\.005 102 389  #1 arp-reply: Signal lost' "$mirage/arp-hang.ctf"
says 1 '0\.010 120 035  #16 arp-reply: Waits 5.02 ms too late' "$mirage/arp-hang.ctf"
says 1 '"class":"lost wake-up","certainty":"certain"' --format=json "$mirage/arp-hang.ctf"
says 1 '"event":"signal","event-time":5102389,"task":1,"label":"arp-reply"' --format=json \
	"$mirage/arp-hang.ctf"
says 0 'nothing is wrong with #' --task='tick *' "$mirage/arp-hang.ctf"
for name in arp-good net counters labels; do
	says 0 '^no findings$' "$mirage/$name.ctf"
done
says 1 'waits for ever, is expected to end' "$mirage/small.ctf"
exit $failed
