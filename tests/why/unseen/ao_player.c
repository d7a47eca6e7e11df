/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: clip 3 has its header box behind the media. demux waits for room in the queue "packets 3" before
 *     it has read the header, and play of clip 3 takes no packet before it has the header: demux and play
 *     wait for each other.
 *   culprit: demux 3
 *   victim: playlist
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A player that demuxes clips into a bounded queue of packets, and decodes them when it knows the header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CLIPS 4
#define QUEUE 4

/* Boxes of a clip: h is the header, m a packet of media. */
struct clip {
	int number;
	const char *boxes;
	size_t position;
	struct thrum_mvar *header;
	struct thrum_stream *packets;
	unsigned played;
};

static struct clip clips[CLIPS];
static const char *const fast_start[CLIPS] = {"hmmmmmm", "hmmmmmmmm", "hmmmmmmmmm", "hmmmm"};
static const char *const as_recorded[CLIPS] = {"hmmmmmm", "mmhmmmmmm", "mmmmmmmmmh", "hmmmm"};

static struct thrum_promise *read_box(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *done(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* Hands the box that was read on, and reads the next one. */
static __attribute__((noinline)) struct thrum_promise *emit_box(struct thrum_loop *loop,
	void *value, void *data)
{
	struct clip *clip = data;
	const char *box = &clip->boxes[clip->position++];
	struct thrum_promise *out;

	(void)loop, (void)value;
	if (*box == 'h')
		out = thrum_mvar_put(clip->header, thrum_value_static(box));
	else
		out = thrum_stream_push(clip->packets, thrum_value_static(box));
	return thrum_promise_bind(out, read_box, clip, NULL);
}

static __attribute__((noinline)) struct thrum_promise *read_box(struct thrum_loop *loop,
	void *value, void *data)
{
	struct clip *clip = data;

	(void)value;
	if (!clip->boxes[clip->position]) {
		thrum_stream_close(clip->packets);
		return done(loop);
	}
	return thrum_promise_bind(thrum_sleep(loop, 2), emit_box, clip, NULL);
}

static struct thrum_promise *demux(struct thrum_loop *loop, struct clip *clip)
{
	struct thrum_promise *begun = thrum_promise_pause(loop);

	return thrum_promise_labelf(thrum_promise_bind(begun, read_box, clip, NULL), "demux %d",
		clip->number);
}

static struct thrum_promise *on_packet(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *next_packet(struct thrum_loop *loop, void *value, void *data)
{
	struct clip *clip = data;

	(void)loop, (void)value;
	return thrum_promise_bind(thrum_stream_next(clip->packets), on_packet, clip, NULL);
}

static __attribute__((noinline)) struct thrum_promise *on_packet(struct thrum_loop *loop,
	void *value, void *data)
{
	struct clip *clip = data;

	if (!value)
		return done(loop);
	clip->played++;
	return thrum_promise_bind(thrum_sleep(loop, 3), next_packet, clip, NULL);
}

/* The decoder is set up from the header. */
static __attribute__((noinline)) struct thrum_promise *on_header(struct thrum_loop *loop,
	void *value, void *data)
{
	struct clip *clip = data;

	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 1), next_packet, clip, NULL);
}

static struct thrum_promise *play(struct clip *clip)
{
	struct thrum_promise *header = thrum_mvar_take(clip->header);

	return thrum_promise_labelf(thrum_promise_bind(header, on_header, clip, NULL), "play %d",
		clip->number);
}

/* Plays the clips one after the other. */
static __attribute__((noinline)) struct thrum_promise *play_next(struct thrum_loop *loop,
	void *value, void *data)
{
	struct clip *clip = data;
	struct thrum_promise *both[2];

	(void)value;
	if (clip == clips + CLIPS)
		return done(loop);
	both[0] = play(clip);
	both[1] = demux(loop, clip);
	return thrum_promise_bind(thrum_promise_join(loop, both, 2), play_next, clip + 1, NULL);
}

static void on_redraw(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	bool fast = argc < 2 || strcmp(argv[1], "broken");
	struct thrum_promise *playlist;
	struct thrum_loop *loop;
	char name[32];
	int result;

	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < CLIPS; i++) {
		clips[i].number = i + 1;
		clips[i].boxes = fast ? fast_start[i] : as_recorded[i];
		snprintf(name, sizeof(name), "header %d", i + 1);
		clips[i].header = thrum_mvar_create(loop, name);
		snprintf(name, sizeof(name), "packets %d", i + 1);
		clips[i].packets = thrum_stream_create(loop, name, QUEUE);
	}
	/* The user interface asks for the clock now and then: the loop never runs dry. */
	uv_timer_t redraw;
	uv_timer_init(uv_default_loop(), &redraw);
	uv_timer_start(&redraw, on_redraw, 100, 100);

	playlist = thrum_promise_bind(thrum_promise_pause(loop), play_next, clips, NULL);
	playlist = thrum_promise_should_resolve(thrum_promise_label(playlist, "playlist"));
	result = thrum_promise_run(playlist);
	thrum_stop();
	for (int i = 0; i < CLIPS; i++)
		printf("clip %d: %u packets\n", i + 1, clips[i].played);
	return result ? 1 : 0;
}
