/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The file has many pictures before the first sound. The demuxer waits for room in the stream "video" of four packets, and play, which takes a sound before each picture, waits for "audio", which only the demuxer fills.
 *   culprit: demux|video|push_packet
 *   victim: play|audio
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A video player: the demuxer sorts the packets of a file into two streams, and the player takes sound and picture
 * for each frame. In the healthy player the streams have room for a second.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "thrum/promise.h"

#define FRAMES 24

struct player {
	struct thrum_stream *audio, *video;
	const char *file, *at; /* a packet is a letter: a or v */
	unsigned frames;
};

static bool broken, ended;

static struct thrum_promise *read_packet(struct thrum_loop *loop, void *value, void *data);

/* Puts a packet into its stream, and goes on when it has room. */
static struct thrum_promise *push_packet(struct thrum_loop *loop, void *value, void *data)
{
	struct player *player = data;
	struct thrum_stream *stream = *player->at == 'a' ? player->audio : player->video;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_push(stream, thrum_value_static(player->at++)),
		read_packet, player, NULL);
}

static struct thrum_promise *read_packet(struct thrum_loop *loop, void *value, void *data)
{
	struct player *player = data;

	(void)value;
	if (!*player->at) {
		thrum_stream_close(player->audio);
		thrum_stream_close(player->video);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 2), "read file"),
		push_packet, player, NULL);
}

static struct thrum_promise *take_sound(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *show(struct thrum_loop *loop, void *picture, void *data)
{
	struct player *player = data;

	if (!picture)
		return thrum_promise_return(loop, thrum_value_none());
	player->frames++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 10), "show frame"),
		take_sound, player, NULL);
}

static struct thrum_promise *take_picture(struct thrum_loop *loop, void *sound, void *data)
{
	struct player *player = data;

	if (!sound)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_stream_next(player->video), show, player, NULL);
}

static struct thrum_promise *take_sound(struct thrum_loop *loop, void *value, void *data)
{
	struct player *player = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(player->audio), take_picture, player, NULL);
}

/* The window is drawn also when nothing is shown. */
static struct thrum_promise *draw_window(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (ended)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), draw_window, data, NULL);
}

static struct thrum_promise *start_window(struct thrum_loop *loop, void *data)
{
	return draw_window(loop, NULL, data);
}

int main(int argc, char **argv)
{
	/* 24 of each. Somebody has written the last scene badly. */
	static const char file[] = "avavavavavavavavavavavav"
				   "vvvvvvvvvvvvaaaaaaaaaaaa";
	struct player player = {.file = file, .at = file};
	struct thrum_promise *parts[2];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	player.audio = thrum_stream_create(loop, "audio", broken ? 4 : FRAMES);
	player.video = thrum_stream_create(loop, "video", broken ? 4 : FRAMES);
	thrum_promise_async(loop, "window", start_window, NULL, NULL);
	parts[0] = thrum_promise_label(read_packet(loop, NULL, &player), "demux");
	parts[1] = thrum_promise_label(take_sound(loop, NULL, &player), "play");
	thrum_promise_should_resolve(parts[1]);
	error = thrum_promise_run(thrum_promise_join(loop, parts, 2));
	ended = true;
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("%u frames\n", player.frames);
	thrum_stream_destroy(player.audio);
	thrum_stream_destroy(player.video);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0 || player.frames != FRAMES;
}
