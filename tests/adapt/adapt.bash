# SPDX-License-Identifier: ISC
# What the tests of the adapters have in common. To be sourced.
# shellcheck shell=bash
[[ $SANITIZE == none ]] || {
	echo "skipped: a library with a sanitizer can't be loaded into other programs"
	exit 77
}
# Not under the user's own preloads and debuginfod.
unset LD_PRELOAD DEBUGINFOD_URLS
programs=$BUILD/tests/adapt/programs
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

# How many times as long as on an idle machine a program waits here before its alarm ends it (programs/patience.h):
# two short recordings take up to 0.15 s there.
set_slowness() {
	local begun=${EPOCHREALTIME/[.,]/} took
	"$THRUM" record -o slowness.thrum -- true 2>/dev/null
	"$THRUM" record -o slowness.thrum -- true 2>/dev/null
	rm -f slowness.thrum
	took=$(((${EPOCHREALTIME/[.,]/} - begun) / 150000 + 1))
	export SLOWNESS=$((took < 6 ? took : 6))
}
set_slowness

# told[NAME]=PATTERN, set before NAME is recorded: its program hangs or waits, and is ended by a signal once
# `thrum why` has said so for a while, or after `longest` seconds. So no busy machine ends it too early, or before its
# recording has begun. `all_told` checks them all.
declare -A told=()
longest=180

# rests[NAME]=yes, set likewise: the cause is told only of a program that did nothing for long before it was killed. So
# NAME is killed only once that is five times as long as it took until told.
declare -A rests=()

# tells FILE PATTERN: `thrum why` says so of that recording, or of those of the program's children.
tells() {
	compgen -G "$1*" >/dev/null && "$THRUM" why "$1" | grep -qE -- "$2"
}

# keeps_telling FILE PATTERN: and it does so after a while. A hang that is short beside the time before, or of which a
# look has changed its mind, is none yet.
keeps_telling() {
	tells "$@" && sleep 1.5 && tells "$@"
}

