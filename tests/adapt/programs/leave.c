/* SPDX-License-Identifier: ISC */
/* Leaves calls that wait by a jump out of a signal's handler. It knows nothing of thrum. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf place;
static volatile sig_atomic_t may_jump, is_done;

static void jump(int number)
{
	(void)number;
	if (may_jump)
		siglongjmp(place, 1);
}

static void wait_for_post(void)
{
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	sem_wait(&semaphore);
}

static void wait_for_time(void)
{
	poll(NULL, 0, -1);
}

static void wait_for_lock(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

static void wait_for_bytes(void)
{
	int fds[2];
	char byte;

	if (pipe(fds) == 0)
		(void)!read(fds[0], &byte, 1);
}

/* Signals the main thread whenever it sleeps. */
static void *rouse(void *main_thread)
{
	char path[64], stat[256] = "";

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	while (!is_done) {
		int file = open(path, O_RDONLY);
		ssize_t size = read(file, stat, sizeof stat - 1);
		const char *state = size > 0 ? strchr(stat, ')') : NULL;

		close(file);
		if (state && state[2] == 'S')
			pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
		usleep(2000);
	}
	return main_thread;
}

int main(void)
{
	static void (*const waits[])(
		void) = {wait_for_time, wait_for_post, wait_for_lock, wait_for_bytes};
	static volatile int i;
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	signal(SIGUSR1, jump);
	for (i = 0; i < 4; i++) {
		if (sigsetjmp(place, 1) == 0) {
			may_jump = 1;
			if (i == 0 && pthread_create(&thread, NULL, rouse, &self) != 0)
				return 1;
			waits[i]();
		}
		may_jump = 0;
		printf("left %d\n", i);
	}
	is_done = 1;
	return 0;
}
