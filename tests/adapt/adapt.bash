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

# same NAME COMMAND...: its output and exit status are the same with and without thrum. The recording is
# NAME.thrum, the outputs are same/NAME/plain.out and so on. One of the tests' programs runs both ways at the
# same time, without thrum in a folder of its own.
is_apart=no
same() {
	local name=$1 to=$PWD/same/$1 file=$1.thrum at=$PWD job='' plain status
	# A shell lets jobs in the background ignore these signals.
	local run=(env --default-signal=INT --default-signal=QUIT)
	shift
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
			>"$to/thrum.out" 2>"$to/thrum.err" </dev/null)
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

# begin NAME COMMAND...: records it in the background, as NAME.thrum. `wait` waits for all of these.
begin() {
	local name=$1
	shift
	"$THRUM" record -o "$name.thrum" --size=64M -- "$@" >/dev/null 2>&1 </dev/null &
}

# has NAME FORMAT PATTERN: the recording has a line like this in `thrum dump` or `thrum why`.
has() {
	local text
	text=$("$THRUM" "$2" "$1.thrum" 2>&1)
	grep -qE -- "$3" <<<"$text" || wrong "thrum $2 $1 has no \"$3\": $text"
}
