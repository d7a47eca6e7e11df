#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Files appear complete or not at all: a signal leaves nothing behind, and nothing of value is replaced.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

# The command waits for the pipe's writer while its output is open.
mkfifo slow.thrum
for signal in TERM INT HUP; do
	# Commands in the background ignore SIGINT, and below nohup SIGHUP.
	env --default-signal "$THRUM" bundle slow.thrum -o all.thrums 2>err &
	for ((tries = 0; tries < 500; tries++)); do
		compgen -G 'all.thrums.*' >/dev/null && break
		sleep 0.02
	done
	[[ $tries -lt 500 ]] || wrong "SIG$signal: no temporary file: $(cat err)"
	kill -$signal $!
	wait $! 2>/dev/null
	status=$?
	[[ $status == $((128 + $(kill -l $signal))) ]] || wrong "SIG$signal: exit status $status"
	compgen -G 'all.thrums*' >left && wrong "SIG$signal leaves $(cat left)"
done

refuses() { # MESSAGE COMMAND…
	local message=$1 status
	shift
	"$THRUM" "$@" 2>err
	status=$?
	[[ $status == 2 ]] || wrong "$*: exit status $status"
	grep -q "$message" err || wrong "$*: $(cat err)"
}

{ THRUM_TRACE=$here/a.thrum THRUM_SIZE=256K "$BUILD/tests/thrum/programs/crowd" 4 0; } 2>/dev/null
cp a.thrum before
echo text >text
ln -s text link
refuses 'a.thrum: this is the recording itself' snapshot a.thrum -o a.thrum
refuses 'a.thrum: this is the recording itself' bundle a.thrum -o a.thrum
refuses 'a.thrum: a trace is in the way' html a.thrum -o a.thrum
refuses 'text: a file that is not a recording is in the way' snapshot a.thrum -o text
refuses 'link: a symbolic link is in the way' snapshot a.thrum -o link
refuses 'link: a symbolic link is in the way' bundle a.thrum -o link
cmp -s a.thrum before || wrong "the recording has changed"
[[ $(cat text) == text ]] || wrong "the text has changed"
ls >left
[[ $(tr '\n' ' ' <left) == 'a.thrum before err left link slow.thrum text ' ]] || wrong "left: $(cat left)"

"$THRUM" snapshot a.thrum -o b.thrum 2>err || wrong "$(cat err)"
"$THRUM" snapshot a.thrum -o b.thrum 2>err || wrong "an older recording isn't replaced: $(cat err)"
[[ $(stat -c %a b.thrum) == 600 ]] || wrong "a copy isn't private"
"$THRUM" bundle a.thrum b.thrum -o - >all.thrums 2>err || wrong "to a pipe: $(cat err)"
tar -tf all.thrums >names || wrong "tar can't list the bundle"
[[ $(tr '\n' ' ' <names) == 'a.thrum b.thrum ' ]] || wrong "the bundle has $(cat names)"
exit $failed
