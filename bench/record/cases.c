/* SPDX-License-Identifier: ISC */
/* The cases: each records one kind of event in a loop. */
#include "bench.h"

const char *const volatile bench_text12[4] = {"lwt_io.write", "tcp.connect1", "dns.resolve2",
	"http.request"};
const char *const volatile bench_text10[4] = {"io.write10", "tcp.accept", "dns.lookup",
	"http.reply"};

/* A loop over `call`, which may use the runner's tasks; then it has at most BATCH events. */
#define LOOP(name, call) \
	static void name(struct runner *runner, unsigned events) \
	{ \
		thrum_task *tasks = runner->tasks; \
\
		(void)tasks; \
		for (unsigned i = 0; i < events; i++) { \
			call; \
			BARRIER(); \
		} \
	}

LOOP(mirage_two_ids, mirage_creates(runner->mirage, i ^ 1, i, 2))
LOOP(mirage_text, mirage_label(runner->mirage, i, bench_text12[i & 3]))

LOOP(wait, thrum_task_wait(tasks[i], tasks[i + 1]))
LOOP(read_other, thrum_task_read(tasks[i], tasks[i + 1]))
LOOP(resolve, thrum_task_resolve(tasks[i]))
LOOP(run, thrum_task_switch(tasks[i]))
LOOP(enter, (void)thrum_task_enter(tasks[i]))
LOOP(take, thrum_lock_acquired(tasks[i]))
LOOP(due, thrum_task_due(tasks[i], 1000000))
LOOP(count, thrum_counter_add(runner->counter, 1))
LOOP(log_text, thrum_log(bench_text12[i & 3]))
LOOP(log_literal, thrum_log("http.request"))
LOOP(create_long, tasks[i] = thrum_task_create(THRUM_KIND_PROMISE, "read 127.0.0.1:41625"))
LOOP(create_waiting, tasks[i] = thrum_task_create_waiting(THRUM_KIND_BIND, NULL, i + 1))
LOOP(create, tasks[i] = thrum_task_create(THRUM_KIND_PROMISE, bench_text10[i & 3]))

/* The rivals of counters: a word for all threads, and one for each. */
static int64_t all_threads;
static __thread int64_t this_thread;

LOOP(count_locked, __atomic_fetch_add(&all_threads, 1, __ATOMIC_RELAXED))
LOOP(count_alone, __atomic_store_n(&this_thread, this_thread + 1, __ATOMIC_RELAXED))
LOOP(off_count, thrum_counter_add(runner->shared, 1))
LOOP(off_observe, thrum_counter_observe(runner->sizes, i & 1023))

LOOP(off_wait, thrum_task_wait(i + 5, i))
LOOP(off_log, thrum_log("http.request"))
LOOP(off_create, tasks[i & 511] = thrum_task_create(THRUM_KIND_PROMISE, "http.reply"))

static void read_own(struct runner *runner, unsigned events)
{
	thrum_task *tasks = runner->tasks, running = thrum_task_current();

	for (unsigned i = 0; i < events; i++) {
		thrum_task_read(running, tasks[i]);
		BARRIER();
	}
}

/* 20 events: 4 switches, 4 waits, 4 resolves, 3 creations with a label, 3 reads, 2 counters. */
static void mix(struct runner *runner, unsigned events)
{
	thrum_task *tasks = runner->tasks, task = tasks[0], other, next;

	for (unsigned i = 0; i < events; i += 20) {
		other = tasks[1 + i / 20];
		for (unsigned k = 0; k < 3; k++) {
			next = thrum_task_create(THRUM_KIND_PROMISE, bench_text10[k]);
			thrum_task_wait(next, task);
			thrum_task_switch(next);
			thrum_task_read(next, task);
			thrum_task_resolve(task);
			task = next;
			BARRIER();
		}
		thrum_task_wait(task, other);
		thrum_task_switch(task);
		thrum_task_resolve(other);
		thrum_counter_add(runner->counter, 5);
		thrum_counter_add(runner->counter, -5);
		BARRIER();
	}
	tasks[0] = task;
}

static void create_tasks(struct runner *runner)
{
	create(runner, BATCH);
}

static void resolve_tasks(struct runner *runner)
{
	resolve(runner, BATCH);
	thrum_task_switch(THRUM_TASK_NONE);
}

