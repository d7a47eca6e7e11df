/* SPDX-License-Identifier: ISC */
/* Counters in a recording's file: read by others while threads add, come and go, while recordings
 * start and stop, and after the process was killed or has forked. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/counters.h"
#include "record_helper.h"
#include "rounds.h"

#define SIZE (4 << 20)
#define THREADS 4

/* ---- Reading -------------------------------------------------------------------------------- */

static int64_t read_file(void *owner, uint64_t offset, void *to, size_t size)
{
	return pread(*(int *)owner, to, size, (off_t)offset);
}

static uint64_t size_of_file(void *owner)
{
	return (uint64_t)lseek(*(int *)owner, 0, SEEK_END);
}

/* Reads the counters of a recording, as another process does. */
static struct thrum__read_counters read_counters(const char *path)
{
	static int fd;
	struct thrum__input input = {&fd, read_file, size_of_file};
	struct thrum__header header;
	struct thrum__read_counters counters;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
	assert_int_equal(thrum__read_counters(&input, &header, &counters), 0);
	close(fd);
	return counters;
}

/* Returns a counter's value in a recording; -1: it isn't there. */
static int64_t value_in(const char *path, const char *name)
{
	struct thrum__read_counters counters = read_counters(path);
	const struct thrum__read_counter *counter = thrum__read_counters_find(&counters, name);
	int64_t value = counter ? counter->value : -1;

	thrum__read_counters_free(&counters);
	return value;
}

static const char *start(const char *name, uint64_t size)
{
	const char *path = scratch(name);

	assert_int_equal(thrum_start(&(struct thrum_config){.file = path, .size = size}), 0);
	return path;
}

/* ---- Threads -------------------------------------------------------------------------------- */

static struct thrum_counter *sum, *times;
static _Atomic bool enough;
static _Atomic int64_t done;

/* Adds 1 and observes a value in turn, and counts both. */
static void *add(void *limit)
{
	int64_t most = limit ? *(const int64_t *)limit : INT64_MAX, n = 0;

	for (; n < most && !atomic_load_explicit(&enough, memory_order_relaxed); n++) {
		thrum_counter_add(sum, 1);
		thrum_counter_observe(times, n % 1000);
	}
	atomic_fetch_add(&done, n);
	return NULL;
}

static void start_threads(pthread_t threads[THREADS], const int64_t *limit)
{
	atomic_store(&enough, false);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add, (void *)limit), 0);
}

static void join_threads(pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static int make_counters(void **state)
{
	(void)state;
	sum = thrum_counter_create("test/sum", THRUM_COUNTER_CUMULATIVE);
	times = thrum_counter_create("test/times", THRUM_COUNTER_DISTRIBUTION);
	return !sum || !times;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void others_read_them(void **state)
{
	struct thrum_counter *early = thrum_counter_create("early", THRUM_COUNTER_GAUGE);

	(void)state;
	thrum_counter_add(early, 3);
	const char *path = start("live.thrum", SIZE);
	struct thrum_counter *late = thrum_counter_create("late/er", THRUM_COUNTER_CUMULATIVE);

	assert_int_equal(value_in(path, "early"), 3);
	thrum_counter_add(early, -1);
	thrum_counter_add(late, 10);
	assert_int_equal(value_in(path, "early"), 2);
	assert_int_equal(value_in(path, "late"), 10);
	thrum_counter_set(early, 77);
	assert_int_equal(value_in(path, "early"), 77);
	const char *copy = scratch("copy.thrum");

	assert_int_equal(thrum_snapshot(copy), 0);
	assert_int_equal(value_in(copy, "late/er"), 10);
	thrum_stop();
	thrum_counter_add(early, 1);
	assert_int_equal(value_in(path, "early"), 77);
	assert_int_equal(thrum_counter_value(early), 78);
}

/* Nothing is lost while recordings start and stop under the threads that add. */
static void starts_and_stops_lose_nothing(void **state)
{
	int64_t before = thrum_counter_value(sum), seen = thrum_counter_value(times), last = 0;
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&done, 0);
	thrum_level("counter", -1);
	start_threads(threads, NULL);
	for (unsigned round = 0; round < rounds(60, 15); round++) {
		const char *path = start("round.thrum", round % 2 ? SIZE : 2 * SIZE);

		for (int i = 0; i < 5; i++) {
			int64_t value = value_in(path, "test/sum");

			assert_true(value >= last);
			last = value;
		}
		/* The thread sanitizer takes the replacement of packets' pages for a race. */
		if (round % 3 == 0 && !UNDER_TSAN)
			thrum_level("counter", round % 2 ? 3 : -1);
		thrum_stop();
		assert_true(value_in(path, "test/sum") >= last);
	}
	atomic_store(&enough, true);
	join_threads(threads);
	thrum_level("counter", 3);
	assert_int_equal(thrum_counter_value(sum) - before, done);
	assert_int_equal(thrum_counter_value(times) - seen, done);
	const char *path = start("after.thrum", SIZE);
	struct thrum__read_counters counters = read_counters(path);
	const struct thrum__read_counter *d = thrum__read_counters_find(&counters, "test/times");

	thrum_stop();
	/* Some have no bucket: those that needed a new one while a recording began. */
	assert_int_equal(d->count, thrum_counter_value(times));
	assert_in_range(d->loose, 0, d->count - 1);
	assert_int_equal(d->least, 0);
	thrum__read_counters_free(&counters);
}

/* Threads that come and go use the same cells again, and no sum is lost. */
static void threads_come_and_go(void **state)
{
	static const int64_t few = 50;
	int64_t before = thrum_counter_value(sum), seen = thrum_counter_value(times);
	const char *path = start("churn.thrum", SIZE);
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&done, 0);
	for (int round = 0; round < 100; round++) {
		start_threads(threads, &few);
		join_threads(threads);
	}
	assert_int_equal(value_in(path, "test/sum") - before, 100 * THREADS * few);
	struct thrum__read_counters counters = read_counters(path);
	const struct thrum__read_counter *d = thrum__read_counters_find(&counters, "test/times");

	assert_int_equal(d->count - (uint64_t)seen, 100 * THREADS * few);
	thrum__read_counters_free(&counters);
	thrum_stop();
}

