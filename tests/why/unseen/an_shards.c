/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread shard-2 finds that its shard is corrupt, reports that, and returns from index_shard without coming
 *     to the barrier merge_gate. The barrier needs all four, so the other shards wait in it for ever.
 *   culprit: shard-2
 *   victim: shard-[013]|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An indexer: four threads count the words of their shards, meet, and merge their counts in ranges of the alphabet. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARDS 4
#define LETTERS 26

struct shard {
	pthread_t thread;
	int number;
	const char *text;
	int counts[LETTERS];
	int words;
};

struct index {
	int counts[LETTERS];
};

static struct shard shards[SHARDS];
static struct index merged;
static pthread_barrier_t merge_gate; /* all have counted */
static pthread_barrier_t done_gate;  /* all have merged */
static sem_t disk;                   /* two threads read at once, no more */
static atomic_int failures;

static const char *const texts_healthy[SHARDS] = {
	"SHRD the quick brown fox",
	"SHRD jumps over the lazy dog",
	"SHRD pack my box with five dozen jugs",
	"SHRD how vexingly quick daft zebras jump",
};

static const char *const texts_broken[SHARDS] = {
	"SHRD the quick brown fox",
	"SHRD jumps over the lazy dog",
	"SHRX pack my box with five dozen jugs",
	"SHRD how vexingly quick daft zebras jump",
};

/* The text of a shard without its header, or NULL if there is none. */
static __attribute__((noinline)) const char *read_shard(struct shard *shard)
{
	const char *text = NULL;

	sem_wait(&disk);
	usleep(60 * 1000);
	if (!strncmp(shard->text, "SHRD ", 5))
		text = shard->text + 5;
	sem_post(&disk);
	return text;
}

static __attribute__((noinline)) void count_words(struct shard *shard, const char *text)
{
	int inside = 0;

	for (; *text; text++) {
		const int letter = *text >= 'a' && *text <= 'z';

		if (letter && !inside) {
			shard->counts[*text - 'a']++;
			shard->words++;
		}
		inside = letter;
	}
}

/* Each thread merges a range of letters from all shards, so no lock is needed. */
static __attribute__((noinline)) void merge_range(int number)
{
	const int first = LETTERS * number / SHARDS;
	const int end = LETTERS * (number + 1) / SHARDS;

	for (int letter = first; letter < end; letter++)
		for (int i = 0; i < SHARDS; i++)
			merged.counts[letter] += shards[i].counts[letter];
}

static void *index_shard(void *argument)
{
	struct shard *shard = argument;
	const char *text;
	char name[16];

	snprintf(name, sizeof name, "shard-%d", shard->number % 10);
	pthread_setname_np(pthread_self(), name);

	text = read_shard(shard);
	if (!text) {
		fprintf(stderr, "shard %d: bad header\n", shard->number);
		atomic_fetch_add(&failures, 1);
		return NULL;
	}
	count_words(shard, text);
	pthread_barrier_wait(&merge_gate);
	merge_range(shard->number);
	pthread_barrier_wait(&done_gate);
	return NULL;
}

static __attribute__((noinline)) int start_shards(const char *const texts[SHARDS])
{
	pthread_barrier_init(&merge_gate, NULL, SHARDS);
	pthread_barrier_init(&done_gate, NULL, SHARDS + 1);
	sem_init(&disk, 0, 2);
	for (int i = 0; i < SHARDS; i++) {
		shards[i].number = i;
		shards[i].text = texts[i];
		if (pthread_create(&shards[i].thread, NULL, index_shard, &shards[i]))
			return -1;
	}
	return 0;
}

static __attribute__((noinline)) int print_index(void)
{
	int words = 0;

	for (int letter = 0; letter < LETTERS; letter++) {
		if (!merged.counts[letter])
			continue;
		printf("%c %d\n", 'a' + letter, merged.counts[letter]);
		words += merged.counts[letter];
	}
	return words;
}

int main(int argc, char **argv)
{
	int words, expected = 0;

	if (argc != 2)
		return 2;
	if (start_shards(!strcmp(argv[1], "broken") ? texts_broken : texts_healthy) < 0)
		return 1;
	pthread_barrier_wait(&done_gate);
	for (int i = 0; i < SHARDS; i++) {
		pthread_join(shards[i].thread, NULL);
		expected += shards[i].words;
	}
	words = print_index();
	pthread_barrier_destroy(&merge_gate);
	pthread_barrier_destroy(&done_gate);
	sem_destroy(&disk);
	return words == expected && !failures ? 0 : 1;
}
