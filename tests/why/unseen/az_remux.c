/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: mux_interleaved insists on an audio packet (queue_get of an empty queue) while the video queue is
 *     full; demux_file waits in queue_put for room for video before it gets to the next audio packet, so
 *     both wait for each other
 *   culprit: mux_interleaved|muxer
 *   victim: demux_file|demuxer|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A remuxer: one thread reads packets of a file, another writes them, interleaved by time. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM 8
#define LAST 1000000

struct packet {
	bool is_audio;
	int time;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	pthread_cond_t drained;
	struct packet packets[64];
	unsigned first;
	unsigned count;
	unsigned room; /* grows if the other stream runs dry */
};

static struct queue audio = {.room = ROOM};
static struct queue video = {.room = ROOM};
static bool may_grow;
static unsigned written;

static void queue_init(struct queue *queue)
{
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->filled, NULL);
	pthread_cond_init(&queue->drained, NULL);
}

__attribute__((noinline)) static void queue_put(struct queue *queue, struct packet packet)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->count == queue->room)
		pthread_cond_wait(&queue->drained, &queue->mutex);
	queue->packets[(queue->first + queue->count++) % 64] = packet;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
}

__attribute__((noinline)) static struct packet queue_get(struct queue *queue)
{
	struct packet packet;

	pthread_mutex_lock(&queue->mutex);
	while (!queue->count)
		pthread_cond_wait(&queue->filled, &queue->mutex);
	packet = queue->packets[queue->first++ % 64];
	queue->count--;
	pthread_cond_signal(&queue->drained);
	pthread_mutex_unlock(&queue->mutex);
	return packet;
}

/* Lets a queue hold more, as the muxer can't take from it before it has a packet of the other one. */
static void queue_grow(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->room = 64;
	pthread_cond_signal(&queue->drained);
	pthread_mutex_unlock(&queue->mutex);
}

static bool queue_is_empty(struct queue *queue)
{
	bool is_empty;

	pthread_mutex_lock(&queue->mutex);
	is_empty = !queue->count;
	pthread_mutex_unlock(&queue->mutex);
	return is_empty;
}

/* The file has a silent scene: from packet 60 on there are 30 of video without any of audio. */
__attribute__((noinline)) static void demux_file(void)
{
	for (int i = 0; i < 120; i++) {
		bool is_audio = i % 3 == 0 && (i < 60 || i > 90);

		if (i % 10 == 0)
			usleep(1500); /* the disk */
		queue_put(is_audio ? &audio : &video, (struct packet){is_audio, i * 10});
	}
	queue_put(&audio, (struct packet){true, LAST});
	queue_put(&video, (struct packet){false, LAST});
}

static void write_packet(struct packet packet)
{
	if (packet.time % 40 == 0)
		usleep(500);
	written++;
}

/* Writes the packet with the lower time first: so it needs one of each stream. */
__attribute__((noinline)) static void mux_interleaved(void)
{
	struct packet sound = queue_get(&audio);
	struct packet picture = queue_get(&video);

	while (sound.time != LAST || picture.time != LAST) {
		if (sound.time < picture.time) {
			write_packet(sound);
			if (may_grow && queue_is_empty(&audio))
				queue_grow(&video);
			sound = queue_get(&audio);
		} else {
			write_packet(picture);
			picture = queue_get(&video);
		}
	}
}

static void *demuxer(void *data)
{
	pthread_setname_np(pthread_self(), "demuxer");
	demux_file();
	return data;
}

static void *muxer(void *data)
{
	pthread_setname_np(pthread_self(), "muxer");
	mux_interleaved();
	return data;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	may_grow = argc < 2 || strcmp(argv[1], "broken") != 0;
	queue_init(&audio);
	queue_init(&video);
	pthread_create(&threads[0], NULL, demuxer, NULL);
	pthread_create(&threads[1], NULL, muxer, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%u packets\n", written);
	return 0;
}
