/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: While the screen is locked, on_flush returns early: its source ends, but history.flush_source
 *     still names it. So schedule_flush believes that a flush is on its way, also after the screen was
 *     unlocked, and arms no further one. The application that pins a clip waits for its save for ever.
 *   culprit: on_flush
 *   victim: pin_clip|application
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A desktop helper that keeps the history of the clipboard. It saves the history a moment after the last
 * change, and nothing while the screen is locked, when the key of the history is not there. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HISTORY_FILE "/dev/shm/ci_clipboard.history"

enum {
	CLIPS = 5,
	SAVE_DELAY_MS = 30,
};

struct history {
	GPtrArray *clips;
	guint flush_source; /* 0: none is armed */
	gboolean is_locked; /* the screen */
	GMutex mutex;
	GCond saved;
	guint added_version; /* with the mutex */
	guint saved_version;
};

static struct history history;
static GMainLoop *loop;
static gboolean healthy;
static guint clock_ticks;

static void save_history(void)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < history.clips->len; i++)
		g_string_append_printf(text, "%s\n", (const char *)history.clips->pdata[i]);
	g_file_set_contents(HISTORY_FILE, text->str, (gssize)text->len, NULL);
	g_string_free(text, TRUE);
	g_mutex_lock(&history.mutex);
	history.saved_version = history.added_version;
	g_cond_broadcast(&history.saved);
	g_mutex_unlock(&history.mutex);
}

static gboolean on_flush(gpointer data)
{
	(void)data;
	if (healthy)
		history.flush_source = 0;
	if (history.is_locked)
		return G_SOURCE_REMOVE; /* on_unlock schedules it again */
	save_history();
	history.flush_source = 0;
	return G_SOURCE_REMOVE;
}

static void schedule_flush(void)
{
	if (history.flush_source)
		return;
	history.flush_source = g_timeout_add(SAVE_DELAY_MS, on_flush, NULL);
}

static gboolean on_copy(gpointer data)
{
	g_ptr_array_add(history.clips, data);
	schedule_flush();
	return G_SOURCE_REMOVE;
}

static gboolean on_lock(gpointer data)
{
	(void)data;
	history.is_locked = TRUE;
	return G_SOURCE_REMOVE;
}

static gboolean on_unlock(gpointer data)
{
	(void)data;
	history.is_locked = FALSE;
	schedule_flush();
	return G_SOURCE_REMOVE;
}

static gboolean on_clock(gpointer data)
{
	(void)data;
	clock_ticks++;
	return G_SOURCE_CONTINUE;
}

/* Adds a clip, and waits until it is on the disk. */
static void pin_clip(const char *text)
{
	guint version;

	g_mutex_lock(&history.mutex);
	version = ++history.added_version;
	g_mutex_unlock(&history.mutex);
	g_idle_add(on_copy, g_strdup(text));
	g_mutex_lock(&history.mutex);
	while (history.saved_version < version)
		g_cond_wait(&history.saved, &history.mutex);
	g_mutex_unlock(&history.mutex);
}

/* The session's lock screen, which knows nothing of the application. */
static gpointer lock_screen(gpointer data)
{
	(void)data;
	g_usleep(10000);
	g_idle_add(on_lock, NULL);
	g_usleep(150000);
	g_idle_add(on_unlock, NULL);
	return NULL;
}

static gpointer application(gpointer data)
{
	GThread *screen;
	char text[32];

	(void)data;
	for (int i = 0; i < CLIPS; i++) {
		g_snprintf(text, sizeof(text), "address %d", i);
		pin_clip(text);
		g_usleep(20000);
	}
	g_idle_add(on_lock, NULL);
	screen = g_thread_new("screen", lock_screen, NULL);
	pin_clip("telephone number");
	g_thread_join(screen);
	pin_clip("opening hours");
	g_main_loop_quit(loop);
	return NULL;
}

int main(int count, char **arguments)
{
	GThread *thread;

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	history.clips = g_ptr_array_new_with_free_func(g_free);
	g_mutex_init(&history.mutex);
	g_cond_init(&history.saved);
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(100, on_clock, NULL);
	thread = g_thread_new("application", application, NULL);
	g_main_loop_run(loop);
	g_thread_join(thread);
	printf("%u clips, %u ticks\n", history.clips->len, clock_ticks);
	g_ptr_array_unref(history.clips);
	g_main_loop_unref(loop);
	unlink(HISTORY_FILE);
	return 0;
}
