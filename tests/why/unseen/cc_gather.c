/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 1500
 *   ask: why
 *   truth: Shard 2 answers the search for "plum" with an error, and collect_replies logs an error and goes on without counting it. So that shard's part never ends, and the search waits for it for ever.
 *   culprit: shard 2|collect_replies|collector
 *   victim: search plum|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thrum.h"

/* A search engine: each search goes to all shards, a collector gathers their replies. */

#define SHARDS 4

struct search {
	const char *word;
	int pending, hits;
	sem_t finished;
	thrum_task task, parts[SHARDS];
};

struct reply {
	struct search *search;
	int shard, hits; /* hits < 0: an error */
};

static bool broken;
static int questions[SHARDS][2], replies[2];

static void *run_shard(void *data)
{
	int shard = (int)(intptr_t)data;
	struct reply reply = {.shard = shard};

	thrum_lane_name("shard");
	while (read(questions[shard][0], &reply.search, sizeof(reply.search)) > 0) {
		usleep(2000);
		reply.hits = (int)strlen(reply.search->word) + shard;
		/* The shard merges its segments and can't look now. */
		if (shard == 2 && !strcmp(reply.search->word, "plum"))
			reply.hits = -1;
		if (write(replies[1], &reply, sizeof(reply)) != sizeof(reply))
			abort();
	}
	return NULL;
}

static void finish_part(struct search *search, int shard)
{
	thrum_task_resolve(search->parts[shard]);
	if (--search->pending == 0) {
		thrum_task_resolve(search->task);
		sem_post(&search->finished);
	}
}

static void *collect_replies(void *unused)
{
	struct reply reply;

	(void)unused;
	thrum_lane_name("collector");
	while (read(replies[0], &reply, sizeof(reply)) == sizeof(reply)) {
		if (reply.hits < 0) {
			thrum_logf("shard %d failed", reply.shard);
			fprintf(stderr, "shard %d: busy\n", reply.shard);
			if (broken)
				continue;
			reply.hits = 0;
		}
		reply.search->hits += reply.hits;
		finish_part(reply.search, reply.shard);
	}
	return NULL;
}

static int search_all(const char *word)
{
	struct search search = {.word = word, .pending = SHARDS};
	struct search *pointer = &search;

	sem_init(&search.finished, 0, 0);
	search.task = thrum_task_createf(THRUM_KIND_JOIN, "search %s", word);
	thrum_task_should_resolve(search.task);
	for (int i = 0; i < SHARDS; i++) {
		search.parts[i] = thrum_task_createf(THRUM_KIND_TASK, "ask shard %d", i);
		thrum_task_wait(search.task, search.parts[i]);
	}
	for (int i = 0; i < SHARDS; i++)
		if (write(questions[i][1], &pointer, sizeof(pointer)) != sizeof(pointer))
			abort();
	thrum_task_wait(thrum_task_current(), search.task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (sem_wait(&search.finished))
		continue;
	thrum_resume();
	thrum_task_read(thrum_task_current(), search.task);
	return search.hits;
}

int main(int argc, char **argv)
{
	static const char *const words[] = {"apple", "pear", "cherry", "plum", "quince"};
	pthread_t shards[SHARDS], collector;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(replies))
		return 1;
	for (int i = 0; i < SHARDS; i++) {
		if (pipe(questions[i]))
			return 1;
		pthread_create(&shards[i], NULL, run_shard, (void *)(intptr_t)i);
	}
	pthread_create(&collector, NULL, collect_replies, NULL);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		printf("%s: %d hits\n", words[i], search_all(words[i]));
	for (int i = 0; i < SHARDS; i++) {
		close(questions[i][1]);
		pthread_join(shards[i], NULL);
	}
	close(replies[1]);
	pthread_join(collector, NULL);
	return 0;
}
