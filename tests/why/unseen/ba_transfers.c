/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: transfer_end calls g_cancellable_disconnect while it holds the transfer's lock; that waits until
 *     the handlers of "cancelled" have returned, and on_cancelled, called by g_cancellable_cancel in the
 *     main loop, waits for the lock
 *   culprit: transfer_end
 *   victim: on_cancelled|on_user_stop|g_cancellable_cancel|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Copies files in threads; the user may stop a transfer, which the main loop passes on. */

#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TRANSFERS 6
#define CHUNKS 12

struct transfer {
	GMutex lock;
	GCancellable *cancellable;
	gulong handler;
	char name[16];
	unsigned chunks, bytes;
	bool stopped, unlocks_first;
	struct manager *manager;
};

struct manager {
	GMainLoop *loop;
	struct transfer transfers[TRANSFERS];
	int left, stopped;
};

/* Somebody may be interested in the state in which a transfer was stopped. */
static void on_cancelled(GCancellable *cancellable, gpointer data)
{
	struct transfer *transfer = data;

	(void)cancellable;
	g_usleep(3000); /* takes the item out of the list on the screen */
	g_mutex_lock(&transfer->lock);
	transfer->stopped = true;
	g_mutex_unlock(&transfer->lock);
}

static void transfer_begin(struct transfer *transfer)
{
	g_mutex_lock(&transfer->lock);
	transfer->chunks = 0;
	transfer->bytes = 0;
	g_mutex_unlock(&transfer->lock);
	transfer->handler = g_cancellable_connect(transfer->cancellable, G_CALLBACK(on_cancelled),
		transfer, NULL);
}

__attribute__((noinline)) static bool transfer_copy(struct transfer *transfer, GError **error)
{
	for (int i = 0; i < CHUNKS; i++) {
		if (g_cancellable_set_error_if_cancelled(transfer->cancellable, error))
			return false;
		g_usleep(1500); /* reads and writes one chunk */
		g_mutex_lock(&transfer->lock);
		transfer->chunks++;
		transfer->bytes += 65536;
		g_mutex_unlock(&transfer->lock);
	}
	return true;
}

__attribute__((noinline)) static void transfer_end(struct transfer *transfer)
{
	gulong handler;

	g_mutex_lock(&transfer->lock);
	handler = transfer->handler;
	transfer->handler = 0;
	if (!transfer->unlocks_first)
		g_cancellable_disconnect(transfer->cancellable, handler);
	transfer->bytes += transfer->chunks; /* the headers */
	g_mutex_unlock(&transfer->lock);
	if (transfer->unlocks_first)
		g_cancellable_disconnect(transfer->cancellable, handler);
}

static void run_transfer(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct transfer *transfer = data;
	GError *error = NULL;
	bool is_complete;

	(void)source;
	(void)cancellable;
	transfer_begin(transfer);
	is_complete = transfer_copy(transfer, &error);
	transfer_end(transfer);
	if (is_complete)
		g_task_return_boolean(task, TRUE);
	else
		g_task_return_error(task, error);
}

static void start_transfer(struct transfer *transfer);

static void on_transferred(GObject *source, GAsyncResult *result, gpointer data)
{
	struct transfer *transfer = data;
	struct manager *manager = transfer->manager;
	GError *error = NULL;

	(void)source;
	if (!g_task_propagate_boolean(G_TASK(result), &error)) {
		printf("%s: %s\n", transfer->name, error->message);
		g_error_free(error);
		manager->stopped++;
	} else {
		printf("%s: %u bytes\n", transfer->name, transfer->bytes);
	}
	if (--manager->left == 0)
		g_main_loop_quit(manager->loop);
	else
		start_transfer(&manager->transfers[TRANSFERS - manager->left]);
}

static void start_transfer(struct transfer *transfer)
{
	GTask *task = g_task_new(NULL, NULL, on_transferred, transfer);

	g_task_set_task_data(task, transfer, NULL);
	g_task_run_in_thread(task, run_transfer);
	g_object_unref(task);
}

/* The user looks at the list, and stops what runs. */
static gboolean on_user_stop(gpointer data)
{
	struct manager *manager = data;
	int current = TRANSFERS - manager->left;

	if (manager->left > 0 && current % 2 == 1)
		g_cancellable_cancel(manager->transfers[current].cancellable);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	static struct manager manager;
	guint clock;

	if (argc != 2)
		return 2;
	manager.loop = g_main_loop_new(NULL, FALSE);
	manager.left = TRANSFERS;
	for (int i = 0; i < TRANSFERS; i++) {
		struct transfer *transfer = &manager.transfers[i];

		g_mutex_init(&transfer->lock);
		transfer->cancellable = g_cancellable_new();
		transfer->manager = &manager;
		transfer->unlocks_first = strcmp(argv[1], "healthy") == 0;
		snprintf(transfer->name, sizeof(transfer->name), "file %d", i);
	}
	start_transfer(&manager.transfers[0]);
	clock = g_timeout_add(11, on_user_stop, &manager);
	g_main_loop_run(manager.loop);
	g_source_remove(clock);
	for (int i = 0; i < TRANSFERS; i++) {
		g_object_unref(manager.transfers[i].cancellable);
		g_mutex_clear(&manager.transfers[i].lock);
	}
	g_main_loop_unref(manager.loop);
	printf("%d stopped\n", manager.stopped);
	return 0;
}
