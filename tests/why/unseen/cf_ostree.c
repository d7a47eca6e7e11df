/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: ostree pull request #2829 ("lib/fetcher-util: Wake up main context when a request is complete"). The
 *     thread "pull" iterates its main context until data->done is set. request_complete sets it in the thread
 *     "fetcher", but doesn't wake that context. As long as the progress timer ran in the context, it woke up soon by
 *     chance. The signature is fetched after the progress has ended, so g_main_context_iteration in fetch_to_membuf
 *     sleeps for ever though the request is complete. The thread "gc" goes on.
 *   culprit: fetch_to_membuf|request_complete
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Pulls the objects of a branch from a repository: a fetcher's thread talks to the server. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define OBJECTS 24

struct fetcher {
	GMainContext *context;
	GMainLoop *loop;
	GThread *thread;
	guint served;
};

struct membuf_data {
	struct fetcher *fetcher;
	GMainContext *context; /* of the caller */
	const char *filename;
	char text[64];
	gint done;
};

struct pull {
	struct fetcher fetcher;
	GMainContext *context;
	guint objects, ticks;
	gsize bytes;
};

static gboolean fixed;
static gint stopped;

/* ---- the fetcher's thread ---- */

static gboolean request_complete(gpointer user_data)
{
	struct membuf_data *data = user_data;

	g_snprintf(data->text, sizeof(data->text), "content of %s", data->filename);
	data->fetcher->served++;
	g_atomic_int_set(&data->done, TRUE);
	if (fixed)
		g_main_context_wakeup(data->context);
	return G_SOURCE_REMOVE;
}

/* Sends the request; the answer comes after some milliseconds. */
static gboolean send_request(gpointer user_data)
{
	struct membuf_data *data = user_data;
	GSource *answer = g_timeout_source_new(6 + strlen(data->filename) % 5);

	g_source_set_callback(answer, request_complete, data, NULL);
	g_source_attach(answer, data->fetcher->context);
	g_source_unref(answer);
	return G_SOURCE_REMOVE;
}

static gpointer fetcher_session_thread(gpointer user_data)
{
	struct fetcher *fetcher = user_data;

	g_main_context_push_thread_default(fetcher->context);
	g_main_loop_run(fetcher->loop);
	g_main_context_pop_thread_default(fetcher->context);
	return NULL;
}

static gboolean fetcher_quit(gpointer user_data)
{
	struct fetcher *fetcher = user_data;

	g_main_loop_quit(fetcher->loop);
	return G_SOURCE_REMOVE;
}

/* ---- pull ---- */

/* Fetches a small file, and returns its size. */
static gsize fetch_to_membuf(struct pull *pull, const char *filename)
{
	struct membuf_data data = {&pull->fetcher, pull->context, filename, "", FALSE};

	g_main_context_invoke(pull->fetcher.context, send_request, &data);
	while (!g_atomic_int_get(&data.done))
		g_main_context_iteration(pull->context, TRUE);
	return strlen(data.text);
}

static gboolean update_progress(gpointer user_data)
{
	struct pull *pull = user_data;

	if (pull->ticks++ % 8 == 0) {
		printf("%u of %d objects\n", pull->objects, OBJECTS);
		fflush(stdout);
	}
	return G_SOURCE_CONTINUE;
}

static gpointer pull_thread(gpointer user_data)
{
	struct pull *pull = user_data;
	GSource *progress = g_timeout_source_new(15);
	char name[32];
	guint i;

	g_main_context_push_thread_default(pull->context);
	g_source_set_callback(progress, update_progress, pull, NULL);
	g_source_attach(progress, pull->context);
	pull->bytes += fetch_to_membuf(pull, "config");
	pull->bytes += fetch_to_membuf(pull, "refs/heads/main");
	for (i = 0; i < OBJECTS; i++) {
		g_snprintf(name, sizeof(name), "objects/%08x.filez", i * 2654435761u);
		pull->bytes += fetch_to_membuf(pull, name);
		pull->objects++;
	}
	g_source_destroy(progress);
	g_source_unref(progress);
	pull->bytes += fetch_to_membuf(pull, "summary.sig");
	g_main_context_pop_thread_default(pull->context);
	return NULL;
}

/* Removes old objects meanwhile. */
static gpointer gc_thread(gpointer user_data)
{
	guint *removed = user_data;

	while (!g_atomic_int_get(&stopped)) {
		g_usleep(30000);
		++*removed;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct pull pull = {0};
	guint removed = 0;
	GThread *puller, *gc;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	pull.context = g_main_context_new();
	pull.fetcher.context = g_main_context_new();
	pull.fetcher.loop = g_main_loop_new(pull.fetcher.context, FALSE);
	pull.fetcher.thread = g_thread_new("fetcher", fetcher_session_thread, &pull.fetcher);
	gc = g_thread_new("gc", gc_thread, &removed);
	puller = g_thread_new("pull", pull_thread, &pull);
	g_thread_join(puller);
	g_main_context_invoke(pull.fetcher.context, fetcher_quit, &pull.fetcher);
	g_thread_join(pull.fetcher.thread);
	g_atomic_int_set(&stopped, TRUE);
	g_thread_join(gc);
	printf("%zu bytes, %u requests, %u removed\n", pull.bytes, pull.fetcher.served, removed);
	g_main_loop_unref(pull.fetcher.loop);
	g_main_context_unref(pull.fetcher.context);
	g_main_context_unref(pull.context);
	return 0;
}
