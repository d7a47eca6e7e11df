#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# GLib and GIO in programs that know nothing of thrum.
# shellcheck disable=SC1091,SC2154,SC2004,SC2034
set -u
. "$(dirname "$0")/adapt.bash"
[[ -x $programs/glib ]] || {
	echo "skipped: GLib is missing"
	exit 77
}
# Not the user's own bus and settings.
unset DBUS_SESSION_BUS_ADDRESS
export HOME=$here XDG_RUNTIME_DIR=$here GIO_USE_VFS=local

# name FUNCTION: how a label names it.
name() {
	echo "($1|glib\\+0x[0-9a-f]+)"
}

same glib "$programs/glib"
# GLib, loaded for a module alone.
same local "$programs/local" "$programs/local_module.so"
has local dump 'label +load /no/such/file'
has local dump 'label +timeout (local_tick|local_module)'

for label in "idle $(name outer)" 'the inner one' "timeout $(name tick)" 'a source with a name' \
	"idle $(name once)" "watch $(name readable)" "watch $(name channel_readable)" \
	"signal $(name signalled)" own 'GTask' "GTask $(name double_it)" 'a task with a name' \
	'load /no/such/file' 'spawn sh' 'wait for a process' 'communicate with a process'; do
	has glib dump "label +$label"
done
has glib dump "timeout.* due +in 1 ms"
has glib dump "timeout $(name tick) +switch"
has glib dump 'the inner one +switch'
has glib dump 'own +switch'
has glib dump 'double_it +resolve +#[0-9]+ double_it'
has glib dump 'read +#[0-9]+ double_it'
has glib dump 'cancel +#[0-9]+ a task with a name'
has glib dump 'tag +g_cancellable_cancel'
has glib dump 'resolve +#[0-9]+ an unheard task'
has glib dump 'fail +#[0-9]+ GTask .*: it is busy, 7'
has glib dump 'fail +#[0-9]+ load /no/such/file: Error opening file'
has glib dump 'resolve +#[0-9]+ load /proc/self/comm'
has glib dump 'resolve +#[0-9]+ spawn sh'
has glib dump "ready +#[0-9]+ idle $(name outer)"
has glib dump 'suspend +wait for work'
has glib dump 'wait .*condition .*in show_conditions'
has glib dump 'answer +signal +#[0-9]+ condition .*, waiting: 1'
has glib dump 'resolve +#[0-9]+ condition '
"$THRUM" why glib.thrum >why.out 2>&1 || wrong "a healthy program: $(cat why.out)"

blocked='(unread data|data so far unread) of socket [0-9]+, blocked within the callback (on_letter|glib_inner\+0x)'
pushed='pop of the main context that was pushed by (probe|begin|main|glib_context\+0x)[^:]*. never resolves'
told[glib_hang]='settle_account.* never resolves'
told[glib_inner]="^never resolved \(possible\): .$blocked"
told[glib_copy]=${told[glib_inner]}
told[glib_turns]="Waits for .$blocked"
told[glib_alone]='^deadlock'
for case in left main before; do
	told[glib_$case]=$pushed
done
told[glib_default]='^never resolved \(possible\): .own. never resolves'
told[glib_asked]='^deadlock'
soon glib_hang "$programs/glib_hang"
soon glib_inner "$programs/glib_inner"
for case in turns alone timed recurses copy iterates; do
	soon "glib_$case" "$programs/glib_inner" "$case"
done
soon glib_left "$programs/glib_context"
for case in main before default fine later between own served; do
	soon "glib_$case" "$programs/glib_context" "$case"
done
soon glib_asked "$programs/glib_asked"
soon glib_answered "$programs/glib_asked" fine
soon glib_idle "$programs/glib_idle"
all_same
has glib_iterates dump 'wait +#[0-9]+ eventfd [0-9]+ +in (iterate|glib_inner\+0x)'
has glib_iterates why '^no findings'
all_told
has glib_hang why 'settle_account'

