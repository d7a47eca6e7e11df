/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: flush_segment keeps the journal's mutex while it syncs the segment, so that each append_entry
 *     which comes meanwhile waits for the disk; in the healthy run it swaps the buffers and syncs without
 *     the mutex
 *   culprit: flush_segment|flusher
 *   victim: append_entry|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A store with a write-ahead journal: clients append entries, a flusher writes full segments to the disk. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS 3
#define ENTRIES 60
#define SEGMENT 6

struct segment {
	char entries[256][24];
	unsigned count;
};

static struct segment segments[2];
static struct segment *active = &segments[0];
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t journal_full = PTHREAD_COND_INITIALIZER;
static bool closing;
static bool swap_first;
static unsigned flushed;
static FILE *file;

__attribute__((noinline)) static void append_entry(int client, int number)
{
	pthread_mutex_lock(&journal_lock);
	if (active->count < 256)
		snprintf(active->entries[active->count++], 24, "put %d.%d", client, number);
	if (active->count >= SEGMENT)
		pthread_cond_signal(&journal_full);
	pthread_mutex_unlock(&journal_lock);
}

/* Writes the entries and waits until the device has them. */
__attribute__((noinline)) static void sync_segment(struct segment *segment)
{
	for (unsigned i = 0; i < segment->count; i++)
		fprintf(file, "%s\n", segment->entries[i]);
	fflush(file);
	usleep(9000); /* what fdatasync takes on a disk that turns */
	flushed += segment->count;
	segment->count = 0;
}

/* The caller holds the lock. */
__attribute__((noinline)) static void flush_segment(void)
{
	struct segment *full = active;

	if (!swap_first) {
		sync_segment(full);
		return;
	}
	active = full == &segments[0] ? &segments[1] : &segments[0];
	pthread_mutex_unlock(&journal_lock);
	sync_segment(full);
	pthread_mutex_lock(&journal_lock);
}

static void *flusher(void *data)
{
	pthread_setname_np(pthread_self(), "flusher");
	pthread_mutex_lock(&journal_lock);
	while (!closing || active->count) {
		if (!closing && active->count < SEGMENT)
			pthread_cond_wait(&journal_full, &journal_lock);
		else
			flush_segment();
	}
	pthread_mutex_unlock(&journal_lock);
	return data;
}

static void *client(void *data)
{
	int number = *(int *)data;
	char name[16];

	snprintf(name, sizeof(name), "client %d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < ENTRIES; i++) {
		append_entry(number, i);
		usleep(1500); /* the next request comes */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS];
	int numbers[CLIENTS];
	pthread_t flush;

	swap_first = argc < 2 || strcmp(argv[1], "broken") != 0;
	file = tmpfile();
	if (!file)
		return 1;
	pthread_create(&flush, NULL, flusher, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		numbers[i] = i;
		pthread_create(&clients[i], NULL, client, &numbers[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&journal_lock);
	closing = true;
	pthread_cond_signal(&journal_full);
	pthread_mutex_unlock(&journal_lock);
	pthread_join(flush, NULL);
	printf("%u entries flushed\n", flushed);
	fclose(file);
	return 0;
}
