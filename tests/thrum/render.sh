#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Pictures: well-formed, the same each time, as the options say, complete or not there.
set -u
here=$(mktemp -d)
trap 'chmod -R u+w "$here"; rm -rf "$here"' EXIT
cd "$here" || exit 1
mirage=$SOURCE/tests/read/data/mirage
cp "$mirage/labels.ctf" "$mirage/ops.ctf" .
"$BUILD/tests/thrum/programs/every" every.thrum || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

# draws ARGUMENT...: works and says nothing.
draws() {
	"$THRUM" render "$@" >out 2>err </dev/null || wrong "thrum render $*: status $?: $(cat err)"
	[[ ! -s out && ! -s err ]] || wrong "thrum render $*: says something: $(cat out err)"
}

# refuses STATUS PATTERN ARGUMENT...: the status, and a message that matches.
refuses() {
	local status=$1 pattern=$2 got
	shift 2
	"$THRUM" render "$@" >out 2>err </dev/null
	got=$?
	[[ $got -eq $status ]] || wrong "thrum render $*: status $got instead of $status"
	[[ ! -s out ]] || wrong "thrum render $*: prints something"
	[[ $(head -n 1 err) == 'thrum: '* && $(cat err) =~ $pattern ]] ||
		wrong "thrum render $*: says \"$(cat err)\", not $pattern"
}

# holds FILE TEXT...: the picture is good XML of known elements, and has the texts.
holds() {
	local file=$1 text
	shift
	python3 - "$file" <<'END' || wrong "$file is no good SVG"
import sys, xml.etree.ElementTree
known = {"svg", "title", "style", "rect", "path", "g", "circle", "text"}
for element in xml.etree.ElementTree.parse(sys.argv[1]).iter():
	assert element.tag in {"{http://www.w3.org/2000/svg}" + name for name in known}, element.tag
	assert not any(name.startswith("on") or "href" in name for name in element.attrib)
END
	for text; do
		grep -qF -e "$text" "$file" || wrong "$file has no $text"
	done
}

lacks() {
	! grep -qF -e "$2" "$1" || wrong "$1 has $2"
}

# SVG
draws every.thrum -o every.svg
holds every.svg '<title>every.thrum</title>' 'width="1600"' '<path fill="#0b62b8"' '<text '
draws every.thrum -o again.svg
cmp -s every.svg again.svg || wrong "the same trace gives another picture"
"$THRUM" render every.thrum -o - 2>err | cmp -s - every.svg || wrong "-o - gives another picture"
"$THRUM" render - -o - <every.thrum 2>err | sed 's,<title>-<,<title>every.thrum<,' |
	cmp -s - every.svg || wrong "standard input gives another picture"
draws every.thrum -o sized.svg --width=800 --height=600
holds sized.svg 'width="800" height="600"'
for theme in light:ffffff dark:14171b contrast:000000; do
	draws every.thrum -o theme.svg --theme="${theme%:*}"
	holds theme.svg "height=\"100%\" fill=\"#${theme#*:}\"/>"
done
draws labels.ctf -o legend.svg --legend
holds legend.svg 'is read by'
for projection in auto linear folded fisheye; do
	draws every.thrum -o projection.svg --projection=$projection
	holds projection.svg
done
draws every.thrum -o strip.svg --strip --start=1us --duration=10us
holds strip.svg
draws every.thrum -o state.svg --view='t=0..1000&theme=1'
holds state.svg 'fill="#14171b"'

# Marks
task=$("$THRUM" tasks --format=tsv every.thrum 2>err | awk -F '\t' '$3 == "request" { print $1; exit }')
draws every.thrum -o plain.svg
draws every.thrum -o selected.svg --tasks="$task"
! cmp -s plain.svg selected.svg || wrong "a selected task looks like any other"

# Bands
draws every.thrum -o closed.svg --as=bands
draws every.thrum -o opened.svg --open=every
holds opened.svg
! cmp -s closed.svg opened.svg || wrong "an opened thread looks like a closed one"
draws every.thrum -o story.svg --story="$task"
holds story.svg 'here'
draws every.thrum -o range.svg --range=1us..20us
! cmp -s closed.svg range.svg || wrong "a range is not seen"
draws every.thrum -o overridden.svg --view='as=rows&range=0..1' --range=1us..20us
cmp -s overridden.svg range.svg || wrong "--range doesn't override --view"
draws every.thrum -o pair.svg --pair=every.thrum --strip
holds pair.svg 'each kind twice on one scale: above every, below every'
[[ $(grep -c '^<svg x=' pair.svg) -eq 1 ]] || wrong "a pair is not one picture"
refuses 64 'pair compares one trace with another' every.thrum every.thrum -o x.svg --pair=every.thrum
refuses 2 'nothing.thrum' every.thrum -o x.svg --pair=nothing.thrum
refuses 2 'no band is called "nothing"' every.thrum -o x.svg --open=nothing
refuses 2 'no task has the id 987654321' every.thrum -o x.svg --story=987654321
refuses 64 'story needs a number, not "x"' every.thrum -o x.svg --story=1,x
refuses 64 'at most three' every.thrum -o x.svg --story=1,2,3,4
refuses 64 'range needs two times' every.thrum -o x.svg --range=1
refuses 64 'ends before it begins' every.thrum -o x.svg --range=20us..1us
refuses 64 'too long a name' every.thrum -o x.svg --open="$(printf 'x%.0s' {1..64})"

