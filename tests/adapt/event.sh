#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# libevent in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/event ]] || {
	echo "skipped: libevent is missing"
	exit 77
}

same event "$programs/event"
for label in 'timer (ticked|event\+0x)' 'timer (self_ticked|event\+0x)' 'timer (once|event\+0x)' \
	'signal (interrupted|event\+0x)' 'event (readable|event\+0x)' 'timer (activated|event\+0x)' \
	'listen (connected_to|event\+0x)' 'bufferevent (peer_read|event\+0x)' \
	'bufferevent (client_read|event\+0x)' 'connect 127.0.0.1:[0-9]+' 'getaddrinfo 127.0.0.1' \
	'resolve example.invalid'; do
	has event dump "label +$label"
done
has event dump 'timer .* due +in 2 ms'
has event dump 'ready .*timer (activated|event\+0x)'
has event dump 'bufferevent (peer_read|event\+0x).* switch'
has event dump 'resolve .*connect 127.0.0.1'
has event dump 'fail .*connect 127.0.0.1:[0-9]+: error'
has event dump 'cancel .*resolve example.invalid'
has event dump 'suspend +wait for work'
# event_once() of libevent calls event_base_once(): it is one event, of the program's callback.
"$THRUM" dump event.thrum | grep -E 'label .*(on_once|libthrum-adapt)' && wrong 'a callback of thrum'
"$THRUM" why event.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"

same event_hang "$programs/event_hang"
has event_hang why 'cache_lock|mutex event_hang\+0x'
has event_hang why 'refresh_cache|event_hang\+0x'

# Loops that are broken in vain.
place='(main|run_[a-z]*|event_broken\+0x)'
by='(stop|event_broken\+0x)'
told[early]="Waits for .event for the loop of ${place}[^,]*, broken before it ran by $by"
told[unwoken]="Waits for .event for the loop of ${place}[^,]*, which wasn't woken by the break in $by"
for case in early unwoken; do
	soon "$case" "$programs/event_broken" "$case"
	soon "fine-$case" "$programs/event_broken" "$case" fine
done
for case in again late; do
	soon "fine-$case" "$programs/event_broken" "$case"
done
all_same
for case in early unwoken again late; do
	has "fine-$case" why '^no findings'
done

# Loops that nobody tells to end, or that ended, and timers and listeners that the wrong call stopped.
place='(main|await_news|event_left\+0x[0-9a-f]+)'
told[left-join]='Waits for .(data of )?socket [0-9]+'
told[left-ended]='returned in (run_loop|event_left\+0x)'
told[left-timer]="timer (on_beat|event_left\+0x[0-9a-f]+), stopped before it came by (on_answer|event_left\+0x)"
told[left-active]="Waits for .event for the loop of $place.*by the event_active in (tell_news|event_left\+0x)"
told[left-closed]='socket [0-9]+, not accepted since evconnlistener_disable in (on_visitor|event_left\+0x)'
for case in join ended timer closed active; do
	soon "left-$case" "$programs/event_left" "$case"
	soon "fine-left-$case" "$programs/event_left" "$case" fine
done
all_same
has left-join why '^deadlock'
has left-join why '\[.*((join|ask)_loop|main|event_left\+0x)'
has left-ended why '(on_job|event_left\+0x).*: Waits for .run of a loop, as its dispatch has returned in'
for case in join ended timer closed active; do
	has "fine-left-$case" why '^no findings'
done

# An event that makes itself active again and again, so that no other has a turn, and its healthy likes.
told[starve-hang]='never resolved .*.unread data of socket [0-9]+, starved by the event'
for case in hang works ends alone; do
	soon "starve-$case" "$programs/event_starve" "$case"
done
# A thread takes an event out, and holds a lock for which the event's callback waits.
for call in del free; do
	told[taken-$call]='^deadlock'
	soon "taken-$call" "$programs/event_taken" "$call"
	for scene in fine tries; do
		soon "taken-$call-$scene" "$programs/event_taken" "$call" "$scene"
	done
