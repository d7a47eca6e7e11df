#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Processes that ask each other over sockets, and know nothing of thrum: their recordings are one.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

# serve NAME ADDRESS NEXT: records a server until it is told to end.
serve() {
	local i
	rm -f "$1.out"
	"$THRUM" record -o "$1.thrum" --size=16M -- "$programs/chain" "$2" "$3" >"$1.out" 2>"$1.err" &
	for ((i = 0; i < 300; i++)); do
		[[ -s $1.out ]] && return
		sleep 0.1
	done
	wrong "$1 didn't start: $(<"$1.err")"
}

# end NAME...: ends the programs that are recorded in these files.
end() {
	local name
	for name in "$@"; do
		kill -TERM "$("$THRUM" info "$name.thrum" | sed -n 's/^pid[[:space:]]*//p')"
	done
}

# explains PATTERN: `thrum why` of the three says so.
# shellcheck disable=SC2317 # `comes` calls it
explains() {
	"$THRUM" why client.thrum web.thrum database.thrum 2>&1 | grep -qE -- "$1"
}

# three DATABASE FIRST SECOND: a client, a server that asks a database, and that.
three() {
	serve database "$3" "$1"
	serve web "$2" "$3"
	"$THRUM" record -o client.thrum --size=16M -- "$programs/chain" ask "$2" >client.out 2>client.err &
	if [[ $1 == end ]]; then
		wait $!
	else
		comes explains "$prepare" || wrong "the client hangs, and nobody tells why"
		end client
	fi
	end web database
	wait
	text=$("$THRUM" why client.thrum web.thrum database.thrum 2>&1)
}

# A port of a process that just ended is free, and so is the next number, as a rule.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
other=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prepare='thread prepare of database: Ends, but still holds .mutex table'
for pair in "$port $other" "$here/web $here/database"; do
	# shellcheck disable=SC2086
	three stuck $pair
	# The cause lies in the third process, and the client hangs behind it.
	pattern=$prepare
	pattern+='.*thread serve of database: Waits for .mutex table'
	pattern+='.*of web: Waits for .thread serve \(database\)'
	pattern+='.*of client: Waits for .thread serve \(web\)'
	pattern+='.*thread ask_thrice of client'
	[[ $text =~ $pattern ]] || wrong "$pair: no cause across processes: $text"
	[[ $text == *'3 traces taken as one, with 2 messages'* ]] || wrong "$pair: $text"
	rm -f "$here/web" "$here/database"

	# shellcheck disable=SC2086
	three end $pair
	[[ $(<client.out) == $'answer\nanswer\nanswer' ]] || wrong "$pair: no answers: $(<client.out)"
	[[ $text == *'with 12 messages between them'*'no findings'* ]] ||
		wrong "$pair: a healthy program: $text"
	rm -f "$here/web" "$here/database"
done
exit "$failed"
