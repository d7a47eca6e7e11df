#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/verify.sh [least|small|full]: checks the models in verify/ with spin, and that each of their
# mutations is found. least takes half a minute and tries one mutation of each model, small takes two minutes,
# full a quarter of an hour and 7 GB of memory. Ends with the line "N passed, N failed". Keeps what failed, so
# that it can be looked at.
set -u

# Each line: the smallest size that it belongs to, what is to come out, a name, the model, its parameters.
# holds: no order of steps breaks it. found: a mutation's error is found.
configurations='
small holds  pool-reader         pool PACKETS=2 EVENTS=1 STEPS=3
small holds  pool-one-packet     pool PACKETS=1 STEPS=4
least holds  pool-tickets-wrap   pool PACKETS=2 EVENTS=1 STEPS=2 TICKETS=16 FIRST=14
small holds  pool-ring           pool READERS=0 EVENTS=1 STEPS=4
least holds  pool-discard        pool READERS=0 EVENTS=1 STEPS=4 DISCARD=1
least holds  pool-parked         pool READERS=0 THREADS=3 PARKED=2 EVENTS=1 STEPS=2
small holds  pool-death          pool READERS=0 PACKETS=2 STEPS=3 DEATHS=1
least holds  pool-death-reader   pool PACKETS=1 EVENTS=1 STEPS=2 DEATHS=1
least holds  live-regions        live READERS=0
least holds  live-blocks         live READERS=0 BLOCK=2
least holds  live-reader         live REGIONS=1 STEPS=2
least holds  live-reader-regions live STEPS=2 TRIES=1
least holds  order-packet        order
least holds  order-live          order LIVE=1
full  holds  pool-reader-3       pool EVENTS=2 STEPS=3
full  holds  pool-reader-4       pool PACKETS=2 EVENTS=1 STEPS=4
full  holds  pool-ring-3         pool READERS=0 THREADS=3 EVENTS=1 STEPS=2
full  holds  pool-ring-5         pool READERS=0 EVENTS=1 STEPS=5
full  holds  pool-starving       pool THREADS=3 PACKETS=2 EVENTS=1 STEPS=2
full  holds  pool-discard-reader pool PACKETS=2 EVENTS=1 STEPS=4 DISCARD=1
full  holds  pool-parked-reader  pool THREADS=3 PARKED=2 EVENTS=1 STEPS=2
full  holds  pool-deaths         pool READERS=0 PACKETS=2 EVENTS=1 STEPS=3 DEATHS=2
full  holds  pool-death-reader-2 pool PACKETS=2 EVENTS=1 STEPS=2 DEATHS=1
full  holds  live-regions-3      live READERS=0 LANES=3 STEPS=2 TRIES=1
full  holds  live-regions-4      live READERS=0 STEPS=4
full  holds  live-reader-3       live REGIONS=1 TRIES=1
full  holds  live-reader-blocks  live BLOCK=2 STEPS=2 TRIES=1
small found  not-cleared         pool MUTATION=1 PACKETS=2 EVENTS=1 STEPS=3
least found  not-rechecked       pool MUTATION=2 PACKETS=2 EVENTS=1 STEPS=3
small found  turn                pool MUTATION=3 READERS=0 EVENTS=1 STEPS=4
small found  too-early-given     pool MUTATION=4 PACKETS=2 EVENTS=2 STEPS=3
small found  untagged            pool MUTATION=5 READERS=0 THREADS=3 PARKED=2 EVENTS=1 STEPS=2
small found  size-first          pool MUTATION=6 PACKETS=1 EVENTS=1 STEPS=2
small found  header-fence        pool MUTATION=7 PACKETS=2 EVENTS=1 STEPS=3
small found  ticket-zero         pool MUTATION=8 READERS=0 EVENTS=1 STEPS=3 TICKETS=16 FIRST=14
small found  reclaim-switching   pool MUTATION=9 READERS=0 PACKETS=1 STEPS=3 EVENTS=1 DEATHS=1
small found  reclaim-order       pool MUTATION=10 READERS=0 PACKETS=1 STEPS=3 EVENTS=1 DEATHS=1
small found  reclaim-twice       pool MUTATION=11 READERS=0 PACKETS=1 STEPS=3 EVENTS=1 DEATHS=1
small found  reclaim-new         pool MUTATION=12 READERS=0 PACKETS=1 STEPS=3 EVENTS=1 DEATHS=1
small found  parked-in-use       pool MUTATION=13 READERS=0 PACKETS=2 STEPS=3
small found  region-shared       live MUTATION=1 READERS=0
small found  occupied            live MUTATION=2 READERS=0
least found  tag-not-rechecked   live MUTATION=3 REGIONS=1 TRIES=1 STEPS=2
small found  tag-fence           live MUTATION=4 REGIONS=1 TRIES=1 STEPS=2
small found  tag-first           live MUTATION=5 REGIONS=1 TRIES=1 STEPS=2
small found  wait-overtaken      live MUTATION=6 REGIONS=1 TRIES=1 STEPS=2
small found  region-too-early    live MUTATION=7 READERS=0
small found  wait-once           live MUTATION=8 REGIONS=1 TRIES=1 STEPS=2
small found  ended-twice         live MUTATION=9 REGIONS=1 READERS=0
small found  wait-while-ending   live MUTATION=10 REGIONS=1 READERS=0
small found  order-ticket-fence  order MUTATION=1 EVENTS=1
least found  order-new-ticket    order MUTATION=2 EVENTS=1
small found  order-content-size  order MUTATION=3 EVENTS=1
small found  order-pool-put      order MUTATION=4 EVENTS=1
small found  order-read-ticket   order MUTATION=5 EVENTS=1
small found  order-read-size     order MUTATION=6 EVENTS=1
small found  order-read-bytes    order MUTATION=7 EVENTS=1
small found  order-live-begin    order MUTATION=8 LIVE=1 WAITS=1
small found  order-live-fill     order MUTATION=9 LIVE=1 WAITS=1
small found  order-live-wait     order MUTATION=10 LIVE=1 WAITS=1
small found  order-live-end      order MUTATION=11 LIVE=1 WAITS=1
small found  order-read-before   order MUTATION=12 LIVE=1 WAITS=1
small found  order-read-cells    order MUTATION=13 LIVE=1 WAITS=1
'

