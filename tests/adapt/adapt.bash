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

# same NAME COMMAND...: its output and exit status are the same with and without thrum. The recording
# is NAME.thrum.
same() {
	local name=$1 plain status
	shift
	"$@" >plain.out 2>plain.err </dev/null
	plain=$?
	"$THRUM" record -o "$name.thrum" --size=64M -- "$@" >thrum.out 2>thrum.err </dev/null
	status=$?
	grep '^thrum: ' thrum.err >"$name.said"
	grep -v '^thrum: ' thrum.err >rest.err
	((status == plain)) || wrong "$name: status $status under thrum instead of $plain"
	cmp -s plain.out thrum.out || wrong "$name: another output under thrum: $(diff plain.out thrum.out)"
	cmp -s plain.err rest.err || wrong "$name: other messages under thrum: $(diff plain.err rest.err)"
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
