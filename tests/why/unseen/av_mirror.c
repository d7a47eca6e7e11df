/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1800
 *   ask: why
 *   truth: on_cancelled, a handler of the cancellable, ends the transfer, and transfer_end calls
 *     g_cancellable_disconnect, which waits until the handlers of the cancellable have returned: so for
 *     itself
 *   culprit: transfer_end|on_cancelled|g_cancellable_disconnect
 *   victim: main|run_indexer|indexer|on_deadline
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Mirrors a few packages at a time from a slow server; a transfer that takes too long is cancelled and
 * tried anew. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	PACKAGES = 9,
	AT_ONCE = 3,
	DEADLINE = 300
};

struct mirror {
	GMainLoop *loop;
	GAsyncQueue *arrived; /* of struct transfer, for the indexer */
	int next, busy, done, cancelled;
	bool by_signal; /* the handler is disconnected as those of any object */
};

struct transfer {
	struct mirror *mirror;
	int package, tries;
	GCancellable *cancellable;
	gulong handler;
	guint timeout, arrival;
};

static void transfer_begin(struct transfer *);

/* The indexer: a thread that reads what has arrived. */
static gpointer run_indexer(gpointer data)
{
	struct mirror *mirror = data;
	struct transfer *transfer;
	int count = 0;

	while (count < PACKAGES) {
		transfer = g_async_queue_pop(mirror->arrived);
		g_usleep(2000);
		count++;
		g_free(transfer);
	}
	return GINT_TO_POINTER(count);
}

static void begin_next(struct mirror *mirror)
{
	struct transfer *transfer;

	while (mirror->busy < AT_ONCE && mirror->next < PACKAGES) {
		transfer = g_new0(struct transfer, 1);
		transfer->mirror = mirror;
		transfer->package = mirror->next++;
		mirror->busy++;
		transfer_begin(transfer);
	}
}

/* Gives up all that belongs to this try. */
static __attribute__((noinline)) void transfer_end(struct transfer *transfer)
{
	if (transfer->mirror->by_signal)
		g_signal_handler_disconnect(transfer->cancellable, transfer->handler);
	else
		g_cancellable_disconnect(transfer->cancellable, transfer->handler);
	transfer->handler = 0;
	if (transfer->timeout)
		g_source_remove(transfer->timeout);
	if (transfer->arrival)
		g_source_remove(transfer->arrival);
	transfer->timeout = transfer->arrival = 0;
}

static gboolean on_try_again(gpointer data)
{
	struct transfer *transfer = data;

	g_clear_object(&transfer->cancellable);
	transfer_begin(transfer);
	return G_SOURCE_REMOVE;
}

static __attribute__((noinline)) void on_cancelled(GCancellable *cancellable, gpointer data)
{
	struct transfer *transfer = data;

	(void)cancellable;
	transfer->mirror->cancelled++;
	transfer_end(transfer);
	/* A moment later, when the server has forgotten the connection. */
	g_timeout_add(20, on_try_again, transfer);
}

static gboolean on_deadline(gpointer data)
{
	struct transfer *transfer = data;

	transfer->timeout = 0;
	g_cancellable_cancel(transfer->cancellable);
	return G_SOURCE_REMOVE;
}

static gboolean on_arrived(gpointer data)
{
	struct transfer *transfer = data;
	struct mirror *mirror = transfer->mirror;

	transfer->arrival = 0;
	transfer_end(transfer);
	g_clear_object(&transfer->cancellable);
	g_async_queue_push(mirror->arrived, transfer);
	mirror->busy--;
	mirror->done++;
	if (mirror->done == PACKAGES)
		g_main_loop_quit(mirror->loop);
	else
		begin_next(mirror);
	return G_SOURCE_REMOVE;
}

static void transfer_begin(struct transfer *transfer)
{
	/* The sixth package hangs at first, as its server is overloaded. */
	guint time = transfer->package == 5 && !transfer->tries ? 5000
								: 15 + 6 * (guint)transfer->package;

	transfer->tries++;
	transfer->cancellable = g_cancellable_new();
	transfer->handler = g_cancellable_connect(transfer->cancellable, G_CALLBACK(on_cancelled),
		transfer, NULL);
	transfer->timeout = g_timeout_add(DEADLINE, on_deadline, transfer);
	transfer->arrival = g_timeout_add(time, on_arrived, transfer);
}

int main(int argc, char **argv)
{
	struct mirror mirror = {0};
	GThread *indexer;
	int indexed;

	mirror.by_signal = argc < 2 || strcmp(argv[1], "broken") != 0;
	mirror.loop = g_main_loop_new(NULL, FALSE);
	mirror.arrived = g_async_queue_new();
	indexer = g_thread_new("indexer", run_indexer, &mirror);
	begin_next(&mirror);
	g_main_loop_run(mirror.loop);
	indexed = GPOINTER_TO_INT(g_thread_join(indexer));
	g_async_queue_unref(mirror.arrived);
	g_main_loop_unref(mirror.loop);
	g_print("%d packages mirrored, %d indexed, %d cancelled\n", mirror.done, indexed,
		mirror.cancelled);
	return indexed == PACKAGES && mirror.cancelled > 0 ? 0 : 1;
}
