/* SPDX-License-Identifier: ISC */
/*
 * A program that waits for a mutex which a child has. The argument says what the child does; "often" is as
 * "keep", but a thread waits for a condition with the mutex, which others take before. "single" and
 * "single-end" are as "give" and "end", but the program has no other thread. "sibling", "sibling-end" and
 * "sibling-keep" are as "give", "end" and "keep", but another child waits for the mutex. "exit", "quick",
 * "abort" and "sibling-exit" are as "end" and "sibling-end", but the child ends in a small function, with a
 * status or by abort(). "single-exit" and "single-kill" are as "single-end", but the child ends so, or by a
 * signal. "exit-late" is as "exit", but the child gives the mutex back first. "orphan" is a child that waits
 * for it while its parent ends with it, "parent" one whose parent gives it back. "above": the parent lives on
 * with it; "above-early": the parent has taken it before the fork; "above-table": as "above", with a
 * read-write lock. SIGALRM ends the program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

static struct shared {
	pthread_mutex_t mutex;
	pthread_rwlock_t table;
	int turns;
} * shared;

static void *take_turn(void *data)
{
	pthread_mutex_lock(&shared->mutex);
	shared->turns++;
	pthread_mutex_unlock(&shared->mutex);
	return data;
}

static void *wait_for_news(void *data)
{
	pthread_mutex_lock(&shared->mutex);
	pthread_cond_wait(data, &shared->mutex);
	pthread_mutex_unlock(&shared->mutex);
	return data;
}

static void take_often(void)
{
	static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_news, &news);
	usleep(100000);
	for (int i = 0; i < 3; i++)
		take_turn(NULL);
}

static bool gives_back(const char *what)
{
	return strcmp(what, "give") == 0 || strcmp(what, "single") == 0 ||
		strcmp(what, "sibling") == 0 || strcmp(what, "parent") == 0;
}

/* Waits until somebody waits for the mutex, and then for so long that this one looks who has it: on a busy
 * machine, it may begin to wait late. 2: so glibc notes that somebody waits. */
static void wait_for_waiter(void)
{
	while (__atomic_load_n(&shared->mutex.__data.__lock, __ATOMIC_ACQUIRE) != 2)
		usleep(1000);
	usleep(500000);
}

/* The child ends itself, and the mutex stays as it is. */
static __attribute__((noinline)) void give_up(const char *what)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	if (strcmp(what, "abort") == 0)
		abort();
	if (strcmp(what, "quick") == 0)
		quick_exit(9);
	exit(7);
}

/* Whether the child of such a case ends in give_up(). */
static bool gives_up(const char *what)
{
	return strstr(what, "exit") || strcmp(what, "quick") == 0 || strcmp(what, "abort") == 0;
}

/* Takes the mutex, and tells so by closing the pipe. */
static void hold(const char *what, int ends[2])
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "holder");
	pthread_mutex_lock(&shared->mutex);
	close(ends[1]);
	if (strcmp(what, "keep") == 0 || strcmp(what, "often") == 0 ||
		strcmp(what, "sibling-keep") == 0)
		sleep(20);
	if (gives_back(what))
		wait_for_waiter();
	if (strcmp(what, "exit-late") == 0)
		pthread_mutex_unlock(&shared->mutex);
	if (gives_up(what))
		give_up(what);
	if (strcmp(what, "single-kill") == 0) {
		usleep(100000); /* it begins to record */
		raise(SIGKILL);
	}
	if (strcmp(what, "end") != 0 && strcmp(what, "single-end") != 0 &&
		strcmp(what, "sibling-end") != 0)
		pthread_mutex_unlock(&shared->mutex);
	_exit(0);
}

/* A child that waits for the mutex, once that pipe is closed. */
static pid_t start_waiter(const int ends[2])
{
	pid_t waiter = fork();

	if (waiter != 0)
		return waiter;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ends[1]);
	_exit(read(ends[0], &(char){0}, 1) != 0 || take_turn(NULL) ? 1 : 0);
}

static __attribute__((noinline)) pid_t start_holder(const char *what, int ends[2])
{
	pid_t holder = fork();

	if (holder == 0)
		hold(what, ends);
	return holder;
}

static void be_siblings(const char *what, int ends[2])
{
	pid_t waiter = start_waiter(ends), holder = start_holder(what, ends);

	close(ends[1]);
	for (int i = 0; i < 2; i++)
		wait(NULL);
	printf("%d turns, %d children\n", shared->turns, (waiter > 0) + (holder > 0));
}

static void be_parent(int ends[2])
{
	start_waiter(ends);
	pthread_mutex_lock(&shared->mutex);
	close(ends[1]);
	wait_for_waiter();
	pthread_mutex_unlock(&shared->mutex);
	wait(NULL);
	printf("%d turns\n", shared->turns);
}

static void leave_orphan(void)
{
	pthread_mutex_lock(&shared->mutex);
	if (fork() == 0) {
		alarm(2);
		take_turn(NULL);
		_exit(0);
	}
	usleep(200000);
	_exit(0);
}

static void keep_above(bool is_early, int take(void *), void *lock)
{
	pthread_t thread;

	pthread_create(&thread, NULL, take_turn, NULL);
	pthread_join(thread, NULL);
	if (is_early)
		take(lock);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "waiter");
		usleep(100000);
		_exit(take(lock));
	}
	if (!is_early)
		take(lock);
	sleep(60);
}

static int take_mutex(void *lock)
{
	return pthread_mutex_lock(lock);
}

static int take_table(void *lock)
{
	return pthread_rwlock_wrlock(lock);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_mutexattr_t attributes;
	pthread_rwlockattr_t of_table;
	pthread_t threads[2];
	int ends[2];
	pid_t child;

	end_after(gives_back(what) ? 20 : 1);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (shared == MAP_FAILED || pipe(ends) < 0)
		return 1;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &attributes);
	pthread_rwlockattr_init(&of_table);
	pthread_rwlockattr_setpshared(&of_table, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(&shared->table, &of_table);
	if (strcmp(what, "often") == 0)
		take_often();
	if (strncmp(what, "sibling", 7) == 0) {
		be_siblings(what, ends);
		return 0;
	}
	if (strcmp(what, "parent") == 0) {
		be_parent(ends);
		return 0;
	}
	if (strcmp(what, "orphan") == 0)
		leave_orphan();
	if (strcmp(what, "above-table") == 0)
		keep_above(false, take_table, &shared->table);
	if (strncmp(what, "above", 5) == 0)
		keep_above(strcmp(what, "above") != 0, take_mutex, &shared->mutex);
	child = start_holder(what, ends);
	close(ends[1]);
	if (read(ends[0], &(char){0}, 1) != 0)
		return 1;
	/* Those that hang do so from here on. */
	if (!gives_back(what))
		end_after(1);
	/* The program has no other thread. */
	if (strncmp(what, "single", 6) == 0) {
		if (!gives_back(what))
			waitpid(child, NULL, 0);
		take_turn(NULL);
		printf("%d turns\n", shared->turns);
		return 0;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take_turn, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d turns\n", shared->turns);
	return 0;
}
