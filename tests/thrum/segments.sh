#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# `thrum record --segment`: files that stand alone; --keep and --compress.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

record() {
	timeout 300 "$THRUM" record --no-preload --segment=1M "$@" >requests 2>err
}

# ---- All of them -----------------------------------------------------------------------------

record -o all.thrum -- "$BUILD/tests/thrum/programs/epochs" all 4 || wrong "record: $(cat err)"
[[ -f all.0005.thrum && ! -f all.0006.thrum && ! -f all.thrum ]] || wrong "files: $(ls)"
ls ./*.part 2>/dev/null && wrong 'a part is left'
grep -q 'recorded 5 files; kept are all.0001.thrum to all.0005.thrum' err || wrong "$(cat err)"
grep -q overwritten err && wrong "$(cat err)"

# Each has each task that began files ago, with its label, and who waits for it.
for file in all.000?.thrum; do
	"$THRUM" dump --format=tsv "$file" >dumped 2>err || wrong "$file: $(cat err)"
	[[ ! -s err ]] || wrong "$file: $(cat err)"
	grep -q $'\tlabel\t.*\tbegan long ago\t$' dumped || wrong "$file has lost the old task's label"
	grep -q $'\tlabel\t.*\twaiter\t$' dumped || wrong "$file has lost the waiter's label"
	grep -q $'\twait\t' dumped || wrong "$file has lost the wait"
	cut -f 3- dumped | grep $'\tcreate\t\|^create\t' >>created
	[[ $("$THRUM" info --format=tsv "$file" | awk '$1 == "lost" { print $2 }') -eq 0 ]] ||
		wrong "$file: something is lost"
done
"$THRUM" tasks --format=tsv --label='began long ago' all.0005.thrum >listed 2>err
grep -q resolved listed || wrong "the last file doesn't tell the old task's end: $(cat listed err)"
"$THRUM" tasks --format=tsv --label='began long ago' all.0003.thrum >listed 2>err
grep -q pending listed || wrong "in the middle the old task isn't pending: $(cat listed err)"

# No request is missing.
for file in all.000?.thrum; do
	"$THRUM" tasks --format=tsv --label=request "$file" 2>/dev/null | cut -f 1
done | grep '^[0-9]' | sort -u | wc -l >seen
[[ $(cat seen) -eq $(cat requests) ]] || wrong "$(cat seen) of $(cat requests) requests are there"

# ---- The newest ones -------------------------------------------------------------------------

record -o few.thrum --keep=2 -- "$BUILD/tests/thrum/programs/epochs" few 4 || wrong "$(cat err)"
[[ $(echo few.*) == 'few.0004.thrum few.0005.thrum' ]] || wrong "files: $(echo few.*)"
# The next recording goes on behind them.
record -o few.thrum --keep=2 -- true 2>/dev/null
record -o few.thrum --keep=2 -- "$BUILD/tests/thrum/programs/epochs" few 0 || wrong "$(cat err)"
[[ $(echo few.*) == 'few.0005.thrum few.0006.thrum' ]] || wrong "files: $(echo few.*)"

# ---- Compressed ------------------------------------------------------------------------------

if "$THRUM" record --compress -o none.thrum -- true 2>&1 | grep -q 'without libzstd'; then
	echo 'skipped: files that are compressed, as thrum was built without libzstd'
	exit $failed
fi
record -o small.thrum --compress -- "$BUILD/tests/thrum/programs/epochs" small 2 ||
	wrong "$(cat err)"
[[ $(echo small.*) == 'small.0001.thrum.zst small.0002.thrum.zst small.0003.thrum.zst' ]] ||
	wrong "files: $(echo small.*)"
"$THRUM" dump --format=tsv small.0002.thrum.zst >one 2>err || wrong "$(cat err)"
"$THRUM" dump --format=tsv - <small.0002.thrum.zst >two 2>err || wrong "$(cat err)"
# shellcheck disable=SC2002
cat small.0002.thrum.zst | "$THRUM" dump --format=tsv - >three 2>err || wrong "$(cat err)"
grep -q 'began long ago' one || wrong 'the compressed file has lost the label'
cmp -s one two || wrong 'it reads otherwise from standard input'
cmp -s one three || wrong 'it reads otherwise from a pipe'
"$THRUM" record --no-preload --compress -o whole.thrum -- \
	"$BUILD/tests/thrum/programs/epochs" x 0 >requests 2>err || wrong "$(cat err)"
[[ $(echo whole.*) == whole.thrum.zst ]] || wrong "files: $(echo whole.*)"
grep -q 'in whole.thrum.zst' err || wrong "$(cat err)"
"$THRUM" tasks whole.thrum.zst 2>err | grep -q waiter || wrong "$(cat err)"
"$THRUM" snapshot whole.thrum.zst -o plain.thrum 2>err || wrong "$(cat err)"
"$THRUM" html whole.thrum.zst -o page.html 2>err || wrong "$(cat err)"

# A part of it reads as a part of a recording.
head -c $(($(stat -c %s small.0002.thrum.zst) / 2)) small.0002.thrum.zst >half.zst
"$THRUM" dump --format=tsv half.zst >half 2>err || wrong "half: $(cat err)"
grep -q truncated half || wrong 'nothing tells that the half is truncated'
head -c 100 small.0002.thrum.zst >tiny.zst
"$THRUM" dump tiny.zst >out 2>err && wrong 'a hundred bytes are read as a recording'
grep -q tiny.zst err || wrong "$(cat err)"
# Zeros without end, and text that repeats.
if command -v zstd >/dev/null; then
	head -c 300M /dev/zero | tr '\0' x | zstd -q >bomb.zst
	"$THRUM" dump bomb.zst >out 2>err && wrong 'a bomb is read as a recording'
	grep -q 'a thousandfold' err || wrong "bomb: $(cat err)"
fi

# ---- Wrong usage -----------------------------------------------------------------------------

for bad in '--keep=2' '--segment=1K' '--segment=1M --full=discard' '--segment=1M --counters-only'; do
	# shellcheck disable=SC2086
	"$THRUM" record $bad -- true 2>err
	[[ $? -eq 64 ]] || wrong "$bad: $(cat err)"
done
exit $failed
