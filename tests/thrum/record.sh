#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum record` stays out of the way: status, signals and streams are the program's.
set -u
# A shell can't trap a signal that was ignored when the shell started, as SIGHUP is under nohup.
if [[ -z ${SIGNALS_RESET:-} ]]; then
	export SIGNALS_RESET=1
	exec env --default-signal bash "$0" "$@"
fi
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
programs=$BUILD/tests/thrum/programs
failed=0

wrong() {
	echo "$*"
	[[ ! -f err ]] || sed 's/^/    /' err
	failed=1
}

# ends STATUS ARGUMENT...: thrum record ARGUMENT... ends with this status.
ends() {
	local status=$1 got
	shift
	"$THRUM" record "$@" >out 2>err
	got=$?
	[[ $got -eq $status ]] || wrong "thrum record $*: status $got instead of $status"
}

says() {
	grep -qE -- "$1" err || wrong "doesn't say \"$1\", but:"
}

# Its status, arguments and streams.
ends 0 true
says 'true recorded nothing: (it |neither it )'
ends 0 --no-preload true
says 'true recorded nothing: neither'
ends 0 --follow-children true
says 'true recorded nothing: (it |neither it nor its children use|neither it nor the programs that it runs)'
ends 7 sh -c 'exit 7'
ends 64 -- sh -c 'exit 64'
ends 0 -- printf '%s|' --help -o 'a b' --
[[ $(cat out) == '--help|-o|a b|--|' ]] || wrong "arguments: $(cat out)"
[[ $(echo words | "$THRUM" record cat 2>/dev/null) == words ]] || wrong "standard input is lost"
ends 127 no-such-program
says 'no-such-program: no such program'
ends 127 ./no-such-program
echo text >text
ends 126 ./text
says 'text: can.t be executed: Permission denied'
ends 126 /
[[ $(ls) == $'err\nout\ntext' ]] || wrong "files that nobody recorded: $(ls)"

# A line of its own.
ends 0 -- sh -c 'printf unfinished >&2'
says '^thrum: sh recorded'
ends 0 -- sh -c 'echo finished >&2'
[[ $(grep -c '' err) -eq 2 ]] || wrong "an empty line:"

# Another processor's number in the header, that of a SPARC.
head -c 18 /bin/sh >foreign
printf '\x2b\x00' >>foreign
tail -c +21 /bin/sh >>foreign
chmod +x foreign
ends 126 ./foreign
says "foreign: can't be executed: it is made for another kind of processor"
rm foreign

# Its signals.
ends 143 -- sh -c 'kill -TERM $$'
ends 137 -- sh -c 'kill -KILL $$'
ends 134 -- sh -c 'ulimit -c 0; kill -ABRT $$'
[[ ! -e core ]] || wrong "thrum left a core"

# forwards SIGNAL: a signal sent to thrum reaches the program, whose status is thrum's.
forwards() {
	local pid status
	rm -f ready
	set -m # otherwise the shell's background jobs ignore the keyboard's signals
	# shellcheck disable=SC2016
	"$THRUM" record -- sh -c 'trap "exit 42" "$1"; : >ready; while :; do sleep 0.01; done' \
		sh "$1" 2>err &
	pid=$!
	set +m
	# On a busy machine a program may take seconds to start.
	for ((i = 0; i < 3000; i++)); do
		[[ ! -e ready ]] || break
		sleep 0.01
	done
	kill -s "$1" $pid
	wait $pid
	status=$?
	[[ $status -eq 42 ]] || wrong "SIG$1: status $status"
}
for signal in TERM HUP USR1 USR2 INT QUIT; do
	forwards $signal
done

# A signal that is ignored stays ignored.
# shellcheck disable=SC2016
(
	trap '' HUP
	"$THRUM" record -- sh -c 'kill -HUP $$; exit 5' 2>err
)
[[ $? -eq 5 ]] || wrong "an ignored signal ended the program"

# A stopped program.
# shellcheck disable=SC2016
"$THRUM" record -- sh -c '
	(until grep -q "^State:.T" /proc/$$/status; do sleep 0.01; done; kill -CONT $$) &
	kill -STOP $$; exit 6' 2>err
[[ $? -eq 6 ]] || wrong "a program that stopped and went on: status $?"

# The place of a recording, the message about it, and its contents.
ends 0 -o every.thrum -- "$programs/every" ignored.thrum
says '^thrum: recorded [0-9,]+ events of 1 lane in every\.thrum \('
[[ ! -e ignored.thrum ]] || wrong "the environment comes before the program"
[[ $("$THRUM" dump --format=tsv every.thrum | grep -c 'connection reset') -eq 1 ]] ||
	wrong "the recording can't be read"
[[ $(stat -c %s every.thrum) -lt 67108864 ]] || wrong "the recording was not trimmed"
[[ $(stat -c %a every.thrum) == 600 ]] || wrong "others may read the recording"

