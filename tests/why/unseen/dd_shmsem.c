/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child "camera" posts the semaphore in shared memory before the parent has initialised it. sem_init
 *     takes the post away, and the parent waits for it for ever.
 *   culprit: sem_init|init_frame|camera|open_camera
 *   victim: \bmain\b|wait_for_frame|display
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A camera process puts frames into shared memory; the viewer takes them. */
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

struct shared {
	sem_t full, empty;
	int frame;
};

static void run_camera(struct shared *shared)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "camera");
	for (int i = 0; i < 10; i++) {
		shared->frame = i;
		sem_post(&shared->full);
		sem_wait(&shared->empty);
	}
	_exit(0);
}

static void init_frame(struct shared *shared)
{
	sem_init(&shared->full, 1, 0);
	sem_init(&shared->empty, 1, 0);
}

static pid_t open_camera(struct shared *shared, bool broken)
{
	pid_t child;

	if (!broken)
		init_frame(shared);
	child = fork();
	if (child == 0)
		run_camera(shared);
	if (broken) {
		usleep(3000); /* other set-up */
		init_frame(shared);
	}
	return child;
}

static void *display(void *data)
{
	struct shared *shared = data;

	pthread_setname_np(pthread_self(), "display");
	for (int i = 0; i < 10; i++) {
		sem_wait(&shared->full);
		printf("frame %d\n", shared->frame);
		sem_post(&shared->empty);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	struct shared *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	pthread_t thread;
	pid_t child;

	child = open_camera(shared, broken);
	pthread_create(&thread, NULL, display, shared);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return 0;
}
