/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: A tile of a low zoom level puts its four parts into the same thread pool in which it runs itself, and waits
 *     for them. When all three threads of the pool run such tiles, nobody is left to render the parts.
 *   culprit: render_overview|wait_parts|render_tile|pool
 *   victim: main\b|serve
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Renders map tiles. A tile below DETAIL_ZOOM is put together of four tiles of the next zoom level. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define RENDERERS 3
#define DETAIL_ZOOM 8

struct tile {
	int zoom, x, y;
	struct tile *overview; /* that this one is a part of, or NULL */
	int missing;           /* parts that aren't ready yet */
	guint32 colour;
};

static gboolean broken;
static GThreadPool *renderers, *detail_renderers;
static GMutex mutex;
static GCond tile_ready;
static int open_requests;
static guint rendered;

static void wait_parts(struct tile *tile)
{
	g_mutex_lock(&mutex);
	while (tile->missing > 0)
		g_cond_wait(&tile_ready, &mutex);
	g_mutex_unlock(&mutex);
}

static struct tile *tile_new(int zoom, int x, int y, struct tile *overview)
{
	struct tile *tile = g_new0(struct tile, 1);

	tile->zoom = zoom;
	tile->x = x;
	tile->y = y;
	tile->overview = overview;
	return tile;
}

static void render_overview(struct tile *tile)
{
	tile->missing = 4;
	for (int i = 0; i < 4; i++) {
		struct tile *part = tile_new(tile->zoom + 1, tile->x * 2 + i % 2,
			tile->y * 2 + i / 2, tile);

		g_thread_pool_push(broken ? renderers : detail_renderers, part, NULL);
	}
	wait_parts(tile);
}

static void render_detail(struct tile *tile)
{
	g_usleep(4000);
	tile->colour = (guint32)(tile->x * 31 + tile->y * 17 + tile->zoom);
}

static void render_tile(gpointer data, gpointer user_data)
{
	struct tile *tile = data;

	(void)user_data;
	if (tile->zoom < DETAIL_ZOOM)
		render_overview(tile);
	else
		render_detail(tile);
	g_mutex_lock(&mutex);
	rendered++;
	if (tile->overview) {
		tile->overview->colour += tile->colour / 4;
		tile->overview->missing--;
	} else {
		open_requests--;
	}
	g_cond_broadcast(&tile_ready);
	g_mutex_unlock(&mutex);
	g_free(tile);
}

static void request_tile(int zoom, int x, int y)
{
	g_mutex_lock(&mutex);
	open_requests++;
	g_mutex_unlock(&mutex);
	g_thread_pool_push(renderers, tile_new(zoom, x, y, NULL), NULL);
}

static gpointer metrics(gpointer data)
{
	gint *done = data;

	while (!g_atomic_int_get(done)) {
		g_usleep(100000);
		g_mutex_lock(&mutex);
		printf("tiles %u, open %d\n", rendered, open_requests);
		g_mutex_unlock(&mutex);
		fflush(stdout);
	}
	return NULL;
}

/* The viewport of one browser. */
static void serve_viewport(int zoom)
{
	for (int y = 0; y < 3; y++)
		for (int x = 0; x < 3; x++)
			request_tile(zoom, x, y);
	g_mutex_lock(&mutex);
	while (open_requests > 0)
		g_cond_wait(&tile_ready, &mutex);
	g_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	gint done = 0;
	GThread *reporter;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	renderers = g_thread_pool_new(render_tile, NULL, RENDERERS, TRUE, NULL);
	detail_renderers = g_thread_pool_new(render_tile, NULL, RENDERERS, TRUE, NULL);
	reporter = g_thread_new("metrics", metrics, &done);
	serve_viewport(DETAIL_ZOOM + 1);
	serve_viewport(DETAIL_ZOOM);
	serve_viewport(DETAIL_ZOOM - 1);
	g_atomic_int_set(&done, 1);
	g_thread_join(reporter);
	g_thread_pool_free(renderers, FALSE, TRUE);
	g_thread_pool_free(detail_renderers, FALSE, TRUE);
	puts("map complete");
	return 0;
}
