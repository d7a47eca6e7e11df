#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The demonstration's server, killed: with its planted bug, thrum why says that first, with any number of
# clients; and without it nothing that hangs or leaks. Most recordings are too small for all events.
set -u
[[ -x $BUILD/examples/http ]] || {
	echo "skipped: the examples aren't built (libuv is missing)"
	exit 77
}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0 overwritten=0

wrong() {
	echo "$*"
	failed=1
}

# why SIZE CLIENTS [OPTION...]: what thrum says of the server.
why() {
	local size=$1 clients=$2
	shift 2
	rm -f http.thrum
	# The shell's message about the kill goes away.
	("$THRUM" record -o http.thrum --size "$size" -- "$BUILD/examples/http" --threads 2 --seconds 1 --die \
		--clients "$clients" "$@" || exit $?) >out 2>&1
	"$THRUM" why http.thrum >answer 2>err
	[[ $? -le 1 ]] || wrong "why: $(cat out err)"
}

for clients in 3 8 20; do
	why 1M $clients --hang
	grep -q overwritten answer && overwritten=1
	head -n 4 answer | grep -q 'lookup user [0-9]*” never resolves\|Waits for “lookup user [0-9]*”' ||
		wrong "$clients clients: $(head -n 6 answer)"
	# A sanitizer's server may pause for so long before it is killed that answers on their way seem not to come.
	[[ $SANITIZE == none ]] || continue
	why 1M $clients
	! grep -q '^never resolved\|^leak' answer || wrong "$clients clients, healthy: $(cat answer)"
done
why 64M 8 --hang
head -n 4 answer | grep -q 'Waits for “lookup user 42”' || wrong "a large recording: $(head -n 6 answer)"
[[ $overwritten == 1 ]] || wrong "no recording is too small"

# With few clients the planted bug is all that there is.
if [[ $SANITIZE == none ]]; then
	why 1M 3 --hang
	[[ $(grep -c '^[a-z ]* (\(certain\|likely\|possible\)): ' answer) == 1 ]] ||
		wrong "more findings: $(cat answer)"
fi
[[ $failed == 0 ]] && echo "works"
exit $failed
