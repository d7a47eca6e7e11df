#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The adapters and the recorder under ThreadSanitizer, loaded into programs that aren't compiled for it.
# shellcheck disable=SC1091,SC2154
set -u
. "$(dirname "$0")/adapt.bash"
library=$programs/libadapt-tsan.so
[[ -f $library ]] || {
	echo "skipped: ThreadSanitizer is no library of its own with this compiler"
	exit 77
}
ulimit -c 0
tsan=$(ldd "$library" | awk '/libtsan/ {print $3}')
# It needs its own places in memory, which the kernel may have given away at random.
fixed=()
! setarch -R true 2>/dev/null || fixed=(setarch -R)

# watch NAME COMMAND...: the command records, and there is no race. TSan must come after the adapters: it
# has to know a new thread before their code runs in it.
watch() {
	local name=$1
	shift
	"${fixed[@]}" env THRUM_ADAPT=pthread,loop,block,uv,event,glib,uring THRUM_TRACE="$here/$name.thrum" \
		LD_PRELOAD="$library $tsan" TSAN_OPTIONS="exitcode=0:detect_deadlocks=0:log_path=$here/$name.log" \
		"$@" >out 2>err </dev/null
	if grep -qs 'FATAL: ThreadSanitizer' "$name".log* err; then
		echo "skipped: ThreadSanitizer doesn't start here"
		exit 77
	fi
	has "$name" info 'lanes +[1-9]'
	# Some programs do wrong on purpose.
	! grep -hs 'WARNING: ThreadSanitizer' "$name".log* | grep -qv 'unlock of an unlocked mutex' ||
		wrong "$name: $(grep -hs -A30 'WARNING: ThreadSanitizer' "$name".log* | head -80)"
}

watch threads "$programs/threads" pthreads
grep -qs 'unlock of an unlocked mutex' threads.log* || wrong "ThreadSanitizer sees nothing: $(cat err)"
watch prefork "$programs/prefork" fine
watch loops "$programs/loops"
watch held "$programs/held"
watch permits "$programs/permits" pass
watch pipes "$programs/pipes" fine
watch blocking "$programs/blocking"
watch files "$programs/files" fine
watch sets "$programs/sets" threads fine
[[ ! -x $programs/workers ]] || watch workers "$programs/workers"
[[ ! -x $programs/event ]] || watch event "$programs/event"
[[ ! -x $programs/uv ]] || watch uv "$programs/uv"
exit "$failed"
