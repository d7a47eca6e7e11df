/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */

/* A reader takes a lock twice. Meanwhile a writer waits, with a time limit, and is preferred. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void nap(long ms)
{
	struct timespec t = {ms / 1000, (ms % 1000) * 1000000};
	nanosleep(&t, 0);
}
static struct timespec in(long ms)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}
static pthread_t go(void *(*f)(void *), void *a)
{
	pthread_t t;
	pthread_create(&t, 0, f, a);
	return t;
}
static pthread_rwlock_t l;
static void *writer(void *a)
{
	(void)a;
	for (;;) {
		nap(50);
		struct timespec t = in(2500);
		int e = pthread_rwlock_timedwrlock(&l, &t);
		if (!e) {
			pthread_rwlock_unlock(&l);
		} else
			printf("writer gave up\n");
	}
	return 0;
}
static void *reader(void *a)
{
	(void)a;
	for (;;) {
		pthread_rwlock_rdlock(&l);
		nap(120);
		pthread_rwlock_rdlock(&l);
		printf("twice\n");
		fflush(stdout);
		pthread_rwlock_unlock(&l);
		pthread_rwlock_unlock(&l);
		nap(20);
	}
	return 0;
}
int main(void)
{
	pthread_rwlockattr_t a;
	pthread_rwlockattr_init(&a);
	pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&l, &a);
	go(writer, 0);
	pthread_join(go(reader, 0), 0);
}
