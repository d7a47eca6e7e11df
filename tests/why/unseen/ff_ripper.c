/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The configuration says "read_ahead", rip looks for "readahead"; so the thread read_ahead is never started, and
 *     the encoder fetches each block from the drive itself and waits for it.
 *   culprit: read_ahead
 *   victim: spin_drive|\bdrive\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Rips a track of a compact disc: blocks are read from the drive and encoded. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 40
#define BLOCK 2352
#define ROOM 8

static const char configuration[] = "format = vorbis\nquality = 6\nread_ahead = 8\neject = yes\n";

static int drive; /* the socket to the drive */

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- The drive ---- */

static void *spin_drive(void *data)
{
	int socket = *(int *)data;
	char block[BLOCK];
	uint32_t number;

	while (read(socket, &number, sizeof(number)) == sizeof(number)) {
		sleep_ms(5);
		memset(block, (int)number, sizeof(block));
		if (write(socket, block, sizeof(block)) != sizeof(block))
			break;
	}
	close(socket);
	return NULL;
}

static bool fetch_block(uint32_t number, char *block)
{
	size_t length = 0;
	ssize_t done;

	if (write(drive, &number, sizeof(number)) != sizeof(number))
		return false;
	while (length < BLOCK) {
		done = read(drive, block + length, BLOCK - length);
		if (done <= 0)
			return false;
		length += (size_t)done;
	}
	return true;
}

/* ---- The ring of blocks that are read ahead ---- */

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	char blocks[ROOM][BLOCK];
	unsigned first, last, room;
} ring = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *read_ahead(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		char block[BLOCK];

		if (!fetch_block(i, block))
			break;
		pthread_mutex_lock(&ring.mutex);
		while (ring.last - ring.first == ring.room)
			pthread_cond_wait(&ring.changed, &ring.mutex);
		memcpy(ring.blocks[ring.last++ % ROOM], block, BLOCK);
		pthread_cond_broadcast(&ring.changed);
		pthread_mutex_unlock(&ring.mutex);
	}
	return NULL;
}

static void take_block(char *block)
{
	pthread_mutex_lock(&ring.mutex);
	while (ring.first == ring.last)
		pthread_cond_wait(&ring.changed, &ring.mutex);
	memcpy(block, ring.blocks[ring.first++ % ROOM], BLOCK);
	pthread_cond_broadcast(&ring.changed);
	pthread_mutex_unlock(&ring.mutex);
}

/* ---- The encoder ---- */

static unsigned setting(const char *name, unsigned otherwise)
{
	const char *line = configuration;
	size_t length = strlen(name);

	for (; line && *line; line = strchr(line, '\n'), line += line != NULL)
		if (!strncmp(line, name, length) && line[length] == ' ')
			return (unsigned)strtoul(line + length + 3, NULL, 10);
	return otherwise;
}

static unsigned encode(const char *block)
{
	unsigned sum = 0;

	for (int i = 0; i < BLOCK; i++)
		sum = sum * 31 + (unsigned char)block[i];
	sleep_ms(5); /* the sound card listens, too */
	return sum;
}

static void rip(bool broken)
{
	unsigned ahead = setting(broken ? "readahead" : "read_ahead", 0);
	pthread_t reader;
	char block[BLOCK];
	unsigned sum = 0;

	ring.room = ahead < ROOM ? ahead : ROOM;
	if (ahead > 0)
		pthread_create(&reader, NULL, read_ahead, NULL);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		if (ahead > 0)
			take_block(block);
		else if (!fetch_block(i, block))
			break;
		sum ^= encode(block);
	}
	if (ahead > 0)
		pthread_join(reader, NULL);
	printf("track: %08x\n", sum);
}

int main(int argc, char **argv)
{
	pthread_t motor;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	drive = ends[0];
	pthread_create(&motor, NULL, spin_drive, &ends[1]);
	pthread_setname_np(motor, "drive");
	rip(argc > 1 && !strcmp(argv[1], "broken"));
	close(drive);
	pthread_join(motor, NULL);
	return 0;
}
