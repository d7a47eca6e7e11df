/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   run: kill 2600
 *   ask: why
 *   culprit: nothing
 */

/* A thread frees an event while its callback waits for a third thread, turn by turn. */

#define _GNU_SOURCE
#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
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
static pthread_t go(void *(*f)(void *), void *a)
{
	pthread_t t;
	pthread_create(&t, 0, f, a);
	return t;
}
static struct event_base *b;
static struct event *e;
static int p[2];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void cb(evutil_socket_t fd, short w, void *a)
{
	(void)w;
	(void)a;
	char x;
	if (read(fd, &x, 1) < 0)
		return;
	event_del(e);
	pthread_mutex_lock(&m);
	while (!ready)
		pthread_cond_wait(&c, &m);
	ready = 0;
	pthread_mutex_unlock(&m);
	event_base_loopbreak(b);
}
static void *loop(void *a)
{
	(void)a;
	event_base_loop(b, EVLOOP_NO_EXIT_ON_EMPTY);
	return 0;
}
static void *third(void *a)
{
	(void)a;
	nap(1800);
	pthread_mutex_lock(&m);
	ready = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return 0;
}
int main(void)
{
	evthread_use_pthreads();
	if (pipe(p))
		return 1;
	for (;;) {
		b = event_base_new();
		e = event_new(b, p[0], EV_READ | EV_PERSIST, cb, 0);
		event_add(e, 0);
		pthread_t l = go(loop, 0);
		if (write(p[1], "x", 1) < 0)
			return 1;
		nap(100);
		pthread_t t = go(third, 0);
		event_free(e);
		printf("freed\n");
		fflush(stdout);
		pthread_join(l, 0);
		pthread_join(t, 0);
		event_base_free(b);
	}
}
