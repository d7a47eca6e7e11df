/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 1500
 *   ask: why
 *   truth: requests for the same tile share one load; when tile 5 turns out to be corrupt, the loader takes it out of the cache but never ends the load nor wakes those who share it.
 *   culprit: load tile 5
 *   victim: GET /tile/5
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	TILES = 8,
	CLIENTS = 4,
	REQUESTS = 24
};

/* A load that some requests share. */
struct load {
	struct load *next;
	int number, references;
	enum {
		QUEUED,
		LOADED,
		FAILED
	} state;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct load *cache[TILES], *queue;
static bool broken, quit;

static void load_unref(struct load *load)
{
	if (--load->references == 0)
		free(load);
}

/* The caller holds the mutex. */
static struct load *lookup(int number)
{
	struct load *load = cache[number];

	if (!load) {
		load = calloc(1, sizeof *load);
		load->number = number;
		load->references = 1;
		load->task = thrum_task_createf(THRUM_KIND_PROMISE, "load tile %d", number);
		load->next = queue;
		queue = load;
		cache[number] = load;
		pthread_cond_signal(&queued);
	}
	load->references++;
	return load;
}

static bool get(int number)
{
	thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "GET /tile/%d", number);
	struct load *load;
	bool found;

	thrum_task_should_resolve(request);
	pthread_mutex_lock(&mutex);
	load = lookup(number);
	if (load->state == QUEUED)
		thrum_task_wait(request, load->task);
	while (load->state == QUEUED)
		pthread_cond_wait(&done, &mutex);
	found = load->state == LOADED;
	load_unref(load);
	pthread_mutex_unlock(&mutex);
	if (found)
		thrum_task_resolve(request);
	else
		thrum_task_fail(request, "404");
	return found;
}

static void *loader(void *data)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct load *load;

		while (!queue && !quit)
			pthread_cond_wait(&queued, &mutex);
		if (!queue)
			break;
		load = queue;
		queue = load->next;
		pthread_mutex_unlock(&mutex);
		usleep(15000);
		pthread_mutex_lock(&mutex);
		if (load->number == 5) { /* corrupt */
			cache[load->number] = NULL;
			if (broken) {
				load_unref(load);
				continue;
			}
			load->state = FAILED;
			thrum_task_fail(load->task, "corrupt");
		} else {
			load->state = LOADED;
			thrum_task_resolve(load->task);
		}
		load_unref(load);
		pthread_cond_broadcast(&done);
	}
	pthread_mutex_unlock(&mutex);
	return data;
}

static void *client(void *data)
{
	for (int i = 0; i < REQUESTS; i++) {
		get((i / 2 + (int)(intptr_t)data / 2) % TILES);
		usleep(2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS], thread;

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	pthread_create(&thread, NULL, loader, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, client, (void *)(intptr_t)i);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&mutex);
	quit = true;
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	return 0;
}
