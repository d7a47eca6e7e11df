/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The new clients put their session into the address, and cache_key() takes the whole address. So the cache
 *     never hits, and each request begins a fetch of its own (“fetch /prices?session=…”) from a backend that serves one
 *     at a time, where one fetch had served all.
 *   culprit: fetch /prices|cache_key
 *   victim: GET /prices
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A shop's front end: requests go through a pipeline of threads, parser, cache and sender. The cache fetches
 * from a backend whatever it doesn't know, once for all who ask for it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thrum.h>

#define REQUESTS 7
#define KEY 48

struct item {
	struct item *next;
	thrum_task task;
	bool is_fetch;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct item *first, **end;
};

struct request {
	struct item item;
	char address[KEY];
	char body[32];
	struct request *next_waiter;
};

struct entry {
	struct item item; /* the fetch */
	struct entry *next;
	char key[KEY], body[32];
	bool known;
	struct request *waiters;
};

static struct queue parser_queue, cache_queue, sender_queue, backend_queue;
static struct entry *entries;
static unsigned fetches;

static struct item quit; /* the last item of each queue */

/* ---- Queues between the threads --------------------------------------------------------------- */

static void queue_init(struct queue *queue)
{
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->filled, NULL);
	queue->end = &queue->first;
}

/* The task of the item can run from now on. */
static void queue_put(struct queue *queue, struct item *item)
{
	pthread_mutex_lock(&queue->mutex);
	thrum_task_ready(item->task);
	item->next = NULL;
	*queue->end = item;
	queue->end = &item->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
}

static struct item *queue_take(struct queue *queue)
{
	struct item *item;

	pthread_mutex_lock(&queue->mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!queue->first)
		pthread_cond_wait(&queue->filled, &queue->mutex);
	thrum_resume();
	item = queue->first;
	if (!(queue->first = item->next))
		queue->end = &queue->first;
	pthread_mutex_unlock(&queue->mutex);
	return item;
}

static void sleep_ms(unsigned ms)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(ms * 1000);
	thrum_resume();
}

/* ---- Parser ---------------------------------------------------------------------------------- */

static void *run_parser(void *data)
{
	struct item *item;

	(void)data;
	thrum_lane_name("parser");
	while ((item = queue_take(&parser_queue)) != &quit) {
		THRUM_RUN (item->task) {
			struct request *request = (struct request *)item;
			char *fragment = strchr(request->address, '#');

			if (fragment)
				*fragment = '\0';
			queue_put(&cache_queue, item);
		}
	}
	return NULL;
}

/* ---- Cache ----------------------------------------------------------------------------------- */

/* The part of the address on which the answer depends. */
static __attribute__((noinline)) void cache_key(const struct request *request, char key[KEY])
{
	memcpy(key, request->address, KEY);
}

static struct entry *cache_find(const char *key)
{
	struct entry *entry = entries;

	while (entry && strcmp(entry->key, key) != 0)
		entry = entry->next;
	return entry;
}

static struct entry *begin_fetch(const char *key)
{
	struct entry *entry = calloc(1, sizeof *entry);

	if (!entry)
		abort();
	memcpy(entry->key, key, KEY);
	entry->next = entries;
	entries = entry;
	entry->item.is_fetch = true;
	entry->item.task = thrum_task_createf(THRUM_KIND_TASK, "fetch %s", key);
	thrum_task_should_resolve(entry->item.task);
	fetches++;
	queue_put(&backend_queue, &entry->item);
	return entry;
}

static void look_up(struct request *request)
{
	char key[KEY];
	struct entry *entry;

	cache_key(request, key);
	entry = cache_find(key);
	if (!entry)
		entry = begin_fetch(key);
	if (!entry->known) {
		thrum_task_wait(request->item.task, entry->item.task);
		request->next_waiter = entry->waiters;
		entry->waiters = request;
		return;
	}
	memcpy(request->body, entry->body, sizeof request->body);
	queue_put(&sender_queue, &request->item);
}

static void on_fetched(struct entry *entry)
{
	struct request *request;

	entry->known = true;
	thrum_task_resolve(entry->item.task);
	while ((request = entry->waiters)) {
		entry->waiters = request->next_waiter;
		thrum_task_read(request->item.task, entry->item.task);
		memcpy(request->body, entry->body, sizeof request->body);
		queue_put(&sender_queue, &request->item);
	}
}

static void *run_cache(void *data)
{
	struct item *item;

	(void)data;
	thrum_lane_name("cache");
	while ((item = queue_take(&cache_queue)) != &quit) {
		THRUM_RUN (item->task) {
			if (item->is_fetch)
				on_fetched((struct entry *)item);
			else
				look_up((struct request *)item);
		}
	}
	return NULL;
}

/* ---- Backend and sender ----------------------------------------------------------------------- */

static void *run_backend(void *data)
{
	struct item *item;

	(void)data;
	thrum_lane_name("backend");
	while ((item = queue_take(&backend_queue)) != &quit) {
		THRUM_RUN (item->task) {
			sleep_ms(70); /* it adds up all prices */
			snprintf(((struct entry *)item)->body, sizeof((struct entry *)item)->body,
				"17 pears, 3 plums");
			queue_put(&cache_queue, item);
		}
	}
	return NULL;
}

static void *run_sender(void *data)
{
	struct item *item;

	(void)data;
	thrum_lane_name("sender");
	for (unsigned sent = 0; sent < REQUESTS; sent++) {
		item = queue_take(&sender_queue);
		THRUM_RUN (item->task) {
			thrum_logf("200, %s", ((struct request *)item)->body);
			thrum_task_resolve(item->task);
		}
		free(item);
	}
	return NULL;
}

static void receive(unsigned session, bool in_address)
{
	struct request *request = calloc(1, sizeof *request);

	if (!request)
		abort();
	if (in_address)
		snprintf(request->address, KEY, "/prices?session=%u", session);
	else
		snprintf(request->address, KEY, "/prices");
	request->item.task = thrum_task_create(THRUM_KIND_TASK, "GET /prices");
	thrum_task_should_resolve(request->item.task);
	queue_put(&parser_queue, &request->item);
}

int main(int argc, char **argv)
{
	static struct queue *const queues[] = {&parser_queue, &cache_queue, &backend_queue};
	static void *(*const runs[])(void *) = {run_parser, run_cache, run_backend};
	bool new_clients = argc > 1 && strcmp(argv[1], "broken") == 0;
	pthread_t threads[3], sender;

	thrum_start(NULL);
	queue_init(&sender_queue);
	for (int i = 0; i < 3; i++)
		queue_init(queues[i]);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, runs[i], NULL))
			return 2;
	if (pthread_create(&sender, NULL, run_sender, NULL))
		return 2;
	for (unsigned session = 1; session <= REQUESTS; session++) {
		receive(session, new_clients);
		sleep_ms(15);
	}
	pthread_join(sender, NULL);
	for (int i = 0; i < 3; i++) {
		queue_put(queues[i], &quit);
		pthread_join(threads[i], NULL);
	}
	thrum_stop();
	printf("%u requests, %u fetches\n", REQUESTS, fetches);
	return 0;
}
