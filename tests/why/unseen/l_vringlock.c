/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: make_request sleeps on ring_room while it holds queue_lock; req_done needs queue_lock to free ring entries, so no room ever comes.
 *   culprit: queue_lock|make_request
 *   victim: checkpointer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about OSv's virtio-blk: under a storm of writes the guest wedges; a writer sleeps for room in the
 * ring and holds the queue's lock, for which the completion thread waits that would make room.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	RING = 8,
	REQUESTS = 100,
	WRITERS = 2
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ring_room, device_done, device_work;
static atomic_int completed;
static bool broken;
static unsigned submitted;

/* Stands for the disk. It begins when the ring is full, as under heavy load. */
static void *device(void *unused)
{
	for (int i = 0; i < RING; i++)
		sem_wait(&device_work);
	for (int i = 0; i < RING; i++)
		sem_post(&device_done);
	for (int i = RING; i < WRITERS * REQUESTS; i++) {
		sem_wait(&device_work);
		sem_post(&device_done);
	}
	return unused;
}

static void make_request(void)
{
	/* A full ring: wait for room. The healthy driver does so before it takes the lock. */
	if (!broken)
		sem_wait(&ring_room);
	pthread_mutex_lock(&queue_lock);
	if (broken)
		sem_wait(&ring_room);
	submitted++;
	sem_post(&device_work);
	pthread_mutex_unlock(&queue_lock);
}

static void *req_done(void *unused)
{
	pthread_setname_np(pthread_self(), "blk req_done");
	for (int i = 0; i < WRITERS * REQUESTS; i++) {
		sem_wait(&device_done);
		pthread_mutex_lock(&queue_lock);
		atomic_fetch_add(&completed, 1);
		sem_post(&ring_room);
		pthread_mutex_unlock(&queue_lock);
	}
	return unused;
}

static void *checkpointer(void *unused)
{
	pthread_setname_np(pthread_self(), "z_wr_iss");
	for (int i = 0; i < REQUESTS; i++)
		make_request();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t writers[WRITERS], completion, disk;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&ring_room, 0, RING);
	sem_init(&device_work, 0, 0);
	sem_init(&device_done, 0, 0);
	/* The disk begins when the writers have queued a burst. */
	pthread_create(&completion, NULL, req_done, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, checkpointer, NULL);
	if (broken) {
		/* The storm is longer than the ring before the disk answers. */
		int value = 1;

		while (sem_getvalue(&ring_room, &value), value > 0)
			sched_yield();
		while (!pthread_mutex_trylock(&queue_lock)) {
			pthread_mutex_unlock(&queue_lock);
			sched_yield();
		}
	}
	pthread_create(&disk, NULL, device, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(completion, NULL);
	pthread_join(disk, NULL);
	printf("%u submitted, %d completed\n", submitted, atomic_load(&completed));
	return 0;
}
