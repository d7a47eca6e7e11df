#!/bin/bash
# SPDX-License-Identifier: ISC
# tools/cross.sh [PROCESSOR]...: builds the libraries and the command for other processors with
# Debian's compilers, and for musl (aarch64, armv7, riscv64, i686, musl; all by default), into
# build-cross/PROCESSOR, without optional libraries. Runs the tests of the rooms below the analyses
# under QEMU. Reads the recording that each of them makes with this machine's command (of the build
# folder BUILD), and the other way. OPTIONS go to `meson setup` when a folder is new, TESTS to `meson test`. A
# processor without its compiler or QEMU is skipped. Ends with the line "N passed, N failed". With UNTIL=configure or
# UNTIL=build it goes no further than that. Ninja builds TARGETS, if it is given: with portable-units there is no
# command, and nothing is read there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
[[ $# != 0 ]] || set -- aarch64 armv7 riscv64 i686 musl
read -r -a options <<<"${OPTIONS:-}"
read -r -a tests <<<"${TESTS:-}"
build=${BUILD:-build}
until=${UNTIL:-test}
read -r -a targets <<<"${TARGETS:-portable}"
passed=0 failed=0 skipped=0

# check NAME COMMAND...: counts a test.
check() {
	local name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		echo "failed: $name"
		failed=$((failed + 1))
	fi
}

# Gets cmocka's source as Debian has it: one file, which each compiler compiles. The lists of packages
# are our own, since few machines have those of sources.
get_cmocka() {
	local apt=$PWD/build-cross/apt
	[[ ! -e build-cross/cmocka/src/cmocka.c ]] || return 0
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" build-cross/cmocka
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"http://deb.debian.org/debian bookworm main" >"$apt/sources.list"
	local apt_get=(apt-get -qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=-
		-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
	"${apt_get[@]}" update && (cd "$apt" && "${apt_get[@]}" source --download-only cmocka) &&
		tar xf "$apt"/cmocka_*.orig.tar.xz --strip-components=1 -C build-cross/cmocka
}

# make_cmocka FOLDER COMPILER...: makes a static library with a file for pkg-config.
make_cmocka() {
	local folder=$1 source=$PWD/build-cross/cmocka
	shift
	[[ ! -e $folder/cmocka.pc ]] || return 0
	mkdir -p "$folder"
	"$@" -O1 -w -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H -DHAVE_STRINGS_H -DHAVE_MALLOC_H \
		-DHAVE_SIGLONGJMP -DHAVE_STRSIGNAL -DHAVE_STRUCT_TIMESPEC -DHAVE_CLOCK_REALTIME \
		-DHAVE_GCC_THREAD_LOCAL_STORAGE -I"$source/include" \
		-c "$source/src/cmocka.c" -o "$folder/cmocka.o" &&
		ar rcs "$folder/libcmocka.a" "$folder/cmocka.o" &&
		printf '%s\n' 'Name: cmocka' 'Description: unit tests' 'Version: 1.1' \
			"Libs: $folder/libcmocka.a" "Cflags: -I$source/include" >"$folder/cmocka.pc"
}

# calls_nothing NM ARCHIVE: whether libthrum-core.a needs no function of others, and no name of it but
# the public ones is seen.
calls_nothing() {
	! "$1" -u "$2" | grep ' U ' | grep -v ' _GLOBAL_OFFSET_TABLE_$' &&
		! "$1" -g --defined-only "$2" | grep -E '^[0-9a-f]+ ' | grep -v ' thrum_'
}

# reads_alike FILE COMMAND...: whether a recording gives the same text here and there.
reads_alike() {
	local file=$1
	shift
	cmp <("$build/thrum" dump "$file") <("$@" dump "$file") && [[ $("$@" dump "$file" | wc -l) -gt 30 ]]
}

# run PROCESSOR: builds and tests.
run() {
	local processor=$1 file=tools/cross/$1.ini folder=$PWD/build-cross/$1 compiler nm log line
	local wrapper
	compiler=$(sed -n "s/^c = '\(.*\)'/\1/p" "$file")
	nm=${compiler%gcc}nm
	[[ $processor != musl ]] || nm='nm'
	read -r -a wrapper <<<"$(sed -n "s/^exe_wrapper = //p" "$file" | tr -d "[],'")"
	for tool in "$compiler" ${wrapper[0]+"${wrapper[0]}"}; do
		if ! command -v "$tool" >/dev/null; then
			echo "skipped: $processor: no $tool (tools/setup arm64 cross)"
			skipped=$((skipped + 1))
			return
		fi
	done
	echo "=== $processor"
	local arguments=()
	if [[ $processor == musl ]]; then
		# musl-gcc has no headers of the kernel.
		mkdir -p "$folder/kernel"
		ln -sfn /usr/include/linux "$folder/kernel/linux"
		ln -sfn /usr/include/asm-generic "$folder/kernel/asm-generic"
		ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$folder/kernel/asm"
		arguments=("-Dc_args=-idirafter $folder/kernel")
	fi
	log=$folder.log
	if ! {
		make_cmocka "$folder/cmocka" "$compiler" &&
			{ [[ -e $folder/build.ninja ]] ||
				tools/meson setup --cross-file "$file" -Dpkg_config_path="$folder/cmocka" \
					"${arguments[@]}" "${options[@]}" "$folder"; } &&
			{ [[ $until == configure ]] || ninja -C "$folder" "${targets[@]}"; }
	} >"$log" 2>&1; then
		grep -v '^\[' "$log" | tail -n 40
		echo "failed: $processor: the build"
		failed=$((failed + 1))
		return
	fi
	[[ $until == test ]] || return
	python3 tools/test "$folder" --suite portable "${tests[@]}" | tee "$log"
	line=$(tail -n 1 "$log")
	if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
		passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
		skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
	fi
	check "$processor: the core calls nothing" calls_nothing "$nm" "$folder/src/core/libthrum-core.a"
	[[ $processor != aarch64 ]] || check "$processor: large pages" \
		env BUILD="$folder" bash tests/port/large_pages.sh "${wrapper[@]}"
	[[ ${targets[*]} == portable ]] || return
	"${wrapper[@]}" "$folder/tests/thrum/programs/every" "$folder.thrum"
	check "$processor: its recording, read here" reads_alike "$folder.thrum" "${wrapper[@]}" "$folder/thrum"
	check "$processor: a recording of here, read there" reads_alike "$here" "${wrapper[@]}" \
		"$folder/thrum"
}

mkdir -p build-cross
here="build-cross/here.thrum"
[[ $until != test ]] || "$build/tests/thrum/programs/every" "$here" || exit 2
get_cmocka || exit 2
for processor; do
	run "$processor"
done
[[ $until == test ]] || exit "$((failed > 0))"
line="$passed passed, $failed failed"
[[ $skipped == 0 ]] || line+=", $skipped skipped"
echo "$line"
[[ $failed == 0 ]]
