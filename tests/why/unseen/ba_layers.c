/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: when a chunk has a bad digest, on_chunk_fetched fails without closing the layer's stream; so the
 *     fetch of layer 3 is over, and "unpack layer 3" waits for ever for the next chunk
 *   culprit: fetch layer 3|on_chunk_fetched|fetch_chunks
 *   victim: unpack layer 3|pull image|chunks
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Pulls the layers of a container image: each is fetched in chunks, and unpacked while it comes. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define LAYERS 4
#define CHUNKS 12
#define MIRRORS 2

struct layer {
	struct image *image;
	struct thrum_stream *stream;
	char label[32];
	int number, mirror;
	int fetched, unpacked;
};

struct image {
	struct thrum_loop *loop;
	struct layer layers[LAYERS];
	int begun, retried;
	bool closes_always;
	uv_timer_t progress;
};

struct chunk {
	int number;
	unsigned digest;
};

static struct thrum_promise *fetch_chunks(struct thrum_loop *loop, void *data);
static struct thrum_promise *unpack(struct layer *layer);

/* The first mirror has a damaged copy of one layer. */
static unsigned download_digest(const struct layer *layer, int number)
{
	return layer->mirror == 0 && layer->number == 3 && number == 7 ? 0xbad
								       : (unsigned)number * 17;
}

static struct thrum_promise *on_chunk_pushed(struct thrum_loop *loop, void *value, void *data)
{
	struct layer *layer = data;

	(void)value;
	layer->fetched++;
	return fetch_chunks(loop, layer);
}

static struct thrum_promise *on_chunk_fetched(struct thrum_loop *loop, void *value, void *data)
{
	struct layer *layer = data;
	struct chunk *chunk;
	unsigned digest = download_digest(layer, layer->fetched);

	(void)value;
	if (digest != (unsigned)layer->fetched * 17) {
		if (layer->image->closes_always)
			thrum_stream_close(layer->stream);
		return thrum_promise_fail(loop, 1, "layer %d, chunk %d: bad digest", layer->number,
			layer->fetched);
	}
	chunk = malloc(sizeof(*chunk));
	chunk->number = layer->fetched;
	chunk->digest = digest;
	return thrum_promise_bind(thrum_stream_push(layer->stream, thrum_value_own(chunk, free)),
		on_chunk_pushed, layer, NULL);
}

static struct thrum_promise *fetch_chunks(struct thrum_loop *loop, void *data)
{
	struct layer *layer = data;

	if (layer->fetched == CHUNKS) {
		thrum_stream_close(layer->stream);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, 2), on_chunk_fetched, layer, NULL);
}

static void start_fetch(struct layer *layer)
{
	struct thrum_loop *loop = layer->image->loop;

	snprintf(layer->label, sizeof(layer->label), "fetch layer %d", layer->number);
	layer->fetched = layer->unpacked = 0;
	layer->stream = thrum_stream_create(loop, "chunks", 4);
	thrum_promise_async(loop, layer->label, fetch_chunks, layer, NULL);
}

static struct thrum_promise *on_chunk(struct thrum_loop *loop, void *value, void *data)
{
	struct layer *layer = data;
	const struct chunk *chunk = value;

	if (chunk) {
		layer->unpacked++;
		return unpack(layer);
	}
	thrum_stream_destroy(layer->stream);
	layer->stream = NULL;
	if (layer->unpacked == CHUNKS)
		return thrum_promise_return(loop, thrum_value_none());
	if (++layer->mirror == MIRRORS)
		return thrum_promise_fail(loop, 2, "layer %d: no mirror is left", layer->number);
	layer->image->retried++;
	start_fetch(layer);
	return unpack(layer);
}

static struct thrum_promise *unpack(struct layer *layer)
{
	return thrum_promise_bind(thrum_stream_next(layer->stream), on_chunk, layer, NULL);
}

static struct thrum_promise *pull_layer(struct layer *layer)
{
	start_fetch(layer);
	return thrum_promise_labelf(unpack(layer), "unpack layer %d", layer->number);
}

static struct thrum_promise *pull_rest(struct thrum_loop *loop, void *value, void *data)
{
	struct image *image = data;
	struct thrum_promise *two[2];

	(void)value;
	if (image->begun == LAYERS)
		return thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < 2; i++)
		two[i] = pull_layer(&image->layers[image->begun++]);
	return thrum_promise_bind(thrum_promise_join(loop, two, 2), pull_rest, image, NULL);
}

static void on_progress(uv_timer_t *timer)
{
	const struct image *image = timer->data;

	for (int i = 0; i < image->begun; i++)
		fprintf(stderr, "layer %d: %d of %d\n", i + 1, image->layers[i].unpacked, CHUNKS);
}

static void on_unhandled(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	(void)loop;
	(void)data;
	fprintf(stderr, "warning: %s\n", failure->message);
}

int main(int argc, char **argv)
{
	struct image image = {0};
	struct thrum_promise *all;
	uv_loop_t uv;
	int result;

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	image.closes_always = strcmp(argv[1], "healthy") == 0;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &image.loop))
		return 1;
	thrum_loop_on_unhandled(image.loop, on_unhandled, NULL);
	uv_timer_init(&uv, &image.progress);
	image.progress.data = &image;
	uv_timer_start(&image.progress, on_progress, 100, 100);
	for (int i = 0; i < LAYERS; i++) {
		image.layers[i].image = &image;
		image.layers[i].number = i + 1;
	}
	all = thrum_promise_label(pull_rest(image.loop, NULL, &image), "pull image");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%d layers, %d retried, %s\n", image.begun, image.retried,
		thrum_promise_error_message(result));
	uv_close((uv_handle_t *)&image.progress, NULL);
	thrum_loop_destroy(image.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result != 0;
}
