#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# A program linked through the pkg-config files in the build folder starts without LD_LIBRARY_PATH.
# The installed files name no folder of the build.
set -eu
command -v pkg-config >/dev/null || {
	echo "skipped: pkg-config is missing"
	exit 77
}
unset LD_LIBRARY_PATH
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
flags=()
[[ $SANITIZE == none ]] || flags=("-fsanitize=$SANITIZE")

fail() {
	echo "$*"
	exit 1
}

cat >thrum.c <<'END'
#include <thrum.h>
int main(void) { return thrum_error_message(0) == 0; }
END
cat >thrum-promise.c <<'END'
#include <thrum/promise.h>
int main(void) { return 0; }
END
cat >thrum-trace.c <<'END'
#include <thrum/trace.h>
int main(void) { return thrum_error_message(0) == 0; }
END

# link NAME FLAG...: makes the program NAME from NAME.c.
link() {
	local cflags
	read -ra cflags <<<"$(PKG_CONFIG_PATH=$BUILD/meson-uninstalled pkg-config --cflags "$1")"
	"$CC" "${flags[@]}" "${cflags[@]}" "$1.c" -o "$1" -Wl,--no-as-needed "${@:2}"
}

# finds NAME: whether the program NAME finds its library in the build folder.
finds() {
	ldd "./$1" | grep -qF "lib$1.so.0 => $BUILD/src/lib$1.so.0"
}

for name in thrum thrum-promise thrum-trace; do
	[[ -e $BUILD/src/lib$name.so ]] || continue
	read -ra libs <<<"$(PKG_CONFIG_PATH=$BUILD/meson-uninstalled pkg-config --libs "$name")"
	# A check that can't fail is none.
	link "$name" "-L$BUILD/src" "-l$name"
	! finds "$name" || fail "the check doesn't see that a program lacks its library"
	link "$name" "${libs[@]}"
	finds "$name" || fail "linked with ${libs[*]}, $name finds: $(ldd "./$name")"
	"./$name" || fail "$name ends with status $?"

	installed=$(PKG_CONFIG_PATH=$BUILD/meson-private pkg-config --libs "$name")
	[[ $installed == *"-l$name"* ]] || fail "the installed $name.pc gives $installed"
	[[ $installed != *rpath* && $installed != *"$BUILD"* ]] ||
		fail "the installed $name.pc gives $installed"
done
