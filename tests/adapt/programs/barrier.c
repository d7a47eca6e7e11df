/* SPDX-License-Identifier: ISC */
/* Three threads meet at a barrier, which was made before them, and one leaves. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "hang.h"

static pthread_barrier_t round_end;
static atomic_int waiting;

static void meet(void)
{
	atomic_fetch_add(&waiting, 1);
	pthread_barrier_wait(&round_end);
	atomic_fetch_sub(&waiting, 1);
}

static void *count_all(void *unused)
{
	for (int i = 0; i < 5; i++)
		meet();
	return unused;
}

static void *count_some(void *unused)
{
	for (int i = 0; i < 3; i++)
		meet();
	return unused; /* the others count on */
}

static bool hangs(void)
{
	return atomic_load(&waiting) == 2;
}

int main(void)
{
	pthread_t some, all[2];

	pthread_barrier_init(&round_end, NULL, 3);
	pthread_create(&some, NULL, count_some, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&all[i], NULL, count_all, NULL);
	pthread_join(some, NULL);
	puts("some are counted");
	fflush(stdout);
	end_when(hangs);
	for (int i = 0; i < 2; i++)
		pthread_join(all[i], NULL);
	return 0;
}
