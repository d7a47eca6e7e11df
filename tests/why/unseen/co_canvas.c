/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: For a slow filter, redraw stays as an idle source of G_PRIORITY_HIGH_IDLE to turn the spinner until the
 *     filter has ended. Its end comes as on_filtered with G_PRIORITY_DEFAULT_IDLE, which GLib never dispatches as long as
 *     redraw is ready. So redraw starves on_filtered, and thread exporter waits for the picture for ever.
 *   culprit: redraw
 *   victim: on_filtered|exporter|export_pictures
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A picture editor without its window: filters run in a thread pool, the main loop draws the canvas. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 320
#define HEIGHT 200
#define PICTURES 9

struct picture {
	int number;
	bool slow; /* the filter takes a while: show a spinner */
	guint32 pixels[WIDTH * HEIGHT];
};

static struct canvas {
	GMainLoop *loop;
	GThreadPool *filters;
	GMutex lock;
	GCond filtered;
	int done;     /* the last picture that was filtered */
	bool turning; /* the spinner */
	unsigned angle;
	unsigned frames;
	unsigned saves;
} canvas;

static bool broken;

/* Paints one frame; the display takes one every few milliseconds. */
static gboolean redraw(gpointer data)
{
	(void)data;
	canvas.frames++;
	if (canvas.turning)
		canvas.angle = (canvas.angle + 15) % 360;
	g_usleep(4000);
	return canvas.turning ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void queue_redraw(bool spinner)
{
	int priority = G_PRIORITY_HIGH_IDLE;

	canvas.turning = spinner;
	if (spinner && !broken)
		priority = G_PRIORITY_LOW;
	g_idle_add_full(priority, redraw, NULL, NULL);
}

/* In the main loop: a filter has ended. */
static gboolean on_filtered(gpointer data)
{
	struct picture *picture = data;

	canvas.turning = false;
	queue_redraw(false);
	g_mutex_lock(&canvas.lock);
	canvas.done = picture->number;
	g_cond_signal(&canvas.filtered);
	g_mutex_unlock(&canvas.lock);
	printf("picture %d is filtered\n", picture->number);
	fflush(stdout);
	g_free(picture);
	return G_SOURCE_REMOVE;
}

/* In the pool. */
static void blur(gpointer data, gpointer unused)
{
	struct picture *picture = data;

	(void)unused;
	for (int y = 1; y < HEIGHT - 1; y++)
		for (int x = 1; x < WIDTH - 1; x++) {
			guint32 *at = &picture->pixels[y * WIDTH + x];

			*at = (at[-1] + at[1] + at[-WIDTH] + at[WIDTH]) / 4;
		}
	g_usleep(picture->slow ? 120000 : 10000);
	g_idle_add(on_filtered, picture);
}

/* In the main loop: somebody asked for a picture. */
static gboolean on_open(gpointer data)
{
	struct picture *picture = g_new0(struct picture, 1);

	picture->number = GPOINTER_TO_INT(data);
	picture->slow = picture->number == 6;
	for (int i = 0; i < WIDTH * HEIGHT; i++)
		picture->pixels[i] = (guint32)(i * picture->number);
	queue_redraw(picture->slow);
	g_thread_pool_push(canvas.filters, picture, NULL);
	return G_SOURCE_REMOVE;
}

/* Exports one picture after the other. */
static gpointer export_pictures(gpointer data)
{
	(void)data;
	for (int number = 1; number <= PICTURES; number++) {
		g_idle_add(on_open, GINT_TO_POINTER(number));
		g_mutex_lock(&canvas.lock);
		while (canvas.done < number)
			g_cond_wait(&canvas.filtered, &canvas.lock);
		g_mutex_unlock(&canvas.lock);
		g_usleep(20000);
	}
	g_main_loop_quit(canvas.loop);
	return NULL;
}

static gboolean save_session(gpointer data)
{
	(void)data;
	canvas.saves++;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GThread *exporter;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	canvas.loop = g_main_loop_new(NULL, FALSE);
	canvas.filters = g_thread_pool_new(blur, NULL, 2, FALSE, NULL);
	g_mutex_init(&canvas.lock);
	g_cond_init(&canvas.filtered);
	g_timeout_add(100, save_session, NULL);
	exporter = g_thread_new("exporter", export_pictures, NULL);
	g_main_loop_run(canvas.loop);
	g_thread_join(exporter);
	g_thread_pool_free(canvas.filters, FALSE, TRUE);
	g_main_loop_unref(canvas.loop);
	printf("%u frames, %u saves\n", canvas.frames, canvas.saves);
	return 0;
}
