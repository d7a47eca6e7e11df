/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: PackageKit issue #665 ("g_cancellable_disconnect() should not be called in cancellable signal
 *     handler's stack ( deadlock )"): a resolve is cancelled whose transaction has just disappeared.
 *     cancelled_cb, which runs inside g_cancellable_cancel, then finishes the state at once, and
 *     state_finish calls g_cancellable_disconnect. That waits until the running handler has returned, and
 *     so the main thread waits for itself. The page "updates" never gets its answer, and the loader thread
 *     waits for it.
 *   culprit: state_finish|g_cancellable_disconnect|cancelled_cb
 *   victim: loader
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* The client of a package daemon: pages of a software centre let it resolve packages, and may cancel that.
 * */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct page {
	GMutex mutex;
	GCond answered;
	int answers, asked;
};

struct state {
	GCancellable *cancellable;
	gulong cancellable_id;
	unsigned transaction; /* 0: the daemon has dropped it */
	guint reply;
	const char *error;
};

static bool deferred; /* whether a cancelled state is finished by the main loop */
static struct page updates;
static unsigned resolved, cancelled, transactions;
static struct state *running;

static void page_answer(struct page *page)
{
	g_mutex_lock(&page->mutex);
	page->answers++;
	g_cond_signal(&page->answered);
	g_mutex_unlock(&page->mutex);
}

/* The end of a request, good or bad. */
static void state_finish(struct state *state)
{
	if (state->cancellable_id)
		g_cancellable_disconnect(state->cancellable, state->cancellable_id);
	if (state->error)
		cancelled++;
	else
		resolved++;
	running = NULL;
	g_object_unref(state->cancellable);
	g_free(state);
	page_answer(&updates);
}

static gboolean finish_later(gpointer data)
{
	state_finish(data);
	return G_SOURCE_REMOVE;
}

/* The daemon's reply. */
static gboolean on_finished(gpointer data)
{
	struct state *state = data;

	state->reply = 0;
	state_finish(state);
	return G_SOURCE_REMOVE;
}

static void cancelled_cb(GCancellable *cancellable, gpointer data)
{
	struct state *state = data;

	(void)cancellable;
	if (state->transaction) {
		/* The daemon is told, and answers soon. */
		state->error = "cancelled";
		if (state->reply)
			g_source_remove(state->reply);
		state->reply = g_timeout_add(5, on_finished, state);
		return;
	}
	state->error = "transaction disappeared";
	if (deferred)
		g_idle_add(finish_later, state);
	else
		state_finish(state);
}

static void client_resolve(unsigned ms)
{
	struct state *state = g_new0(struct state, 1);

	state->cancellable = g_cancellable_new();
	state->transaction = ++transactions;
	state->cancellable_id = g_cancellable_connect(state->cancellable, G_CALLBACK(cancelled_cb),
		state, NULL);
	state->reply = g_timeout_add(ms, on_finished, state);
	running = state;
}

static gboolean network_changed(gpointer data)
{
	(void)data;
	if (running)
		g_cancellable_cancel(running->cancellable);
	return G_SOURCE_REMOVE;
}

/* The daemon has ended for want of work, and its transactions with it. */
static gboolean daemon_gone(gpointer data)
{
	(void)data;
	if (running) {
		g_source_remove(running->reply);
		running->reply = 0;
		running->transaction = 0;
	}
	return G_SOURCE_REMOVE;
}

/* A page asks. The fifth request is cancelled in time, the eleventh when its transaction has gone. */
static gboolean on_ask(gpointer data)
{
	unsigned number = GPOINTER_TO_UINT(data);

	client_resolve(number == 5 || number == 11 ? 5000 : 12);
	if (number == 11)
		g_timeout_add(20, daemon_gone, NULL);
	if (number == 5 || number == 11)
		g_timeout_add(40, network_changed, NULL);
	return G_SOURCE_REMOVE;
}

static gpointer loader(gpointer data)
{
	struct page *page = data;
	int number;

	for (number = 1;; number++) {
		g_mutex_lock(&page->mutex);
		page->asked++;
		g_idle_add(on_ask, GUINT_TO_POINTER(number));
		while (page->answers < page->asked)
			g_cond_wait(&page->answered, &page->mutex);
		g_mutex_unlock(&page->mutex);
		g_usleep(15000);
	}
	return NULL;
}

/* Fetches icons meanwhile. */
static gpointer icons(gpointer data)
{
	(void)data;
	for (;;)
		g_usleep(30000);
	return NULL;
}

static gboolean show_counts(gpointer data)
{
	(void)data;
	printf("%u resolved, %u cancelled\n", resolved, cancelled);
	fflush(stdout);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GMainLoop *loop;

	if (argc < 2)
		return 2;
	deferred = !strcmp(argv[1], "healthy");
	loop = g_main_loop_new(NULL, FALSE);
	g_thread_new("loader", loader, &updates);
	g_thread_new("icons", icons, NULL);
	g_timeout_add(200, show_counts, NULL);
	g_main_loop_run(loop);
	return 0;
}
