#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Counters as a tree: of a process that runs, of one that was killed, of a recording without events.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

# is COMMAND... : its output is that on standard input.
is() {
	cat >expected
	"$@" >printed 2>errors || wrong "$*: exit $?, $(cat errors)"
	diff expected printed || wrong "$*"
}

counts=$BUILD/tests/thrum/programs/counts

THRUM_TRACE=$here/live.thrum THRUM_SIZE=1M "$counts" wait >ready &
pid=$!
until grep -q ready ready; do
	kill -0 $pid 2>/dev/null || {
		echo "the program has ended"
		exit 1
	}
	sleep 0.05
done
for trace in $pid live.thrum; do
	is "$THRUM" stats --counters "$trace" <<-end
		counter     value  mean  min  p50  p90  p99    max
		http
		  open         -3
		  requests  1,000
		    get       750
		    put       250
		  size      1,000   500    1  503  911  975  1,000
		odd\\tname       0
	end
	[[ $trace == "$pid" ]] || break
	{
		kill -KILL $pid
		wait $pid
	} 2>/dev/null
done
"$THRUM" stats --counters --labels --format=tsv live.thrum >labels 2>errors || wrong "$(cat errors)"
grep -q $'^by label/counts/alive\tgauge\t1\t' labels || wrong "no counters by label: $(cat labels)"
"$THRUM" stats --counters --labels --format=tsv - <live.thrum | cmp -s labels ||
	wrong 'labels from standard input'
"$THRUM" metrics --once --labels live.thrum >exported 2>errors || wrong "$(cat errors)"
grep -q '^thrum_task_duration_seconds_count{.*label="counts"} 0$' exported || wrong "$(cat exported)"
"$THRUM" top --once --interval=100ms --labels --format=tsv live.thrum >shown 2>errors ||
	wrong "$(cat errors)"
grep -q 'by label/counts/duration-ns' shown || wrong "$(cat shown)"
"$THRUM" stats --labels live.thrum 2>errors && wrong '--labels needs --counters'
is "$THRUM" stats --counters --format=json live.thrum < <(sed 's/&/"kind":"distribution","value":/' <<-end
	{"counter":"http"}
	{"counter":"http/open","kind":"gauge","value":-3}
	{"counter":"http/requests","kind":"cumulative","value":1000}
	{"counter":"http/requests/get","kind":"cumulative","value":750}
	{"counter":"http/requests/put","kind":"cumulative","value":250}
	{"counter":"http/size",&1000,"mean":500,"min":1,"p50":503,"p90":911,"p99":975,"max":1000}
	{"counter":"odd\tname",&0}
end
)
# Those of several recordings are named by their files.
cp live.thrum other.thrum
"$THRUM" stats --counters --format=tsv live.thrum other.thrum >both 2>errors || wrong "$(cat errors)"
[[ $(grep -c $'/http/open\tgauge\t-3\t' both) == 2 && $(grep -c '^counter' both) == 1 &&
	$(grep -c '^other/http/size' both) == 1 ]] || wrong "counters of two: $(cat both)"
"$THRUM" stats --counters --format=json live.thrum other.thrum | grep -q '^{"counter":"other/http/open"' ||
	wrong "counters of two as json"
"$THRUM" stats --counters live.thrum other.thrum | grep -q '^other:$' || wrong "counters of two as text"

"$THRUM" record --counters-only -o alone.thrum -- "$counts" 2>errors || wrong "record: $(cat errors)"
printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' counter kind value mean min p50 p90 p99 max \
	http '' '' '' '' '' '' '' '' \
	http/open gauge -3 '' '' '' '' '' '' \
	http/requests cumulative 1000 '' '' '' '' '' '' \
	http/requests/get cumulative 750 '' '' '' '' '' '' \
	http/requests/put cumulative 250 '' '' '' '' '' '' \
	http/size distribution 1000 500 1 503 911 975 1000 \
	'odd\tname' distribution 0 '' '' '' '' '' '' |
	is "$THRUM" stats --counters --format=tsv alone.thrum
"$THRUM" dump alone.thrum >printed 2>&1 || wrong "dump: $(cat printed)"
"$THRUM" info --format=tsv alone.thrum | grep -qxP 'events\t0' || wrong "it has events"
"$THRUM" snapshot alone.thrum -o copy.thrum 2>errors || wrong "snapshot: $(cat errors)"
"$THRUM" stats --counters copy.thrum | grep -q '^    get  *750$' || wrong "the copy has other counters"

"$THRUM" stats --counters --by=lane alone.thrum 2>/dev/null
[[ $? == 64 ]] || wrong "--counters --by is accepted"
"$THRUM" stats --counters "$counts" 2>errors
[[ $? == 2 ]] || wrong "a program is read: $(cat errors)"
exit $failed