# The checker's own report, in one line.
summary() {
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log | head -n 1)
	seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds.*/\1/p' log)
	megabytes=$(sed -n 's/^ *\([0-9]*\)[0-9.]*.total actual memory usage.*/\1/p' log)
	printf '%s states, %s s, %s MB' "${states:-?}" "${seconds:-?}" "${megabytes:-?}"
}

# judge holds|found: prints what is wrong, if anything is. An error only counts when it is one of
# the model's own assertions; no error only when nothing was left out.
judge() {
	error=$(sed -n 's/^pan:1: //p' log | head -n 1)
	if ! grep -q 'errors: [0-9]' log; then
		echo "the checker didn't come to its end: $(tail -n 1 log)"
	elif [ -z "$error" ] && grep -Eq 'not completed|too small|truncated' log; then
		echo "the search isn't complete"
	elif [ "$1" = found ]; then
		case $error in
		*invalid*) echo "not an assertion of the model: $error" ;;
		'assertion violated'*) ;;
		*) echo "the mutation isn't found" ;;
		esac
	elif ! grep -q 'errors: 0$' log; then
		echo "${error:-an error}"
	fi
}

# one holds|found NAME MODEL PARAMETER...: checks one configuration.
one() {
	expected=$1 name=$2 model=$3
	shift 3
	defines=
	for parameter; do
		defines="$defines -D$parameter"
	done
	mkdir "$DIRECTORY/$name" && cd "$DIRECTORY/$name" || exit 1
	# Optimizing takes longer than it saves where little is searched.
	optimize=-O0
	[ "$SIZE" != full ] || [ "$expected" = found ] || optimize=-O2
	# shellcheck disable=SC2086
	if spin -a $defines "$SOURCE/verify/$model.pml" >log 2>&1 &&
		gcc $optimize -w -DSAFETY -DCOLLAPSE "-DMEMLIM=$MEMORY" \
			-o pan pan.c >>log 2>&1; then
		./pan -m200000 -w22 >log 2>&1
	fi
	wrong=$(judge "$expected")
	if [ -z "$wrong" ]; then
		echo "ok: $name ($model $*) $expected, $(summary)"
		cd .. && rm -rf "./$name"
	else
		echo "FAILED: $name ($model $*): $wrong; $(summary)"
		echo "  see $DIRECTORY/$name: ./pan -r shows the steps, if there is an error"
	fi
}

if [ "${1:-}" = one ]; then
	shift
	one "$@"
	exit
fi

SIZE=${1:-full}
case $SIZE in
least) MEMORY=900 sizes=least ;;
small) MEMORY=900 sizes='least|small' ;;
full) MEMORY=3500 sizes='least|small|full' ;;
*)
	echo "usage: tools/verify.sh [least|small|full]" >&2
	exit 64
	;;
esac
for tool in spin gcc; do
	command -v $tool >/dev/null || {
		echo "skipped: $tool is missing; tools/setup verify installs it"
		exit 77
	}
done

script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
SOURCE=$(dirname "$(dirname "$script")")
DIRECTORY=$(mktemp -d "${TMPDIR:-/tmp}/thrum-verify.XXXXXX") || exit 1
export SOURCE DIRECTORY MEMORY SIZE

# Two at a time: they need memory. The configurations' words go to `one` as its arguments.
wanted=$(echo "$configurations" | grep -E "^($sizes) ")
echo "$wanted" | sed 's/^[a-z]* *//' |
	xargs -P 2 -L 1 sh "$script" one | tee "$DIRECTORY/results"

total=$(echo "$wanted" | wc -l)
passed=$(grep -c '^ok: ' "$DIRECTORY/results")
[ "$passed" != "$total" ] || rm -rf "$DIRECTORY"
echo "$((passed)) passed, $((total - passed)) failed"
[ "$passed" = "$total" ]
