/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread in-subs meets a damaged packet and returns without marking its queue finished. The muxer interleaves by time stamp, needs a packet or the end of each stream, and waits for subtitles for ever; in-video and in-audio then block on their full queues.
 *   culprit: in-subs
 *   victim: \bmux\b|in-video|in-audio|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* remux: interleaves the packets of several inputs into one output. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_SIZE 6

enum read_status {
	READ_OK,
	READ_END,
	READ_DAMAGED
};

struct packet {
	int64_t pts;
	size_t size;
	unsigned char data[64];
};

struct packet_queue {
	pthread_mutex_t mutex;
	pthread_cond_t readable, writable;
	struct packet packets[QUEUE_SIZE];
	unsigned first, count;
	bool finished;
};

struct input {
	const char *name;
	int packets;    /* in the file */
	int damaged_at; /* -1: the file is sound */
	int64_t step;   /* time from one packet to the next */
	unsigned read_us;
	int position;
	struct packet_queue queue;
	pthread_t thread;
};

static struct {
	bool discard_damaged;
} options;

static struct input inputs[] = {
	{.name = "in-video", .packets = 60, .damaged_at = -1, .step = 40, .read_us = 900},
	{.name = "in-audio", .packets = 110, .damaged_at = -1, .step = 21, .read_us = 300},
	{.name = "in-subs", .packets = 30, .damaged_at = 7, .step = 90, .read_us = 500},
};
#define INPUTS (sizeof(inputs) / sizeof(inputs[0]))

static pthread_mutex_t report_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t report_stop = PTHREAD_COND_INITIALIZER;
static bool stopped;
static long written_bytes, written_packets;

static enum read_status read_packet(struct input *input, struct packet *packet)
{
	if (input->position == input->packets)
		return READ_END;
	usleep(input->read_us);
	packet->pts = input->position * input->step;
	packet->size = 16 + input->position % 40;
	memset(packet->data, input->position, sizeof(packet->data));
	if (input->position++ == input->damaged_at)
		return READ_DAMAGED;
	return READ_OK;
}

static void queue_put(struct packet_queue *queue, const struct packet *packet)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->count == QUEUE_SIZE)
		pthread_cond_wait(&queue->writable, &queue->mutex);
	queue->packets[(queue->first + queue->count++) % QUEUE_SIZE] = *packet;
	pthread_cond_signal(&queue->readable);
	pthread_mutex_unlock(&queue->mutex);
}

static void queue_finish(struct packet_queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->finished = true;
	pthread_cond_broadcast(&queue->readable);
	pthread_mutex_unlock(&queue->mutex);
}

/* Returns the time of the first packet, or INT64_MAX at the end. */
static int64_t queue_head(struct packet_queue *queue)
{
	int64_t pts = INT64_MAX;

	pthread_mutex_lock(&queue->mutex);
	while (queue->count == 0 && !queue->finished)
		pthread_cond_wait(&queue->readable, &queue->mutex);
	if (queue->count > 0)
		pts = queue->packets[queue->first % QUEUE_SIZE].pts;
	pthread_mutex_unlock(&queue->mutex);
	return pts;
}

static struct packet queue_get(struct packet_queue *queue)
{
	struct packet packet;

	pthread_mutex_lock(&queue->mutex);
	packet = queue->packets[queue->first++ % QUEUE_SIZE];
	queue->count--;
	pthread_cond_signal(&queue->writable);
	pthread_mutex_unlock(&queue->mutex);
	return packet;
}

static void *input_run(void *data)
{
	struct input *input = data;
	struct packet packet;

	pthread_setname_np(pthread_self(), input->name);
	for (;;) {
		switch (read_packet(input, &packet)) {
		case READ_OK: queue_put(&input->queue, &packet); continue;
		case READ_DAMAGED:
			fprintf(stderr, "remux: %s: damaged packet at %lld\n", input->name,
				(long long)packet.pts);
			if (options.discard_damaged)
				break;
			return NULL;
		case READ_END: break;
		}
		break;
	}
	queue_finish(&input->queue);
	return NULL;
}

static void *mux_run(void *data)
{
	struct packet packet;

	pthread_setname_np(pthread_self(), "mux");
	for (;;) {
		struct input *next = NULL;
		int64_t best = INT64_MAX;

		for (size_t i = 0; i < INPUTS; i++) {
			int64_t pts = queue_head(&inputs[i].queue);

			if (pts < best) {
				best = pts;
				next = &inputs[i];
			}
		}
		if (!next)
			break;
		packet = queue_get(&next->queue);
		usleep(100);
		__atomic_add_fetch(&written_bytes, packet.size, __ATOMIC_RELAXED);
		__atomic_add_fetch(&written_packets, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Prints the progress from time to time. */
static void *report_run(void *data)
{
	struct timespec until;

	pthread_setname_np(pthread_self(), "report");
	pthread_mutex_lock(&report_mutex);
	while (!stopped) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 40000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&report_stop, &report_mutex, &until);
		fprintf(stderr, "remux: %ld packets\r",
			__atomic_load_n(&written_packets, __ATOMIC_RELAXED));
	}
	pthread_mutex_unlock(&report_mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t mux, report;

	if (argc != 2)
		return 2;
	alarm(5);
	options.discard_damaged = strcmp(argv[1], "broken") != 0;
	for (size_t i = 0; i < INPUTS; i++) {
		pthread_mutex_init(&inputs[i].queue.mutex, NULL);
		pthread_cond_init(&inputs[i].queue.readable, NULL);
		pthread_cond_init(&inputs[i].queue.writable, NULL);
	}
	pthread_create(&report, NULL, report_run, NULL);
	pthread_create(&mux, NULL, mux_run, NULL);
	for (size_t i = 0; i < INPUTS; i++)
		pthread_create(&inputs[i].thread, NULL, input_run, &inputs[i]);
	pthread_join(mux, NULL);
	for (size_t i = 0; i < INPUTS; i++)
		pthread_join(inputs[i].thread, NULL);
	pthread_mutex_lock(&report_mutex);
	stopped = true;
	pthread_cond_signal(&report_stop);
	pthread_mutex_unlock(&report_mutex);
	pthread_join(report, NULL);
	printf("%ld packets, %ld bytes\n", written_packets, written_bytes);
	return 0;
}
