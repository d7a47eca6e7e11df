/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: main cancels the download; the handler on_download_cancelled() calls abort_transfer(), which
 *     joins the thread fetch-body, and fetch-body waits in g_cancellable_disconnect() (end_transfer()) until
 *     the handler has returned: a circle that abort_transfer() closes by waiting within the "cancelled"
 *     handler
 *   culprit: abort_transfer|on_download_cancelled
 *   victim: progress-ui
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A download tool: a thread fetches, another shows the progress, the main loop
 * handles the user's keys. */
#include <gio/gio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
	GCancellable *cancel;
	GThread *thread;
	gulong handler;
	int fd; /* from the server */
	gsize total;
	gboolean partial; /* the file is written in place: no rest may be left */
} Transfer;

static GMainLoop *loop;
static GAsyncQueue *progress;
static Transfer transfer;
static int keys[2], server[2];

/* A partial file may be removed only when its writer is gone. */
static __attribute__((noinline)) void abort_transfer(Transfer *t)
{
	shutdown(t->fd, SHUT_RDWR);
	g_thread_join(t->thread);
	t->thread = NULL;
}

static __attribute__((noinline)) void on_download_cancelled(GCancellable *c, gpointer data)
{
	Transfer *t = data;

	(void)c;
	if (t->partial)
		abort_transfer(t);
	else
		shutdown(t->fd, SHUT_RDWR);
}

static __attribute__((noinline)) void begin_transfer(Transfer *t)
{
	t->handler = g_cancellable_connect(t->cancel, G_CALLBACK(on_download_cancelled), t, NULL);
}

static __attribute__((noinline)) void end_transfer(Transfer *t)
{
	g_cancellable_disconnect(t->cancel, t->handler);
	t->handler = 0;
}

static __attribute__((noinline)) gboolean quit_main_loop(gpointer data)
{
	(void)data;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer fetch_body(gpointer data)
{
	Transfer *t = data;
	char buf[512];
	ssize_t n;

	while ((n = read(t->fd, buf, sizeof buf)) > 0) {
		t->total += n;
		g_async_queue_push(progress,
			g_strdup_printf("%" G_GSIZE_FORMAT " bytes", t->total));
	}
	end_transfer(t);
	g_async_queue_push(progress, g_strdup("end"));
	g_idle_add(quit_main_loop, NULL);
	return NULL;
}

static gpointer show_progress(gpointer data)
{
	gboolean more = TRUE;

	(void)data;
	while (more) {
		char *line = g_async_queue_pop(progress);

		g_print("%s\n", line);
		more = strcmp(line, "end") != 0;
		g_free(line);
	}
	return NULL;
}

/* The server: sends a few blocks and then takes its time. */
static gpointer serve_blocks(gpointer data)
{
	char block[512] = {0};

	(void)data;
	for (int i = 0; i < 5; i++) {
		if (send(server[1], block, sizeof block, MSG_NOSIGNAL) < 0)
			return NULL;
		g_usleep(20000);
	}
	return NULL;
}

static gpointer press_keys(gpointer data)
{
	(void)data;
	g_usleep(300000);
	if (write(keys[1], "q", 1) != 1)
		g_error("no terminal");
	return NULL;
}

static __attribute__((noinline)) gboolean on_key(GIOChannel *ch, GIOCondition cond, gpointer data)
{
	char key;

	(void)ch;
	(void)cond;
	(void)data;
	if (read(keys[0], &key, 1) == 1 && key == 'q')
		g_cancellable_cancel(transfer.cancel);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	GThread *ui, *srv, *user;
	GIOChannel *ch;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, server) || pipe(keys))
		return 1;
	loop = g_main_loop_new(NULL, FALSE);
	progress = g_async_queue_new_full(g_free);
	transfer.cancel = g_cancellable_new();
	transfer.fd = server[0];
	transfer.partial = argc > 1 && !strcmp(argv[1], "broken");
	begin_transfer(&transfer);
	ch = g_io_channel_unix_new(keys[0]);
	g_io_add_watch(ch, G_IO_IN, on_key, NULL);
	ui = g_thread_new("progress-ui", show_progress, NULL);
	transfer.thread = g_thread_new("fetch-body", fetch_body, &transfer);
	srv = g_thread_new("block-server", serve_blocks, NULL);
	user = g_thread_new("user-keys", press_keys, NULL);
	g_main_loop_run(loop);
	if (transfer.thread)
		g_thread_join(transfer.thread);
	g_thread_join(ui);
	g_thread_join(srv);
	g_thread_join(user);
	g_io_channel_unref(ch);
	g_object_unref(transfer.cancel);
	g_async_queue_unref(progress);
	g_main_loop_unref(loop);
	return 0;
}
