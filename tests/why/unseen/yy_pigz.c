/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: emit_chunk returns early for a chunk that is a hole and doesn't post out_buffers, so each hole
 *   	costs a permit, until the compressors get none. It should have given the permit back for a hole, too.
 *   culprit: emit_chunk
 *   victim: next_chunk|compress-
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

#define CHUNKS 96
#define CHUNK 4096
#define BUFFERS 10
#define COMPRESSORS 4

struct chunk {
	int number;
	bool done;
	size_t out_len;
	uint8_t *out;
};

static struct chunk chunks[CHUNKS];
static int next;
static pthread_mutex_t next_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t done_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static sem_t out_buffers;
static uint8_t input[CHUNK * 2];
static bool broken;

static bool is_hole(int number)
{
	return number % 6 == 5;
}

/* Chunks are taken in order, with their buffer, so that the first of the open ones always has one. */
static struct chunk *next_chunk(void)
{
	struct chunk *c = NULL;
	pthread_mutex_lock(&next_mutex);
	if (next < CHUNKS) {
		sem_wait(&out_buffers);
		c = &chunks[next];
		c->number = next++;
	}
	pthread_mutex_unlock(&next_mutex);
	return c;
}

static void deflate_chunk(struct chunk *c)
{
	const uint8_t *in = input + c->number * 13 % CHUNK;
	c->out = malloc(CHUNK);
	for (size_t i = 0; i < CHUNK; i++)
		if (i == 0 || in[i] != in[i - 1])
			c->out[c->out_len++] = in[i];
	usleep(1500);
}

static void *compress_chunks(void *arg)
{
	char name[16];
	snprintf(name, sizeof name, "compress-%ld", (long)arg);
	pthread_setname_np(pthread_self(), name);
	struct chunk *c;
	while ((c = next_chunk()) != NULL) {
		if (!is_hole(c->number))
			deflate_chunk(c);
		pthread_mutex_lock(&done_mutex);
		c->done = true;
		pthread_cond_broadcast(&done_cond);
		pthread_mutex_unlock(&done_mutex);
	}
	return NULL;
}

static void emit_chunk(struct chunk *c, FILE *out)
{
	if (c->out_len == 0) {
		fseek(out, CHUNK, SEEK_CUR);
		if (broken)
			return;
	} else {
		fwrite(c->out, 1, c->out_len, out);
		free(c->out);
		c->out = NULL;
	}
	sem_post(&out_buffers);
}

static void *write_chunks(void *arg)
{
	FILE *out = arg;
	pthread_setname_np(pthread_self(), "writer");
	for (int i = 0; i < CHUNKS; i++) {
		struct chunk *c = &chunks[i];
		pthread_mutex_lock(&done_mutex);
		while (!c->done)
			pthread_cond_wait(&done_cond, &done_mutex);
		pthread_mutex_unlock(&done_mutex);
		emit_chunk(c, out);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (size_t i = 0; i < sizeof input; i++)
		input[i] = (uint8_t)(i * i >> 7);
	FILE *out = fopen("/dev/null", "w");
	if (!out)
		return 1;
	sem_init(&out_buffers, 0, BUFFERS);
	pthread_t compressors[COMPRESSORS], writer;
	pthread_create(&writer, NULL, write_chunks, out);
	for (long i = 0; i < COMPRESSORS; i++)
		pthread_create(&compressors[i], NULL, compress_chunks, (void *)i);
	for (int i = 0; i < COMPRESSORS; i++)
		pthread_join(compressors[i], NULL);
	pthread_join(writer, NULL);
	size_t total = 0;
	for (int i = 0; i < CHUNKS; i++)
		total += chunks[i].out_len;
	fclose(out);
	printf("%d bytes to %zu\n", CHUNKS * CHUNK, total);
	return 0;
}
