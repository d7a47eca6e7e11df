#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The installed files are of use: CMake and meson find the libraries, and each file is in exactly one
# Debian package. The tests of these packages pass.
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
for test in "$SOURCE"/debian/tests/*; do
	[[ $test != */control ]] || continue
	TMPDIR=$here PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$libraries PKG_CONFIG_SYSROOT_DIR=$here/root \
		PKG_CONFIG_LIBDIR=$libraries/pkgconfig sh "$test" >log 2>&1 || wrong "$test: $(cat log)"
done

# ---- CMake and meson ----
cat >program.c <<'END'
#include <thrum/promise.h>
#include <thrum/trace.h>
int main(void)
{
	return thrum_enabled() + !thrum_promise_error_message(0) + !thrum_event_name(0);
}
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(thrum 0.1 REQUIRED COMPONENTS promise trace)
add_executable(program program.c)
target_link_libraries(program thrum::promise thrum::trace)
END
if [[ ! -e $BUILD/src/libthrum-promise.so ]] || ! command -v cmake >/dev/null; then
	echo "skipped in part: cmake or libuv is missing"
else
	{ cmake -B cmake -DCMAKE_PREFIX_PATH="$prefix" && cmake --build cmake; } >log 2>&1 ||
		wrong "CMake: $(cat log)"
	cmake/program || wrong "the program that CMake built fails"
	sed -i 's/thrum 0\.1/thrum 99/' CMakeLists.txt
	! cmake -B cmake -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 ||
		wrong "CMake accepts this version for version 99"
	grep -q 'version: 0\.1\.' log || wrong "CMake doesn't tell which version it found: $(cat log)"
fi

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
