/* SPDX-License-Identifier: ISC */
/*
 * A worker tells by an eventfd, or with "pipe" by a pipe, that a request is done, and needs a lock for that.
 * main polls for it while it holds the lock; with "fine" it releases the lock meanwhile. With "late" another
 * thread writes after a while, and with "looks" main polls again and again. SIGALRM ends one that hangs.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "patience.h"

static const char *chosen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int requests, done, told;
static int done_from, done_to;

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

static void tell(void)
{
	static const char one[8] = {1};

	(void)!write(done_to, one, sizeof one);
}

static void *serve(void *unused)
{
	while (atomic_load(&done) < 3) {
		if (atomic_load(&requests) == atomic_load(&done)) {
			usleep(1000);
			continue;
		}
		usleep(100000); /* until main polls */
		pthread_mutex_lock(&lock);
		atomic_fetch_add(&done, 1);
		pthread_mutex_unlock(&lock);
		tell();
		atomic_fetch_add(&told, 1);
	}
	return unused;
}

static void *help(void *unused)
{
	usleep(900000);
	tell();
	return unused;
}

static void take(void)
{
	char one[8];

	(void)!read(done_from, one, sizeof one);
}

static void drain(bool releases)
{
	struct pollfd one = {done_from, POLLIN, 0};

	atomic_fetch_add(&requests, 1);
	if (releases)
		pthread_mutex_unlock(&lock);
	while (poll(&one, 1, is("looks") ? 100 : -1) == 0)
		;
	take();
	if (releases)
		pthread_mutex_lock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t worker, helper;
	int ends[2];

	chosen = argc > 1 ? argv[1] : "";
	end_after(6);
	done_from = done_to = eventfd(0, 0);
	if (is("pipe") && pipe(ends) == 0)
		done_from = ends[0], done_to = ends[1];
	pthread_create(&worker, NULL, serve, NULL);
	/* A call for two descriptors takes the first one, with a time limit: it isn't known who writes. */
	struct pollfd two[] = {{done_from, POLLIN, 0}, {-1, POLLIN, 0}};

	atomic_fetch_add(&requests, 1);
	poll(two, 2, 5000);
	take();
	/* The write is recorded before the next wait for the pipe. */
	while (atomic_load(&told) == 0)
		usleep(1000);
	if (is("late"))
		pthread_create(&helper, NULL, help, NULL);
	pthread_mutex_lock(&lock);
	drain(is("fine"));
	pthread_mutex_unlock(&lock);
	if (is("late"))
		pthread_join(helper, NULL);
	puts("drained");
	return 0;
}
