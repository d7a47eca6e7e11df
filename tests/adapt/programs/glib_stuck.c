/* SPDX-License-Identifier: ISC */
/* It hangs as its first argument says, in GLib's locks, queues and loops; unless there is a second one. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ITEMS 10

static GMainLoop *loop, *inner;
static gboolean is_fine;
static GMutex first, second;
static GAsyncQueue *queue;
static int count;

static gboolean quit(gpointer which)
{
	g_main_loop_quit(which);
	return G_SOURCE_REMOVE;
}

/* ---- Mutexes ----------------------------------------------------------------------------------- */

static gpointer take_other(gpointer data)
{
	g_mutex_lock(&second);
	g_usleep(10000);
	if (!is_fine) {
		g_mutex_lock(&first);
		g_mutex_unlock(&first);
	}
	g_mutex_unlock(&second);
	return data;
}

static gboolean take_both(gpointer data)
{
	GThread *thread = g_thread_new("other", take_other, NULL);

	(void)data;
	g_mutex_lock(&first);
	g_usleep(10000);
	g_mutex_lock(&second);
	g_mutex_unlock(&second);
	g_mutex_unlock(&first);
	g_thread_join(thread);
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gboolean take_twice(gpointer data)
{
	(void)data;
	g_mutex_lock(&first);
	if (!is_fine)
		g_mutex_lock(&first);
	g_mutex_unlock(&first);
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void run_both(void)
{
	g_idle_add(take_both, NULL);
	g_main_loop_run(loop);
}

static void run_twice(void)
{
	g_idle_add(take_twice, NULL);
	g_main_loop_run(loop);
}

/* ---- Queues ------------------------------------------------------------------------------------ */

static void take_items(void)
{
	for (int i = 0; i < ITEMS; i++)
		g_async_queue_pop(queue);
}

static gpointer put_items(gpointer data)
{
	for (int i = 0; i < (is_fine ? ITEMS : ITEMS - 1); i++) {
		g_usleep(1000);
		g_async_queue_push(queue, &count);
	}
	return data;
}

static gpointer take_in_thread(gpointer data)
{
	take_items();
	return data;
}

static void run_producer(void)
{
	GThread *thread;

	queue = g_async_queue_new();
	thread = g_thread_new("producer", put_items, NULL);
	take_items();
	g_thread_join(thread);
}

static void run_consumer(void)
{
	GThread *thread;

	queue = g_async_queue_new();
	thread = g_thread_new("consumer", take_in_thread, NULL);
	put_items(NULL);
	g_thread_join(thread);
}

/* ---- Loops ------------------------------------------------------------------------------------- */

static void run_early(void)
{
	if (is_fine)
		g_timeout_add(1200, quit, loop);
	else
		g_main_loop_quit(loop);
	g_main_loop_run(loop);
}

static gboolean run_inner(gpointer data)
{
	(void)data;
	inner = g_main_loop_new(NULL, FALSE);
	g_timeout_add(20, quit, is_fine ? inner : loop);
	g_main_loop_run(inner);
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void run_wrong(void)
{
	g_idle_add(run_inner, NULL);
	g_main_loop_run(loop);
}

/* GLib doesn't call it again within itself. */
static gboolean on_tick(gpointer data)
{
	(void)data;
	if (++count == 3 && !is_fine) {
		inner = g_main_loop_new(NULL, FALSE);
		g_main_loop_run(inner);
	}
	if (count == 4 && inner)
		g_main_loop_quit(inner);
	if (count == 5)
		g_main_loop_quit(loop);
	return G_SOURCE_CONTINUE;
}

static void run_ticks(void)
{
	g_timeout_add(5, on_tick, NULL);
	g_main_loop_run(loop);
}

/* Another thread ends the loop, though late. */
static gpointer end_late(gpointer data)
{
	g_usleep(1200000);
	g_main_loop_quit(loop);
	return data;
}

static void run_late(void)
{
	GThread *thread = g_thread_new("late", end_late, NULL);

	g_main_loop_run(loop);
	g_thread_join(thread);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"both", run_both}, {"twice", run_twice}, {"producer", run_producer},
	{"consumer", run_consumer}, {"early", run_early}, {"wrong", run_wrong},
	{"ticks", run_ticks}, {"late", run_late}};

int main(int argc, char **argv)
{
	is_fine = argc > 2;
	if (!is_fine)
		alarm(2);
	loop = g_main_loop_new(NULL, FALSE);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	puts("done");
	return 0;
}