done
all_same
for call in del free; do
	has "taken-$call" why '^deadlock \(certain\)'
	has "taken-$call" why '\[.*(remove_session|event_taken\+0x).*'
	has "taken-$call" why 'return of (on_packet|event_taken\+0x).*: Waits for .timer (on_packet|event_taken\+0x)'
	for scene in fine tries; do
		has "taken-$call-$scene" why '^no findings'
	done
done

# An edge-triggered event whose callback leaves something unread: libevent's own call isn't to blame.
told[edge]='Waits for .unread data of edge-triggered socket [0-9]+, left by the event (on_upload|event_edge)'
soon edge "$programs/event_edge"
soon edge-fine "$programs/event_edge" fine
# A child that waits for the end of its input, of which the loop waits for the output.
told[child-hang]='\(cat\).*: Waits for .writing end of pipe [0-9]+ in this process'
for case in hang later fine asleep; do
	soon "child-$case" "$programs/event_child" "$case"
done
all_same
has starve-hang why '(thread (ask|event_starve\+0x)|read from socket).*: Waits for .unread data of socket'
for case in works ends alone; do
	has "starve-$case" why '^no findings'
	[[ $case == ends ]] || ! "$THRUM" dump "starve-$case.thrum" | grep 'starved by' ||
		wrong "starve-$case: the event works, or nobody waits"
done

has edge-fine why '^no findings'

# One that does so under a filter that lets nobody ask for the time.
same sandbox "$programs/event_sandbox"

has child-hang why '^deadlock \(certain\): .data of pipe [0-9]+'
has child-hang why 'data of pipe [0-9]+: Waits for .process [0-9]+ \(cat\), started by (start|event_child\+0x)'
for case in later fine asleep; do
	has "child-$case" why '^no findings'
done

# Bytes of which the program isn't told, as they are fewer than the low watermark, and its healthy likes.
for case in hang start alone naps own; do
	told[marks-$case]='never resolved .*.10 bytes of socket [0-9]+, fewer than the low watermark of 100 of'
done
told[marks-own-ticks]='never resolved \(possible\).*.data so far unread of socket [0-9]+, fewer than the low'
for case in hang start alone naps own own-ticks flush limit patience rest known nap own-flush own-rest \
	own-helps; do
	soon "marks-$case" "$programs/event_marks" "$case"
done
all_same
has marks-own-ticks why 'of bufferevent (on_message|event_marks\+0x).*\[.*(want|event_marks\+0x)'
for case in hang start alone naps own; do
	has "marks-$case" why 'of bufferevent (on_message|event_marks\+0x)'
	has "marks-$case" why \
		'(thread (ask|event_marks\+0x)|read from socket| event_marks:).*Waits for .10 bytes of socket'
	has "marks-$case" why '\[.*(want|event_marks\+0x)'
done
for case in flush limit patience rest known nap own-flush own-rest own-helps; do
	"$THRUM" dump "marks-$case.thrum" | grep 'fewer than the low' && wrong "$case: the bytes are taken later"
	has "marks-$case" why '^no findings'
done

# Bytes that a callback left, and its healthy likes.
left='10 bytes of socket [0-9]+, left by bufferevent (on_message|event_marks\+0x)'
told[parts]="(ask|read from socket).*: Waits for .$left"
soon parts "$programs/event_marks" parts
for case in all later helper; do
	soon "parts-$case" "$programs/event_marks" "parts-$case"
done
all_same
has parts why "^never resolved"
for case in all later helper; do
	"$THRUM" dump "parts-$case.thrum" | grep 'left by bufferevent' && wrong "$case: the bytes are taken"
	has "parts-$case" why '^no findings'
done

# A bufferevent that writes no more, or whose callbacks are gone, and its healthy likes.
by='(halt|event_held\+0x)'
declare -A held=()
held[write]="to socket [0-9]+, unsent since bufferevent_disable in $by"
held[call]="of socket [0-9]+, without a callback since bufferevent_setcb in $by"
for fault in write call; do
	for case in hang signal; do
		told[$fault-$case]="^never resolved \(likely\): .1 byte ${held[$fault]}.* never resolves; 2 more hang"
	done
	told[$fault-ticks]="^never resolved \(possible\): .data so far un[a-z]* ${held[$fault]}"