# Several
draws labels.ctf ops.ctf -o two.svg --width=900 --height=500
holds two.svg 'width="900" height="500"' '>labels.ctf</text>' '>ops.ctf</text>' \
	'<title>labels.ctf and 1 more</title>'
[[ $(grep -c '^<svg x=' two.svg) -eq 4 ]] || wrong "two traces are not two pictures with heads"

# PNG and PDF
if "$THRUM" render every.thrum -o every.png 2>err; then
	draws every.thrum -o every.png --width=400 --height=300 --scale=2
	python3 - every.png <<'END' || wrong "every.png is no PNG of 800 x 600 pixels"
import struct, sys
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (800, 600)
END
	draws every.thrum -o every.pdf
	[[ $(head -c 5 every.pdf) == %PDF- ]] || wrong "every.pdf is no PDF"
	draws every.thrum -o other --format=png
	cmp -s <(head -c 8 other) <(head -c 8 every.png) || wrong "--format=png gives no PNG"
	refuses 2 'too large' every.thrum -o huge.png --width=32000 --height=32000
	# The library with cairo lies beside the command, and is loaded when it is needed.
	mkdir -p alone/src
	cp "$THRUM" alone/thrum
	whole=$THRUM THRUM=$here/alone/thrum
	refuses 2 'without cairo' every.thrum -o alone.png
	draws every.thrum -o alone.svg
	cmp -s alone.svg every.svg || wrong "without cairo an SVG is another picture"
	echo damaged >alone/src/libthrum-cairo.so
	refuses 2 'PNG and PDF need cairo' every.thrum -o alone.png
	[[ ! -e alone.png ]] || wrong "a picture is there that could not be drawn"
	cp "${whole%/*}/src/libthrum-cairo.so" alone/src
	draws every.thrum -o alone.png --width=400 --height=300 --scale=2
	cmp -s alone.png every.png || wrong "a library elsewhere draws another picture"
	THRUM=$whole
else
	refuses 2 'without cairo' every.thrum -o every.png
	echo "without cairo: PNG and PDF are not looked at"
fi

# Mistakes
refuses 64 '-o FILE' every.thrum
refuses 64 'render needs' -o x.svg
refuses 64 '\.svg, \.png or \.pdf' every.thrum -o every.gif
refuses 64 'width' every.thrum -o x.svg --width=10
refuses 64 'height' every.thrum -o x.svg --height=40
refuses 64 'height' every.thrum -o x.svg --height=9999999
refuses 64 'scale' every.thrum -o x.png --scale=0
refuses 64 'theme needs light, dark or contrast' every.thrum -o x.svg --theme=blue
refuses 64 'view' every.thrum -o x.svg --view=nonsense=1
refuses 2 'missing: .*[Nn]o such file' missing -o x.svg
refuses 2 'missing: .*[Nn]o such file' every.thrum missing -o x.svg
refuses 2 'no task has the id 987654321' every.thrum -o x.svg --tasks=987654321
refuses 2 'no counter is called "nothing"' every.thrum -o x.svg --counters=nothing
refuses 2 'every.thrum: no task is labelled "nothing"' every.thrum -o x.svg --align=nothing
refuses 2 'every.thrum: it ends after .* s, before that time' every.thrum -o x.svg --start=1000000s
draws every.thrum -o far.svg --start=-9000000000s --duration=9000000000s
holds far.svg
refuses 2 'every.thrum: a trace is in the way' labels.ctf -f svg -o every.thrum
ln -s elsewhere.svg link.svg
refuses 2 'link.svg: a symbolic link' every.thrum -o link.svg
mkdir folder.svg
refuses 2 'folder.svg: Is a directory' every.thrum -o folder.svg
refuses 2 'nowhere/x.svg: No such file' every.thrum -o nowhere/x.svg
[[ ! -e x.svg && ! -e elsewhere.svg ]] || wrong "a failure left a picture"
"$THRUM" render every.thrum -o - >/dev/full 2>err
[[ $? -eq 2 ]] || wrong "a full disk is not told"
grep -q 'standard output: No space' err || wrong "a full disk: $(cat err)"
"$THRUM" render every.thrum -o every.svg --highlight='no such name' 2>err || wrong "--highlight fails"
grep -q 'no task is called "no such name"' err || wrong "a vain --highlight is not told"
# A failure leaves no file, and older files stay.
! compgen -G '*.??????' | grep -q -v -e '\.thrum$' || wrong "temporary files stay: $(ls)"

