#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that fork children which run no other program: servers with workers, daemons, shells.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# recordings NAME: the recordings of the children, without the program's own.
recordings() {
	find . -path "./$1.thrum.*" | sort
}

# told NAME PATTERN: thrum why says this of one child, and finds nothing in the others. It says so of the
# program, too, with which it reads these.
told() {
	local file text found=0
	"$THRUM" why "$1.thrum" 2>&1 | grep -qE -- "$2" || wrong "$1.thrum alone: $("$THRUM" why "$1.thrum" 2>&1)"
	for file in $(recordings "$1"); do
		text=$("$THRUM" why "$file" 2>&1)
		if grep -qE -- "$2" <<<"$text"; then
			((found++))
		else
			grep -q '^no findings' <<<"$text" || wrong "$file: $text"
		fi
	done
	((found == 1)) || wrong "$1: $found recordings have \"$2\""
}

# count NAME NUMBER: so many children have recorded.
count() {
	local number
	number=$(recordings "$1" | wc -l)
	((number == $2)) || wrong "$1: $number children have recorded instead of $2: $(cat "$1.said")"
}

hang='Waits for .condition is_filled.*wait_for_table'
same hang "$programs/prefork" hang
count hang 2
told hang "$hang"
# Each child is linked to the call that forked it.
"$THRUM" dump --event=link-receive hang.thrum.* 2>&1 | grep -q link-receive ||
	wrong "no link between a server and its workers"
"$THRUM" tasks hang.thrum hang.thrum.* 2>&1 | grep -qE ' hang\.[0-9]+/prefork ' ||
	wrong "a worker is not called by its process"
grep -q '^thrum: thrum why hang.thrum explains all of them' hang.said || wrong "no word of why: $(cat hang.said)"
# Recordings that an older run left are others.
cp hang.thrum older.thrum
for file in hang.thrum.*; do
	cp "$file" "older${file#hang}"
done
same older "$programs/prefork" fine
"$THRUM" why older.thrum >why.out 2>why.err || wrong "of an older run: $(cat why.out)"
grep -q 'older.thrum is read with 2 more of the same run' why.err || wrong "of an older run: $(cat why.err)"
# Pictures, pages and windows show the same run; a page of a part of the time has only the one recording.
"$THRUM" render older.thrum -o older.svg 2>why.err || wrong "render: $(cat why.err)"
grep -q 'older.thrum is read with 2 more of the same run' why.err || wrong "render: $(cat why.err)"
grep -q 'never resolves' older.svg && wrong "a healthy run in a picture"
"$THRUM" render hang.thrum -o hang.svg 2>why.err || wrong "render: $(cat why.err)"
grep -q 'Waits for .condition is_filled' hang.svg || wrong "the picture lacks the finding"
if "$THRUM" html --viewer -o viewer.html 2>/dev/null; then
	"$THRUM" html hang.thrum -o hang.html 2>why.err || wrong "html: $(cat why.err)"
	grep -q 'hang.thrum is read with 2 more of the same run' why.err || wrong "html: $(cat why.err)"
	grep -q '"name":"hang.thrum + 2 more"' hang.html || wrong "the page's name"
	# Beside this one lies none of its run.
	cp hang.thrum alone.thrum
	echo damaged >alone.thrum.1
	"$THRUM" html alone.thrum -o alone.html >why.out 2>&1 || wrong "html beside another file: $(cat why.out)"
	grep -q '"name":"alone.thrum"' alone.html || wrong "the name of a recording beside another file"
	"$THRUM" html --start=1ms hang.thrum -o part.html 2>why.err || wrong "html: $(cat why.err)"
	grep -q '"name":"hang.thrum"' part.html || wrong "the name of a part"
fi
# Two runs are compared whole, and written whole but for formats of single recordings, which say so.
"$THRUM" diff older.thrum hang.thrum >diff.out 2>why.err && wrong "diff of whole runs: $(cat diff.out)"
for run in older hang; do
	grep -q "$run.thrum is read with 2 more of the same run" why.err || wrong "diff: $(cat why.err)"
done
grep -q 'waiting for thread “hang.#/prefork”' diff.out || wrong "diff lacks the children: $(cat diff.out)"
"$THRUM" diff older.thrum older.thrum >diff.out 2>&1 || wrong "diff of a run and itself: $(cat diff.out)"
"$THRUM" convert --to=chrome hang.thrum hang.json 2>why.err || wrong "convert: $(cat why.err)"
grep -q 'hang.thrum is read with 2 more of the same run' why.err || wrong "convert: $(cat why.err)"
(($(grep -o '"process_name"' hang.json | wc -l) == 3)) || wrong "convert: not the processes of the whole run"
"$THRUM" convert hang.thrum hang.ctf 2>why.err || wrong "convert to CTF: $(cat why.err)"
grep -q 'hang.thrum is written without 2 more of the same run' why.err || wrong "convert to CTF: $(cat why.err)"
(unset DISPLAY WAYLAND_DISPLAY && "$THRUM" view hang.thrum) >why.out 2>&1 && wrong "view needs no display"
grep -q 'hang.thrum is read with 2 more of the same run' why.out || wrong "view: $(cat why.out)"
(unset DISPLAY WAYLAND_DISPLAY && "$THRUM" view --stacked hang.thrum) >why.out 2>&1
grep -q 'same run' why.out && wrong "view --stacked: $(cat why.out)"
same fine "$programs/prefork" fine
count fine 2
for file in fine.thrum*; do
	text=$("$THRUM" why "$file" 2>why.err)
	[[ $text == 'no findings' ]] || wrong "$file: $text"
