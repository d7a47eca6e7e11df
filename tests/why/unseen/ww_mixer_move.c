/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: move_stream locks the stream before the sink, render_cycle locks the sink before its streams.
 *          When a headset is plugged in, each waits for the lock of the other; the volume meter and the
 *          clients only wait behind them.
 *   culprit: move_stream|render_cycle
 *   victim: update_meter|run_client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	STREAMS = 3,
	FRAMES = 480,
	CYCLES = 150
};

struct stream {
	pthread_mutex_t lock;
	pthread_cond_t room;
	int sink;
	float volume;
	unsigned buffered, underruns;
};

struct sink {
	const char *name;
	pthread_mutex_t lock;
	float peak;
	float mix[FRAMES];
};

static bool broken;
static atomic_bool stopping;
static struct stream streams[STREAMS];
static struct sink sinks[2] = {
	{.name = "speakers", .lock = PTHREAD_MUTEX_INITIALIZER},
	{.name = "headset", .lock = PTHREAD_MUTEX_INITIALIZER},
};
static unsigned meter_updates, moved;

static void mix_stream(struct sink *sink, struct stream *stream)
{
	if (stream->buffered < FRAMES) {
		stream->underruns++;
		return;
	}
	stream->buffered -= FRAMES;
	for (int i = 0; i < FRAMES; i++)
		sink->mix[i] += stream->volume * (float)(i % 48) / 48;
	pthread_cond_signal(&stream->room);
}

static void render_cycle(struct sink *sink, int index)
{
	pthread_mutex_lock(&sink->lock);
	memset(sink->mix, 0, sizeof sink->mix);
	for (int i = 0; i < STREAMS; i++) {
		pthread_mutex_lock(&streams[i].lock);
		if (streams[i].sink == index)
			mix_stream(sink, &streams[i]);
		pthread_mutex_unlock(&streams[i].lock);
	}
	sink->peak = 0;
	for (int i = 0; i < FRAMES; i++)
		sink->peak = sink->mix[i] > sink->peak ? sink->mix[i] : sink->peak;
	pthread_mutex_unlock(&sink->lock);
}

static void *run_speakers(void *unused)
{
	for (int cycle = 0; cycle < CYCLES; cycle++) {
		render_cycle(&sinks[0], 0);
		render_cycle(&sinks[1], 1);
		usleep(1000);
	}
	stopping = true;
	for (int i = 0; i < STREAMS; i++) {
		pthread_mutex_lock(&streams[i].lock);
		pthread_cond_broadcast(&streams[i].room);
		pthread_mutex_unlock(&streams[i].lock);
	}
	return unused;
}

/* fades the stream out, so that the move doesn't click */
static void fade(struct stream *stream, float to)
{
	for (int step = 0; step < 5; step++) {
		stream->volume += (to - stream->volume) / 2;
		usleep(1000);
	}
	stream->volume = to;
}

static void move_stream(struct stream *stream, int to)
{
	if (broken) {
		pthread_mutex_lock(&stream->lock);
		fade(stream, 0);
		pthread_mutex_lock(&sinks[to].lock);
		pthread_mutex_lock(&sinks[stream->sink].lock);
	} else {
		pthread_mutex_lock(&sinks[0].lock);
		pthread_mutex_lock(&sinks[1].lock);
		pthread_mutex_lock(&stream->lock);
		fade(stream, 0);
	}
	pthread_mutex_unlock(&sinks[stream->sink].lock);
	stream->sink = to;
	stream->volume = 0.5f;
	moved++;
	pthread_mutex_unlock(&sinks[to].lock);
	pthread_mutex_unlock(&stream->lock);
}

static void *run_hotplug(void *unused)
{
	usleep(50000);
	for (int i = 0; i < 2; i++)
		move_stream(&streams[i], 1);
	return unused;
}

static void update_meter(void)
{
	float peak;

	pthread_mutex_lock(&sinks[0].lock);
	peak = sinks[0].peak;
	pthread_mutex_unlock(&sinks[0].lock);
	meter_updates += peak >= 0;
}

static void *run_meter(void *unused)
{
	while (!stopping) {
		update_meter();
		usleep(3000);
	}
	return unused;
}

static void *run_client(void *data)
{
	struct stream *stream = data;

	while (!stopping) {
		pthread_mutex_lock(&stream->lock);
		while (stream->buffered > 4 * FRAMES && !stopping)
			pthread_cond_wait(&stream->room, &stream->lock);
		stream->buffered += 2 * FRAMES;
		pthread_mutex_unlock(&stream->lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t speakers, hotplug, meter, clients[STREAMS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < STREAMS; i++) {
		pthread_mutex_init(&streams[i].lock, NULL);
		pthread_cond_init(&streams[i].room, NULL);
		streams[i].volume = 0.5f;
		pthread_create(&clients[i], NULL, run_client, &streams[i]);
	}
	pthread_create(&speakers, NULL, run_speakers, NULL);
	pthread_create(&meter, NULL, run_meter, NULL);
	pthread_create(&hotplug, NULL, run_hotplug, NULL);
	pthread_join(hotplug, NULL);
	pthread_join(speakers, NULL);
	pthread_join(meter, NULL);
	for (int i = 0; i < STREAMS; i++)
		pthread_join(clients[i], NULL);
	printf("%u streams moved, %u meter updates\n", moved, meter_updates);
	return moved == 2 && meter_updates ? 0 : 1;
}
