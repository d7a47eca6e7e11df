/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: decode_next fails at a frame that is damaged, and so the decoder ends and reads the stream "frames" no more.
 *     The camera goes on pushing until the stream is full, then waits for room for ever, and the recording never ends.
 *   culprit: decoder|decode_next|damaged
 *   victim: camera|record clip
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Records a clip: a camera pushes frames into a stream, a decoder takes them out; a meter shows the sound. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CLIP 60

struct frame {
	int number;
	unsigned size;
	unsigned check;
};

static struct thrum_stream *frames;
static bool skip_damaged;
static int captured, decoded, skipped;

static unsigned frame_check(const struct frame *frame)
{
	return (unsigned)frame->number * 40503u ^ frame->size;
}

/* ---- camera ---- */

static struct thrum_promise *camera_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *camera_shoot(struct thrum_loop *loop, void *value, void *data)
{
	struct frame *frame;
	struct thrum_promise *pushed;

	(void)value;
	if (captured == CLIP) {
		thrum_stream_close(frames);
		return thrum_promise_return(loop, thrum_value_none());
	}
	frame = malloc(sizeof *frame);
	if (!frame)
		return NULL;
	frame->number = captured++;
	frame->size = 1000 + (unsigned)(frame->number * 37 % 200);
	frame->check = frame_check(frame);
	if (frame->number == 23) /* the sensor's cable is loose */
		frame->check ^= 0x40;
	pushed = thrum_stream_push(frames, thrum_value_own(frame, free));
	return thrum_promise_bind(pushed, camera_next, data, NULL);
}

static struct thrum_promise *camera_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 8), camera_shoot, data, NULL);
}

/* ---- decoder ---- */

static struct thrum_promise *decode_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *decode_more(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(frames), decode_next, data, NULL);
}

static struct thrum_promise *decode_next(struct thrum_loop *loop, void *value, void *data)
{
	const struct frame *frame = value;

	if (!frame)
		return thrum_promise_return(loop, thrum_value_none());
	if (frame->check != frame_check(frame)) {
		if (!skip_damaged)
			return thrum_promise_fail(loop, -EBADMSG, "frame %d is damaged",
				frame->number);
		skipped++;
		return decode_more(loop, NULL, data);
	}
	decoded++;
	return thrum_promise_bind(thrum_sleep(loop, 5), decode_more, data, NULL);
}

/* ---- sound ---- */

static struct thrum_promise *meter(struct thrum_loop *loop, void *value, void *data)
{
	static int level;

	(void)value;
	(void)data;
	level = (level * 5 + 3) % 17;
	printf("[%.*s] %d captured, %d decoded\n", level, "################", captured, decoded);
	fflush(stdout);
	return thrum_promise_bind(thrum_sleep(loop, 50), meter, NULL, NULL);
}

static struct thrum_promise *meter_begin(struct thrum_loop *loop, void *data)
{
	return meter(loop, NULL, data);
}

static struct thrum_promise *record_clip(struct thrum_loop *loop)
{
	struct thrum_promise *both[2];

	both[0] = thrum_promise_label(camera_next(loop, NULL, NULL), "camera");
	both[1] = thrum_promise_label(decode_more(loop, NULL, NULL), "decoder");
	return thrum_promise_label(thrum_promise_join(loop, both, 2), "record clip");
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	int error;

	skip_damaged = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	error = thrum_loop_create(uv_default_loop(), &loop);
	if (error) {
		fprintf(stderr, "%s\n", thrum_promise_error_message(error));
		return 1;
	}
	frames = thrum_stream_create(loop, "frames", 4);
	thrum_promise_async(loop, "sound meter", meter_begin, NULL, NULL);
	error = thrum_promise_run(thrum_promise_should_resolve(record_clip(loop)));
	thrum_stop();
	printf("clip: %d frames, %d skipped: %s\n", decoded, skipped,
		thrum_promise_error_message(error));
	return error != 0;
}
