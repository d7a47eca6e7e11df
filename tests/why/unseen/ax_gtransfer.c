/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_cancelled calls transfer_detach, which calls g_cancellable_disconnect inside the handler that
 *     it disconnects: that waits until the handler has returned, so g_cancellable_cancel never returns to
 *     on_user_cancel, and the main loop stands still
 *   culprit: on_cancelled|transfer_detach|g_cancellable_disconnect
 *   victim: main|on_user_cancel|g_cancellable_cancel|on_chunk|g_main_loop_run|on_progress
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Downloads that a user may cancel; each copies a file in pieces, and cleans up when it ends. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TRANSFERS 4
#define CHUNK 4096
#define CHUNKS 30

struct manager;

typedef void detach_fn(GCancellable *cancellable, gulong handler);

struct transfer {
	struct manager *manager;
	int number;
	GCancellable *cancellable;
	gulong handler;
	GInputStream *input;
	GOutputStream *output;
	char *content;
	int pieces;
	bool ended;
	bool cancelled;
};

struct manager {
	GMainLoop *loop;
	struct transfer transfers[TRANSFERS];
	int running;
	int finished;
	int cancelled;
	detach_fn *detach;
};

static void transfer_read(struct transfer *transfer);

static void detach_wait(GCancellable *cancellable, gulong handler)
{
	g_cancellable_disconnect(cancellable, handler);
}

static void detach_signal(GCancellable *cancellable, gulong handler)
{
	g_signal_handler_disconnect(cancellable, handler);
}

static void transfer_detach(struct transfer *transfer)
{
	gulong handler = transfer->handler;

	transfer->handler = 0;
	if (handler)
		transfer->manager->detach(transfer->cancellable, handler);
}

static void transfer_end(struct transfer *transfer, bool cancelled)
{
	struct manager *manager = transfer->manager;

	if (transfer->ended)
		return;
	transfer->ended = true;
	transfer->cancelled = cancelled;
	if (cancelled)
		manager->cancelled++;
	else
		manager->finished++;
	transfer_detach(transfer);
	if (!--manager->running)
		g_main_loop_quit(manager->loop);
}

/* The user must not see a transfer any more that he has cancelled, even if its last read isn't over. */
static void on_cancelled(GCancellable *cancellable, void *data)
{
	(void)cancellable;
	transfer_end(data, true);
}

static gboolean on_pause_over(void *data)
{
	struct transfer *transfer = data;

	if (!transfer->ended)
		transfer_read(transfer);
	return G_SOURCE_REMOVE;
}

static void on_chunk(GObject *source, GAsyncResult *result, void *data)
{
	struct transfer *transfer = data;
	GError *error = NULL;
	GBytes *bytes = g_input_stream_read_bytes_finish(G_INPUT_STREAM(source), result, &error);

	if (!bytes) {
		if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
			fprintf(stderr, "transfer %d: %s\n", transfer->number, error->message);
		g_error_free(error);
		return;
	}
	if (!g_bytes_get_size(bytes)) {
		transfer_end(transfer, false);
	} else {
		g_output_stream_write_bytes(transfer->output, bytes, NULL, NULL);
		transfer->pieces++;
		g_timeout_add(5, on_pause_over, transfer);
	}
	g_bytes_unref(bytes);
}

static void transfer_read(struct transfer *transfer)
{
	g_input_stream_read_bytes_async(transfer->input, CHUNK, G_PRIORITY_DEFAULT,
		transfer->cancellable, on_chunk, transfer);
}

static void transfer_start(struct manager *manager, int number)
{
	struct transfer *transfer = &manager->transfers[number];
	size_t size = (size_t)CHUNK * (size_t)(CHUNKS + number * 4);

	transfer->manager = manager;
	transfer->number = number;
	transfer->content = g_malloc(size);
	memset(transfer->content, 'a' + number, size);
	transfer->input = g_memory_input_stream_new_from_data(transfer->content, (gssize)size,
		NULL);
	transfer->output = g_memory_output_stream_new_resizable();
	transfer->cancellable = g_cancellable_new();
	transfer->handler = g_cancellable_connect(transfer->cancellable, G_CALLBACK(on_cancelled),
		transfer, NULL);
	manager->running++;
	transfer_read(transfer);
}

static gboolean on_user_cancel(void *data)
{
	struct manager *manager = data;

	g_cancellable_cancel(manager->transfers[2].cancellable);
	return G_SOURCE_REMOVE;
}

static gboolean on_progress(void *data)
{
	struct manager *manager = data;

	for (int i = 0; i < TRANSFERS; i++)
		fprintf(stderr, "%d%s ", manager->transfers[i].pieces,
			manager->transfers[i].ended ? "." : "");
	fprintf(stderr, "\n");
	return G_SOURCE_CONTINUE;
}

static void transfer_free(struct transfer *transfer)
{
	g_object_unref(transfer->input);
	g_object_unref(transfer->output);
	g_object_unref(transfer->cancellable);
	g_free(transfer->content);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct manager manager;
	guint progress;

	manager.detach = !strcmp(mode, "broken") ? detach_wait : detach_signal;
	manager.loop = g_main_loop_new(NULL, FALSE);
	for (int i = 0; i < TRANSFERS; i++)
		transfer_start(&manager, i);
	progress = g_timeout_add(50, on_progress, &manager);
	g_timeout_add(80, on_user_cancel, &manager);
	g_main_loop_run(manager.loop);
	g_source_remove(progress);
	/* a read that was cancelled is still reported */
	for (int i = 0; i < 20; i++) {
		g_main_context_iteration(NULL, FALSE);
		g_usleep(1000);
	}
	for (int i = 0; i < TRANSFERS; i++)
		transfer_free(&manager.transfers[i]);
	g_main_loop_unref(manager.loop);
	printf("%d finished, %d cancelled\n", manager.finished, manager.cancelled);
	return manager.finished == TRANSFERS - 1 && manager.cancelled == 1 ? 0 : 1;
}
