/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: close_stream joins the demuxer while it holds catalog_lock. The demuxer needs catalog_lock to
 *          store the duration at its end, so neither goes on, and the interface can't list the streams.
 *   culprit: (close_stream|deadlock .*(demux_stream|main))
 *   victim: (draw_list|index_covers)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A player: each stream has a demuxer thread; the catalog knows titles and durations. */
#define STREAMS 4

struct stream {
	int id;
	pthread_t demuxer;
	atomic_bool stop;
	pthread_mutex_t packet_lock;
	unsigned packets;
};

struct entry {
	char title[32];
	double seconds;
	unsigned covers;
	bool open;
};

static pthread_mutex_t catalog_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry catalog[STREAMS];
static struct stream streams[STREAMS];
static atomic_bool leaving;
static atomic_uint drawn;
static bool healthy;

static unsigned parse_packet(unsigned seed)
{
	for (int i = 0; i < 20000; i++)
		seed = seed * 1103515245 + 12345;
	return seed;
}

static void set_duration(int id, double seconds)
{
	pthread_mutex_lock(&catalog_lock);
	catalog[id].seconds = seconds;
	pthread_mutex_unlock(&catalog_lock);
}

static void *demux_stream(void *data)
{
	struct stream *stream = data;
	unsigned seed = stream->id;

	while (!stream->stop) {
		seed = parse_packet(seed);
		pthread_mutex_lock(&stream->packet_lock);
		stream->packets++;
		pthread_mutex_unlock(&stream->packet_lock);
		if (stream->packets % 8 == 0)
			set_duration(stream->id, stream->packets / 25.0);
		usleep(500);
	}
	usleep(2000); /* flush the decoder */
	set_duration(stream->id, stream->packets / 25.0);
	return NULL;
}

/* The interface. */
static void *draw_list(void *unused)
{
	char line[64];

	(void)unused;
	while (!leaving) {
		pthread_mutex_lock(&catalog_lock);
		for (int i = 0; i < STREAMS; i++)
			snprintf(line, sizeof line, "%s %.2f", catalog[i].title,
				catalog[i].seconds);
		pthread_mutex_unlock(&catalog_lock);
		drawn++;
		usleep(4000);
	}
	return NULL;
}

static void *index_covers(void *unused)
{
	(void)unused;
	for (int round = 0; !leaving; round++) {
		unsigned cover = parse_packet(round);

		pthread_mutex_lock(&catalog_lock);
		catalog[round % STREAMS].covers += cover & 1;
		pthread_mutex_unlock(&catalog_lock);
		usleep(9000);
	}
	return NULL;
}

static void open_stream(int id)
{
	struct stream *stream = &streams[id];

	stream->id = id;
	pthread_mutex_init(&stream->packet_lock, NULL);
	pthread_mutex_lock(&catalog_lock);
	snprintf(catalog[id].title, sizeof catalog[id].title, "track %d", id);
	catalog[id].open = true;
	pthread_mutex_unlock(&catalog_lock);
	pthread_create(&stream->demuxer, NULL, demux_stream, stream);
}

static void close_stream(int id)
{
	struct stream *stream = &streams[id];

	if (healthy) {
		stream->stop = true;
		pthread_join(stream->demuxer, NULL);
	}
	pthread_mutex_lock(&catalog_lock);
	if (catalog[id].open && !healthy) {
		stream->stop = true;
		pthread_join(stream->demuxer, NULL);
	}
	catalog[id].open = false;
	pthread_mutex_unlock(&catalog_lock);
	pthread_mutex_destroy(&stream->packet_lock);
}

int main(int argc, char **argv)
{
	pthread_t interface, indexer;

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < STREAMS; i++)
		open_stream(i);
	pthread_create(&interface, NULL, draw_list, NULL);
	pthread_create(&indexer, NULL, index_covers, NULL);
	for (int i = 0; i < STREAMS; i++) {
		usleep(50000);
		close_stream(i);
	}
	leaving = true;
	pthread_join(interface, NULL);
	pthread_join(indexer, NULL);
	printf("player: drew the list %u times\n", drawn);
	return 0;
}
