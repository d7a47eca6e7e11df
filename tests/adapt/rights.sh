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
exit "$failed"
