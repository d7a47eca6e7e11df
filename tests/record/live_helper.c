/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "live_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "format/format.h"

struct shared {
	_Atomic uint32_t done[LIVE_THREADS];
	_Atomic bool started, enough;
};

static struct shared *shared;

static void *record(void *number)
{
	uint32_t self = (uint32_t)(uintptr_t)number, n = 0;

	while (!atomic_load_explicit(&shared->enough, memory_order_relaxed))
		numbers_record(self, ++n);
	atomic_store(&shared->done[self], n);
	return NULL;
}

static void pause_for(int ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static int run(const char *file, int ms, uint64_t size)
{
	pthread_t threads[LIVE_THREADS];

	if (thrum_start(&(struct thrum_config){.file = file, .size = size}))
		return 1;
	for (uintptr_t i = 0; i < LIVE_THREADS; i++)
		if (pthread_create(&threads[i], NULL, record, (void *)i))
			return 2;
	atomic_store(&shared->started, true);
	pause_for(ms);
	atomic_store(&shared->enough, true);
	for (int i = 0; i < LIVE_THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	return 0;
}

static void follow(const char *file)
{
	struct numbers *numbers = numbers_create();
	struct thrum_trace *trace;
	uint64_t all = 0;
	int more;

	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	do {
		assert_int_equal(numbers_read(numbers, trace), 0);
		more = thrum_trace_refresh(trace, 50, NULL);
		assert_in_range(more, 0, 1);
	} while (more);
	if (numbers_complaint(numbers))
		fail_msg("%s", numbers_complaint(numbers));
	const struct thrum_trace_info *info = thrum_trace_info(trace);

	assert_int_equal(info->damaged, 0);
	assert_int_equal(info->lost_total, 0);
	for (uint32_t i = 0; i < LIVE_THREADS; i++) {
		assert_int_equal(numbers_last(numbers, i), atomic_load(&shared->done[i]));
		all += atomic_load(&shared->done[i]);
	}
	assert_true(numbers_seen(numbers) > 1000);
	assert_int_equal(numbers_seen(numbers) + numbers_missing(numbers), all);
	print_message("%llu events, of which %llu were read\n", (unsigned long long)all,
		(unsigned long long)numbers_seen(numbers));
	thrum_trace_close(trace);
	numbers_destroy(numbers);
}

void live_check(int ms, uint64_t size)
{
	const char *file = scratch("live.thrum");

	shared = shared_memory(sizeof *shared);
	pid_t child = fork_child();

	if (child == 0)
		_exit(run(file, ms, size));
	while (!atomic_load(&shared->started))
		pause_for(1);
	follow(file);
	assert_int_equal(child_result(child), 0);
}
