/* SPDX-License-Identifier: ISC */
/*
 * The calls of MirageOS's mirage-profile in C: the lines of doc/mprof.md, in a program that runs.
 * It records to the file that is its argument.
 */
#include <stdio.h>
#include <thrum.h>

/* MProf.Trace: tasks with names. In OCaml, Lwt makes the tasks; here they are made by hand, or by
 * thrum/promise.h. */
static void trace_tasks(void)
{
	thrum_task_label(thrum_task_current(), "parse");
	thrum_task reply = thrum_task_create(THRUM_KIND_WAIT, "reply");
	thrum_task job = thrum_task_create(THRUM_KIND_TASK, "job");
	thrum_task ready = thrum_task_create(THRUM_KIND_CONDITION, "ready");
	thrum_task full = thrum_task_create(THRUM_KIND_MAILBOX, "queue");
	thrum_task_signal(full, 0);
	thrum_task empty = thrum_task_create(THRUM_KIND_MAILBOX, "answers");
	thrum_task_should_resolve(job);

	thrum_task_wait(job, reply);
	thrum_task_signal(ready, 1);
	thrum_task_read(job, empty);
	thrum_task_resolve(reply);
	thrum_task_resolve(job);
}

/* MProf.Trace: pauses and numbers. */
static void trace_pauses(void)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	thrum_suspend(THRUM_SUSPENDED);
	thrum_suspend(THRUM_HIBERNATED);
	thrum_resume();
	thrum_counter_add(thrum_counter_create("net/sent", THRUM_COUNTER_CUMULATIVE), 60);
	thrum_counter_set(thrum_counter_create("net/window", THRUM_COUNTER_GAUGE), 1400);
	THRUM_TAG(gc, NULL, "gc", 0);
	thrum_span_begin(&gc);
	thrum_span_end(&gc);
}

/* MProf.Counter */
static void count(void)
{
	struct thrum_counter *open = thrum_counter_create("http/open", THRUM_COUNTER_GAUGE);
	struct thrum_counter *hits = thrum_counter_create("http/hits", THRUM_COUNTER_CUMULATIVE);
	thrum_counter_add(hits, 1);
	thrum_counter_set(open, 3);
	printf("%lld open\n", (long long)thrum_counter_value(open));
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : NULL;
	/* MProf_unix.mmap_buffer and MProf.Trace.Control.make: the file and its size */
	struct thrum_config config = {.file = path, .size = 1 << 20};
	/* MProf.Trace.Control.start */
	if (thrum_start(&config))
		return 1;
	trace_tasks();
	trace_pauses();
	count();
	/* MProf.Trace.Control.stop */
	thrum_stop();
	return 0;
}
