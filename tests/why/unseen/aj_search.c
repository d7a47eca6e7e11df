/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: scatter() counts all shards as outstanding, but skips the one that is being moved. So the count of the search
 *     for pears never comes down to zero, though all shards that were asked have answered; “search pears” never ends.
 *   culprit: search pears|scatter
 *   victim: session|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A search over several shards, each with a thread. A search asks all shards and merges their answers; three sessions
 * search at a time. (Annotated in ten minutes: only the searches and the questions to the shards are tasks.) */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thrum.h>

#define SHARDS 4
#define SESSIONS 3

struct search {
	const char *word;
	pthread_mutex_t mutex;
	pthread_cond_t complete;
	unsigned outstanding, hits;
	thrum_task task;
};

struct question {
	struct question *next;
	struct search *search;
	thrum_task task;
};

struct shard {
	unsigned number;
	bool moving; /* to another disk: its documents are found in its copy */
	bool closed;
	pthread_mutex_t mutex;
	pthread_cond_t asked;
	struct question *first, **end;
	pthread_t thread;
};

static struct shard shards[SHARDS];

/* ---- Shards ---------------------------------------------------------------------------------- */

static void shard_ask(struct shard *shard, struct search *search)
{
	struct question *question = calloc(1, sizeof *question);

	if (!question)
		abort();
	question->search = search;
	question->task = thrum_task_createf(THRUM_KIND_TASK, "%s in shard %u", search->word,
		shard->number);
	pthread_mutex_lock(&shard->mutex);
	*shard->end = question;
	shard->end = &question->next;
	pthread_cond_signal(&shard->asked);
	pthread_mutex_unlock(&shard->mutex);
}

static struct question *shard_next(struct shard *shard)
{
	struct question *question;

	pthread_mutex_lock(&shard->mutex);
	while (!shard->first && !shard->closed)
		pthread_cond_wait(&shard->asked, &shard->mutex);
	question = shard->first;
	if (question && !(shard->first = question->next))
		shard->end = &shard->first;
	pthread_mutex_unlock(&shard->mutex);
	return question;
}

/* Adds what a shard has found. */
static void gather(struct search *search, unsigned hits)
{
	pthread_mutex_lock(&search->mutex);
	search->hits += hits;
	if (--search->outstanding == 0)
		pthread_cond_signal(&search->complete);
	pthread_mutex_unlock(&search->mutex);
}

static void *run_shard(void *data)
{
	struct shard *shard = data;
	struct question *question;

	while ((question = shard_next(shard))) {
		usleep(5000 + 1000 * shard->number);
		thrum_task_resolve(question->task);
		gather(question->search, (unsigned)strlen(question->search->word) + shard->number);
		free(question);
	}
	return NULL;
}

static void shard_close(struct shard *shard)
{
	pthread_mutex_lock(&shard->mutex);
	shard->closed = true;
	pthread_cond_signal(&shard->asked);
	pthread_mutex_unlock(&shard->mutex);
	pthread_join(shard->thread, NULL);
}

/* ---- Searches -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void scatter(struct search *search)
{
	search->outstanding = SHARDS;
	for (unsigned i = 0; i < SHARDS; i++) {
		if (__atomic_load_n(&shards[i].moving, __ATOMIC_ACQUIRE))
			continue; /* its copy is in the next shard, and found there */
		shard_ask(&shards[i], search);
	}
}

static unsigned wait_for_hits(struct search *search)
{
	unsigned hits;

	pthread_mutex_lock(&search->mutex);
	while (search->outstanding > 0)
		pthread_cond_wait(&search->complete, &search->mutex);
	hits = search->hits;
	pthread_mutex_unlock(&search->mutex);
	return hits;
}

static unsigned search_for(const char *word)
{
	struct search search = {.word = word};
	unsigned hits;

	pthread_mutex_init(&search.mutex, NULL);
	pthread_cond_init(&search.complete, NULL);
	search.task = thrum_task_createf(THRUM_KIND_REQUEST, "search %s", word);
	thrum_task_should_resolve(search.task);
	scatter(&search);
	hits = wait_for_hits(&search);
	thrum_task_resolve(search.task);
	pthread_cond_destroy(&search.complete);
	pthread_mutex_destroy(&search.mutex);
	return hits;
}

static void *run_session(void *data)
{
	const char *const *words = data;

	thrum_lane_name("session");
	for (; *words; words++) {
		search_for(*words);
		usleep(20000);
	}
	return NULL;
}

/* ---- The program ----------------------------------------------------------------------------- */

/* The administrator moves a shard to another disk. */
static void set_moving(struct shard *shard, bool moving)
{
	__atomic_store_n(&shard->moving, moving, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	static const char *const words[SESSIONS][6] = {
		{"apples", "plums", "cherries", NULL},
		{"bread", "butter", "salt", NULL},
		{"tea", "coffee", NULL},
	};
	static const char *const late[] = {"pears", NULL};
	bool move = argc > 1 && strcmp(argv[1], "broken") == 0;
	pthread_t sessions[SESSIONS], last;

	thrum_start(NULL);
	for (unsigned i = 0; i < SHARDS; i++) {
		shards[i] = (struct shard){.number = i + 1};
		shards[i].end = &shards[i].first;
		pthread_mutex_init(&shards[i].mutex, NULL);
		pthread_cond_init(&shards[i].asked, NULL);
		if (pthread_create(&shards[i].thread, NULL, run_shard, &shards[i]))
			return 2;
	}
	for (int i = 0; i < SESSIONS; i++)
		if (pthread_create(&sessions[i], NULL, run_session, (void *)(uintptr_t)words[i]))
			return 2;
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i], NULL);
	if (move)
		set_moving(&shards[2], true);
	if (pthread_create(&last, NULL, run_session, (void *)(uintptr_t)late))
		return 2;
	usleep(200000);
	if (move)
		set_moving(&shards[2], false);
	pthread_join(last, NULL);
	for (int i = 0; i < SHARDS; i++)
		shard_close(&shards[i]);
	printf("done\n");
	return 0;
}
