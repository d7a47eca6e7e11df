/* SPDX-License-Identifier: ISC */
/*
 * Pipes whose bytes are tokens, of which a thread needs one to work. It knows nothing of thrum.
 *
 * tokens leak	two threads keep their token; SIGALRM ends it
 * tokens fine	all give it back
 * tokens jobs	the bytes are jobs: workers put some of them back once, and wait for the next at the end
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define THREADS 9
#define JOBS 20

static int ends[2];
static bool leaks;
static int done;

static void *build(void *number)
{
	char token;

	if (read(ends[0], &token, 1) != 1)
		return NULL;
	usleep(2000);
	if (leaks && (number == (void *)5 || number == (void *)6))
		return NULL; /* and keeps it */
	if (write(ends[1], &token, 1) != 1)
		return NULL;
	return number;
}

static int build_all(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < 2; i++)
		if (write(ends[1], "+", 1) != 1)
			return 1;
	/* Five build, then two that may keep their tokens, then two more. */
	for (long i = 0, joined = 0; i < THREADS; i++) {
		pthread_create(&threads[i], NULL, build, (void *)i);
		for (; (i == 4 || i == 6 || i == THREADS - 1) && joined <= i; joined++)
			pthread_join(threads[joined], NULL);
	}
	return 0;
}

static void *work(void *unused)
{
	char job;

	while (read(ends[0], &job, 1) == 1) {
		if (job == 'r' && write(ends[1], "j", 1) != 1)
			break;
		__atomic_add_fetch(&done, job != 'r', __ATOMIC_RELAXED);
	}
	return unused;
}

static int do_jobs(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < JOBS; i++)
		if (write(ends[1], i % 3 == 0 ? "r" : "j", 1) != 1)
			return 1;
	while (__atomic_load_n(&done, __ATOMIC_RELAXED) < JOBS)
		usleep(1000);
	usleep(300000); /* the workers are idle */
	return 0;
}

int main(int argc, char **argv)
{
	if (pipe(ends) || argc < 2)
		return 1;
	leaks = strcmp(argv[1], "leak") == 0;
	end_after(leaks ? 2 : 20);
	return strcmp(argv[1], "jobs") == 0 ? do_jobs() : build_all();
}