# end_once_told NAME FILE PID SIGNAL...: does that for the program that the process records. The rest are
# more processes to end.
end_once_told() {
	local name=$1 file=$2 pid=$3 signal=$4 try begun=${EPOCHREALTIME/[.,]/}
	shift 4
	for ((try = 0; try < 600; try++)); do
		kill -0 "$pid" || return 0
		keeps_telling "$file" "${told[$name]}" && break
		sleep 0.3
	done
	[[ -z ${rests[$name]-} ]] || sleep $(((${EPOCHREALTIME/[.,]/} - begun - 1500000) / 200000))
	pkill "-$signal" -P "$pid"
	[[ $# == 0 ]] || kill "-$signal" "$@"
} 2>/dev/null

# hangs_all PROGRAM NAME PATTERN: the program, given the name, hangs with all its processes, and thrum names the
# cause. They are of one group, also those whose parents have ended, and are killed at once: what one closes as it
# ends would wake another.
hangs_all() {
	local recorder program i
	PATIENCE=$longest "$THRUM" record -o "$2.thrum" --size=64M -- "$programs/$1" "$2" >/dev/null 2>&1 </dev/null &
	recorder=$!
	sleep 0.5
	# On a busy machine those that look seem to run for longer.
	for ((i = 0; i < 150; i++)); do
		keeps_telling "$2.thrum" "$3" && break
		sleep 0.3
	done 2>/dev/null
	program=$(pgrep -P "$recorder")
	kill -KILL -- "-${program:-1000000}" || wrong "$2 doesn't hang"
	wait "$recorder"
	has "$2" why "$3"
}

# all_told: those of `told` that were recorded say so.
all_told() {
	local name
	for name in "${!told[@]}"; do
		has "$name" why "${told[$name]}"
	done
}

# same NAME COMMAND...: its output and exit status are the same with and without thrum. The recording is
# NAME.thrum, the outputs are same/NAME/plain.out and so on. One of the tests' programs runs both ways at the
# same time, without thrum in a folder of its own.
is_apart=no
same() {
	local name=$1 to=$PWD/same/$1 file=$1.thrum at=$PWD job='' plain status recorder
	# A shell lets jobs in the background ignore these signals.
	local run=(env --default-signal=INT --default-signal=QUIT)
	shift
	[[ -z ${told[$name]-} ]] || run+=("PATIENCE=$longest")
	mkdir -p "$to/plain" "$to/thrum"
	[[ $is_apart == no ]] || file=$PWD/$file at=$to/thrum
	# The shell would tell of each program that ends by its alarm.
	{
		if [[ $1 == "$programs"/* ]]; then
			(cd "$to/plain" && exec "${run[@]}" "$@" >"$to/plain.out" 2>"$to/plain.err" </dev/null) &
			job=$!
		else
			"$@" >"$to/plain.out" 2>"$to/plain.err" </dev/null
			plain=$?
		fi
		(cd "$at" && exec "${run[@]}" "$THRUM" record -o "$file" --size=64M -- "$@" \
			>"$to/thrum.out" 2>"$to/thrum.err" </dev/null) &
		recorder=$!
		[[ -z ${told[$name]-} ]] || end_once_told "$name" "$file" "$recorder" ALRM $job
		wait "$recorder"
		status=$?
		[[ -z $job ]] || {
			wait "$job"
			plain=$?
		}
	} 2>/dev/null
	grep '^thrum: ' "$to/thrum.err" >"$name.said"
	grep -v '^thrum: ' "$to/thrum.err" >"$to/rest.err"
	((status == plain)) || wrong "$name: status $status under thrum instead of $plain"
	cmp -s "$to/plain.out" "$to/thrum.out" ||
		wrong "$name: another output under thrum: $(diff "$to/plain.out" "$to/thrum.out")"
	cmp -s "$to/plain.err" "$to/rest.err" ||
		wrong "$name: other messages under thrum: $(diff "$to/plain.err" "$to/rest.err")"
}

# soon NAME COMMAND...: `same` in the background, of a few of the tests' programs at a time: they mostly wait. Each runs
# in folders of its own. To be followed by `all_same`.
started=()
soon() {
	((${#started[@]} < 8)) || all_same
	(
		failed=0 is_apart=yes
		same "$@"
		exit "$failed"
	) &
	started+=($!)
}

# all_same: waits for those that `soon` has started.
all_same() {
	local job
	for job in ${started[0]+"${started[@]}"}; do
		wait "$job" || failed=1
	done
	started=()
}

# begin NAME COMMAND...: records it in the background, as NAME.thrum, with its output in NAME.out. `wait` waits for all
# of these.
declare -A recorders=() begun=() # begun: ms
begin() {
	local name=$1
	shift
	env ${told[$name]:+PATIENCE=$longest} "$THRUM" record -o "$name.thrum" --size=64M -- "$@" >"$name.out" 2>&1 </dev/null &
	recorders[$name]=$! begun[$name]=$(date +%s%3N)
	if [[ ${told[$name]-} ]]; then
		end_once_told "$name" "$name.thrum" $! KILL &
	fi
}

# comes COMMAND...: waits until the command succeeds, for a minute at most.
comes() {
	local try
	for ((try = 0; try < 300; try++)); do
		"$@" && return
		sleep 0.2
	done
	return 1
}

# kill_at_rest NAME...: kills the programs that `begin` records. Each prints "hangs" once it is about to. The last one
# is given three seconds then, or five times as long as the slowest took until it hung. So each is at rest for far
# longer than its longest pause before, on a slow machine, too.
kill_at_rest() {
	local name hung slowest=600
	for name in "$@"; do
		comes grep -q '^hangs' "$name.out" || wrong "$name doesn't hang"
		hung=$((10#$(date -r "$name.out" +%s%3N) - begun[$name]))
		((hung < slowest)) || slowest=$hung
	done
	sleep $((5 * slowest / 1000 + 1))
	for name in "$@"; do
		pkill -KILL -P "${recorders[$name]}"
	done
	wait
} 2>/dev/null

# has NAME FORMAT PATTERN: the recording has a line like this in `thrum dump` or `thrum why`.
has() {
	local text
	text=$("$THRUM" "$2" "$1.thrum" 2>&1)
	grep -qE -- "$3" <<<"$text" || wrong "thrum $2 $1 has no \"$3\": $text"
}
