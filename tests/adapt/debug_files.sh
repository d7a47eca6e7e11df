#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Debugging information is found beside a program, too. Where there is none, debuginfod is asked only if the user has
# set up a server.
# shellcheck disable=SC1091,SC2154
set -u
# shellcheck source=adapt.bash
. "${0%/*}/adapt.bash"
command -v objcopy >/dev/null || {
	echo "skipped: objcopy is missing"
	exit 77
}
mkdir program
cp "$programs/deadlock" program/deadlock
objcopy --only-keep-debug program/deadlock deadlock.debug
objcopy --strip-debug --add-gnu-debuglink=deadlock.debug program/deadlock
same stripped program/deadlock

# places COUNT WORDS: so many steps of the finding tell a place in the source.
places() {
	local got
	"$THRUM" why stripped.thrum >out 2>&1
	[[ $(head -n 1 out) == 'deadlock (certain)'* ]] || wrong "$2: $(head -n 1 out)"
	got=$(grep -c 'deadlock\.c:[0-9]* \(write_queue\|flush_log\)\]' out)
	[[ $got -eq $1 ]] || wrong "$2: $got places instead of $1: $(cat out)"
}

places 0 "without debugging information"
cp deadlock.debug program/deadlock.debug
places 4 "beside the program"
mkdir program/.debug
mv program/deadlock.debug program/.debug
places 4 "in the folder .debug"
mv program elsewhere
mkdir program
ln -s ../elsewhere/deadlock program/deadlock
places 4 "beside the file to which a link leads"
echo damaged >elsewhere/.debug/deadlock.debug
places 0 "in a damaged file"

# asks COUNT WORDS [VARIABLE]: so often the library of debuginfod is loaded.
asks() {
	local got
	got=$(env LD_DEBUG=files ${3+"$3"} "$THRUM" why stripped.thrum 2>&1 | grep -c 'file=libdebuginfod.*generating')
	[[ $got -eq $1 ]] || wrong "$2: debuginfod is loaded $got times instead of $1"
}
rm -r elsewhere/.debug
asks 0 "no server"
if ldconfig -p 2>/dev/null | grep -q libdebuginfod || /sbin/ldconfig -p 2>/dev/null | grep -q libdebuginfod; then
	asks 1 "a server" "DEBUGINFOD_URLS=file:///nowhere"
else
	echo "skipped: libdebuginfod is missing, it isn't looked at whether it is loaded"
fi
exit "$failed"
