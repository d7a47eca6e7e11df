/* SPDX-License-Identifier: ISC */
/*
 * The cost of a promise that is created, bound, resolved and freed, with tracing on and off. The
 * rival is a plain callback that does the same by hand, with and without a block of its own. Times
 * are CPU times of the thread, and rivals take turns. README.md in the folder above explains the
 * figures.
 *
 *   promise           prints the table
 *   promise ROUNDS    creates, binds, resolves and frees so many, for instructions.sh
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <time.h>
#include <uv.h>

#define REPETITIONS 31
/* The events of one round: create, create that waits, resolve; switch, read, resolve, switch. A
 * test holds this number. */
#define EVENTS 7

#define LIMIT_NS 60.0
#define LIMIT_BYTES 96.0
#define LIMIT_FLOORS 1.6

#define BARRIER() __asm__ volatile("" ::: "memory")

static struct thrum_loop *loop;
static unsigned rounds = 200000;

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Rivals ---------------------------------------------------------------------------------- */

/* A request with a callback, as a program without promises has it. */
struct request {
	void (*callback)(struct request *, void *value);
	void *data;
};

static void on_done(struct request *request, void *value)
{
	++*(unsigned *)request->data;
}

/* The compiler must not know the callback. */
static void (*volatile done)(struct request *, void *) = on_done;
static unsigned sum;

static void run_callback(void)
{
	for (unsigned i = 0; i < rounds; i++) {
		struct request request = {done, &sum};

		BARRIER();
		request.callback(&request, NULL);
		BARRIER();
	}
}

static void run_callback_malloc(void)
{
	for (unsigned i = 0; i < rounds; i++) {
		struct request *request = malloc(sizeof(*request));

		if (!request)
			exit(2);
		*request = (struct request){done, &sum};
		BARRIER();
		request->callback(request, NULL);
		free(request);
	}
}

static struct thrum_promise *then(struct thrum_loop *in, void *value, void *data)
{
	++*(unsigned *)data;
	return thrum_promise_return(in, thrum_value_none());
}

static void run_bind(void)
{
	for (unsigned i = 0; i < rounds; i++) {
		struct thrum_resolver *resolver;
		struct thrum_promise *promise = thrum_promise_task(loop, NULL, &resolver);

		promise = thrum_promise_bind(promise, then, &sum, NULL);
		thrum_resolver_resolve(resolver, thrum_value_none());
		thrum_promise_unref(promise);
	}
}

static void run_bind_ended(void)
{
	for (unsigned i = 0; i < rounds; i++)
		thrum_promise_unref(
			thrum_promise_bind(thrum_promise_return(loop, thrum_value_int(1)), then,
				&sum, NULL));
}

static void run_pick(void)
{
	for (unsigned i = 0; i < rounds; i++) {
		struct thrum_resolver *resolver[2];
		struct thrum_promise *two[2];

		two[0] = thrum_promise_task(loop, NULL, &resolver[0]);
		two[1] = thrum_promise_task(loop, NULL, &resolver[1]);
		two[0] = thrum_promise_pick(loop, two, 2);
		thrum_resolver_resolve(resolver[1], thrum_value_none());
		thrum_resolver_drop(resolver[0]);
		thrum_promise_unref(two[0]);
	}
}

/* One reading of the clock and 24 bytes of stores, as in bench/record. */
static void run_floor(void)
{
	static uint64_t ring[3 * 4096];
	size_t at = 0;

	for (unsigned i = 0; i < rounds; i++) {
#if defined(__x86_64__)
		ring[at] = __builtin_ia32_rdtsc();
#else
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		ring[at] = (uint64_t)t.tv_nsec;
#endif
		ring[at + 1] = i;
		ring[at + 2] = i ^ 1;
		at = at + 3 == 3 * 4096 ? 0 : at + 3;
		__asm__ volatile("" ::"r"(ring) : "memory");
	}
}

/* ---- Measuring ------------------------------------------------------------------------------- */

