/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: In the second clip the sound starts late: 14 video packets come before the first audio packet.
 *     The queues "video packets" and "video frames" hold 4 each, so demux_packet waits for room in "video
 *     packets" and never reaches the audio, while the muxer, which needs the head of both queues, waits for
 *     the first audio frame and takes no video.
 *   culprit: demux|video packets|video frames|decode video
 *   victim: mux|audio|clip|transcode
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A transcoder: demuxer, two decoders, and a muxer that writes frames in the order of their times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	VIDEO,
	AUDIO,
	TRACKS
};

struct packet {
	int track;
	int time;
};

struct clip {
	const char *name;
	int lead;   /* so many video packets come before the first audio packet */
	int frames; /* of each track */
};

struct track {
	struct pipeline *pipeline;
	struct thrum_stream *packets, *frames;
	struct packet *head; /* the frame that the muxer looks at */
	int ended;
};

struct pipeline {
	struct thrum_loop *loop;
	const struct clip *clip;
	struct track tracks[TRACKS];
	int sent[TRACKS];
	int written, last_time, disorder;
};

static const struct clip clips[] = {
	{"trailer", 2, 40},
	{"interview", 14, 40},
};

static struct packet *packet_new(int track, int time)
{
	struct packet *packet = malloc(sizeof(*packet));

	packet->track = track;
	packet->time = time;
	return packet;
}

/* ---- Demuxer ---- */

/* The next packet of the file, or NULL. The audio lags behind by the clip's lead. */
static struct packet *file_next_packet(struct pipeline *pipeline)
{
	int *sent = pipeline->sent, frames = pipeline->clip->frames;
	int track = sent[VIDEO] < frames && sent[VIDEO] - sent[AUDIO] < pipeline->clip->lead
		? VIDEO
		: AUDIO;

	if (sent[track] == frames)
		track = !track;
	if (sent[track] == frames)
		return NULL;
	return packet_new(track, 40 * sent[track]++ + (track == AUDIO ? 5 : 0));
}

static struct thrum_promise *demux_packet(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *demux_read(struct thrum_loop *loop, void *value, void *data)
{
	struct pipeline *pipeline = data;

	(void)value;
	/* Now and then the file must be read. */
	if ((pipeline->sent[VIDEO] + pipeline->sent[AUDIO]) % 8 == 0)
		return thrum_promise_bind(thrum_sleep(loop, 2), demux_packet, pipeline, NULL);
	return thrum_promise_bind(thrum_promise_pause(loop), demux_packet, pipeline, NULL);
}

static struct thrum_promise *demux_packet(struct thrum_loop *loop, void *value, void *data)
{
	struct pipeline *pipeline = data;
	struct packet *packet = file_next_packet(pipeline);
	struct thrum_promise *pushed;

	(void)value;
	if (!packet) {
		thrum_stream_close(pipeline->tracks[VIDEO].packets);
		thrum_stream_close(pipeline->tracks[AUDIO].packets);
		return thrum_promise_return(loop, thrum_value_none());
	}
	pushed = thrum_stream_push(pipeline->tracks[packet->track].packets,
		thrum_value_own(packet, free));
	return thrum_promise_bind(pushed, demux_read, pipeline, NULL);
}

/* ---- Decoders ---- */

static struct thrum_promise *decode_packet(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *decode(struct track *track)
{
	return thrum_promise_bind(thrum_stream_next(track->packets), decode_packet, track, NULL);
}

static struct thrum_promise *decode_more(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return decode(data);
}

static struct thrum_promise *decode_packet(struct thrum_loop *loop, void *value, void *data)
{
	struct track *track = data;
	struct packet *packet = value;
	struct thrum_value frame;
	struct thrum_promise *pushed;

	if (!packet) {
		thrum_stream_close(track->frames);
		return thrum_promise_return(loop, thrum_value_none());
	}
	frame = thrum_value_own(packet_new(packet->track, packet->time), free);
	pushed = thrum_stream_push(track->frames, frame);
	return thrum_promise_bind(pushed, decode_more, track, NULL);
}

/* ---- Muxer ---- */

static struct thrum_promise *mux(struct pipeline *pipeline);

static struct thrum_promise *mux_got_frame(struct thrum_loop *loop, void *value, void *data)
{
	struct track *track = data;
	struct packet *frame = value;

	(void)loop;
	track->head = frame ? packet_new(frame->track, frame->time) : NULL;
	track->ended = !frame;
	return mux(track->pipeline);
}

static struct thrum_promise *mux_written(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return mux(data);
}

/* Writes the earlier one of the two first frames. */
static struct thrum_promise *mux(struct pipeline *pipeline)
{
	struct track *first = NULL;

	for (int i = 0; i < TRACKS; i++) {
		struct track *track = &pipeline->tracks[i];

		if (!track->head && !track->ended)
			return thrum_promise_bind(thrum_stream_next(track->frames), mux_got_frame,
				track, NULL);
		if (track->head && (!first || track->head->time < first->head->time))
			first = track;
	}
	if (!first)
		return thrum_promise_return(pipeline->loop, thrum_value_none());
	pipeline->disorder += first->head->time < pipeline->last_time;
	pipeline->last_time = first->head->time;
	pipeline->written++;
	free(first->head);
	first->head = NULL;
	return thrum_promise_bind(thrum_promise_pause(pipeline->loop), mux_written, pipeline, NULL);
}

/* ---- Clips ---- */

static void pipeline_destroy(struct pipeline *pipeline)
{
	for (int i = 0; i < TRACKS; i++) {
		thrum_stream_destroy(pipeline->tracks[i].packets);
		thrum_stream_destroy(pipeline->tracks[i].frames);
	}
}

static struct thrum_promise *transcode(struct pipeline *pipeline, size_t capacity)
{
	static const char *const names[TRACKS][2] = {
		{"video packets", "video frames"},
		{"audio packets", "audio frames"},
	};
	static const char *const decoders[TRACKS] = {"decode video", "decode audio"};
	struct thrum_promise *stages[4], *all;
	struct thrum_loop *loop = pipeline->loop;

	for (int i = 0; i < TRACKS; i++) {
		struct track *track = &pipeline->tracks[i];

		track->pipeline = pipeline;
		track->packets = thrum_stream_create(loop, names[i][0], capacity);
		track->frames = thrum_stream_create(loop, names[i][1], capacity);
		stages[i] = thrum_promise_label(decode(track), decoders[i]);
	}
	stages[2] = thrum_promise_label(demux_read(loop, NULL, pipeline), "demux");
	stages[3] = thrum_promise_label(mux(pipeline), "mux");
	all = thrum_promise_join(loop, stages, 4);
	return thrum_promise_labelf(all, "clip %s", pipeline->clip->name);
}

static void on_progress(uv_timer_t *timer)
{
	++*(int *)timer->data;
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_timer_t progress;
	uv_loop_t uv;
	size_t capacity;
	int reports = 0, failed = 0;

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	capacity = strcmp(argv[1], "broken") ? 16 : 4;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &progress);
	progress.data = &reports;
	uv_timer_start(&progress, on_progress, 50, 50);
	for (int i = 0; i < 2; i++) {
		struct pipeline pipeline = {.loop = loop, .clip = &clips[i]};

		failed |= thrum_promise_run(
			thrum_promise_should_resolve(transcode(&pipeline, capacity)));
		failed |= pipeline.disorder || pipeline.written != TRACKS * clips[i].frames;
		printf("%s: %d frames\n", clips[i].name, pipeline.written);
		pipeline_destroy(&pipeline);
	}
	thrum_stop();
	uv_close((uv_handle_t *)&progress, NULL);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return failed;
}
