/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: diff healthy
 *   truth: The first client of a tile begins to render it, and the others wait for the condition “tile ready”. The first client leaves, and its cancellation goes through to the render (get_tile doesn't protect it), so “render tile 3” is cancelled and nobody broadcasts the condition; the other clients of tile 3 wait for ever.
 *   culprit: render tile 3|render_tile
 *   victim: client [5-8]|tile ready
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server of map tiles. Each tile is rendered once, for all clients that want it at that time. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define TILES 6
#define CLIENTS 12

struct tile {
	int number;
	bool rendering, fresh;
	struct thrum_condition *ready;
};

struct client {
	int number, tile;
	struct thrum_promise *request;
	bool served, left;
};

static struct tile tiles[TILES];
static struct client clients[CLIENTS] = {
	{1, 0},
	{2, 0},
	{3, 1},
	{4, 3},
	{5, 3},
	{6, 3},
	{7, 3},
	{8, 3},
	{9, 4},
	{10, 4},
	{11, 5},
	{12, 0},
};
static bool isolate;
static int rendered, evictions;

static struct thrum_value tile_done(struct thrum_loop *loop, void *value, void *data)
{
	struct tile *tile = data;

	tile->rendering = false;
	tile->fresh = true;
	rendered++;
	thrum_condition_broadcast(tile->ready, thrum_value_none());
	return thrum_value_none();
}

/* Reads the map's data, and draws. */
static struct thrum_promise *draw(struct thrum_loop *loop, void *value, void *data)
{
	struct tile *tile = data;

	return thrum_sleep(loop, 20 + 5 * tile->number);
}

static struct thrum_promise *render_tile(struct thrum_loop *loop, struct tile *tile)
{
	struct thrum_promise *image;

	image = thrum_promise_bind(thrum_sleep(loop, 15), draw, tile, NULL);
	return thrum_promise_labelf(thrum_promise_map(image, tile_done, tile, NULL),
		"render tile %d", tile->number);
}

/* Returns a promise for the time when the tile is there. */
static struct thrum_promise *get_tile(struct thrum_loop *loop, struct tile *tile)
{
	struct thrum_promise *render;

	if (tile->fresh)
		return thrum_promise_return(loop, thrum_value_none());
	if (tile->rendering)
		return thrum_condition_wait(tile->ready, NULL);
	tile->rendering = true;
	render = render_tile(loop, tile);
	return isolate ? thrum_promise_protected(render) : render;
}

static struct thrum_promise *send_tile(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_sleep(loop, 3);
}

static void on_served(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	client->served = true;
}

static struct thrum_promise *handle_cancelled(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct client *client = data;

	if (!client->left)
		return thrum_promise_fail_again(loop, failure);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve_client(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	struct thrum_promise *tile = get_tile(loop, &tiles[client->tile]);

	tile = thrum_promise_bind(tile, send_tile, client, NULL);
	thrum_promise_on_success(thrum_promise_ref(tile), on_served, client, NULL);
	return tile;
}

/* A client comes some ms after the one before. */
static struct thrum_promise *run_client(struct thrum_loop *loop, struct client *client)
{
	struct thrum_promise *arrival = thrum_sleep(loop, client->number / 2);

	client->request = thrum_promise_bind(arrival, serve_client, client, NULL);
	thrum_promise_labelf(client->request, "GET for client %d", client->number);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(thrum_promise_catch(thrum_promise_ref(client->request),
					     handle_cancelled, client, NULL),
			"client %d", client->number));
}

/* Client 4 closes the page when all others of its tile have come. */
static struct thrum_promise *leave(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	client->left = true;
	thrum_promise_cancel(client->request);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *evict_old(struct thrum_loop *loop, void *value, void *data)
{
	evictions++;
	return thrum_promise_bind(thrum_sleep(loop, 25), evict_old, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[CLIENTS];
	struct thrum_loop *loop;
	int result, served = 0;

	isolate = argc < 2 || strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < TILES; i++) {
		tiles[i].number = i;
		tiles[i].ready = thrum_condition_create(loop, "tile ready");
	}
	thrum_promise_ignore_result(
		thrum_promise_label(evict_old(loop, NULL, NULL), "evict old tiles"));
	for (int i = 0; i < CLIENTS; i++)
		all[i] = run_client(loop, &clients[i]);
	thrum_promise_ignore_result(thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 12),
								leave, &clients[3], NULL),
		"client 4 leaves"));
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, CLIENTS), "all clients"));
	thrum_stop();
	for (int i = 0; i < CLIENTS; i++)
		served += clients[i].served;
	fprintf(stderr, "%d tiles rendered, %d clients served\n", rendered, served);
	return result == 0 && served == CLIENTS - 1 ? 0 : 1;
}
