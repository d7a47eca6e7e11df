/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1300
 *   ask: why
 *   truth: The source of index_step has the default priority and is always ready, as it has an endless supply of files
 *     to look at. So the idle source save_settings, which has a lower priority, never gets its turn; the thread
 *     "settings" waits for the save.
 *   culprit: index_step|start_indexing
 *   victim: save_settings|settings|wait_for_save
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A photo manager on GLib's main loop: an indexer that works in small steps, and settings that are saved when idle. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static GMainLoop *main_loop;
static GMutex lock;
static GCond saved_changed;
static bool broken, saved;
static int steps, ticks;

static gboolean index_step(gpointer data)
{
	volatile unsigned sum = 0;

	(void)data;
	for (int i = 0; i < 200000; i++)
		sum += (unsigned)i;
	steps++;
	return G_SOURCE_CONTINUE;
}

static void start_indexing(void)
{
	g_idle_add_full(broken ? G_PRIORITY_DEFAULT : G_PRIORITY_LOW, index_step, NULL, NULL);
}

static gboolean save_settings(gpointer data)
{
	(void)data;
	g_mutex_lock(&lock);
	saved = true;
	g_cond_signal(&saved_changed);
	g_mutex_unlock(&lock);
	return G_SOURCE_REMOVE;
}

static gboolean quit(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	ticks++;
	return G_SOURCE_CONTINUE;
}

static gpointer wait_for_save(gpointer data)
{
	for (int i = 0; i < 3; i++) {
		g_mutex_lock(&lock);
		saved = false;
		g_idle_add(save_settings, NULL);
		while (!saved)
			g_cond_wait(&saved_changed, &lock);
		g_mutex_unlock(&lock);
		g_usleep(20000);
		if (i == 0)
			start_indexing();
	}
	g_timeout_add(1, quit, NULL);
	return data;
}

int main(int argc, char **argv)
{
	GThread *settings;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(50, on_tick, NULL);
	settings = g_thread_new("settings", wait_for_save, NULL);
	g_main_loop_run(main_loop);
	g_thread_join(settings);
	printf("%d steps, %d ticks\n", steps, ticks);
	return 0;
}
