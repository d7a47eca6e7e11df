#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# What is wrong is named, with the file and the place; the status says whose mistake it is.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
mirage=$SOURCE/tests/read/data/mirage
failed=0

# refuses STATUS PATTERN ARGUMENT...: the status, nothing but a message, which matches.
refuses() {
	local status=$1 pattern=$2 got
	shift 2
	"$THRUM" "$@" >out 2>err </dev/null
	got=$?
	[[ $got -eq $status ]] || {
		echo "thrum $*: status $got instead of $status"
		failed=1
	}
	[[ ! -s out ]] || {
		echo "thrum $*: prints something on standard output"
		failed=1
	}
	[[ $(head -n 1 err) == 'thrum: '* && $(cat err) =~ $pattern ]] || {
		echo "thrum $*: says \"$(cat err)\", not $pattern"
		failed=1
	}
}

mkdir folder
: >empty
echo 'Dear diary,' >text
head -c 29 "$mirage/ops.ctf" >short.ctf
"$BUILD/tests/thrum/programs/every" every.thrum || exit 1
for size in 1 8 63 64; do
	head -c $size every.thrum >"short-$size.thrum"
done
for command in dump info tasks stats; do
	refuses 2 '^thrum: missing: .*[Nn]o such file' $command missing
	refuses 2 '^thrum: folder: .*(folder|directory)' $command folder
	refuses 2 '^thrum: empty: .*empty' $command empty
	refuses 2 '^thrum: text: .*neither' $command text
	refuses 2 '^thrum: short\.ctf: .' $command short.ctf
	for size in 1 8 63 64; do
		refuses 2 "^thrum: short-$size\.thrum: ." $command "short-$size.thrum"
	done
	refuses 2 '^thrum: .*2147483647' $command 2147483647
	refuses 2 '^thrum: .*process 1\b|^thrum: .*\b1\b' $command 1
	refuses 2 '^thrum: standard input: .*empty' $command -
	refuses 64 'TRACE' $command
	refuses 64 'only|no message goes' $command every.thrum every.thrum
	refuses 64 'no option --formal; did you mean --format' $command --formal x
	refuses 64 'no option -z' $command -z x
	refuses 64 'text, tsv or json, not "xml"' $command --format=xml x
	refuses 64 'needs a value' $command --format
done
refuses 2 '^thrum: missing: .*[Nn]o such file' view missing
refuses 2 '^thrum: text: ' snapshot text
refuses 2 '^thrum: missing: ' snapshot missing -o copy
refuses 2 '^thrum: a[?]\[31mred: ' snapshot $'a\e[31mred' -o copy
# A name adds no line, and no tab; a message's own lines stay.
refuses 2 '^thrum: a[?]b[?]c: ' snapshot $'a\nb\tc' -o copy
refuses 2 '^thrum: a[?]thrum: fine: ' info $'a\nthrum: fine'
refuses 64 $'another;\n--together takes' why every.thrum every.thrum
[[ ! -e copy ]] || { echo "a failed snapshot leaves a file"; failed=1; }
refuses 2 '^thrum: text: .*not a recording is in the way' snapshot every.thrum -o text
ln -s elsewhere link
refuses 2 '^thrum: link: .*symbolic link' snapshot every.thrum -o link
refuses 2 '^thrum: nowhere/x: ' snapshot every.thrum -o nowhere/x
refuses 2 '^thrum: .*[Nn]o space' snapshot every.thrum -o /dev/full
refuses 2 '^thrum: text: ' convert text ctf
refuses 2 '^thrum: .*ops\.ctf: ' convert "$mirage/ops.ctf" ctf
refuses 2 'folder|ctf' convert every.thrum text
refuses 64 'TRACE' convert every.thrum
refuses 64 'no command dmup; did you mean dump\?' dmup every.thrum
refuses 64 'no command every.thrum; .*thrum dump every.thrum' every.thrum
refuses 64 'no command nonsense' help nonsense

