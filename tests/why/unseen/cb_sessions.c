/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: Janus #210 ("Deadlock in janus_check_sessions"). The watchdog's check_sessions locks sessions_mutex, finds
 *     a session that has timed out, and calls session_notify_event, which looks the session up under the same
 *     lock. The lock isn't recursive, so the watchdog waits for itself, and every request behind it.
 *   culprit: check_sessions|session_notify_event|session_find|watchdog
 *   victim: main\b|handle_request|http
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A gateway with sessions: clients must say that they are alive; a watchdog ends the sessions of others. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define SESSIONS 6
#define TIMEOUT_US (400 * 1000)

struct session {
	guint64 id;
	gint64 last_activity;
	GQueue *events;
};

static gboolean fixed;
static GMutex sessions_mutex;
static GHashTable *sessions; /* under sessions_mutex */
static GMainLoop *main_loop;
static guint requests;
static guint ended;

/* The caller doesn't hold sessions_mutex. */
static struct session *session_find(guint64 id)
{
	struct session *session;

	g_mutex_lock(&sessions_mutex);
	session = g_hash_table_lookup(sessions, &id);
	g_mutex_unlock(&sessions_mutex);
	return session;
}

static void session_push_event(struct session *session, const char *text)
{
	g_queue_push_tail(session->events, g_strdup(text));
}

static void session_notify_event(guint64 id, const char *text)
{
	struct session *session = session_find(id);

	if (session)
		session_push_event(session, text);
}

static void session_free(gpointer data)
{
	struct session *session = data;

	g_queue_free_full(session->events, g_free);
	g_free(session);
}

static void session_create(guint64 id)
{
	struct session *session = g_new0(struct session, 1);

	session->id = id;
	session->last_activity = g_get_monotonic_time();
	session->events = g_queue_new();
	g_mutex_lock(&sessions_mutex);
	g_hash_table_insert(sessions, &session->id, session);
	g_mutex_unlock(&sessions_mutex);
}

/* Runs in the watchdog's loop. */
static gboolean check_sessions(gpointer data)
{
	GHashTableIter iter;
	gpointer value;
	gint64 now = g_get_monotonic_time();

	(void)data;
	g_mutex_lock(&sessions_mutex);
	g_hash_table_iter_init(&iter, sessions);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct session *session = value;

		if (now - session->last_activity < TIMEOUT_US)
			continue;
		printf("session %" G_GUINT64_FORMAT " timed out\n", session->id);
		fflush(stdout);
		if (fixed)
			session_push_event(session, "timeout");
		else
			session_notify_event(session->id, "timeout");
		g_hash_table_iter_remove(&iter);
		ended++;
	}
	g_mutex_unlock(&sessions_mutex);
	return G_SOURCE_CONTINUE;
}

static gpointer watchdog(gpointer data)
{
	GMainContext *context = g_main_context_new();
	GMainLoop *loop = g_main_loop_new(context, FALSE);
	GSource *timer = g_timeout_source_new(100);

	(void)data;
	g_source_set_callback(timer, check_sessions, NULL, NULL);
	g_source_attach(timer, context);
	g_main_loop_run(loop);
	return NULL;
}

/* A client polls for its events; that also says that it is alive. */
static gboolean handle_request(gpointer data)
{
	guint64 id = 1 + requests++ % SESSIONS;
	struct session *session;
	char *event;

	(void)data;
	if (id == 4 && requests > 60)
		return G_SOURCE_CONTINUE; /* this client has lost its network */
	session = session_find(id);
	if (session) {
		session->last_activity = g_get_monotonic_time();
		session_push_event(session, "ack");
		while ((event = g_queue_pop_head(session->events)))
			g_free(event);
	}
	return G_SOURCE_CONTINUE;
}

/* Another thread serves statistics over HTTP, and never touches sessions. */
static gpointer http_statistics(gpointer data)
{
	guint *served = data;

	for (;;) {
		g_usleep(50000);
		++*served;
	}
	return NULL;
}

static gboolean stop(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	static guint served;
	guint64 id;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	sessions = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, session_free);
	for (id = 1; id <= SESSIONS; id++)
		session_create(id);
	g_thread_new("watchdog", watchdog, NULL);
	g_thread_new("statistics", http_statistics, &served);
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(10, handle_request, NULL);
	g_timeout_add(2000, stop, NULL);
	g_main_loop_run(main_loop);
	printf("%u requests, %u sessions ended by the watchdog\n", requests, ended);
	return 0;
}
