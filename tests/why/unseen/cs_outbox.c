/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The source flush_next sends a message at each turn. When the server's quota is used up, it
 *     removes itself, but leaves its number in flush_source. The timer on_quota calls start_flush, which
 *     sees the old number and takes the source for running. No further message is sent, and all those that
 *     are typed stay in the queue.
 *   culprit: flush_next|start_flush|on_quota
 *   victim: type_message|blink_cursor|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A chat program: messages go through a queue to a server that allows a number of them at a time. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	MESSAGES = 24,
	QUOTA = 10,
	QUOTA_MS = 400,
	PACE_MS = 8
};

static GMainLoop *loop;
static GQueue outbox = G_QUEUE_INIT;
static guint flush_source, quota_source;
static int typed, sent, quota = QUOTA;
static bool broken, cursor;

static void start_flush(void);

/* ---- Sending -------------------------------------------------------------------------------- */

static gboolean on_quota(gpointer data)
{
	(void)data;
	quota = QUOTA;
	quota_source = 0;
	start_flush();
	return G_SOURCE_REMOVE;
}

static void await_quota(void)
{
	if (!quota_source)
		quota_source = g_timeout_add(QUOTA_MS, on_quota, NULL);
}

static void send_message(char *text)
{
	quota--;
	sent++;
	if (sent % 8 == 0)
		printf("%d sent, the last is \"%s\"\n", sent, text);
	g_free(text);
}

static void count_sent(void)
{
	if (sent == MESSAGES)
		g_main_loop_quit(loop);
}

static gboolean flush_next(gpointer data)
{
	(void)data;
	if (quota == 0) {
		await_quota();
		if (!broken)
			flush_source = 0;
		return G_SOURCE_REMOVE;
	}
	if (g_queue_is_empty(&outbox)) {
		flush_source = 0;
		return G_SOURCE_REMOVE;
	}
	send_message(g_queue_pop_head(&outbox));
	count_sent();
	return G_SOURCE_CONTINUE;
}

static void start_flush(void)
{
	if (!flush_source && !g_queue_is_empty(&outbox))
		flush_source = g_timeout_add(PACE_MS, flush_next, NULL);
}

/* ---- The window ----------------------------------------------------------------------------- */

static gboolean type_message(gpointer data)
{
	(void)data;
	g_queue_push_tail(&outbox, g_strdup_printf("message %d", ++typed));
	start_flush();
	return typed < MESSAGES ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* Someone pastes several lines. */
static gboolean paste(gpointer data)
{
	(void)data;
	for (int i = 0; i < 12 && typed < MESSAGES - 1; i++)
		g_queue_push_tail(&outbox, g_strdup_printf("line %d", ++typed));
	start_flush();
	return G_SOURCE_REMOVE;
}

static gboolean blink_cursor(gpointer data)
{
	(void)data;
	cursor = !cursor;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	guint blink;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	loop = g_main_loop_new(NULL, FALSE);
	blink = g_timeout_add(150, blink_cursor, NULL);
	g_timeout_add(70, type_message, NULL);
	g_timeout_add(380, paste, NULL);
	g_main_loop_run(loop);
	g_source_remove(blink);
	if (quota_source)
		g_source_remove(quota_source);
	if (flush_source && g_main_context_find_source_by_id(NULL, flush_source))
		g_source_remove(flush_source);
	g_main_loop_unref(loop);
	printf("%d typed, %d sent\n", typed, sent);
	return 0;
}
