/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: baresip pull request #1356 ("gst: Use GstBus sync handler instead of GMainLoop": dead-lock in pthread_join
 *     when a ring tone stops; the same race is in rdkservices #4714). ring_stop calls g_main_loop_quit and joins the
 *     player's thread. The sixth caller gives up while that thread still opens the device, so the quit comes before
 *     g_main_loop_run, which sets the loop running nevertheless. The thread "gst" never ends, ring_stop waits for it
 *     for ever, and so the thread "ua" handles no more calls. The thread "sip" goes on.
 *   culprit: ring_stop|play_thread|thread gst
 *   victim: main\b|thread ua
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A telephone: one thread hears of calls, another lets the telephone ring with a player in a thread of its own. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define CALLS 12

enum {
	INCOMING = 1,
	CANCELLED,
	SHUTDOWN
};

struct player {
	GMainContext *context;
	GMainLoop *loop;
	GThread *thread;
	guint open_ms; /* what the sound device needs */
	guint periods;
};

static GAsyncQueue *events;
static guint rings, keepalives, periods;
static gboolean fixed;
static gint stopped;

/* ---- the player ---- */

static gboolean on_period(gpointer user_data)
{
	struct player *player = user_data;

	player->periods++;
	return G_SOURCE_CONTINUE;
}

static gboolean on_quit(gpointer user_data)
{
	struct player *player = user_data;

	g_main_loop_quit(player->loop);
	return G_SOURCE_REMOVE;
}

static void open_device(const struct player *player)
{
	g_usleep(player->open_ms * 1000);
}

static gpointer play_thread(gpointer user_data)
{
	struct player *player = user_data;
	GSource *source;

	g_main_context_push_thread_default(player->context);
	open_device(player);
	source = g_timeout_source_new(10);
	g_source_set_callback(source, on_period, player, NULL);
	g_source_attach(source, player->context);
	g_main_loop_run(player->loop);
	g_source_destroy(source);
	g_source_unref(source);
	g_main_context_pop_thread_default(player->context);
	return NULL;
}

static struct player *ring_start(void)
{
	struct player *player = g_new0(struct player, 1);

	player->open_ms = 15 + rings % 3 * 5;
	player->context = g_main_context_new();
	player->loop = g_main_loop_new(player->context, FALSE);
	player->thread = g_thread_new("gst", play_thread, player);
	rings++;
	return player;
}

static void ring_stop(struct player *player)
{
	GSource *quit;

	if (fixed) { /* runs in the loop, so not before it */
		quit = g_idle_source_new();
		g_source_set_callback(quit, on_quit, player, NULL);
		g_source_attach(quit, player->context);
		g_source_unref(quit);
	} else {
		g_main_loop_quit(player->loop);
	}
	g_thread_join(player->thread);
	periods += player->periods;
	g_main_loop_unref(player->loop);
	g_main_context_unref(player->context);
	g_free(player);
}

/* ---- the user agent ---- */

static gpointer ua_thread(gpointer user_data)
{
	struct player *player = NULL;
	gint event;

	for (;;) {
		event = GPOINTER_TO_INT(g_async_queue_pop(events));
		if (event == INCOMING && !player) {
			player = ring_start();
		} else if (event == CANCELLED && player) {
			ring_stop(player);
			player = NULL;
			printf("%u calls missed\n", rings);
			fflush(stdout);
		} else if (event == SHUTDOWN) {
			break;
		}
	}
	return user_data;
}

/* This comes from the network. */
static gpointer sip_thread(gpointer user_data)
{
	guint i, ring_ms;

	for (i = 1; i <= CALLS; i++) {
		g_usleep(40000);
		g_async_queue_push(events, GINT_TO_POINTER(INCOMING));
		ring_ms = i == 6 ? 4 : 90 + i % 4 * 10;
		g_usleep(ring_ms * 1000);
		g_async_queue_push(events, GINT_TO_POINTER(CANCELLED));
	}
	g_async_queue_push(events, GINT_TO_POINTER(SHUTDOWN));
	while (!g_atomic_int_get(&stopped)) {
		g_usleep(50000);
		keepalives++;
	}
	return user_data;
}

int main(int argc, char **argv)
{
	GThread *ua, *sip;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	events = g_async_queue_new();
	ua = g_thread_new("ua", ua_thread, NULL);
	sip = g_thread_new("sip", sip_thread, NULL);
	g_thread_join(ua);
	g_atomic_int_set(&stopped, TRUE);
	g_thread_join(sip);
	printf("%u rings, %u periods, %u keepalives\n", rings, periods, keepalives);
	g_async_queue_unref(events);
	return 0;
}
