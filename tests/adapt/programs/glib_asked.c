/* SPDX-License-Identifier: ISC */
/*
 * A thread asks the main loop each time, and waits for the answer, while a timer of the loop joins the
 * thread. With "fine" the timer only tells the thread to end, and the loop goes on. SIGALRM ends it.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define ENOUGH 20 /* answers, so that it is known who gives them */

static GMainLoop *main_loop;
static GThread *asker;
static GMutex mutex;
static GCond answered;
static gboolean is_answered, is_fine;
static int answers;
static gint is_ending;

static gboolean answer(gpointer data)
{
	(void)data;
	answers++;
	g_mutex_lock(&mutex);
	is_answered = TRUE;
	g_cond_signal(&answered);
	g_mutex_unlock(&mutex);
	return G_SOURCE_REMOVE;
}

static void ask(void)
{
	is_answered = FALSE;
	g_main_context_invoke(NULL, answer, NULL);
	g_mutex_lock(&mutex);
	while (!is_answered)
		g_cond_wait(&answered, &mutex);
	g_mutex_unlock(&mutex);
}

static gboolean quit(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static gpointer run_asker(gpointer data)
{
	while (!g_atomic_int_get(&is_ending)) {
		g_usleep(2000);
		ask();
	}
	g_usleep(20000);
	ask();
	g_idle_add(quit, NULL);
	return data;
}

static gboolean end_asker(gpointer data)
{
	(void)data;
	if (answers < ENOUGH)
		return G_SOURCE_CONTINUE;
	g_atomic_int_set(&is_ending, TRUE);
	if (!is_fine)
		g_thread_join(asker);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	is_fine = argc > 1 && strcmp(argv[1], "fine") == 0;
	end_after(is_fine ? 20 : 2);
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(100, end_asker, NULL);
	asker = g_thread_new("asker", run_asker, NULL);
	g_main_loop_run(main_loop);
	g_thread_join(asker);
	puts("done");
	return 0;
}
