/* SPDX-License-Identifier: ISC */
/*
 * A program that waits for a pipe both of whose ends it has. The argument says what else happens. SIGALRM
 * ends it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_ready = PTHREAD_COND_INITIALIZER;
static bool was_signalled;
static int ends[2];

static void *read_pipe(void *data)
{
	char byte;

	pthread_mutex_lock(&mutex);
	was_signalled = true;
	pthread_cond_signal(&is_ready);
	pthread_mutex_unlock(&mutex);
	while (read(ends[0], &byte, 1) == 1)
		continue;
	return data;
}

static void on_signal(int number)
{
	if (write(ends[1], "x", 1) < 0)
		_exit(number);
}

static void wait_for_signal(bool looks_first)
{
	pthread_mutex_lock(&mutex);
	if (!looks_first || !was_signalled)
		pthread_cond_wait(&is_ready, &mutex);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	bool is_early = strcmp(name, "early") == 0;
	pthread_t thread;

	end_after(1);
	if (pipe(ends) < 0)
		return 1;
	/* A handler may end both waits. */
	if (strcmp(name, "handler") == 0)
		signal(SIGUSR1, on_signal);
	pthread_create(&thread, NULL, read_pipe, NULL);
	usleep(200000);
	/* The thread waits already. */
	if (strcmp(name, "later") == 0)
		signal(SIGUSR1, on_signal);
	wait_for_signal(strcmp(name, "fine") == 0);
	if (!is_early)
		close(ends[1]);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
