/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The muxer waits for the first video packet before it reads audio. The demuxer can't get to that
 *     packet, because the audio queue is full and nobody reads it. The muxer should have read both queues.
 *   culprit: audio packets
 *   victim: video packets|convert|muxer
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/*
 * Remuxes a film: the demuxer reads packets from a file and puts them into a queue for each track; the muxer
 * takes them in the order of their times. The film's sound begins before its picture.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PACKETS 60
#define AUDIO_FIRST 12
#define QUEUE 6

struct packet {
	bool is_video;
	int time;
};

struct muxer {
	struct thrum_stream *audio, *video;
	struct packet *head_audio, *head_video;
	bool video_ended, audio_ended;
	int written;
};

static struct muxer muxer;
static bool broken;
static int read_packets;

static struct thrum_promise *demux_next(struct thrum_loop *loop, void *value, void *data);

/* Reads a packet from the file. */
static struct thrum_promise *demux_packet(struct thrum_loop *loop, void *value, void *data)
{
	struct packet *packet = malloc(sizeof(*packet));
	struct thrum_promise *pushed;

	(void)loop;
	(void)value;
	if (!packet)
		abort();
	packet->time = read_packets;
	packet->is_video = read_packets >= AUDIO_FIRST && read_packets % 3 > 0;
	read_packets++;
	pushed = thrum_stream_push(packet->is_video ? muxer.video : muxer.audio,
		thrum_value_own(packet, free));
	return thrum_promise_bind(pushed, demux_next, data, NULL);
}

static struct thrum_promise *demux_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (read_packets == PACKETS) {
		thrum_stream_close(muxer.audio);
		thrum_stream_close(muxer.video);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, read_packets % 2), demux_packet, data, NULL);
}

static struct thrum_promise *mux_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *got_video(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value taken;

	muxer.video_ended = !value;
	if (value && thrum_loop_take(loop, &taken))
		muxer.head_video = taken.data;
	return mux_next(loop, NULL, data);
}

static struct thrum_promise *got_audio(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value taken;

	muxer.audio_ended = !value;
	if (value && thrum_loop_take(loop, &taken))
		muxer.head_audio = taken.data;
	return mux_next(loop, NULL, data);
}

/* Writes the earliest packet. Without the bug, a track that has nothing yet is left out. */
static struct thrum_promise *mux_next(struct thrum_loop *loop, void *value, void *data)
{
	struct packet **earliest;

	(void)value;
	if (!muxer.head_video && !muxer.video_ended &&
		(broken || thrum_stream_length(muxer.video) > 0 || muxer.audio_ended))
		return thrum_promise_bind(thrum_stream_next(muxer.video), got_video, data, NULL);
	if (!muxer.head_audio && !muxer.audio_ended)
		return thrum_promise_bind(thrum_stream_next(muxer.audio), got_audio, data, NULL);
	if (!muxer.head_audio && !muxer.head_video)
		return thrum_promise_return(loop, thrum_value_none());
	earliest = &muxer.head_audio;
	if (!muxer.head_audio ||
		(muxer.head_video && muxer.head_video->time < muxer.head_audio->time))
		earliest = &muxer.head_video;
	free(*earliest);
	*earliest = NULL;
	muxer.written++;
	return thrum_promise_bind(thrum_promise_pause(loop), mux_next, data, NULL);
}

/* The progress bar of the user interface. */
static struct thrum_promise *draw_progress(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 40), draw_progress, data, NULL);
}

static struct thrum_promise *begin_progress(struct thrum_loop *loop, void *data)
{
	return draw_progress(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *both[2], *convert;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	muxer.audio = thrum_stream_create(loop, "audio packets", QUEUE);
	muxer.video = thrum_stream_create(loop, "video packets", QUEUE);
	if (!muxer.audio || !muxer.video)
		return 1;
	thrum_promise_async(loop, "progress bar", begin_progress, NULL, NULL);
	both[0] = thrum_promise_label(demux_next(loop, NULL, NULL), "demuxer");
	both[1] = thrum_promise_label(mux_next(loop, NULL, NULL), "muxer");
	convert = thrum_promise_label(thrum_promise_join(loop, both, 2), "convert film");
	error = thrum_promise_run(thrum_promise_should_resolve(convert));
	thrum_stop();
	printf("%d packets read, %d written\n", read_packets, muxer.written);
	return error ? 1 : 0;
}