enum {
	FLOOR,
	CALLBACK,
	CALLBACK_MALLOC,
	BIND,
	BIND_ENDED,
	PICK,
	CASES
};

static const struct {
	const char *name;
	void (*run)(void);
} cases[CASES] = {
	{"floor A, two ids", run_floor},
	{"plain callback, on the stack", run_callback},
	{"plain callback, malloc and free", run_callback_malloc},
	{"create, bind, resolve, free", run_bind},
	{"bind of one that has ended", run_bind_ended},
	{"pick of two", run_pick},
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, REPETITIONS, sizeof(double), compare);
	return values[REPETITIONS / 2];
}

static void measure(double *result)
{
	static double ns[CASES][REPETITIONS];

	for (unsigned repetition = 0; repetition < REPETITIONS; repetition++)
		for (unsigned i = 0; i < CASES; i++) {
			uint64_t begin = cpu_time();

			cases[i].run();
			ns[i][repetition] = (double)(cpu_time() - begin) / rounds;
		}
	for (unsigned i = 0; i < CASES; i++)
		result[i] = median(ns[i]);
}

/* Returns the bytes that each of many pending promises takes. Half of the promises are binds, which
 * wait for the other half. */
static double bytes_per_promise(void)
{
	size_t count = 100000, i, before, after;
	struct thrum_resolver **resolvers = malloc(count * sizeof(struct thrum_resolver *));
	static unsigned calls;

	if (!resolvers)
		exit(2);
	uv_resident_set_memory(&before);
	for (i = 0; i < count; i++)
		thrum_promise_unref(
			thrum_promise_bind(thrum_promise_task(loop, NULL, &resolvers[i]), then,
				&calls, NULL));
	uv_resident_set_memory(&after);
	for (i = 0; i < count; i++)
		thrum_resolver_resolve(resolvers[i], thrum_value_none());
	free(resolvers);
	return (double)(after - before - count * sizeof(struct thrum_resolver *)) /
		(double)(2 * count);
}

static const char *verdict(bool fine)
{
	return fine ? "ok" : "OVER";
}

int main(int count, char **arguments)
{
	double off[CASES], on[CASES], bytes, more;
	const struct thrum_config config = {.size = 16 << 20};
	uv_loop_t uv;

	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop)) {
		fputs("promise: no loop could be made\n", stderr);
		return 2;
	}
	if (count > 1) {
		rounds = (unsigned)atoi(arguments[1]);
		run_bind();
		return 0;
	}
	bytes = bytes_per_promise();
	measure(off);
	if (thrum_start(&config)) {
		fputs("promise: recording can't be started\n", stderr);
		return 2;
	}
	measure(on);
	if (thrum_file())
		remove(thrum_file());
	thrum_stop();
	printf("| ns of CPU time, median of %d | tracing off | tracing on |\n| --- | --- | --- |\n",
		REPETITIONS);
	for (unsigned i = 0; i < CASES; i++)
		printf("| %s | %.1f | %.1f |\n", cases[i].name, off[i], on[i]);
	more = (on[BIND] - off[BIND]) / EVENTS;
	printf("\n| create, bind, resolve, free | measured | limit | |\n| --- | --- | --- | --- |\n");
	printf("| ns, tracing off | %.1f | %.0f | %s |\n", off[BIND], LIMIT_NS,
		verdict(off[BIND] <= LIMIT_NS));
	printf("| times a plain callback with malloc | %.1f | | |\n",
		off[BIND] / off[CALLBACK_MALLOC]);
	printf("| bytes of a pending promise | %.1f | %.0f | %s |\n", bytes, LIMIT_BYTES,
		verdict(bytes <= LIMIT_BYTES * 1.01));
	printf("| ns more for each of %d events | %.1f | %.1f (%.1f x floor A) | %s |\n", EVENTS,
		more, LIMIT_FLOORS * on[FLOOR], LIMIT_FLOORS,
		verdict(more <= LIMIT_FLOORS * on[FLOOR]));
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) ? 1 : 0;
}
