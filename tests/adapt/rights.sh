#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that give up the rights of root, or change their root directory, before they wait for anything.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"
((EUID == 0)) || {
	echo "skipped: only root can give up its rights"
	exit 77
}
chmod 700 .
for call in setuid seteuid setreuid setresuid chroot; do
	same "$call" "$programs/rights" "$call"
	has "$call" tasks '^ +[0-9]+  rights +thread '
	has "$call" dump 'wait +.*sleep'
done
# A call that gives up nothing records nothing.
same nothing "$programs/rights" nothing
[[ ! -e nothing.thrum ]] || wrong "nothing.thrum: $(ls -l nothing.thrum)"

# A program that one of root executes as another user: it can't look into the file of that one.
other=(setpriv --reuid=65534 --clear-groups)
chmod 777 .
if "${other[@]}" test -r "$BUILD/src/libthrum-adapt.so" -a -x "$programs/stages"; then
	"$THRUM" record --follow-children -o other.thrum -- \
		"${other[@]}" "$programs/stages" 2>other.said ||
		wrong "other: $(cat other.said)"
	"$THRUM" dump other.thrum.* | grep -q "create .*thread" ||
		wrong "other: $(ls -l other.thrum*) $(cat other.said)"
fi
exit "$failed"
