/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: the server tells weak tags (W/"…") since it has a new proxy, and is_fresh compares them with the
 *     kept tags as they are. So every document is downloaded again: download_body runs 8 times instead of
 *     twice.
 *   culprit: download_body|body_downloaded|is_fresh
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Keeps a mirror of documents, with GIO: asks for the tag of each, and downloads those that have changed. */

#include <gio/gio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NDOCUMENTS 8

struct document {
	const char *path;
	const char *kept_tag; /* of the copy in the mirror */
	const char *tag;      /* on the server */
};

struct mirror {
	struct document *documents;
	int next;
	int downloads;
	gsize bytes;
	GMainLoop *loop;
};

static struct document documents[NDOCUMENTS] = {
	{"/index", "\"a1\"", "\"a1\""},
	{"/manual", "\"b7\"", "\"b7\""},
	{"/news", "\"c3\"", "\"c4\""},
	{"/license", "\"d1\"", "\"d1\""},
	{"/authors", "\"e2\"", "\"e2\""},
	{"/download", "\"f8\"", "\"f9\""},
	{"/faq", "\"a5\"", "\"a5\""},
	{"/contact", "\"b1\"", "\"b1\""},
};
static int to_server, at_server;
static gboolean weak_tags;

static void mirror_next(struct mirror *mirror);

/* The server: "tag PATH" is quick, "body PATH" takes its time. */
static void *run_server(void *unused)
{
	char request[64], tag[32];
	ssize_t n;
	int i;

	(void)unused;
	pthread_setname_np(pthread_self(), "http-server");
	while ((n = read(at_server, request, sizeof(request) - 1)) > 0) {
		request[n] = '\0';
		if (g_str_has_prefix(request, "tag ")) {
			g_usleep(8000);
			for (i = 0; i < NDOCUMENTS - 1 && strcmp(documents[i].path, request + 4);
				i++)
				;
			snprintf(tag, sizeof(tag), "%s%s", weak_tags ? "W/" : "", documents[i].tag);
			if (write(at_server, tag, strlen(tag)) < 0)
				break;
		} else {
			g_usleep(70000);
			if (write(at_server, "text text text text", 19) < 0)
				break;
		}
	}
	close(at_server);
	return NULL;
}

/* Sends a request, and waits for the reply; returns its length. */
static __attribute__((noinline)) gssize ask_server(const char *verb, const char *path, char *reply,
	gsize size)
{
	char request[64];
	gssize n;

	n = snprintf(request, sizeof(request), "%s %s", verb, path);
	if (write(to_server, request, (gsize)n) != n)
		return -1;
	n = read(to_server, reply, size - 1);
	reply[n < 0 ? 0 : n] = '\0';
	return n;
}

static __attribute__((noinline)) gboolean is_fresh(const struct document *document, const char *tag)
{
	return !strcmp(document->kept_tag, tag);
}

/* In a thread: asks for the tag. */
static void fetch_tag(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct document *document = data;
	char tag[32];

	(void)source;
	(void)cancellable;
	if (ask_server("tag", document->path, tag, sizeof(tag)) < 0)
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "no tag of %s",
			document->path);
	else
		g_task_return_pointer(task, g_strdup(tag), g_free);
}

/* In a thread: downloads the document. */
static void download_body(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct document *document = data;
	char body[256];
	gssize n;

	(void)source;
	(void)cancellable;
	n = ask_server("body", document->path, body, sizeof(body));
	if (n < 0)
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "no body of %s",
			document->path);
	else
		g_task_return_int(task, n);
}

static void body_downloaded(GObject *source, GAsyncResult *result, gpointer argument)
{
	struct mirror *mirror = argument;
	GError *error = NULL;
	gssize n;

	(void)source;
	n = g_task_propagate_int(G_TASK(result), &error);
	if (error) {
		g_printerr("mirror: %s\n", error->message);
		g_clear_error(&error);
	} else {
		mirror->bytes += (gsize)n;
		mirror->downloads++;
	}
	mirror_next(mirror);
}

static void tag_fetched(GObject *source, GAsyncResult *result, gpointer argument)
{
	struct mirror *mirror = argument;
	struct document *document = g_task_get_task_data(G_TASK(result));
	GError *error = NULL;
	GTask *task;
	char *tag;

	(void)source;
	tag = g_task_propagate_pointer(G_TASK(result), &error);
	if (error) {
		g_printerr("mirror: %s\n", error->message);
		g_clear_error(&error);
		mirror_next(mirror);
	} else if (is_fresh(document, tag)) {
		mirror_next(mirror);
	} else {
		task = g_task_new(NULL, NULL, body_downloaded, mirror);
		g_task_set_task_data(task, document, NULL);
		g_task_run_in_thread(task, download_body);
		g_object_unref(task);
	}
	g_free(tag);
}

/* Goes on with the next document. */
static __attribute__((noinline)) void mirror_next(struct mirror *mirror)
{
	GTask *task;

	if (mirror->next == NDOCUMENTS) {
		g_main_loop_quit(mirror->loop);
		return;
	}
	task = g_task_new(NULL, NULL, tag_fetched, mirror);
	g_task_set_task_data(task, &mirror->documents[mirror->next++], NULL);
	g_task_run_in_thread(task, fetch_tag);
	g_object_unref(task);
}

int main(int argc, char **argv)
{
	struct mirror mirror = {.documents = documents};
	pthread_t server;
	int pair[2];

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	weak_tags = !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		perror("mirror: socketpair");
		return 1;
	}
	to_server = pair[0];
	at_server = pair[1];
	pthread_create(&server, NULL, run_server, NULL);
	mirror.loop = g_main_loop_new(NULL, FALSE);
	mirror_next(&mirror);
	g_main_loop_run(mirror.loop);
	close(to_server);
	pthread_join(server, NULL);
	g_main_loop_unref(mirror.loop);
	printf("mirror: %d of %d documents downloaded, %zu bytes\n", mirror.downloads, NDOCUMENTS,
		mirror.bytes);
	return 0;
}
