/* SPDX-License-Identifier: ISC */
/*
 * crowd THREADS IDLE: each thread handles one request after the other, until the ring has wrapped
 * many times. The first request of all waits for a reply that never comes. IDLE connections without
 * labels are pending all the time. Recorded as THRUM_TRACE says; then kills itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <thrum.h>

#define REQUESTS 20000

static long idle_each;

static void *work(void *first)
{
	for (long i = 0; i < idle_each; i++)
		thrum_task_create(THRUM_KIND_HANDLE, NULL);
	for (int i = 0; i < REQUESTS; i++) {
		thrum_task request = thrum_task_create(THRUM_KIND_PROMISE, "request");
		thrum_task reply = thrum_task_create_in(request, THRUM_KIND_PROMISE,
			first && i == 0 ? "lost reply" : "reply");

		thrum_task_should_resolve(request);
		thrum_task_should_resolve(reply);
		THRUM_RUN (request)
			thrum_task_wait(request, reply);
		if (first && i == 0)
			continue;
		thrum_task_resolve(reply);
		thrum_task_read(request, reply);
		thrum_task_resolve(request);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 4;
	pthread_t thread[64];

	threads = threads < 1 ? 1 : threads > 64 ? 64 : threads;
	idle_each = argc > 2 ? atol(argv[2]) / threads : 0;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, i == 0 ? argv : NULL) != 0)
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	raise(SIGKILL);
	return 0;
}