# Traces of mirage-profile: late.ctf is early.ctf with another beginning; hostile.ctf has labels of
# strangers.
python3 - <<'END'
import struct
def event(time, op, body):
	return struct.pack("<QB", time, op) + body
def write(name, events):
	size = 30 + len(events)
	header = struct.pack("<I", 0xc1fc1fc1) + bytes.fromhex("05883b8d521a487bb397456ab150680c")
	with open(name, "wb") as file:
		file.write(header + struct.pack("<IHI", 8 * size, 0, 8 * size) + events)
def begin(time, task, label):
	return event(time, 0, struct.pack("<qqB", 0, task, 15)) + event(time, 5,
		struct.pack("<q", task) + label + b"\0")
for name, time in ("early.ctf", 1_000_000), ("late.ctf", 5_000_000):
	write(name, begin(0, 1, b"first") + begin(time, 2, b"go") + event(9_000_000, 2,
		struct.pack("<qq", 0, 2)))
write("tall.ctf", b"".join(begin(1000 * i, i, b"many") for i in range(1, 60)) +
	b"".join(event(900_000, 2, struct.pack("<qq", 0, i)) for i in range(1, 60)) +
	begin(2_000_000, 99, b"alone") + event(3_000_000, 2, struct.pack("<qq", 0, 99)))
labels = [b"<script>alert(1)</script>", b"</text></svg>&lol;]]>", "\u202egnp.exe\u2066".encode(),
	b"\xff\xfe\xc3(", b"\x1b[31m\x01\x7f", b"x" * 100_000, b"\" onload=\"alert(1)"]
write("hostile.ctf",
	b"".join(begin(1000 * i, i, label) for i, label in enumerate(labels, 1)) +
	b"".join(event(90000 + i, 3, struct.pack("<qq", 0, i) + label + b"\0")
		for i, label in enumerate(labels, 1)))
END

# Whether the task "go" begins at one place in both parts.
places() {
	sed -n 's/^<text x="\([0-9.]*\)".*>go<.*/\1/p' both.svg | uniq | wc -l
}
draws early.ctf late.ctf -o both.svg
[[ $(places) -eq 2 ]] || wrong "two traces are not aligned at their starts"
draws early.ctf late.ctf -o both.svg --align=go
[[ $(places) -eq 1 ]] || wrong "--align doesn't align"
draws early.ctf late.ctf -o both.svg --align=go --start=-1ms --duration=2ms
[[ $(places) -eq 1 ]] || wrong "--align with --start doesn't align"
draws every.thrum labels.ctf -o long.svg
draws every.thrum labels.ctf -o view.svg --view=theme=0
cmp -s long.svg view.svg || wrong "--view without a time gives several traces several scales"


# A trace that is over before the others shows that it has nothing there.
draws early.ctf tall.ctf -o over.svg --start=4ms
[[ $(grep -c '>No tasks between' over.svg) -eq 1 ]] || wrong "a trace that is over doesn't say so"
holds over.svg 'The trace ends at 3.0'
refuses 2 'ctf: the trace ends before --start' early.ctf late.ctf -o x.svg --start=1000s

# A viewer's link: keys with a number are of that trace, link=0 gives each trace its own time.
draws early.ctf late.ctf -o first.svg --view='sel=1&2.sel=2'
draws early.ctf late.ctf -o second.svg --view='sel=1&2.sel=1'
! cmp -s first.svg second.svg || wrong "--view doesn't know the second trace's keys"
refuses 64 'there is no such trace' early.ctf late.ctf -o x.svg --view='3.sel=1'
draws early.ctf every.thrum -o both.svg --view=link=0
[[ $(grep -c '>ends ' both.svg) -eq 2 ]] || wrong "--view=link=0 doesn't show each trace's end"

# Several traces share a given height as their tracks need it.
draws tall.ctf early.ctf -o shared.svg --height=600
second=$(sed -n 's/^<svg x="0" y="\([0-9]*\)" .*/\1/p' shared.svg | sed -n 3p)
[[ $second -gt 350 ]] || wrong "the second of two traces begins at $second of 600 pixels"

# Where little is in the window, the picture is lower than all rows would need.
draws tall.ctf -o tall.svg
holds tall.svg 'height="900"'
draws tall.ctf -o low.svg --start=1500us
holds low.svg 'height="150"' '>alone<'

for theme in light dark; do
	"$THRUM" render hostile.ctf -o hostile.svg --theme=$theme 2>err || wrong "hostile: $(cat err)"
	holds hostile.svg '&lt;script&gt;alert(1)'
	lacks hostile.svg '<script'
	lacks hostile.svg $'\u202e'
	[[ $(wc -c <hostile.svg) -lt 50000 ]] || wrong "a long label makes a long picture"
done
exit $failed
