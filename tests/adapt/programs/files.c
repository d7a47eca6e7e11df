/* SPDX-License-Identifier: ISC */
/*
 * Threads that lock files (flock). It knows nothing of thrum. Where it hangs, SIGALRM ends it.
 *
 * files fine		threads and a child lock a file in turn, also shared, by duplicates and anew
 * files deadlock	two threads lock two files in different orders
 * files kept		a thread ends, and its descriptor keeps the lock
 * files again		a thread locks a file that it has locked by another descriptor
 * files child		a child has the lock after a thread
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define TURNS 20

static const char *const names[] = {"first", "second"};
static pthread_barrier_t both;

static int lock_file(const char *name, int how)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, how))
		perror(name);
	return fd;
}

static void *take_turns(void *how)
{
	for (int i = 0; i < TURNS; i++) {
		int fd = lock_file("first", how ? LOCK_SH : LOCK_EX), copy = -1;

		if (i % 4 == 0)
			copy = dup(fd);
		if (i % 4 == 1)
			flock(fd, LOCK_SH); /* instead */
		usleep(300);
		if (i % 3 == 0)
			flock(copy < 0 ? fd : copy, LOCK_UN);
		close(fd);
		if (copy >= 0)
			close(copy);
	}
	return NULL;
}

static void *lock_both(void *swapped)
{
	int first = lock_file(names[swapped != NULL], LOCK_EX);

	pthread_barrier_wait(&both);
	close(lock_file(names[swapped == NULL], LOCK_EX));
	close(first);
	return NULL;
}

static void *keep_lock(void *unused)
{
	lock_file("first", LOCK_EX);
	return unused;
}

static void *lock_again(void *unused)
{
	int first = lock_file("first", LOCK_EX), second = lock_file("first", LOCK_EX);

	close(second);
	close(first);
	return unused;
}

static void *lock_once(void *unused)
{
	close(lock_file("first", LOCK_EX));
	return unused;
}

static void wait_once(void)
{
	int fd = lock_file("first", LOCK_EX);
	pthread_t thread;

	pthread_create(&thread, NULL, lock_once, NULL);
	usleep(100000);
	close(fd);
	pthread_join(thread, NULL);
}

/* A child and then a thread wait for the lock; the kernel gives it to the child. */
static void lock_in_child(void)
{
	int fd = lock_file("first", LOCK_EX);
	pid_t child = fork();
	pthread_t thread;

	if (child == 0) {
		close(fd);
		lock_file("first", LOCK_EX);
		usleep(500000);
		_exit(0);
	}
	usleep(100000);
	pthread_create(&thread, NULL, lock_once, NULL);
	usleep(100000);
	close(fd);
	pthread_join(thread, NULL);
}

static void run(void *body(void *), int count)
{
	pthread_t threads[3];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, body, i ? &both : NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	bool is_fine = strcmp(name, "fine") == 0;

	unlink("first"); /* the child of an earlier run may have it */
	if (!is_fine)
		end_after(2);
	pthread_barrier_init(&both, NULL, 2);
	if (strcmp(name, "deadlock") == 0) {
		run(lock_both, 2);
	} else if (strcmp(name, "kept") == 0) {
		run(keep_lock, 1);
		run(lock_once, 1);
	} else if (strcmp(name, "again") == 0) {
		run(lock_again, 1);
	} else if (strcmp(name, "child") == 0) {
		lock_in_child();
	} else {
		wait_once();
		pid_t child = fork();

		if (child == 0) {
			take_turns(NULL);
			_exit(0);
		}
		run(take_turns, 3);
		waitpid(child, NULL, 0);
	}
	puts("done");
	return 0;
}
