#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum import` takes files of other programs, packed ones, pipes, and what thrum itself exports.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
data=$SOURCE/tests/import/data
failed=0

fail() {
	echo "$*"
	failed=1
}

# refuses STATUS PATTERN ARGUMENT...: this status, and a message that matches.
refuses() {
	local status=$1 pattern=$2 got
	shift 2
	"$THRUM" "$@" >out 2>err </dev/null
	got=$?
	[[ $got -eq $status && $(cat err) =~ $pattern ]] ||
		fail "thrum $*: status $got, says \"$(cat err)\", not $pattern"
}

refuses 64 'import needs -o FILE' import "$data/node.json"
if "$THRUM" import "$data/node.json" -o node.thrum 2>err; then
	:
elif grep -q 'built without json-c' err; then
	echo 'skipped: json-c is missing'
	exit 77
else
	cat err
	exit 1
fi

# A trace of node.
grep -q "of Chrome's trace events, of 1 process, to node.thrum" err || fail "says: $(cat err)"
"$THRUM" tasks node.thrum >list || fail 'no tasks'
grep -q 'FSREQCALLBACK.*resolved' list || fail "node's requests are missing: $(head list)"
grep -q ' Timeout ' list || fail 'its timer is missing'
"$THRUM" html node.thrum -o node.html || fail 'no page'

# The same from a pipe, packed, and to a pipe.
"$THRUM" import - -o - <"$data/node.json" 2>err >pipe.thrum
cmp pipe.thrum node.thrum || fail 'a pipe differs'
[[ ! -s err ]] || fail "a pipe says: $(cat err)"
if [[ $("$THRUM" convert --to=pprof node.thrum node.pprof 2>&1) != *'without zlib'* ]]; then
	gzip <"$data/node.json" >node.json.gz
	"$THRUM" import node.json.gz -o packed.thrum 2>err
	cmp packed.thrum node.thrum || fail "packed: $(cat err)"
fi

# Several processes are a bundle, and a flow between them is a message.
cat >two.json <<'EOF'
[{"ph":"M","pid":1,"name":"process_name","args":{"name":"web/1"}},
{"ph":"M","pid":2,"name":"process_name","args":{"name":"store"}},
{"ph":"X","pid":1,"tid":1,"ts":10,"dur":90,"name":"get"},
{"ph":"s","pid":1,"tid":1,"ts":20,"id":1,"name":"ask"},
{"ph":"X","pid":2,"tid":2,"ts":40,"dur":30,"name":"find"},
{"ph":"f","bp":"e","pid":2,"tid":2,"ts":40,"id":1,"name":"ask"},
EOF
"$THRUM" import two.json -o two.thrums 2>err || fail "two: $(cat err)"
[[ $(tar -tf two.thrums | tr '\n' ' ') == 'web-1-1.thrum store-2.thrum ' ]] || fail "entries: $(tar -tf two.thrums)"
"$THRUM" dump two.thrums | grep -q 'find *link-receive' || fail 'the message is missing'
"$THRUM" convert --to=otlp-json two.thrums - | grep -q 'is sent by\|parentSpanId' || fail 'nothing links the processes'

# Errors name file and place; nothing is left behind; no other file is replaced.
printf '[{"ph":"i","ts":1},{"ph" 5}]' >bad.json
refuses 2 '^thrum: bad\.json: byte 2[0-9]: not valid JSON: ' import bad.json -o bad.thrum
[[ ! -e bad.thrum ]] || fail 'a failure leaves a file'
refuses 2 '^thrum: missing: ' import missing -o x.thrum
refuses 2 '^thrum: \.: ' import . -o x.thrum
refuses 2 '^thrum: standard input: not a trace' import - -o x.thrum
refuses 2 '^thrum: node\.thrum: not a trace' import node.thrum -o x.thrum
refuses 2 'not a recording is in the way' import two.json -o bad.json
head -c 300 two.json >cut.json
refuses 0 'ends in the middle' import cut.json -o cut.thrum

# Thrum's own export comes back: tasks with their states, their runs, and spans.
"$BUILD/tests/thrum/programs/every" every.thrum || exit 1
"$THRUM" convert --to=chrome every.thrum every.json || exit 1
"$THRUM" import every.json -o again.thrum 2>err || fail "again: $(cat err)"
"$THRUM" convert --to=chrome again.thrum again.json || exit 1
# names FILE PHASE: the names of events, but for those of the thread's own task.
names() {
	grep -o "^.\"ph\":\"$2\".*\"name\":\"[^\"]*\"" "$1" | sed 's/.*"name"://' |
		grep -v '"every"\|"thread 0"' | sort
}
failures() { "$THRUM" tasks --state=failed "$1" | tail -n +2 | cut -c 7-45; }
for phase in B b; do
	[[ -n $(names every.json $phase) ]] || fail "phase $phase is empty"
	diff <(names every.json $phase) <(names again.json $phase) || fail "phase $phase differs"
done
diff <(failures every.thrum) <(failures again.thrum) || fail 'failures differ'

# Its flows of reads and messages are messages now.
flows() { grep -c '^.."ph":"s".*"cat":"\(read\|message\)"' "$1"; }
grep -q '"cat":"spawn"' every.json || fail 'no flow shows who made a task'
[[ $("$THRUM" dump again.thrum | grep -c 'link-send') -eq $(flows every.json) ]] ||
	fail "flows: $(grep '"ph":"s"' every.json)"

# The same as spans. Lanes, locks and conditions are none.
"$THRUM" convert --to=otlp-json every.thrum every.otlp || exit 1
"$THRUM" import every.otlp -o spans.thrum 2>err || fail "spans: $(cat err)"
# list FILE: kinds and names of the tasks that a span may be.
list() { "$THRUM" tasks --format=tsv "$1" | cut -f 3,10 | grep -Ev '^(thread|lock|condition)' | sort; }
diff <(list every.thrum) <(list spans.thrum) || fail 'spans differ'
diff <(failures every.thrum) <(failures spans.thrum) || fail 'failures of spans differ'
refuses 2 'neither traceEvents nor resourceSpans' import <(echo '{}') -o x.thrum

# A request is followed through two services, whose clocks differ by half a second.
"$THRUM" import "$data/shop.jsonl" -o shop.thrums 2>err || fail "shop: $(cat err)"
grep -q "3 events of OpenTelemetry's spans, of 2 processes" err || fail "shop says: $(cat err)"
"$THRUM" why --slow='GET /item' shop.thrums >slow || fail 'no slowest request'
grep -q 'waited for “ask store”.*, which waited for “count item”.* of store@beta' slow ||
	fail "slow says: $(cat slow)"

# A compiler's own trace.
if command -v clang >/dev/null; then
	echo '#include <stdlib.h>' >unit.c
	clang -O1 -ftime-trace -c unit.c -o unit.o
	"$THRUM" import unit.json -o unit.thrum 2>err || fail "clang: $(cat err)"
	"$THRUM" tasks unit.thrum | grep -q 'ExecuteCompiler' || fail "clang's slices are missing"
fi
exit $failed