done
# A program that only waits for its children is recorded once one lives for long.
same waits "$programs/prefork" waits
count waits 2
told waits "$hang"
"$THRUM" dump waits.thrum | grep -q 'a child process' || wrong "the wait for a child is missing"
same handled "$programs/prefork" handled
grep -q 'interrupted by most' same/handled/thrum.out || wrong "a signal ends no wait"
same other "$programs/prefork" other
grep -q 'interrupted 1 times' same/other/thrum.out || wrong "the signal of another worker: $(cat same/other/thrum.out)"
# So is each of several workers that read the same pipe, and one that is stopped is named.
same pipe "$programs/prefork" pipe
count pipe 4
"$THRUM" why pipe.thrum >/dev/null 2>why.err || wrong "workers that end: $("$THRUM" why pipe.thrum 2>&1)"
same keeps "$programs/prefork" keeps
"$THRUM" why keeps.thrum 2>&1 | grep -q 'writing end of pipe [0-9]* in this process' ||
	wrong "a server that keeps an end: $("$THRUM" why keeps.thrum 2>&1)"
same stopped "$programs/prefork" stopped
"$THRUM" why stopped.thrum 2>&1 | grep -q 'SIGCONT for stopped process' ||
	wrong "a stopped child: $("$THRUM" why stopped.thrum 2>&1)"
# Workers are recorded once they wait for a connection, also if one comes soon. They may be late for it.
for ((i = 0; i < 8 && $(recordings herd | wc -l) < 2; i++)); do
	rm -f herd.thrum*
	same herd "$programs/prefork" herd
done
count herd 2
same left "$programs/prefork" left
count left 2
told left 'left locked by thread [0-9]* \(refresher\) at the fork: lock table'
same daemon "$programs/prefork" daemon
count daemon 3
told daemon "$hang"

# Children that don't wait have no recording, and cost no file.
same short "$programs/prefork" short
count short 0
# No more than 100 record, and thrum says so.
same many "$programs/prefork" many
grep -q '^thrum: 10 forked children have recorded nothing: 100 others do, and no more may$' many.said ||
	wrong "many: $(grep -v ' recorded ' many.said)"

# Each call that waits for a child tells how it ended. A child may be late to record before that.
for ((i = 0; i < 8 && $(recordings killed | wc -l) < 5; i++)); do
	rm -f killed.thrum*
	same killed "$programs/prefork" killed
done
count killed 5
for file in $(recordings killed); do
	"$THRUM" info "$file" 2>&1 | grep -q 'ended by SIGKILL' || wrong "$file: its end is not known"
done

# Those that give up their rights record, as they begin before. Where thrum doesn't see that they do, they record where
# they may, and else it says so.
if ((EUID == 0)); then
	mkdir -p locked open
	chmod 700 locked
	chmod 777 open
	chmod 711 .
	same locked/rights "$programs/prefork" rights
	count locked/rights 2
	same locked/unseen "$programs/prefork" unseen
	count locked/unseen 0
	grep -q '2 forked children have recorded nothing: permission denied; .* --output' locked/unseen.said ||
		wrong "unseen: $(cat locked/unseen.said)"
	same open/unseen "$programs/prefork" unseen
	count open/unseen 2
else
	echo "skipped: only root can give up its rights"
fi

# Those that forbid themselves system calls run on.
same limited "$programs/prefork" limited
count limited 0
grep -q '^0 of 2 workers failed$' same/limited/thrum.out || wrong "limited: $(cat same/limited/thrum.out)"

# While it runs, a worker is found by its process id.
"$THRUM" record -o live.thrum --size=64M -- "$programs/prefork" hang >live.out 2>&1 &
record=$!
for ((i = 0; i < 100; i++)); do
	worker=$(find . -name 'live.thrum.*' -exec "$THRUM" dump {} \; 2>/dev/null |
		awk '/ pid / { pid = $7 } /condition is_filled/ { print pid + 0; exit }')
	[[ -z $worker ]] || break
	sleep 0.05
done
[[ -n $worker ]] || wrong "no worker waits: $(cat live.out)"
# The number of `thrum record` stands for the program that it runs.
"$THRUM" attach "$record" -o copy.thrum >copy.out 2>&1 || wrong "attach $record: $(cat copy.out)"
has copy info 'program +prefork'
(($(stat -c %s live.thrum."$worker") <= 32 << 20)) || wrong "too large: $(ls -l live.thrum*)"
for ((i = 0; i < 100; i++)); do
	"$THRUM" why "$worker" >live.why 2>&1
	! grep -qE "$hang" live.why || break
	sleep 0.05
done
grep -qE "$hang" live.why || wrong "why $worker: $(cat live.why)"
wait

# A shell's subshells and pipelines leave nothing.
# shellcheck disable=SC2016
same shell sh -c 'i=0
	while [ $i -lt 50 ]; do (:); x=$(echo $i); echo $i | while read y; do :; done; i=$((i + 1)); done
	echo $x'
count shell 0

# A child of a program that uses libthrum itself records once it says so.
same linked "$programs/starts"
count linked 1
text=$("$THRUM" dump linked.thrum.* 2>&1)
grep -q 'work of the child' <<<"$text" || wrong "linked: $text"
exit "$failed"
