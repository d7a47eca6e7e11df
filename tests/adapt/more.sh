#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# More programs that people have, as they are. A program that is missing is named and left out.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

is_there() {
	command -v "$1" >/dev/null && return
	echo "left out: $1 is missing"
	return 1
}

# redis-server and its clients, on a socket in a folder.
is_there redis-server && is_there redis-benchmark && {
	"$THRUM" record -o redis.thrum --size=64M -- redis-server --port 0 --unixsocket "$here/redis" --save '' \
		--daemonize no --dir "$here" >redis.out 2>&1 &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		[[ $(redis-cli -s redis ping 2>&1) == PONG ]] && break
		sleep 0.1
	done
	redis-benchmark -s redis -q -n 1000 -t set,get >benchmark.out 2>&1 ||
		wrong "redis-benchmark: $(cat benchmark.out)"
	redis-cli -s redis set key value >cli.out
	redis-cli -s redis get key >>cli.out
	[[ $(cat cli.out) == $'OK\nvalue' ]] || wrong "redis answers otherwise: $(cat cli.out)"
	redis-cli -s redis shutdown nosave >/dev/null 2>&1
	wait "$pid"
	status=$?
	((status == 0)) || wrong "redis-server: status $status: $(tail -3 redis.out)"
	has redis dump 'suspend +wait for work'
	has redis dump 'woken by descriptor'
	has redis dump 'create .* thread'
	"$THRUM" why redis.thrum >why.out 2>&1 || wrong "a healthy redis-server: $(cat why.out)"
}

is_there dig && is_there python3 && {
	exec {answers}< <(exec python3 "$SOURCE/tests/adapt/programs/dns.py")
	server=$!
	read -r port <&"$answers"
	same dig dig @127.0.0.1 -p "$port" +short +tries=1 +time=60 example.org
	kill "$server"
	[[ $(cat same/dig/plain.out) == 192.0.2.7 ]] || wrong "dig: $(cat same/dig/plain.out same/dig/plain.err)"
	has dig dump 'label +(async|udp|recv|udp_recv|read|timer|udp send)'
	"$THRUM" why dig.thrum >why.out 2>&1 || wrong "a healthy dig: $(cat why.out)"
}

is_there nvim && {
	cat >job.vim <<'END'
let job = jobstart(['sh', '-c', 'echo from the job; exit 3'],
	\ {'on_stdout': {j, data, e -> writefile(filter(data, 'v:val != ""'), 'job.out', 'a')}})
let status = jobwait([job])
call writefile([string(status)], 'job.out', 'a')
qall!
END
	HOME=$here XDG_CONFIG_HOME=$here XDG_STATE_HOME=$here XDG_DATA_HOME=$here \
		same nvim nvim --clean --headless -S job.vim
	[[ $(sort -u job.out) == $'[3]\nfrom the job' ]] || wrong "nvim's job: $(cat job.out)"
	has nvim dump 'label +spawn sh'
	has nvim dump 'log +exit status 3'
}

# The interpreter for which Debian's package is made.
if ! /usr/bin/python3 -c 'import uvloop' 2>/dev/null; then
	echo 'left out: uvloop for /usr/bin/python3 is missing'
else
	cat >loop.py <<'END'
import asyncio, uvloop

async def answer(reader, writer):
	writer.write(await reader.readline())
	writer.close()

async def main():
	server = await asyncio.start_server(answer, "127.0.0.1", 0)
	reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
	writer.write(b"hello\n")
	print(await reader.readline())
	writer.close()
	await asyncio.sleep(0.005)
	process = await asyncio.create_subprocess_exec("sh", "-c", "exit 3")
	print(await process.wait())
	server.close()

uvloop.install()
asyncio.run(main())
END
	same uvloop /usr/bin/python3 loop.py
	has uvloop dump 'label +connect 127.0.0.1:[0-9]+'
	has uvloop dump 'label +spawn sh'
	has uvloop dump 'label +timer'
	has uvloop dump 'log +exit status 3'
fi

if [[ ! -x $programs/workers ]]; then
	echo 'left out: there was no C++ compiler'
else
	same workers "$programs/workers"
	has workers dump 'create .* thread'
	has workers dump 'label +thread (.*add_up|workers\+0x)'
	has workers dump 'label +condition '
	has workers dump 'signal .*, waiting: 1'
	"$THRUM" why workers.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"
fi
exit "$failed"
