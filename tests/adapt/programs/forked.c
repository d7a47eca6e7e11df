/* SPDX-License-Identifier: ISC */
/*
 * A program that forks while one of its threads holds a lock, which the child then wants. The argument
 * says which; with a second one the thread has released it in time. SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

static bool is_fine;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t *shared;
static sem_t is_kept;

static void lock_mutex(void)
{
	pthread_mutex_lock(&mutex);
}

static void unlock_mutex(void)
{
	pthread_mutex_unlock(&mutex);
}

static void lock_shared(void)
{
	pthread_mutex_lock(shared);
}

static void unlock_shared(void)
{
	pthread_mutex_unlock(shared);
}

static void read_lock(void)
{
	pthread_rwlock_rdlock(&rwlock);
}

static void write_lock(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void unlock_rwlock(void)
{
	pthread_rwlock_unlock(&rwlock);
}

static void make_shared(void)
{
	pthread_mutexattr_t attributes;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (shared == MAP_FAILED)
		exit(1);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &attributes);
}

static struct scene {
	const char *name;
	void (*keep)(void), (*give)(void); /* of the thread "keeper", or of the one that forks */
	void (*want)(void);                /* of the child */
	bool is_own, has_output;
} scenes[] = {{"mutex", lock_mutex, unlock_mutex, lock_mutex, false, false},
	{"reader", read_lock, unlock_rwlock, write_lock, false, false},
	{"writer", write_lock, unlock_rwlock, read_lock, false, false},
	{"output", lock_mutex, unlock_mutex, lock_mutex, false, true},
	{"own", lock_mutex, unlock_mutex, lock_mutex, true, false},
	/* Not a copy: the thread may release it. */
	{"shared", lock_shared, unlock_shared, lock_shared, false, false}};

static void *keep_lock(void *data)
{
	const struct scene *scene = data;

	pthread_setname_np(pthread_self(), "keeper");
	scene->keep();
	if (is_fine)
		scene->give();
	sem_post(&is_kept);
	while (!is_fine && !scene->is_own)
		sleep(10);
	return NULL;
}

static pid_t start_child(const struct scene *scene, int output)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	scene->want();
	_exit(write(output, "done", 4) == 4 ? 0 : 1);
}

static void play(struct scene *scene)
{
	pthread_t keeper;
	int output[2], status;
	char bytes[8];

	if (pipe(output) < 0)
		exit(1);
	if (scene->is_own)
		keep_lock(scene);
	else if (pthread_create(&keeper, NULL, keep_lock, scene) != 0)
		exit(1);
	while (sem_wait(&is_kept) != 0)
		continue;
	pid_t child = start_child(scene, output[1]);

	close(output[1]);
	if (scene->has_output)
		while (read(output[0], bytes, sizeof bytes) > 0)
			continue;
	if (waitpid(child, &status, 0) == child)
		printf("%s: status %d\n", scene->name, status);
	if (!scene->is_own)
		pthread_join(keeper, NULL);
}

int main(int argc, char **argv)
{
	is_fine = argc > 2;
	end_after(is_fine ? 20 : 1);
	sem_init(&is_kept, 0, 0);
	make_shared();
	for (size_t i = 0; argc > 1 && i < sizeof scenes / sizeof *scenes; i++)
		if (strcmp(argv[1], scenes[i].name) == 0)
			play(&scenes[i]);
	return 0;
}
