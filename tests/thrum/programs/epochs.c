/* SPDX-License-Identifier: ISC */
/*
 * epochs NAME COUNT: handles requests until NAME.0001.thrum and so on are there, up to number COUNT.
 * One task begins before all of them and ends after them; another one waits for it in a thread that
 * does nothing else. Prints the number of requests.
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <unistd.h>

static thrum_task old;

static void *wait_for_old(void *stop)
{
	thrum_task waiter = thrum_task_create(THRUM_KIND_PROMISE, "waiter");

	THRUM_RUN (waiter)
		thrum_task_wait(waiter, old);
	pthread_mutex_lock(stop);
	pthread_mutex_unlock(stop);
	return NULL;
}

static int is_there(const char *name, int number)
{
	char path[4096];

	snprintf(path, sizeof path, "%s.%04d.thrum", name, number);
	if (access(path, F_OK) == 0)
		return 1;
	snprintf(path, sizeof path, "%s.%04d.thrum.zst", name, number);
	return access(path, F_OK) == 0;
}

int main(int argc, char **argv)
{
	pthread_mutex_t stop = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;
	long requests = 0;

	if (argc < 3)
		return 1;
	old = thrum_task_create(THRUM_KIND_PROMISE, "began long ago");
	pthread_mutex_lock(&stop);
	if (pthread_create(&thread, NULL, wait_for_old, &stop) != 0)
		return 1;
	for (int number = 1; number <= atoi(argv[2]); number++) {
		while (!is_there(argv[1], number)) {
			for (int i = 0; i < 100; i++, requests++)
				thrum_task_resolve(
					thrum_task_create(THRUM_KIND_PROMISE, "request"));
			usleep(100);
		}
	}
	pthread_mutex_unlock(&stop);
	pthread_join(thread, NULL);
	thrum_task_resolve(old);
	printf("%ld\n", requests);
	return 0;
}
