/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="thread list_containers"
 *   truth: the slowest list_containers waits for the lock of the container db, which start_container
 *     holds for 300 ms while it relabels all files of the volume (relabel_volume).
 *   culprit: start_container|relabel_volume
 *   victim: list_containers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about docker: `docker ps` locks each container in turn, and takes long while one of them
 * is created, because that relabels its files under the lock. A daemon that serves each call in a thread.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONTAINERS 5
#define CALLS 12

struct container {
	pthread_mutex_t lock;
	const char *name;
	bool running;
	int files;
};

static struct container containers[CONTAINERS] = {
	{PTHREAD_MUTEX_INITIALIZER, "proxy", true, 0},
	{PTHREAD_MUTEX_INITIALIZER, "web", true, 0},
	{PTHREAD_MUTEX_INITIALIZER, "mail", false, 0},
	{PTHREAD_MUTEX_INITIALIZER, "db", false, 60},
	{PTHREAD_MUTEX_INITIALIZER, "cache", true, 0},
};
static sem_t relabels;
static bool broken;

static void work(long microseconds)
{
	struct timespec pause = {0, microseconds * 1000};

	nanosleep(&pause, NULL);
}

static void relabel_volume(const struct container *container)
{
	for (int i = 0; i < container->files; i++) {
		work(5000);
		if (i == 2)
			sem_post(&relabels);
	}
}

static void *start_container(void *data)
{
	struct container *container = data;

	if (!broken)
		relabel_volume(container);
	pthread_mutex_lock(&container->lock);
	if (broken)
		relabel_volume(container);
	container->running = true;
	pthread_mutex_unlock(&container->lock);
	return NULL;
}

static void *list_containers(void *data)
{
	int *running = data;

	for (int i = 0; i < CONTAINERS; i++) {
		pthread_mutex_lock(&containers[i].lock);
		work(300);
		*running += containers[i].running;
		pthread_mutex_unlock(&containers[i].lock);
	}
	return NULL;
}

static void *rotate_logs(void *data)
{
	(void)data;
	for (int i = 0; i < 20; i++)
		work(25000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t start, rotate, list;
	int running;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&relabels, 0, 0);
	pthread_create(&rotate, NULL, rotate_logs, NULL);
	for (int call = 0; call < CALLS; call++) {
		if (call == 6) {
			pthread_create(&start, NULL, start_container, &containers[3]);
			while (sem_wait(&relabels))
				continue;
		}
		running = 0;
		pthread_create(&list, NULL, list_containers, &running);
		pthread_join(list, NULL);
		printf("%d of %d run\n", running, CONTAINERS);
		work(5000);
	}
	pthread_join(start, NULL);
	pthread_join(rotate, NULL);
	return EXIT_SUCCESS;
}