/* A killed process leaves all but the last change of each thread. */
static void killed_processes_leave_them(void **state)
{
	_Atomic int64_t *told = shared_memory(4096);
	const char *path = scratch("killed.thrum");
	int64_t before = thrum_counter_value(sum);
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pthread_t threads[THREADS];

		if (thrum_start(&(struct thrum_config){.file = path, .size = SIZE}) != 0)
			_exit(1);
		thrum_level("counter", -1);
		start_threads(threads, NULL);
		for (;;)
			told[0] = value_in(path, "test/sum");
	}
	while (told[0] < before + 100000)
		usleep(1000);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	struct thrum__read_counters counters = read_counters(path);
	int64_t value = thrum__read_counters_find(&counters, "test/sum")->value;
	const struct thrum__read_counter *d = thrum__read_counters_find(&counters, "test/times");

	assert_true(value >= told[0]);
	/* Each thread may have added and not yet observed. */
	assert_in_range(value - (int64_t)d->count + thrum_counter_value(times) -
			thrum_counter_value(sum),
		0, THREADS);
	thrum__read_counters_free(&counters);
}

static pid_t by_system_call(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A child has its parent's values, and adds to its own only. */
static void children_have_their_own(void **state)
{
	pid_t (*const ways[])(void) = {fork, by_system_call};

	(void)state;
	for (int i = 0; i < (UNDER_TSAN ? 1 : 4); i++) {
		const char *path = i / 2 ? start("parent.thrum", SIZE) : NULL;

		thrum_counter_set(sum, 50);
		pid_t pid = ways[i % 2]();

		if (pid == 0) {
			thrum_counter_add(sum, 5);
			thrum_counter_observe(times, 5);
			if (thrum_counter_value(sum) != 55)
				_exit(1);
			if (thrum_start(&(struct thrum_config){.file = scratch("child.thrum"),
				    .size = SIZE}) != 0)
				_exit(2);
			thrum_counter_add(sum, 1);
			_exit(value_in(scratch("child.thrum"), "test/sum") == 56 ? 0 : 3);
		}
		int status;

		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_int_equal(thrum_counter_value(sum), 50);
		if (path)
			assert_int_equal(value_in(path, "test/sum"), 50);
		thrum_stop();
	}
}

/* A recording without room for all: those that it has are right. */
static void small_recordings_say_what_is_missing(void **state)
{
	char name[40];
	const char *path = start("small.thrum", 256 << 10);

	(void)state;
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "many/%03d", i);
		thrum_counter_add(thrum_counter_create(name, THRUM_COUNTER_CUMULATIVE), 1);
	}
	struct thrum__read_counters counters = read_counters(path);
	const struct thrum__read_counter *many = thrum__read_counters_find(&counters, "many");
	struct events events = events_of_file(path);

	assert_in_range(many->value, 20, 399);
	assert_int_equal(many->value + (int64_t)events.info.lost[THRUM__LOST_COUNTERS], 400);
	thrum_stop();
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "many/%03d", i);
		assert_int_equal(thrum_counter_value(
					 thrum_counter_create(name, THRUM_COUNTER_GAUGE)),
			1);
	}
	thrum__read_counters_free(&counters);
	events_free(&events);
}

/* Without packets: no events, and tasks have no ids. */
static void counters_may_be_alone(void **state)
{
	const char *path = scratch("alone.thrum");
	struct thrum_config config = {.file = path, .counters_only = true};

	(void)state;
	assert_int_equal(thrum_start(&config), 0);
	assert_false(thrum_enabled());
	assert_string_equal(thrum_file(), path);
	thrum_level("counter", 3);
	thrum_log("unheard");
	assert_int_equal(thrum_task_create(THRUM_KIND_TASK, "unseen"), THRUM_TASK_NONE);
	thrum_counter_set(sum, 12);
	assert_int_equal(value_in(path, "test/sum"), 12);
	pthread_t threads[THREADS];
	static const int64_t few = 50;

	start_threads(threads, &few);
	join_threads(threads);
	assert_int_equal(value_in(path, "test/sum"), 12 + THREADS * few);
	const char *copy = scratch("alone.copy");

	assert_int_equal(thrum_snapshot(copy), 0);
	thrum_stop();
	assert_int_equal(value_in(copy, "test/sum"), 12 + THREADS * few);
	struct events events = events_of_file(path);

	assert_int_equal(events.count, 0);
	assert_int_equal(events.info.lost_total, 0);
	assert_string_equal(events.info.state, "stopped");
	events_free(&events);
	config.memory = shared_memory(SIZE);
	assert_int_equal(thrum_start(&config), -THRUM_E_ARGUMENT);
	/* An ordinary recording may follow. */
	path = start("both.thrum", SIZE);
	assert_true(thrum_enabled());
	assert_int_equal(value_in(path, "test/sum"), 12 + THREADS * few);
	thrum_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_read_them),
		cmocka_unit_test(starts_and_stops_lose_nothing),
		cmocka_unit_test(threads_come_and_go),
		cmocka_unit_test(killed_processes_leave_them),
		cmocka_unit_test(children_have_their_own),
		cmocka_unit_test(counters_may_be_alone),
		cmocka_unit_test(small_recordings_say_what_is_missing),
	};

	return cmocka_run_group_tests(tests, make_counters, NULL);
}
