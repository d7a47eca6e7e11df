#!/bin/bash
# SPDX-License-Identifier: ISC
# With -DTHRUM_DISABLED, a program has the same code as without the calls, and no argument is
# evaluated.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

type objdump >/dev/null || {
	echo skipped: objdump is missing
	exit 77
}
cat >"$folder/caller.c" <<'END'
#ifdef WITH_CALLS
#include <thrum.h>
#define CALL(...) __VA_ARGS__
THRUM_CATEGORY(category, "category");
THRUM_TAG(tag, &category, "tag", 1);
#else
#define CALL(...)
#endif
extern int work(int), evaluated(void);
extern const char *text(void);

int caller(int n)
{
	int sum = 0;
	CALL(struct thrum_counter *counter = thrum_counter_create(text(), THRUM_COUNTER_GAUGE);)
	CALL(thrum_start(0); thrum_level(text(), evaluated());)
	CALL(thrum_task task = thrum_task_create(THRUM_KIND_TASK, text());)
	CALL(task = thrum_task_createf(THRUM_KIND_TASK, "%d", evaluated());)
	CALL(task = thrum_task_create_in(evaluated(), THRUM_KIND_TASK, text());)
	CALL(task = thrum_task_create_waiting(THRUM_KIND_TASK, text(), evaluated());)
	for (int i = 0; i < n; i++) {
		CALL(thrum_task_leave(thrum_task_enter(evaluated()));)
		CALL(thrum_task_label(evaluated(), text());)
		CALL(thrum_task_should_resolve(evaluated()); thrum_task_due(task, evaluated());)
		CALL(thrum_task_switch(evaluated()); thrum_task_wait(evaluated(), task);)
		CALL(thrum_task_ready(evaluated());)
		CALL(thrum_task_read(evaluated(), task); thrum_task_resolve(evaluated());)
		CALL(thrum_task_fail(evaluated(), text()); thrum_task_cancel(evaluated());)
		CALL(thrum_task_become(evaluated(), task); thrum_task_signal(task, evaluated());)
		CALL(thrum_lock_acquired(evaluated()); thrum_lock_released(evaluated());)
		CALL(thrum_link_send(text(), evaluated()); thrum_link_receive(text(), 1);)
		CALL(thrum_lane_name(text()); thrum_suspend(&tag); thrum_resume();)
		CALL(thrum_tag(&tag); thrum_tag_value(&tag, evaluated());)
		CALL(thrum_span_begin(&tag); thrum_span_end(&tag);)
		CALL(thrum_log(text()); thrum_logf("%s %d", text(), evaluated());)
		CALL(thrum_counter_add(counter, evaluated()); thrum_counter_set(counter, evaluated());)
		CALL(thrum_counter_observe(counter, evaluated());)
		CALL(if (thrum_enabled() && thrum_counter_value(counter) > 5) return 1;)
		CALL(if (thrum_task_current() != THRUM_TASK_NONE) return 2;)
		CALL(THRUM_RUN(evaluated()))
		{
			sum += work(i);
		}
	}
	CALL(if (thrum_snapshot(text()) == 0 || thrum_file()) sum++; thrum_stop();)
	return sum;
}
END
cat >"$folder/rest.c" <<'END'
#include <stdio.h>

int caller(int), work(int), evaluated(void);
const char *text(void);
static int evaluations;

int work(int n)
{
	return n * n;
}
int evaluated(void)
{
	return ++evaluations;
}
const char *text(void)
{
	evaluations++;
	return "";
}
int main(void)
{
	int sum = caller(10);

	printf("%d %d\n", sum, evaluations);
	return 0;
}
END

compile()
{
	"$compiler" -std=gnu11 "$level" -fno-asynchronous-unwind-tables -Wall -Wextra -Werror \
		-I"$SOURCE/include" -DTHRUM_DISABLED "$@"
}

# The sections that take memory, without the file's name.
contents()
{
	objdump -d -r --no-show-raw-insn "$1" | tail -n +4
	objdump -h "$1" | awk '$2 ~ /^\.(text|data|bss|rodata)/ { print $2, $3 }'
}

compared=0
for compiler in "${CC:-cc}" gcc clang; do
	type "$compiler" >/dev/null 2>&1 || continue
	for level in -O1 -O2 -O3 -Os; do
		compile -DWITH_CALLS -c -o "$folder/with.o" "$folder/caller.c"
		compile -c -o "$folder/without.o" "$folder/caller.c"
		contents "$folder/with.o" >"$folder/with"
		contents "$folder/without.o" >"$folder/without"
		diff "$folder/without" "$folder/with" || {
			echo "failed: $compiler $level"
			exit 1
		}
		compared=$((compared + 1))
	done
	# Without any optimisation there is some code, but it does nothing.
	level=-O0
	compile -DWITH_CALLS -o "$folder/program" "$folder/caller.c" "$folder/rest.c"
	[ "$("$folder/program")" = "285 0" ] || {
		echo "failed: $compiler: something was evaluated"
		exit 1
	}
done
[ "$compared" -gt 0 ]

# Proof that this test can fail: with the recorder's calls the code differs.
level=-O2 compiler=${CC:-cc}
"$compiler" -std=gnu11 "$level" -I"$SOURCE/include" -DWITH_CALLS -c -o "$folder/with.o" \
	"$folder/caller.c"
contents "$folder/with.o" >"$folder/with"
! diff -q "$folder/without" "$folder/with" >/dev/null
