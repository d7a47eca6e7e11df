#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# thrum view: starts the desktop viewer; where it can't run, tells what to do instead.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
"$BUILD/tests/thrum/programs/every" every.thrum || exit 1
mkdir bin
cp "$THRUM" bin/thrum
failed=0

# says STATUS TEXT... -- COMMAND...: checks the status, and that the output has each text.
says() {
	local status=$1 got text texts=()
	shift
	while [[ $1 != -- ]]; do
		texts+=("$1")
		shift
	done
	shift
	"$@" >out 2>err </dev/null
	got=$?
	[[ $got -eq $status ]] || {
		echo "$*: status $got instead of $status: $(cat err)"
		failed=1
	}
	for text in "${texts[@]}"; do
		grep -qF -e "$text" out err || {
			echo "$*: says \"$(cat err)\", without \"$text\""
			failed=1
		}
	done
}

says 2 'no display' 'thrum html every.thrum' 'thrum render every.thrum' 'thrum tasks every.thrum' \
	-- env -u DISPLAY -u WAYLAND_DISPLAY bin/thrum view every.thrum
says 2 'no display' 'thrum tasks TRACE' -- env -u WAYLAND_DISPLAY DISPLAY= bin/thrum view
says 2 "thrum-gtk is neither beside thrum nor in PATH" 'libgtk-4-dev' \
	-- env DISPLAY=:none PATH=/nowhere bin/thrum view every.thrum
says 2 'nofile: No such file' -- env DISPLAY=:none bin/thrum view nofile
says 2 'process 1 ' -- env DISPLAY=:none bin/thrum view 1
says 64 -- env DISPLAY=:none bin/thrum view --nonsense

# The thrum-gtk beside the command comes before PATH's. It gets the arguments.
cp every.thrum other.ctf
for place in path bin; do
	mkdir -p $place
	printf '#!/bin/sh\necho %s "$@"\n' $place >$place/thrum-gtk
	chmod +x $place/thrum-gtk
	says 0 "$place --stacked --state t=0..5 -- every.thrum other.ctf" -- env DISPLAY=:none \
		PATH="$here/path:$PATH" bin/thrum view --state=t=0..5 -s every.thrum other.ctf
done
says 0 "bin --state t=0..5&as=bands&open=GET%20/%252C&story=1,2&range=1000..2000 -- every.thrum" -- \
	env DISPLAY=:none bin/thrum view --state=t=0..5 --open='GET /,' --story=1,2 --range=1us..2us every.thrum
# Traces with messages between them are one, unless they are to be stacked.
(THRUM_TRACE=$here/client.thrum "$BUILD/examples/annotate/processes" bug) 2>/dev/null
says 0 'bin --together -- client.thrum server.thrum' '2 traces taken as one, with 3 messages' \
	-- env DISPLAY=:none bin/thrum view client.thrum server.thrum
says 0 'bin --stacked -- client.thrum server.thrum' -- env DISPLAY=:none bin/thrum view -s client.thrum server.thrum
says 0 'bin -- client.thrum every.thrum' -- env DISPLAY=:none bin/thrum view client.thrum every.thrum
says 0 'bin --together -- client.thrum every.thrum' \
	-- env DISPLAY=:none bin/thrum view --together client.thrum every.thrum
says 64 'range needs two times' -- env DISPLAY=:none bin/thrum view --range=1 every.thrum
exit $failed