done
for fault in write call; do
	for case in hang ticks signal fine later counts helper; do
		soon "$fault-$case" "$programs/event_held" "$fault" "$case"
	done
done
all_same
all_told
for fault in write call; do
	for case in fine later counts helper; do
		# On a busy machine a turn may take long.
		has "$fault-$case" why '^(no findings|starved \(possible\))'
		"$THRUM" dump "$fault-$case.thrum" | grep -E 'unsent since|without a callback' &&
			wrong "$fault-$case: the program goes on"
	done
done

# Nothing of libevent without its adapter.
"$THRUM" record -o less.thrum --without=event -- "$programs/event" >/dev/null 2>&1
"$THRUM" dump less.thrum | grep -q 'bufferevent' && wrong "--without=event records libevent"

# Programs that people have.
if ! command -v memcached >/dev/null; then
	echo "left out: memcached is missing"
else
	user=()
	[[ $(id -u) != 0 ]] || user=(-u root)
	"$THRUM" record -o memcached.thrum --size=64M -- memcached "${user[@]}" -s "$here/socket" -t 2 \
		>memcached.out 2>&1 &
	pid=$!
	python3 "$SOURCE/tests/adapt/programs/memcached.py" "$here/socket" ||
		wrong "memcached answers otherwise: $(cat memcached.out)"
	kill "$(pgrep -P "$pid" memcached)"
	wait "$pid"
	has memcached dump 'label +event (event_handler|memcached\+0x)'
	has memcached dump 'label +event (thread_libevent_process|memcached\+0x)'
fi

if ! command -v transmission-daemon >/dev/null; then
	echo "left out: transmission-daemon is missing"
else
	mkdir transmission
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >transmission/settings.json <<-END
		{"rpc-bind-address": "127.0.0.1", "rpc-port": $port, "rpc-authentication-required": false,
		"bind-address-ipv4": "127.0.0.1", "bind-address-ipv6": "::1", "dht-enabled": false,
		"lpd-enabled": false, "utp-enabled": false, "port-forwarding-enabled": false,
		"peer-port-random-on-start": true, "download-dir": "$here/transmission"}
	END
	"$THRUM" record -o transmission.thrum --size=64M -- transmission-daemon -f -g transmission \
		>transmission.out 2>&1 &
	pid=$!
	python3 "$SOURCE/tests/adapt/programs/transmission.py" "$port" ||
		wrong "transmission-daemon doesn't answer: $(tail -5 transmission.out)"
	kill "$pid" # thrum passes it on
	wait "$pid"
	status=$?
	((status == 0)) || wrong "transmission-daemon: status $status: $(tail -5 transmission.out)"
	has transmission dump 'label +serve '
	has transmission dump 'label +timer '
	has transmission dump 'create .* thread'
	"$THRUM" why transmission.thrum >why.out 2>&1 || wrong "a healthy transmission-daemon: $(cat why.out)"
fi

if ! command -v tmux >/dev/null; then
	echo "left out: tmux is missing"
else
	# The server is a child that has no terminal.
	TMUX='' "$THRUM" record --follow-children -o tmux.thrum -- \
		tmux -S "$here/tmux" -f /dev/null new-session -d 'sleep 100' >tmux.out 2>&1 ||
		wrong "tmux new-session: $(cat tmux.out)"
	tmux -S "$here/tmux" list-sessions >tmux.out 2>&1 || wrong "tmux list-sessions: $(cat tmux.out)"
	tmux -S "$here/tmux" kill-server >tmux.out 2>&1 || wrong "tmux kill-server: $(cat tmux.out)"
	has tmux dump 'label +(event|signal) (proc_|tmux\+0x)'
fi
exit "$failed"
