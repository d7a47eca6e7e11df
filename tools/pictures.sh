#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/pictures.sh: records the example server and draws the README's pictures in doc/pictures/.
# BUILD: the build's folder (build). Needs node, chromium, imagemagick and nats-server; for the window's picture
# also Xvfb, openbox and xdotool.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
thrum=$build/thrum
to=doc/pictures
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for program in "$thrum" "$build/examples/server"; do
	[ -x "$program" ] || {
		echo "pictures: $program isn't there; build it first with 'make'." >&2
		exit 2
	}
done
mkdir -p "$to"

"$thrum" record -o "$folder/server.thrum" --size 1M -- \
	"$build/examples/server" --threads 1 --seconds 1 --hang >/dev/null 2>"$folder/log" || {
	cat "$folder/log" >&2
	exit 2
}

# A longer one for the bands; it is killed.
"$thrum" record -o "$folder/busy.thrum" -- "$build/examples/server" --threads 3 --clients 24 \
	--seconds 3 --hang --die >/dev/null 2>"$folder/log" || true

draw() { # NAME OPTION...
	name=$1
	shift
	recording=server
	[ "$name" != overview ] || recording=busy
	for theme in light dark; do
		"$thrum" render "$folder/$recording.thrum" -o "$to/$name-$theme.svg" --theme=$theme "$@"
		echo "$to/$name-$theme.svg: $(wc -c <"$to/$name-$theme.svg") bytes"
	done
}

draw overview --width=1200 --as=bands --strip --legend

# Around the time from which the request for user 42 waits for ever.
start=$("$thrum" tasks --format=tsv "$folder/server.thrum" 2>"$folder/log" | awk -F '\t' '
	$8 == "pending" && $10 == "GET /user/42" { print $5; exit }')
[ -n "$start" ] || {
	echo "pictures: the recording has no hanging request for user 42." >&2
	exit 2
}
draw hang --width=1200 --height=700 --legend --start=$((start - 110000)) --duration=170us \
	--view=squeeze=1

# Three machines, as a server knows them.
DEMO=$folder/demo BUILD=$build sh tools/demo-fleet.sh >"$folder/log"
for theme in light dark; do
	cp "$folder/demo/shop-$theme.svg" "$to/fleet-$theme.svg"
	echo "$to/fleet-$theme.svg: $(wc -c <"$to/fleet-$theme.svg") bytes"
done

# The page in a browser, and the window with the same; 128 colours are enough for both.
shrink() { # FROM NAME
	convert "$folder/pages/$1" +dither -colors 128 "png8:$to/$2"
	echo "$to/$2: $(wc -c <"$to/$2") bytes"
}
node tools/page-pictures.mjs "$build" "$folder/pages"
shrink page.png page.png
python3 tools/window-pictures.py "$build" "$folder/pages"
shrink window-page.png window.png
