/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1300
 *   ask: why
 *   truth: drain_queue returns G_SOURCE_REMOVE when the queue is empty, and enqueue adds the source again only if
 *     drain_id is 0; but drain_queue doesn't set it to 0. So the source is gone, nobody takes messages out of the queue
 *     any more, and the thread "mixer" waits for the answer to its third message.
 *   culprit: drain_queue|enqueue
 *   victim: mixer|ask_engine
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An audio engine whose main loop handles messages of other threads in a source that drains their queue. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct message {
	int value, answer;
	bool done;
};

static GMainLoop *main_loop;
static GMutex lock;
static GCond answered;
static GQueue queue = G_QUEUE_INIT;
static guint drain_id;
static bool broken;
static int handled, meters;

static gboolean drain_queue(gpointer data)
{
	gboolean more;

	(void)data;
	g_mutex_lock(&lock);
	struct message *message = g_queue_pop_head(&queue);

	if (message) {
		message->answer = message->value * 2;
		message->done = true;
		handled++;
		g_cond_broadcast(&answered);
	}
	more = !g_queue_is_empty(&queue);
	if (!more && (!broken || handled < 3))
		drain_id = 0;
	g_mutex_unlock(&lock);
	return more ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* The caller holds the lock. */
static void enqueue(struct message *message)
{
	g_queue_push_tail(&queue, message);
	if (!drain_id)
		drain_id = g_idle_add_full(G_PRIORITY_HIGH, drain_queue, NULL, NULL);
}

static int ask_engine(int value)
{
	struct message message = {.value = value};

	g_mutex_lock(&lock);
	enqueue(&message);
	while (!message.done)
		g_cond_wait(&answered, &lock);
	g_mutex_unlock(&lock);
	return message.answer;
}

static gboolean on_meter(gpointer data)
{
	(void)data;
	meters++;
	return G_SOURCE_CONTINUE;
}

static gboolean quit(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static gpointer mixer(gpointer data)
{
	for (int i = 0; i < 6; i++) {
		ask_engine(i);
		g_usleep(15000);
	}
	g_timeout_add(1, quit, NULL);
	return data;
}

int main(int argc, char **argv)
{
	GThread *thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(40, on_meter, NULL);
	thread = g_thread_new("mixer", mixer, NULL);
	g_main_loop_run(main_loop);
	g_thread_join(thread);
	printf("%d handled, %d meters\n", handled, meters);
	return 0;
}
