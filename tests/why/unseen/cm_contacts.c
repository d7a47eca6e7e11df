/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: the user cancels an import while its thread waits for an answer to a question, which only the main loop
 *     can give. on_cancel runs in the main loop and joins the thread (stop_import) without answering. So the
 *     main loop waits for the thread, and the thread for the main loop.
 *   culprit: on_cancel|stop_import
 *   victim: import_cards|ask_user
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An address book imports cards in a thread of its own, which asks the user about people who are known already. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	IMPORTS = 4,
	CARDS = 9
};
enum answer {
	NONE,
	KEEP,
	REPLACE,
	SKIP
};

struct import {
	unsigned number;
	GThread *thread;
	GMutex lock; /* protects what follows */
	GCond answered;
	enum answer answer;
	bool is_canceled;
	unsigned replaced;
};

static GMainLoop *loop;
static struct import import;
static GAsyncQueue *to_sync;
static bool broken;

static gboolean start_import(void *data);

static void give_answer(enum answer answer)
{
	g_mutex_lock(&import.lock);
	import.answer = answer;
	g_cond_signal(&import.answered);
	g_mutex_unlock(&import.lock);
}

static void stop_import(void)
{
	g_mutex_lock(&import.lock);
	import.is_canceled = true;
	if (!broken && import.answer == NONE) {
		import.answer = SKIP;
		g_cond_signal(&import.answered);
	}
	g_mutex_unlock(&import.lock);
	g_thread_join(import.thread);
	import.thread = NULL;
}

/* The user chooses a button. */
static gboolean on_button(void *data)
{
	(void)data;
	if (import.thread)
		give_answer(import.number % 2 ? KEEP : REPLACE);
	return G_SOURCE_REMOVE;
}

/* The user presses Cancel. */
static gboolean on_cancel(void *data)
{
	(void)data;
	if (import.thread)
		stop_import();
	g_print("import %u is canceled\n", import.number);
	g_timeout_add(50, start_import, NULL);
	return G_SOURCE_REMOVE;
}

/* Shows the question; the user needs a while. */
static gboolean show_question(void *data)
{
	(void)data;
	if (import.number + 1 == IMPORTS)
		g_timeout_add(40, on_cancel, NULL);
	else
		g_timeout_add(30, on_button, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean on_imported(void *data)
{
	(void)data;
	if (!import.thread)
		return G_SOURCE_REMOVE;
	g_thread_join(import.thread);
	import.thread = NULL;
	g_print("import %u: %u replaced\n", import.number, import.replaced);
	g_timeout_add(50, start_import, NULL);
	return G_SOURCE_REMOVE;
}

/* In the import's thread. */
static enum answer ask_user(void)
{
	enum answer answer;

	g_mutex_lock(&import.lock);
	import.answer = NONE;
	g_idle_add(show_question, NULL);
	while (import.answer == NONE)
		g_cond_wait(&import.answered, &import.lock);
	answer = import.answer;
	g_mutex_unlock(&import.lock);
	return answer;
}

static bool is_canceled(void)
{
	bool answer;

	g_mutex_lock(&import.lock);
	answer = import.is_canceled;
	g_mutex_unlock(&import.lock);
	return answer;
}

static void *import_cards(void *data)
{
	for (unsigned card = 1; card <= CARDS && !is_canceled(); card++) {
		g_usleep(3000);
		/* Every third is known already. */
		if (card % 3 == 0 && ask_user() == REPLACE)
			import.replaced++;
		g_async_queue_push(to_sync, GUINT_TO_POINTER(card));
	}
	if (!is_canceled())
		g_idle_add(on_imported, NULL);
	return data;
}

static gboolean start_import(void *data)
{
	(void)data;
	if (++import.number > IMPORTS) {
		g_main_loop_quit(loop);
		return G_SOURCE_REMOVE;
	}
	import.answer = NONE;
	import.is_canceled = false;
	import.replaced = 0;
	import.thread = g_thread_new("import", import_cards, NULL);
	return G_SOURCE_REMOVE;
}

/* Sends changed cards to the phone, and looks every 60 ms for the phone's own. */
static void *sync_phone(void *data)
{
	unsigned sent = 0;

	for (;;) {
		void *card = g_async_queue_timeout_pop(to_sync, 60000);

		if (GPOINTER_TO_UINT(card) > CARDS)
			break;
		if (card)
			sent++;
	}
	g_print("%u cards sent to the phone\n", sent);
	return data;
}

int main(int argc, char **argv)
{
	GThread *sync;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	g_mutex_init(&import.lock);
	g_cond_init(&import.answered);
	to_sync = g_async_queue_new();
	loop = g_main_loop_new(NULL, FALSE);
	sync = g_thread_new("sync", sync_phone, NULL);
	g_idle_add(start_import, NULL);
	g_main_loop_run(loop);
	g_async_queue_push(to_sync, GUINT_TO_POINTER(CARDS + 1));
	g_thread_join(sync);
	g_main_loop_unref(loop);
	g_async_queue_unref(to_sync);
	return 0;
}
