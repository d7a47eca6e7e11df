/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The eventfd that counts the jobs is made without EFD_SEMAPHORE. So the first encoder that reads it takes the
 *     whole count of six, but only one song; then all encoders sleep in take_song's read, with five songs in the queue.
 *   culprit: take_song|eventfd|encoder|encode_songs
 *   victim: \bmain\b|await_album
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Encodes the songs of an album in several threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define ENCODERS 3
#define SONGS 6

static const char *const album[SONGS] = {
	"Overture",
	"The Mill",
	"Rain on Slate",
	"Lantern",
	"Two Rivers",
	"Farewell",
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const char *songs[SONGS];
	int first, last;
	int encoded;
	bool ending;
	int count; /* an eventfd: the songs in the queue */
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void queue_tell(uint64_t amount)
{
	if (write(queue.count, &amount, sizeof(amount)) != sizeof(amount))
		abort();
}

static void add_song(const char *song)
{
	pthread_mutex_lock(&queue.mutex);
	queue.songs[queue.last++] = song;
	pthread_mutex_unlock(&queue.mutex);
	queue_tell(1);
}

/* Waits for a song. Returns NULL at the end. */
static const char *take_song(void)
{
	const char *song = NULL;
	uint64_t token;

	if (read(queue.count, &token, sizeof(token)) != sizeof(token))
		return NULL;
	pthread_mutex_lock(&queue.mutex);
	if (queue.first < queue.last)
		song = queue.songs[queue.first++];
	pthread_mutex_unlock(&queue.mutex);
	return song;
}

static uint32_t encode(const char *song)
{
	uint32_t hash = 5381;

	for (int i = 0; i < 2000; i++)
		for (const char *next = song; *next; next++)
			hash = hash * 33 + (unsigned char)*next;
	nanosleep(&(struct timespec){.tv_nsec = 8 * 1000 * 1000}, NULL); /* writes the file */
	return hash;
}

static void *encode_songs(void *unused)
{
	const char *song;

	(void)unused;
	while ((song = take_song())) {
		uint32_t hash = encode(song);

		pthread_mutex_lock(&queue.mutex);
		queue.encoded++;
		printf("%-16s %08x\n", song, hash);
		pthread_cond_signal(&queue.changed);
		pthread_mutex_unlock(&queue.mutex);
	}
	return NULL;
}

static void await_album(void)
{
	pthread_mutex_lock(&queue.mutex);
	while (queue.encoded < SONGS)
		pthread_cond_wait(&queue.changed, &queue.mutex);
	pthread_mutex_unlock(&queue.mutex);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t encoders[ENCODERS];

	queue.count = eventfd(0, broken ? EFD_CLOEXEC : EFD_CLOEXEC | EFD_SEMAPHORE);
	if (queue.count < 0)
		return 1;
	/* The folder is read first; then the encoders begin. */
	for (int i = 0; i < SONGS; i++)
		add_song(album[i]);
	for (int i = 0; i < ENCODERS; i++) {
		pthread_create(&encoders[i], NULL, encode_songs, NULL);
		pthread_setname_np(encoders[i], "encoder");
	}
	await_album();
	queue_tell(ENCODERS);
	for (int i = 0; i < ENCODERS; i++)
		pthread_join(encoders[i], NULL);
	close(queue.count);
	return 0;
}