/* `run` with tasks that were created before. */
#define WITH_TASKS(run) run, create_tasks, resolve_tasks

/* clang-format off */
const struct bench_case bench_cases[] = {
	{"floor A, two ids", RIVALS, FIXED, 0, 1, bench_floor_fixed, NULL, NULL, NULL},
	{"floor A, 12 characters", RIVALS, TEXT, 0, 1, bench_floor_text, NULL, NULL, NULL},
	{"mirage's layout, two ids", RIVALS, FIXED, 0, 1, mirage_two_ids, NULL, NULL, NULL},
	{"mirage's layout, 12 characters", RIVALS, TEXT, 0, 1, mirage_text, NULL, NULL, NULL},
	{"LTTng-UST, two ids", LTTNG, FIXED, 0, 1, lttng_two_ids, NULL, NULL, NULL},
	{"LTTng-UST, 12 characters", LTTNG, TEXT, 0, 1, lttng_text, NULL, NULL, NULL},

	{"wait", THRUM, FIXED, 1.3, 1, WITH_TASKS(wait), NULL},
	{"read, by another task", THRUM, FIXED, 1.3, 1, WITH_TASKS(read_other), NULL},
	{"read, by the running task", THRUM, FIXED, 1.3, 1, WITH_TASKS(read_own), NULL},
	{"resolve", THRUM, FIXED, 1.3, 1, resolve, create_tasks, NULL, NULL},
	{"switch", THRUM, FIXED, 1.3, 1, WITH_TASKS(run), NULL},
	{"enter", THRUM, FIXED, 1.3, 1, WITH_TASKS(enter), NULL},
	{"counter", THRUM, FIXED, 1.3, 1, count, NULL, NULL, NULL},
	{"mix", THRUM, FIXED, 1.3, 1, WITH_TASKS(mix), NULL},
	{"log, 12 characters", THRUM, TEXT, 1.45, 1, log_text, NULL, NULL, NULL},
	{"log, a literal of 12", THRUM, TEXT, 1.3, 1, log_literal, NULL, NULL, NULL},
	{"create + label of 10", THRUM, TEXT, 1.45, 1, create, NULL, resolve_tasks, NULL},

	{"wait, live", THRUM_LIVE, FIXED, 0, 1, WITH_TASKS(wait), "wait"},
	{"resolve, live", THRUM_LIVE, FIXED, 0, 1, resolve, create_tasks, NULL, "resolve"},
	{"create + label of 10, live", THRUM_LIVE, TEXT, 0, 1, create, NULL, resolve_tasks,
		"create + label of 10"},
	{"create + label of 20, live", THRUM_LIVE, TEXT, 0, 1, create_long, NULL, resolve_tasks, NULL},
	{"create and wait, live", THRUM_LIVE, FIXED, 0, 1, create_waiting, NULL, resolve_tasks, NULL},
	{"lock, live", THRUM_LIVE, FIXED, 0, 1, WITH_TASKS(take), NULL},
	{"due, live", THRUM_LIVE, FIXED, 0, 1, WITH_TASKS(due), NULL},
	{"mix, live", THRUM_LIVE, FIXED, 0, 1, WITH_TASKS(mix), "mix"},

	{"off: an empty loop", RIVALS, FIXED, 0, 20, bench_empty_loop, NULL, NULL, NULL},
	{"off: wait", RIVALS, FIXED, 0, 20, off_wait, NULL, NULL, "off: an empty loop"},
	{"off: log", RIVALS, FIXED, 0, 20, off_log, NULL, NULL, "off: an empty loop"},
	{"off: create", RIVALS, FIXED, 0, 20, off_create, NULL, NULL, "off: an empty loop"},
	{"off: counter", RIVALS, FIXED, 2, 20, off_count, NULL, NULL, "off: an empty loop"},
	{"off: distribution", RIVALS, FIXED, 10, 20, off_observe, NULL, NULL, "off: an empty loop"},
	{"a word for each thread", RIVALS, FIXED, 99, 20, count_alone, NULL, NULL, "off: an empty loop"},
	{"an atomic word for all", RIVALS, FIXED, 99, 20, count_locked, NULL, NULL, "off: an empty loop"},
};
/* clang-format on */
const unsigned bench_case_count = sizeof bench_cases / sizeof *bench_cases;
