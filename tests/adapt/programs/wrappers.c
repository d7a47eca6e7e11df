/* SPDX-License-Identifier: ISC */
/*
 * A program that takes its lock by a small function of its own, as most do. Another one of its functions
 * keeps the lock, and the next that comes waits for ever; with "fine" it gives the lock back.
 *
 * "plain": the small function checks the result; "linked": so, with a frame pointer; "grown": it takes room
 * on its stack as it needs it; "inner": one small function calls another by a pointer; "mixed": so, and only
 * one of them has a frame pointer; "jump": the one that keeps the lock jumps to the small one; "once": the
 * one that keeps the lock is the only one that takes it so; "jumping": the small function jumps to the
 * library's; "inlined": it is a part of those that call it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define OWN __attribute__((noinline, noclone, noipa))
#if defined(__clang__)
#undef OWN
#define OWN __attribute__((noinline))
#define LINKED OWN
#else
#define LINKED OWN __attribute__((optimize("no-omit-frame-pointer")))
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int errors;
static volatile size_t room = 40;

static void check(int result)
{
	if (result != 0)
		errors++;
}

OWN static void take_plain(void)
{
	check(pthread_mutex_lock(&lock));
}

LINKED static void take_linked(void)
{
	check(pthread_mutex_lock(&lock));
}

OWN static void take_grown(void)
{
	volatile char *own = __builtin_alloca(room);

	own[0] = 1;
	check(pthread_mutex_lock(&lock));
	errors += own[0] - 1;
}

static void (*volatile inner)(void) = take_plain;

OWN static void take_inner(void)
{
	inner();
	errors += 0;
}

LINKED static void take_mixed(void)
{
	inner();
	errors += 0;
}

OWN static void take_once(void)
{
	check(pthread_mutex_lock(&lock));
}

/* The lock's result is nobody's, so the call is a jump. */
OWN static int take_jumping(void)
{
	return pthread_mutex_lock(&lock);
}

static inline __attribute__((always_inline)) void take_inlined(void)
{
	check(pthread_mutex_lock(&lock));
}

static void (*take)(void);

OWN static void visit(void)
{
	take();
	room = room % 200 + 40;
	pthread_mutex_unlock(&lock);
}

OWN static void keep(int is_fine)
{
	take();
	if (is_fine)
		pthread_mutex_unlock(&lock);
}

/* Its last act is to call another one, so it has no frame then. */
OWN static void keep_by_jump(void)
{
	errors += 0;
	take_plain();
}

OWN static void keep_own(int is_fine, int is_inlined)
{
	if (is_inlined)
		take_inlined();
	else
		errors += take_jumping();
	if (is_fine)
		pthread_mutex_unlock(&lock);
}

OWN static void visit_own(int is_inlined)
{
	if (is_inlined)
		take_inlined();
	else
		errors += take_jumping();
	pthread_mutex_unlock(&lock);
}

static int is_own, is_inlined;

static void *run_visits(void *data)
{
	for (int i = 0; i < 50; i++) {
		if (is_own)
			visit_own(is_inlined);
		else
			visit();
		usleep(1000);
	}
	return data;
}

static void *run_keeper(void *data)
{
	usleep(20000);
	if (is_own)
		keep_own(data != NULL, is_inlined);
	else
		keep(data != NULL);
	return NULL;
}

static void *run_jumper(void *data)
{
	usleep(20000);
	keep_by_jump();
	if (data)
		pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*take)(void);
	} sorts[] = {{"plain", take_plain}, {"linked", take_linked}, {"grown", take_grown},
		{"inner", take_inner}, {"mixed", take_mixed}, {"jump", take_plain},
		{"once", take_once}};
	const char *how = argc > 1 ? argv[1] : "plain";
	void *fine = argc > 2 ? &lock : NULL;
	pthread_t threads[2];

	for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
		if (strcmp(how, sorts[i].name) == 0)
			take = sorts[i].take;
	is_inlined = strcmp(how, "inlined") == 0;
	is_own = is_inlined || strcmp(how, "jumping") == 0;
	end_after(fine ? 20 : 5);
	pthread_create(&threads[0], NULL, strcmp(how, "jump") == 0 ? run_jumper : run_keeper, fine);
	if (strcmp(how, "once") == 0) {
		usleep(100000);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	} else {
		pthread_create(&threads[1], NULL, run_visits, NULL);
		pthread_join(threads[1], NULL);
	}
	pthread_join(threads[0], NULL);
	return errors;
}