# By default: its name and its process id.
rm -f ./*.thrum
ends 0 -- "$programs/every" x
[[ $(ls ./*.thrum) =~ ^\./every-[0-9]+\.thrum$ ]] || wrong "recorded to $(ls ./*.thrum)"
says " in every-[0-9]+\.thrum "

# A shell's children, each on its own; with one FILE for all, the later one takes FILE.PID, or
# replaces the file of one that has ended.
rm -f ./*.thrum
ends 0 -- sh -c "'$programs/every' x; '$programs/every' x"
[[ $(grep -c '^thrum: recorded' err) -eq 2 ]] || wrong "not two recordings:"
rm -f ./*.thrum
# shellcheck disable=SC2016
ends 3 -o one.thrum -- \
	sh -c '"$0/steady" >began & while [ ! -s began ]; do sleep 0.01; done
		"$0/every" x; kill $!; wait $!' "$programs"
files=(one.thrum one.thrum.[0-9]*)
[[ ${#files[@]} -eq 2 && -f ${files[0]} && -f ${files[1]} ]] ||
	wrong "not one.thrum and one.thrum.PID"
[[ $(grep -c '^thrum: recorded' err) -eq 2 ]] || wrong "not two recordings:"

# The end: noted when the program ends, though it may have recorded nothing for long before.
# shellcheck disable=SC2016
ends 137 -o killed.thrum -- \
	sh -c 'mkfifo ready1
		(read -r _ <ready1; sleep 0.1; kill -STOP $$; sleep 0.3; kill -KILL $$) &
		exec "$0" >ready1' "$programs/steady"
[[ $("$THRUM" info killed.thrum) == *'ended by SIGKILL'* ]] || wrong "no word of SIGKILL"
last=$("$THRUM" dump --format=tsv killed.thrum | tail -n 1 | cut -f 1)
end=$("$THRUM" info --format=tsv killed.thrum | awk '$1 == "duration" { print $2 }')
((end > last + 100000000)) || wrong "the end, $end, is not when it was killed, but $last"
# shellcheck disable=SC2016
ends 3 -o exited.thrum -- \
	sh -c 'mkfifo ready3; (read -r _ <ready3; kill -TERM $$) & exec "$0" >ready3' "$programs/steady"
[[ $("$THRUM" info exited.thrum) == *'exited with status 3'* ]] || wrong "no word of the status"

# If thrum is killed together with the program, the end is known by half a second.
setsid "$THRUM" record -o both.thrum -- "$programs/steady" >out 2>err &
for ((i = 0; i < 600; i++)); do
	! grep -q '^ready' out || break
	sleep 0.1
done
sleep 2
kill -KILL -- "-$!"
wait "$!"
end=$("$THRUM" info --format=tsv both.thrum | awk '$1 == "duration" { print $2 }')
[[ $("$THRUM" info both.thrum) == *'killed or crashed'* ]] || wrong "somebody noted the end"
((end > 500000000)) || wrong "the end, $end, is not when the program lived last"

# An old recording of the same name is no news if nothing was recorded, and is replaced otherwise.
rm -f ./*.thrum
"$programs/every" old.thrum
ends 0 -o old.thrum true
says 'recorded nothing'
ends 0 -o old.thrum "$programs/every" x
says 'recorded .* in old\.thrum'

# Names with any characters, another folder, sizes, and --full.
mkdir 'a b'
ends 0 -o 'a b/[x]*-%e.thrum' "$programs/every" x
says 'in a b/\[x\]\*-every\.thrum'
mkdir '%p 100%%e'
(cd '%p 100%%e' && "$THRUM" record -- "$programs/every" x) 2>err
says 'in every-[0-9]+\.thrum'
ends 0 -o '100%%-%e.thrum' "$programs/every" x
says 'in 100%-every\.thrum'
ends 0 -o full.thrum --size=256K --full=discard "$programs/every" x wrap
says '[0-9,]+ events? w(as|ere) not recorded \(recording full: [0-9,]+\)'
lost=$("$THRUM" info --format=tsv full.thrum 2>/dev/null | awk '$1 == "lost" { print $2 }')
[[ $lost -gt 0 ]] ||
	wrong "nothing was lost in full.thrum"

# A disk that is too full for the beginning, and one that isn't.
if unshare -rm true 2>/dev/null; then
	mkdir small
	for size in 1G 256K; do
		# shellcheck disable=SC2016
		unshare -rm sh -c 'mount -t tmpfs -o size=400k none small && cd small &&
			"$1" record --size="$2" -o x.thrum -- "$0" x' "$programs/every" "$THRUM" $size 2>err
		status=$?
		if [[ $size == 256K ]]; then
			[[ $status == 0 ]] || wrong "a small recording: $status, $(cat err)"
		else
			[[ $status == 2 ]] || wrong "a full disk: exit status $status"
			says 'small: no space: a recording begins with 11\.[0-9] MiB, and 400\.0 KiB are free'
		fi
	done
else
	echo "skipped in part: nothing can be mounted"
fi

# A recording goes on when a child outlives the program.
rm -f ./*.thrum
# shellcheck disable=SC2016
ends 0 -o live.thrum -- \
	sh -c '"$0" >ready2 & echo $! >pid; while [ ! -s ready2 ]; do sleep 0.01; done' \
	"$programs/steady"
says 'in live\.thrum so far; process [0-9]+ is still recording'
kill "$(cat pid)"

# Where nothing can be recorded, nothing is run.
ends 2 -o nowhere/x.thrum touch ran
says 'nowhere: no recording can be created there: No such file'
ends 2 -o text/x.thrum touch ran
says 'no recording can be created there: Not a directory'
ends 2 -o text touch ran
says 'a file that is not a recording is in the way'
[[ $(cat text) == text ]] || wrong "somebody's file was overwritten"
ln -s elsewhere link.thrum
ends 2 -o link.thrum touch ran
says 'symbolic link'
if [[ $(id -u) -ne 0 ]]; then
	chmod 500 'a b'
	ends 2 -o 'a b/x' touch ran
	says 'no recording can be created there: Permission denied'
fi
[[ ! -e ran ]] || wrong "the program was run although nothing could be recorded"
exit $failed
