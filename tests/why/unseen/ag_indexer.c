/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_close_window() runs in the main loop and calls stop_indexer(), which joins the thread “indexer”; but the
 *     indexer shows a last message and waits until the main loop has run on_status(). Neither goes on.
 *   culprit: stop_indexer|on_close_window
 *   victim: on_autosave
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A notes program without its window: a thread indexes the notes, and tells the main loop how far it is. */

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct program {
	GMainLoop *loop;
	GThread *indexer;
	unsigned notes;
	gint cancelled;
	unsigned saved;
	char status[64];
};

/* A message for the status bar, for which a thread waits. */
struct message {
	struct program *program;
	char text[64];
	GMutex lock;
	GCond shown;
	bool done;
};

/* In the main loop: only this thread may draw. */
static NOINLINE gboolean on_status(gpointer data)
{
	struct message *message = data;

	snprintf(message->program->status, sizeof(message->program->status), "%s", message->text);
	g_mutex_lock(&message->lock);
	message->done = true;
	g_cond_signal(&message->shown);
	g_mutex_unlock(&message->lock);
	return G_SOURCE_REMOVE;
}

/* Shows a message from any thread but the main one; returns when it can be seen. */
static NOINLINE void show_status(struct program *program, const char *text)
{
	struct message message = {.program = program};

	g_strlcpy(message.text, text, sizeof(message.text));
	g_mutex_init(&message.lock);
	g_cond_init(&message.shown);
	g_idle_add_full(G_PRIORITY_DEFAULT, on_status, &message, NULL);
	g_mutex_lock(&message.lock);
	while (!message.done)
		g_cond_wait(&message.shown, &message.lock);
	g_mutex_unlock(&message.lock);
	g_cond_clear(&message.shown);
	g_mutex_clear(&message.lock);
}

static NOINLINE void index_note(unsigned number)
{
	(void)number;
	g_usleep(25000);
}

static gpointer run_indexer(gpointer data)
{
	struct program *program = data;
	char text[64];
	unsigned done = 0;

	while (done < program->notes && !g_atomic_int_get(&program->cancelled)) {
		index_note(done++);
		if (done % 4 == 0) {
			snprintf(text, sizeof(text), "indexed %u of %u notes", done,
				program->notes);
			show_status(program, text);
		}
	}
	snprintf(text, sizeof(text),
		done == program->notes ? "%u notes can be searched" : "stopped after %u notes",
		done);
	show_status(program, text);
	return NULL;
}

static NOINLINE void start_indexer(struct program *program)
{
	program->indexer = g_thread_new("indexer", run_indexer, program);
}

static NOINLINE void stop_indexer(struct program *program)
{
	g_atomic_int_set(&program->cancelled, 1);
	g_thread_join(program->indexer);
	program->indexer = NULL;
}

static NOINLINE gboolean on_autosave(gpointer data)
{
	struct program *program = data;

	program->saved++;
	return G_SOURCE_CONTINUE;
}

/* The user closes the window. */
static NOINLINE gboolean on_close_window(gpointer data)
{
	struct program *program = data;

	stop_indexer(program);
	g_main_loop_quit(program->loop);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	struct program program = {.loop = g_main_loop_new(NULL, FALSE)};
	unsigned autosave;

	program.notes = argc > 1 && !strcmp(argv[1], "broken") ? 200 : 6;
	start_indexer(&program);
	autosave = g_timeout_add(100, on_autosave, &program);
	g_timeout_add(450, on_close_window, &program);
	g_main_loop_run(program.loop);
	g_source_remove(autosave);
	g_main_loop_unref(program.loop);
	printf("%s; saved %u times\n", program.status, program.saved);
	return EXIT_SUCCESS;
}
