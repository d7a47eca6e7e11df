/* SPDX-License-Identifier: ISC */
/*
 * A process whose threads come and go is killed at random times, while another one reads its
 * recording. Each event whose call had returned is in the recording or was overwritten since, and
 * none is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/format.h"
#include "numbers_helper.h"
#include "rounds.h"

#define ROUNDS rounds(50, 12) /* KILL_ROUNDS in the environment: another number */
#define EVENTS_A_PACKET 340   /* of 12 bytes */

/* Shared memory, in which the process notes its progress. */
struct progress {
	_Atomic uint32_t threads;               /* that were ever begun */
	_Atomic uint32_t done[NUMBERS_THREADS]; /* events whose calls have returned */
	_Atomic uint64_t
		when[NUMBERS_THREADS]; /* an upper bound for the time of the last of them; ticks */
	_Atomic bool ended[NUMBERS_THREADS];
	_Atomic bool started;
};

static struct progress *progress;

/* Returns the time in sixteenths of ticks of 4 ns. */
static uint64_t look(void *context)
{
	struct timespec t;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) * 4;
}

/* ---- The process --------------------------------------------------------------------------- */

static void *count(void *limit)
{
	uint32_t self = atomic_fetch_add(&progress->threads, 1);

	if (self >= NUMBERS_THREADS)
		return NULL;
	for (uint32_t n = 1; n <= (uintptr_t)limit; n++) {
		numbers_record(self, n);
		/* In this order, so that no event counted in `done` is later than `when`. */
		atomic_store(&progress->when[self], look(NULL) >> 4);
		atomic_store(&progress->done[self], n);
	}
	atomic_store(&progress->ended[self], true);
	return NULL;
}

static void *begin_threads(void *seed)
{
	unsigned random = (unsigned)(uintptr_t)seed;

	for (;;) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			if (pthread_create(&threads[i], NULL, count,
				    (void *)(uintptr_t)(rand_r(&random) % 3000)))
				_exit(2);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	return NULL;
}

static void run(const char *file, uint64_t size, unsigned seed)
{
	const struct thrum_clock clock = {look, NULL, 250000000};
	pthread_t other;

	if (thrum_start(&(struct thrum_config){.file = file, .size = size, .clock = &clock}))
		_exit(1);
	atomic_store(&progress->started, true);
	if (pthread_create(&other, NULL, begin_threads, (void *)(uintptr_t)seed) ||
		pthread_create(&other, NULL, count, (void *)UINTPTR_MAX))
		_exit(1);
	count((void *)UINTPTR_MAX);
}

/* ---- Its readers --------------------------------------------------------------------------- */

static int64_t milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void follow(const char *file, int64_t ms)
{
	struct numbers *numbers = numbers_create();
	struct thrum_trace *trace;
	int64_t end = milliseconds() + ms;

	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	do {
		assert_int_equal(numbers_read(numbers, trace), 0);
		assert_int_equal(thrum_trace_refresh(trace, 0, NULL), 1);
	} while (milliseconds() < end);
	if (numbers_complaint(numbers))
		fail_msg("while it ran: %s", numbers_complaint(numbers));
	thrum_trace_close(trace);
	numbers_destroy(numbers);
}

/*
 * Packets are overwritten in the order in which they were closed. So if a thread's last events are
 * gone, because it was just about to begin another packet, then nearly all older events are gone,
 * too. The exceptions are packets of lanes without a thread, and packets about to be taken.
 */
static void check_overwritten(const struct events *events, uint32_t thread)
{
	uint64_t when = atomic_load(&progress->when[thread]), older = 0;

	for (size_t i = 0; i < events->count; i++)
		older += events->list[i].clock < when;
	if (older > (uint64_t)events->info.lanes * 2 * EVENTS_A_PACKET)
		fail_msg("the last events of thread %u are gone, but not %llu older ones", thread,
			(unsigned long long)older);
}

static void check_thread(const struct numbers *numbers, const struct events *events,
	uint32_t thread)
{
	uint32_t done = atomic_load(&progress->done[thread]);
	uint32_t last = numbers_last(numbers, thread);
	bool ended = atomic_load(&progress->ended[thread]);

	if (last < done)
		check_overwritten(events, thread);
	else if (last > done + 1 || (ended && last > done))
		fail_msg("thread %u: after %u calls there is an event %u", thread, done, last);
}

static void check_what_is_left(const char *file)
{
	struct numbers *numbers = numbers_create();
	struct events events = events_of_file(file);
	uint32_t threads = atomic_load(&progress->threads);

	numbers_see(numbers, events.list, events.count);
	if (numbers_complaint(numbers))
		fail_msg("after its death: %s", numbers_complaint(numbers));
	/* The table of live tasks may be too small for that many threads. */
	assert_int_equal(events.info.lost_total, 0);
	assert_in_range(threads, 0, NUMBERS_THREADS);
	for (uint32_t i = 0; i < threads; i++)
		check_thread(numbers, &events, i);
	events_free(&events);
	numbers_destroy(numbers);
}

static void killed_at_random_moments(void **state)
{
	const char *wanted = getenv("KILL_ROUNDS"), *file = scratch("killed.thrum");
	unsigned random = 1, times = wanted ? (unsigned)atoi(wanted) : ROUNDS;

	(void)state;
	for (unsigned round = 0; round < times; round++) {
		uint64_t size = UINT64_C(262144) << rand_r(&random) % 3;
		struct timespec moment = {.tv_nsec = rand_r(&random) % 2000000};

		memset(progress, 0, sizeof *progress);
		pid_t child = fork_child();

		if (child == 0)
			run(file, size, round);
		while (!atomic_load(&progress->started))
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		follow(file, rand_r(&random) % 10);
		nanosleep(&moment, NULL);
		kill(child, SIGKILL);
		assert_int_equal(child_result(child), -SIGKILL);
		check_what_is_left(file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_random_moments),
	};

	progress = shared_memory(sizeof *progress);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
