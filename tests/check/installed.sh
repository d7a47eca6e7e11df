#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The installed files are of use: each is in exactly one Debian package, and the tests of these packages
# pass. Meson finds the libraries in a subproject. `make deb-test` installs the packages.
set -eu
[[ $SANITIZE == none ]] || {
	echo "skipped: a build for a sanitizer isn't installed"
	exit 77
}
# The libraries don't depend on the compiler of their users.
unset CC
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
failed=0

wrong() {
	echo "$*"
	failed=1
}

DESTDIR=$here/root "$SOURCE/tools/meson" install -C "$BUILD" --no-rebuild --quiet >install.log 2>&1 || {
	cat install.log
	exit 1
}
prefix=$(echo "$here"/root/usr*/)
[[ ! -d $here/root/usr/local ]] || prefix=$here/root/usr/local/

# ---- Debian ----
# A pattern of a list stands for a file, or for a folder and all in it.
ln -s "$prefix" usr
while read -r pattern _; do
	# shellcheck disable=SC2086
	find $pattern ! -type d
done < <(cat "$SOURCE"/debian/*.install) | sort >packed
find -H usr ! -type d | sort >all
cmp -s packed all || wrong "installed (<), and in Debian packages (>): $(diff all packed)"

libraries=$(dirname "$(find "$prefix" -name libthrum.so.0)")
# The window has tests of its own.
for test in library builders programs; do
	if [[ $test == builders ]] && ! [[ -e $BUILD/src/libthrum-promise.so && $(command -v cmake) ]]; then
		echo "skipped in part: cmake or libuv is missing"
		continue
	fi
	TMPDIR=$here PATH=$prefix/bin:/usr/bin:/bin:$PATH XDG_DATA_DIRS=$prefix/share:/usr/share \
		LD_LIBRARY_PATH=$libraries PKG_CONFIG_SYSROOT_DIR=$here/root \
		PKG_CONFIG_PATH=$libraries/pkgconfig CMAKE_PREFIX_PATH=$prefix \
		sh "$SOURCE/debian/tests/$test" >log 2>&1 || wrong "debian/tests/$test: $(cat log)"
done

# Nobody needs the headers of the libraries that are loaded when they are needed.
! grep -E 'nats|xen' "$libraries/pkgconfig/thrum-trace.pc" || wrong "thrum-trace.pc requires them"

# ---- CMake and meson ----
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(thrum 99 REQUIRED)
END
if command -v cmake >/dev/null; then
	! cmake -B cmake -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 ||
		wrong "CMake accepts this version for version 99"
	version=$(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --modversion thrum)
	grep -qF "version: $version" log || wrong "CMake doesn't tell which version it found: $(cat log)"
fi

cat >program.c <<'END'
#include <thrum/trace.h>
int main(void)
{
	return !thrum_event_name(0);
}
END
mkdir -p meson/subprojects
ln -s "$SOURCE" meson/subprojects/thrum
cat >meson/meson.build <<'END'
project('program', 'c', default_options: 'c_std=c11')
executable('program', '../program.c', dependencies: [
	dependency('thrum', fallback: 'thrum'),
	dependency('thrum-trace', fallback: 'thrum'),
])
END
"$SOURCE/tools/meson" setup meson/build meson >log 2>&1 || wrong "meson: $(tail -n 20 log)"
exit $failed
