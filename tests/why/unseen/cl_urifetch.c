/* SPDX-License-Identifier: ISC */
/*
 * After flatpak/flatpak #4076.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: For an URI that the session has in its cache, session_send calls the callback at once, from within
 *     load_uri_sync. So load_uri_callback calls g_main_loop_quit before load_uri_sync calls g_main_loop_run; that has
 *     no effect, and the thread "fetch 2" runs its loop for ever. The main thread waits for all fetchers.
 *   culprit: fetch 2|load_uri
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An installer of applications: three threads fetch what the remotes offer, and the main thread shows how far they are. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

enum {
	FETCHERS = 3
};

static gboolean broken;

/* ---- The session ---------------------------------------------------------------------------- */

enum {
	LATENCY_MS = 8
};

typedef void (*SendCallback)(GBytes *body, gpointer data);

static struct {
	GMutex mutex;
	GHashTable *cache; /* of bodies, by URI */
} session;

struct message {
	char *uri;
	SendCallback callback;
	gpointer data;
};

/* The answer of the server. */
static gboolean message_answered(gpointer data)
{
	struct message *message = data;
	gsize length = 1000 + 100 * strlen(message->uri);
	GBytes *body = g_bytes_new_take(g_strnfill(length, 'x'), length);

	g_mutex_lock(&session.mutex);
	g_hash_table_insert(session.cache, g_strdup(message->uri), g_bytes_ref(body));
	g_mutex_unlock(&session.mutex);
	message->callback(body, message->data);
	g_bytes_unref(body);
	g_free(message->uri);
	g_free(message);
	return G_SOURCE_REMOVE;
}

/* Calls the callback in the thread's main context, or at once if the body is in the cache. */
static void session_send(const char *uri, SendCallback callback, gpointer data)
{
	GBytes *body;
	struct message *message;
	GSource *answer;

	g_mutex_lock(&session.mutex);
	body = g_hash_table_lookup(session.cache, uri);
	if (body)
		g_bytes_ref(body);
	g_mutex_unlock(&session.mutex);
	if (body) {
		callback(body, data);
		g_bytes_unref(body);
		return;
	}
	message = g_new0(struct message, 1);
	message->uri = g_strdup(uri);
	message->callback = callback;
	message->data = data;
	answer = g_timeout_source_new(LATENCY_MS);
	g_source_set_callback(answer, message_answered, message, NULL);
	g_source_attach(answer, g_main_context_get_thread_default());
	g_source_unref(answer);
}

/* ---- A call that waits ---------------------------------------------------------------------- */

struct load_uri_data {
	GMainContext *context;
	GMainLoop *loop;
	gboolean done;
	gsize length;
};

static void load_uri_callback(GBytes *body, gpointer data)
{
	struct load_uri_data *load = data;

	load->length = body ? g_bytes_get_size(body) : 0;
	load->done = TRUE;
	g_main_loop_quit(load->loop);
}

static gsize load_uri_sync(const char *uri)
{
	struct load_uri_data load = {0};

	load.context = g_main_context_new();
	g_main_context_push_thread_default(load.context);
	load.loop = g_main_loop_new(load.context, FALSE);
	session_send(uri, load_uri_callback, &load);
	if (broken)
		g_main_loop_run(load.loop);
	else
		while (!load.done)
			g_main_context_iteration(load.context, TRUE);
	g_main_loop_unref(load.loop);
	g_main_context_pop_thread_default(load.context);
	g_main_context_unref(load.context);
	return load.length;
}

/* ---- The program ---------------------------------------------------------------------------- */

struct fetcher {
	int number;
	const char *const *uris;
	GThread *thread;
	guint pause_ms;
};

static GMainLoop *main_loop;
static guint ended;
static guint bytes_fetched; /* atomic */

static gboolean fetcher_ended(gpointer data)
{
	(void)data;
	if (++ended == FETCHERS)
		g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static gpointer fetch(gpointer data)
{
	struct fetcher *fetcher = data;

	for (const char *const *uri = fetcher->uris; *uri; uri++) {
		gsize length = load_uri_sync(*uri);

		g_atomic_int_add((gint *)&bytes_fetched, (gint)length);
		g_usleep(fetcher->pause_ms * 1000);
	}
	g_idle_add(fetcher_ended, NULL);
	return NULL;
}

static gboolean show_progress(gpointer data)
{
	(void)data;
	printf("%d bytes\n", g_atomic_int_get((gint *)&bytes_fetched));
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	static const char *const one[] = {"summary", "summary.sig", "runtime-23", "runtime-24",
		"locale-de", "locale-fr", "theme-dark", "theme-light", NULL};
	static const char *const two[] = {"config", "appstream", "icons-64", "summary", "icons-128",
		NULL};
	static const char *const three[] = {"editor", "player", "browser", "mailer", "game",
		"clock", NULL};
	struct fetcher fetchers[FETCHERS] = {
		{.number = 1, .uris = one, .pause_ms = 30},
		{.number = 2, .uris = two, .pause_ms = 60},
		{.number = 3, .uris = three, .pause_ms = 50},
	};
	guint timer;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	session.cache = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
		(GDestroyNotify)g_bytes_unref);
	main_loop = g_main_loop_new(NULL, FALSE);
	timer = g_timeout_add(40, show_progress, NULL);
	for (int i = 0; i < FETCHERS; i++) {
		char name[16];

		g_snprintf(name, sizeof(name), "fetch %d", fetchers[i].number);
		fetchers[i].thread = g_thread_new(name, fetch, &fetchers[i]);
	}
	g_main_loop_run(main_loop);
	for (int i = 0; i < FETCHERS; i++)
		g_thread_join(fetchers[i].thread);
	g_source_remove(timer);
	g_main_loop_unref(main_loop);
	g_hash_table_destroy(session.cache);
	puts("the catalogue is complete");
	return 0;
}