# A loop within a callback.
has glib_inner why 'Waits for .data so far unread of .*which waits for the loop of (ask_again|glib_inner\+0x)'
has glib_turns why 'which waits for the loop of (take_turns|on_letter|glib_inner\+0x)'
has glib_alone why "$blocked"
for case in timed recurses; do
	"$THRUM" why "glib_$case.thrum" >why.out 2>&1 || wrong "a loop within a callback, $case: $(cat why.out)"
done

# A context that a callback, or main, has pushed and doesn't pop.
has glib_before why '(idle|source) (finish|glib_context\+0x)[^:]*: Waits for .pop of'
has glib_default why 'timeout (finish|glib_context\+0x)[^:]*: Waits for .run of the default main context'
for case in fine later between own served; do
	"$THRUM" why "glib_$case.thrum" >why.out 2>&1 || wrong "contexts, $case: $(cat why.out)"
done
has glib_later dump 'resolve .*pop of the main context'
has glib_served dump 'resolve .*run of the default main'

# The loop joins a thread that asks the loop.
has glib_asked why 'Waits for .asker.; .*end_asker'
has glib_asked why '(idle|source) (answer|glib_asked\+0x)[^:]*: Needs the thread'
"$THRUM" why glib_answered.thrum >why.out 2>&1 || wrong "a loop that is asked: $(cat why.out)"

# An idle pool, and a GTask that is open at the end, are no findings.
"$THRUM" why glib_idle.thrum >why.out 2>&1 || wrong "an idle program: $(cat why.out)"
has glib_idle dump 'suspend +blocked'

# Nothing of GLib without its adapter.
"$THRUM" record -o less.thrum --without=glib -- "$programs/glib" >/dev/null 2>&1
"$THRUM" dump less.thrum | grep -q 'timeout' && wrong "--without=glib records GLib"

# Programs that people have.
is_there() {
	command -v "$1" >/dev/null && return
	echo "left out: $1 is missing"
	return 1
}

is_there gio && {
	echo content >from
	same gio gio copy from to
	cmp -s from to || wrong "gio copy copied something else"
	has gio dump "label +copy .*/from"
}

is_there dbus-run-session && {
	bus=(dbus-run-session --)
	"${bus[@]}" "$THRUM" record -o calls.thrum -- "$programs/glib" bus >out 2>&1 ||
		wrong "a program with a bus: $(cat out)"
	grep -q 'an id: yes' out || wrong "no answer over the bus: $(cat out)"
	has calls dump 'resolve +#[0-9]+ call GetId of'
	has calls dump 'fail +#[0-9]+ call NoSuchMethod of .*: '
	has calls dump 'wait +#[0-9]+ call ListNames of'
	has calls dump 'read +#[0-9]+ call ListNames of'
	# A program that calls itself.
	for case in self name thread busy apart; do
		"${bus[@]}" "$THRUM" record -o "own-$case.thrum" -- "$programs/glib_dbus" "$case" >/dev/null 2>&1 &
	done
	wait
	for case in self name; do
		has "own-$case" why '^deadlock \((certain|likely)\)'
		has "own-$case" why "timeout $(name on_time)[^:]*: Waits for .call Count"
		has "own-$case" why 'call Count[^:]*: Waits for .handling of the own call Count'
	done
	# The loop may yet answer.
	"$THRUM" why own-busy.thrum 2>&1 | grep -q '^deadlock' && wrong 'a busy loop is taken for a deadlock'
	has own-busy dump 'label +call Count'
	for case in thread apart; do
		has "own-$case" dump 'resolve +#[0-9]+ call Count'
		has "own-$case" why '^no findings'
	done
	is_there gdbus && {
		call=(gdbus call --session --dest org.freedesktop.DBus
			--object-path /org/freedesktop/DBus --method org.freedesktop.DBus.NameHasOwner
			org.freedesktop.DBus)
		"${bus[@]}" "${call[@]}" >plain.out 2>/dev/null
		"${bus[@]}" "$THRUM" record -o gdbus.thrum -- "${call[@]}" >thrum.out 2>thrum.err
		cmp -s plain.out thrum.out || wrong "gdbus: $(diff plain.out thrum.out)"
		has gdbus dump 'label +call NameHasOwner of'
		has gdbus dump 'read +#[0-9]+ call NameHasOwner of'
	}
}
exit "$failed"
