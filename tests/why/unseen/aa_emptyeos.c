/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the thread lookahead marks the last frame that it holds back as the end of the clip; the
 *     third clip has no frame, so it sends nothing at its end, and main waits in write_packets for ever
 *     for a last packet.
 *   culprit: lookahead|pick_types
 *   victim: write_packets|demux|read_clip
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about SVT-HEVC: flushing the encoder without having sent a picture blocks the program. A
 * transcoder: demux reads the clips, lookahead chooses the type of each frame, main writes the packets.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROOM 4
#define CLIPS 4

struct frame {
	int clip, number;
	char type;
	bool end;
};

struct fifo {
	pthread_mutex_t lock;
	sem_t filled, room;
	struct frame frames[ROOM];
	unsigned first, last;
};

static const int clip_frames[CLIPS] = {24, 9, 0, 15};
static struct fifo pictures, packets;
static sem_t
	next_clip; /* the output of a clip is complete, and the encoder is free for the next one */
static bool broken;

static void fifo_init(struct fifo *fifo)
{
	pthread_mutex_init(&fifo->lock, NULL);
	sem_init(&fifo->filled, 0, 0);
	sem_init(&fifo->room, 0, ROOM);
}

static void fifo_put(struct fifo *fifo, struct frame frame)
{
	while (sem_wait(&fifo->room))
		continue;
	pthread_mutex_lock(&fifo->lock);
	fifo->frames[fifo->last++ % ROOM] = frame;
	pthread_mutex_unlock(&fifo->lock);
	sem_post(&fifo->filled);
}

static struct frame fifo_get(struct fifo *fifo)
{
	struct frame frame;

	while (sem_wait(&fifo->filled))
		continue;
	pthread_mutex_lock(&fifo->lock);
	frame = fifo->frames[fifo->first++ % ROOM];
	pthread_mutex_unlock(&fifo->lock);
	sem_post(&fifo->room);
	return frame;
}

static void work(long microseconds)
{
	struct timespec pause = {0, microseconds * 1000};

	nanosleep(&pause, NULL);
}

static void *read_clip(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "demux");
	for (int clip = 0; clip < CLIPS; clip++) {
		while (sem_wait(&next_clip))
			continue;
		for (int i = 0; i < clip_frames[clip]; i++) {
			work(500);
			fifo_put(&pictures, (struct frame){clip, i, '?', false});
		}
		fifo_put(&pictures, (struct frame){clip, -1, '-', true});
	}
	return NULL;
}

/* Chooses I, P or B for each frame. The type depends on the next frame, so one frame is held back. */
static void *pick_types(void *data)
{
	struct frame held = {0}, next;
	bool holds = false;
	int ends = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "lookahead");
	while (ends < CLIPS) {
		next = fifo_get(&pictures);
		if (next.end) {
			ends++;
			if (holds) {
				held.type = held.number ? 'P' : 'I';
				held.end = true;
				fifo_put(&packets, held);
			} else if (!broken) {
				fifo_put(&packets, next);
			}
			holds = false;
			continue;
		}
		if (holds) {
			held.type = held.number % 8 == 0 ? 'I' : next.number % 2 ? 'B' : 'P';
			fifo_put(&packets, held);
		}
		held = next;
		holds = true;
	}
	return NULL;
}

static int write_packets(int clip)
{
	struct frame packet;
	int count = 0;

	do {
		packet = fifo_get(&packets);
		if (packet.number >= 0)
			count++;
		work(200);
	} while (!packet.end);
	printf("clip %d: %d packets\n", clip, count);
	return count;
}

int main(int argc, char **argv)
{
	pthread_t demux, lookahead;
	int total = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	fifo_init(&pictures);
	fifo_init(&packets);
	sem_init(&next_clip, 0, 1);
	pthread_create(&demux, NULL, read_clip, NULL);
	pthread_create(&lookahead, NULL, pick_types, NULL);
	/* The names of the output files are known only when the packets of a clip begin. */
	for (int clip = 0; clip < CLIPS; clip++) {
		int count = write_packets(clip);

		if (count != clip_frames[clip])
			fprintf(stderr, "clip %d: %d packets of %d\n", clip, count,
				clip_frames[clip]);
		total += count;
		sem_post(&next_clip);
	}
	pthread_join(demux, NULL);
	pthread_join(lookahead, NULL);
	printf("%d packets\n", total);
	return EXIT_SUCCESS;
}
