#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# What `thrum html` writes: the page with the very bytes of the traces, and nothing of them as markup.
# (What the page does is for tests/web.)
set -u
mirage=$SOURCE/tests/read/data/mirage
here=$(mktemp -d)
trap 'rm -rf "$here"; [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null' EXIT
cd "$here" || exit 1
failed=0

wrong() {
	echo "$*"
	failed=1
}

if ! "$THRUM" html --viewer -o viewer.html 2>errors; then
	grep -q 'built without' errors || wrong "html --viewer: $(cat errors)"
	[[ $failed == 0 ]] && echo "skipped: this thrum was built without its page" && exit 77
	exit 1
fi

# refused STATUS TEXT ARGUMENT...: thrum html fails so, says so, and leaves no file behind.
refused() {
	local expected=$1 text=$2 status=0
	shift 2
	"$THRUM" html "$@" >output 2>errors || status=$?
	[[ $status == "$expected" ]] || wrong "html $*: status $status, not $expected"
	grep -qF -e "$text" errors || wrong "html $*: says $(cat errors)"
	[[ ! -e new.html ]] || wrong "html $*: leaves a file"
	rm -f new.html
}

cp "$mirage/ops.ctf" ops.ctf
cp "$mirage/labels.ctf" '<script>alert(1)<!--.ctf'
echo nothing >nothing
ln -s ops.ctf link
refused 64 'needs -o FILE' ops.ctf
refused 64 'needs a trace' -o new.html
refused 64 'page without traces' --viewer ops.ctf -o new.html
refused 64 '--view' ops.ctf -o new.html --view='t=nonsense'
refused 64 'range needs two times' ops.ctf -o new.html --range=1
refused 2 'a trace is in the way' ops.ctf -o ops.ctf
refused 2 'symbolic link' ops.ctf -o link
refused 2 'nothing: ' nothing -o new.html
refused 2 'nothing: ' ops.ctf nothing -o new.html

# unpack PAGE: the traces in it, as 0, 1, …, and what it says of them, as list.
unpack() {
	python3 - "$1" <<'EOF'
import base64, gzip, json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
element = r'<script type="%s" %s>(.*?)</script>'
lists = re.findall(element % ("application/json", 'id="traces"'), page, re.S)
blocks = re.findall(element % ("text/plain", 'class="block"'), page, re.S)
assert len(lists) == 1, "one list of traces"
assert "<" not in lists[0], "markup in the list"
told = json.loads(lists[0])
for number, trace in enumerate(told["traces"]):
	own, blocks = blocks[:trace["blocks"]], blocks[trace["blocks"]:]
	with open(str(number), "wb") as file:
		file.write(b"".join(gzip.decompress(base64.b64decode(block)) for block in own))
assert not blocks, "blocks of no trace"
names = [" ".join([trace["name"], trace.get("state", "")]).strip() for trace in told["traces"]]
print(told["title"], told["view"], *names, sep="\n")
EOF
}

"$THRUM" html ops.ctf '<script>alert(1)<!--.ctf' -o both.html --title='a </script> & "b"' \
	--view='t=0..1000' || wrong "html of two traces fails"
unpack both.html >list || wrong "both.html can't be unpacked"
diff list - <<'EOF' || wrong "both.html: not what was asked for"
a </script> & "b"
t=0..1000
ops.ctf
<script>alert(1)<!--.ctf
EOF
cmp ops.ctf 0 || wrong "both.html: another trace"
cmp "$mirage/labels.ctf" 1 || wrong "both.html: another second trace"
grep -q '<script>alert' both.html && wrong "both.html: a file's name is markup"

"$THRUM" html - -o - <ops.ctf >once.html || wrong "html from and to a pipe fails"
"$THRUM" html - -o - <ops.ctf >twice.html
cmp once.html twice.html || wrong "the same trace gives two pages"
unpack once.html >list || wrong "once.html can't be unpacked"
cmp ops.ctf 0 || wrong "once.html: another trace"

# zlib packs as well, where libdeflate is missing: little and much, and what is not a multiple of 3.
if [[ -x $BUILD/tests/thrum/programs/packs ]]; then
	head -c 5000003 "$THRUM" >much
	for size in 0 1 2 3 4 49152 49153 4194304 5000003; do
		head -c $size much >some
		"$BUILD/tests/thrum/programs/packs" <some >packed
		base64 -d packed | gzip -d | cmp - some ||
			wrong "zlib packs $size bytes as others"
		"$BUILD/tests/thrum/programs/packs" gzip <some >packed
		gzip -dc <packed | cmp - some ||
			wrong "zlib packs $size bytes as others, without base64"
	done
fi

# begin FILE [SIZE]: a program that records to it, as $pid.
begin() {
	THRUM_TRACE=$here/$1 THRUM_SIZE=${2-16M} "$BUILD/tests/thrum/programs/steady" >"$1.ready" &
	pid=$!
	for ((i = 0; i < 500; i++)); do
		[[ ! -s $1.ready ]] || break
		sleep 0.01
	done
}

# A running program's recording is copied first; large traces are several blocks.
begin steady.thrum
"$THRUM" html $pid -o live.html || wrong "html PID fails"
kill $pid
wait $pid 2>/dev/null
unpack live.html >list || wrong "live.html can't be unpacked"
[[ $("$THRUM" info --format=tsv 0 | awk '$1 == "state" { print $2 }') == snapshot ]] ||
	wrong "live.html: no snapshot"

"$THRUM" html steady.thrum -o large.html || wrong "html of a large trace fails"
[[ $(grep -c 'class="block"' large.html) -ge 4 ]] || wrong "large.html: one block"
unpack large.html >list || wrong "large.html can't be unpacked"
grep -qx steady.thrum list || wrong "large.html: says $(<list)"
cmp steady.thrum 0 || wrong "large.html: another trace"

# Only here can be found out what became of the program.
begin killed.thrum 256M
kill -KILL $pid
wait $pid 2>/dev/null
"$THRUM" html killed.thrum -o killed.html || wrong "html of a killed program's trace fails"
unpack killed.html >list || wrong "killed.html can't be unpacked"
grep -qx 'killed.thrum killed' list || wrong "killed.html: says $(<list)"
(($(stat -c %s 0) < $(stat -c %s killed.thrum) / 2)) || wrong "killed.html has the unused room, too"
[[ $("$THRUM" info 0) == *'killed or crashed'* ]] || wrong "killed.html: its trace forgot the end"
exit $failed
