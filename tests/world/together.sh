#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Commands take several traces as one: when messages go between them, or when they are told to.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

# says STATUS PATTERN ARGUMENT...: the exit status, and a pattern for the output.
says() {
	local status=$1 pattern=$2 got
	shift 2
	"$THRUM" "$@" >out 2>err
	got=$?
	[[ $got -eq $status && $(cat out err) =~ $pattern ]] || {
		echo "thrum $*: status $got instead of $status, or not $pattern:"
		cat out err
		failed=1
	}
}

# Two processes, of which the server loses a message.
(THRUM_TRACE=$here/client.thrum "$BUILD/examples/annotate/processes" bug) 2>/dev/null
[[ -s client.thrum && -s server.thrum ]] || exit 1
says 0 '10000000000[0-9]+  server/processes' tasks client.thrum server.thrum
says 0 '2 traces taken as one, with 3 messages between them' tasks client.thrum server.thrum
says 0 'client.thrum \+ server.thrum: .* 2 stuck' stats client.thrum server.thrum
says 0 'GET /3 +link-send .*serve GET /3 +link-receive' dump client.thrum server.thrum
says 1 '#[0-9]+ GET /3 of client: Waits for “serve GET /3 \(server\)”' why client.thrum server.thrum
says 1 '"process":"client","other":10000000000[0-9]+.*"other-process":"server"' \
	why --format=json client.thrum server.thrum
says 0 '' why --at=0 client.thrum server.thrum
says 0 '“GET /' why --slow='GET *' client.thrum server.thrum

# Three processes: the cause lies in the third.
"$BUILD/examples/shop" hang
says 1 'of web: Never resolves' why web.thrum stock.thrum database.thrum
[[ $(<out) == *'backup of database: Waits for “tape”; nobody resolves it'* &&
	$(<out) == *'count item 5 of stock: Waits for “select item 5 (database)”; so it hangs'* ]] || {
	echo "no cause across processes:"
	cat out
	failed=1
}
says 0 '3 traces taken as one, with 10 messages between them' render -o one.svg \
	web.thrum stock.thrum database.thrum
[[ $(<one.svg) == *'Waits for “select item 5 (database)”'* ]] || failed=1
# A bundle is the same, and tar can read and write it.
says 0 '^$' bundle -o shop.thrums web.thrum stock.thrum database.thrum
says 1 'of web: Never resolves' why shop.thrums
[[ $(tar -tf shop.thrums | paste -sd' ') == 'web.thrum stock.thrum database.thrum' ]] || failed=1
tar -cf tar.thrums database.thrum stock.thrum web.thrum
says 1 'of web: Never resolves' why tar.thrums
says 0 'web, stock, database' info shop.thrums
says 0 'the process has ended' dump --follow shop.thrums
says 64 'bundle needs -o FILE' bundle web.thrum
echo text >text
says 2 'a file that is not a recording is in the way' bundle -o text web.thrum
says 2 'text: not a recording of thrum' bundle -o shop.thrums text
says 1 'never resolves' why shop.thrums
if "$THRUM" html shop.thrums -o shop.html 2>err; then
	[[ -s shop.html ]] || failed=1
	says 0 '3 traces taken as one, with 10 messages' html -o one.html \
		web.thrum stock.thrum database.thrum
	says 0 '^$' html -o beside.html --start=1ms web.thrum stock.thrum
	says 64 'together keeps all times, as messages at other times' \
		html -o no.html --together --start=1ms web.thrum stock.thrum
	[[ $(<one.html) == *'"name":"web.thrum + stock.thrum + database.thrum","blocks"'* &&
		$(<beside.html) == *'{"name":"stock.thrum","blocks"'* ]] || {
		echo "html: not as one, or not beside each other"
		failed=1
	}
elif ! grep -q 'without' err; then
	cat err
	failed=1
fi
rm -f web.thrum stock.thrum database.thrum
"$BUILD/examples/shop"
says 0 'no findings' why web.thrum stock.thrum database.thrum
# The time of a request lies in three processes, and between them.
says 0 '"runs","stack":\[[^]]*"count item #","select item #"\]' \
	why --format=json --slow='GET *' web.thrum stock.thrum database.thrum
says 0 '"doing":"network"' why --format=json --slow='GET *' web.thrum stock.thrum database.thrum

# Nothing goes from a trace to its copy.
cp client.thrum copy.thrum
says 64 'no message goes from one of these traces to another' why client.thrum copy.thrum
says 0 '10000000000[0-9]+  copy/processes' tasks --together client.thrum copy.thrum
says 64 'standard input' tasks --together client.thrum -
says 0 '^$' render -o beside.svg client.thrum copy.thrum
says 0 '^$' render -o one.svg --together client.thrum copy.thrum
[[ $(<beside.svg) != *copy/processes* && $(<one.svg) == *copy/processes* ]] || {
	echo "render: not beside each other, or not as one"
	failed=1
}
says 2 'missing.thrum' tasks client.thrum missing.thrum
echo nonsense >nonsense
says 2 'nonsense: ' tasks client.thrum nonsense
says 0 'client:.counter.*server:.counter' stats --counters client.thrum server.thrum
# Many stand beside each other, and more are one.
for i in {1..17}; do cp client.thrum "many$i.thrum"; done
says 64 'at most 16 traces stand beside each other' render -o no.svg many*.thrum
says 0 '^$' render --together -o one.svg many*.thrum
# The tables of still more are stored all the same.
many=()
for i in {1..65}; do many+=("many$((i % 17 + 1)).thrum"); done
says 0 'at most 64 recordings are one trace: .* are missing' store -o tables "${many[@]}"
says 0 '^thrum: wrote [0-9,]* rows to' store -o tables "${many[@]:1}"
export DISPLAY='' WAYLAND_DISPLAY=''
says 64 'at most 16 traces stand beside each other' view many*.thrum
says 2 'there is no display' view --together many*.thrum
exit $failed
