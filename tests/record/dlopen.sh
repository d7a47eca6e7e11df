#!/bin/bash
# SPDX-License-Identifier: ISC
# Plugins that record, libthrum itself as a plugin, and libraries that use it only if it is loaded.
set -eu
load=$BUILD/tests/record/programs/load
annotated=$BUILD/tests/record/plugins/annotated.so
weak=$BUILD/tests/record/plugins/weak.so
whole=$BUILD/tests/record/plugins/whole.so
libthrum=$BUILD/src/libthrum.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail()
{
	echo "failed: $*"
	exit 1
}

# Arguments: the libraries to load. The expected output comes from stdin.
record()
{
	rm -f "$folder/recording"
	THRUM_TRACE=$folder/recording THRUM_SIZE=1M "$load" "$@" >"$folder/printed" ||
		fail "load $*"
	diff - "$folder/printed" || fail "printed by load $*"
	[ ! -e "$folder/recording" ] || "$THRUM" dump --format=tsv "$folder/recording" >"$folder/dump"
}

expect()
{
	for text; do
		cut -f3,7 "$folder/dump" | grep -qx "$text" || fail "'$text' is not in the recording"
	done
}

needs_libthrum()
{
	readelf -d "$1" | grep -q 'NEEDED.*libthrum'
}

type readelf >/dev/null || {
	echo skipped: readelf is missing
	exit 77
}
# The weak library depends on nothing, and the program isn't linked with libthrum.
needs_libthrum "$annotated" || fail "the plugin is not linked with libthrum"
! needs_libthrum "$weak" || fail "the weak library is linked with libthrum"
! needs_libthrum "$load" || fail "the program is linked with libthrum"
if nm -D --undefined-only "$weak" | grep thrum | grep -vE ' [wv] '; then
	fail "not weak"
fi

tab=$(printf '\t')
echo 0 | record run "$weak"
[ ! -e "$folder/recording" ] || fail "recorded without libthrum"

echo 1 | record run "$annotated"
expect "tag${tab}plugin/work" "span-begin${tab}plugin/work" "log${tab}run by a plugin" \
	"label${tab}the plugin's task" "counter${tab}plugin/runs" "resume${tab}plugin/work"

# The plugin and its descriptors are unloaded and loaded again while the recording goes on.
printf '1\n1\n1\n' | record run "$annotated" close thread "$annotated" close run "$annotated" close
expect "tag${tab}plugin/work" "suspend${tab}plugin/work"
[ "$(grep -c "run by a plugin" "$folder/dump")" = 3 ] || fail "not three runs"

# libthrum's thread-local variable needs room in the static TLS block, which a program that is not
# linked with it has not reserved.
printf '1\n1\n' | record global "$libthrum" run "$weak" thread "$weak"
expect "tag${tab}weak/work" "log${tab}weakly said" "label${tab}weak task 1" "counter${tab}weak/runs" \
	"link-send${tab}6b6579" "fail${tab}reason" "suspend${tab}wait for work"
[ "$(grep -c "weakly said" "$folder/dump")" = 2 ] || fail "not two runs"

# A plugin with the static library inside can be unloaded, also while threads that used it live.
! needs_libthrum "$whole" || fail "the plugin with its own libthrum needs another one"
printf '1\n1\n1\n' | record linger "$whole" close linger "$whole" close run "$whole" close
expect "tag${tab}plugin/work"

# The plugin's libthrum is not loaded globally, so the weak library doesn't see it.
printf '1\n0\n' | record run "$annotated" run "$weak"
