#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Programs that people have, as they are. A program that is missing is named and left out.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"

is_there() {
	command -v "$1" >/dev/null && return
	echo "left out: $1 is missing"
	return 1
}

is_there cmake && is_there ctest && {
	mkdir project
	cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.5)
project(tests NONE)
enable_testing()
add_test(NAME sleeps COMMAND sleep 0.1)
add_test(NAME fails COMMAND false)
END
	(cd project && cmake . >/dev/null 2>&1)
	cd project || exit 1
	# Its output has times.
	ctest -j2 >/dev/null 2>&1
	plain=$?
	"$THRUM" record -o ../ctest.thrum -- ctest -j2 >out 2>err
	status=$?
	cd ..
	((status == plain)) || wrong "ctest: status $status instead of $plain"
	has ctest dump 'label +spawn (sleep|false)'
	has ctest dump 'log +exit status 1'
}

is_there node && {
	cat >chain.js <<'END'
const fs = require('fs'), http = require('http');
fs.readFile('/etc/passwd', () => setTimeout(() => {
	const server = http.createServer((request, response) => response.end('ok'));
	server.listen(0, '127.0.0.1', () =>
		http.get({port: server.address().port, agent: false}, answer => {
			answer.resume();
			answer.on('end', () => server.close(() => console.log('done')));
		}));
}, 5));
END
	same node node chain.js
	has node info 'lanes'
	"$THRUM" why node.thrum >why.out 2>&1 || wrong "a healthy node: $(cat why.out)"
}

is_there python3 && {
	cat >threads.py <<'END'
import queue, threading
jobs = queue.Queue()
worker = threading.Thread(target=lambda: print(jobs.get()))
worker.start()
jobs.put("job")
worker.join()
END
	same python "$(python3 -c 'import sys; print(sys.executable)')" threads.py
	has python dump 'create .* thread'
}

is_there sqlite3 && {
	same sqlite3 sqlite3 :memory: 'select 6 * 7'
	grep -q 'sqlite3 recorded nothing' sqlite3.said || wrong "sqlite3: $(cat sqlite3.said)"
}
exit "$failed"