# Values.
refuses 64 'a time such as' dump --start=soon every.thrum
refuses 64 'a time such as' dump --end=12parsecs every.thrum
refuses 64 'a time such as' dump --end=99999999999999999999 every.thrum
refuses 64 'a number' dump --task=main every.thrum
refuses 64 'a number' dump --task=1,,2 every.thrum
refuses 64 'create, label, ' dump --event=creat every.thrum
refuses 64 'a number' stats --top=many every.thrum
refuses 64 'a number' stats --top=-1 every.thrum
refuses 64 'pending, resolved, .* or stuck' tasks --state=dead every.thrum
refuses 64 'needs --sort' tasks --reverse every.thrum
refuses 64 'not both' stats --by=run --histogram=x every.thrum
refuses 2 'no task has a label that matches "nothing"' stats --histogram=nothing every.thrum
refuses 64 'takes no value' dump --clock=yes every.thrum
for command in dump tasks why; do
	refuses 64 'comes before' $command --start=2s --end=1s every.thrum
	refuses 64 'not both' $command --duration=1s --end=1s every.thrum
	refuses 64 'negative' $command --duration=-1s every.thrum
done
refuses 64 '--slow takes no --start' why --slow=x --start=1s every.thrum
refuses 64 'a size such as' record --size=big true
refuses 64 'between' record --size=100K true
refuses 64 'between' record --size=65G true
refuses 64 'overwrite or discard' record --full=maybe true
refuses 64 'PROGRAM' record

# thrum shows the rest of a trace that was cut off, with a warning.
"$BUILD/tests/thrum/programs/every" long.thrum wrap || exit 1
for size in 1000 5000 200000; do
	head -c $size long.thrum >cut.thrum
	"$THRUM" dump cut.thrum >out 2>err
	[[ $? -eq 0 && $(cat err) =~ ^thrum:\ cut\.thrum:\ .*damaged && \
		$(cat out) =~ truncated ]] || {
		echo "cut off after $size bytes: $(cat err)"
		failed=1
	}
done

# Nobody may read it; that isn't so for root.
chmod 0 text
if [[ $(id -u) -ne 0 ]]; then
	refuses 2 'text: .*[Pp]ermission denied' dump text
elif command -v setpriv >/dev/null; then
	chmod 755 .
	setpriv --reuid=65534 --clear-groups "$THRUM" dump "$here/text" >out 2>err
	[[ $? -eq 2 && $(cat err) =~ text:\ .*[Pp]ermission\ denied ]] || {
		echo "permission denied: $(cat err)"
		failed=1
	}
fi

# Output that can't be written is told; a reader who had enough is not.
for arguments in "dump every.thrum" "dump --format=tsv every.thrum" "info every.thrum" "tasks every.thrum" \
	"stats every.thrum" --help \
	--version "dump --help" "help --table" "snapshot -o - every.thrum"; do
	# shellcheck disable=SC2086
	"$THRUM" $arguments >/dev/full 2>err
	[[ $? -eq 2 && $(cat err) =~ [Nn]o\ space\ left ]] || {
		echo "thrum $arguments >/dev/full: $(cat err)"
		failed=1
	}
done
"$THRUM" dump long.thrum 2>err | head -n 1 >/dev/null
[[ ${PIPESTATUS[0]} -eq 0 && ! -s err ]] || {
	echo "thrum dump | head: $(cat err)"
	failed=1
}
# Passwords of addresses aren't shown. To thrum, this is a file.
mkdir -p other:
cp every.thrum "other:/me:secret@every.thrum"
for command in dump stats "diff every.thrum"; do
	# shellcheck disable=SC2086
	"$THRUM" $command "other://me:secret@every.thrum" >out 2>&1
	if grep -q secret out || ! grep -q every.thrum out; then
		echo "thrum $command: a password: $(head -n 2 out)"
		failed=1
	fi
done
exit $failed
