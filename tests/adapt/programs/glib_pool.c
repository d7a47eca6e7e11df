/* SPDX-License-Identifier: ISC */
/* It hangs as its first argument says, as each thread of a pool of GLib's waits for an item of the pool;
 * unless there is a second one. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define THREADS 2
#define PARTS 100 /* behind the number of an item: it is a part of that */

static GThreadPool *pool;
static GAsyncQueue *queue;
static GMutex mutex;
static GCond changed;
static int done[2 * PARTS];

static gboolean is_fine;

static void finish(int number)
{
	g_mutex_lock(&mutex);
	done[number] = 1;
	g_cond_broadcast(&changed);
	g_mutex_unlock(&mutex);
}

static void wait_for(int number)
{
	g_mutex_lock(&mutex);
	while (!done[number])
		g_cond_wait(&changed, &mutex);
	g_mutex_unlock(&mutex);
}

/* Each item has a part, for which it waits by the condition. */
static void work(gpointer data, gpointer unused)
{
	int number = GPOINTER_TO_INT(data);

	(void)unused;
	if (number < PARTS) {
		g_usleep(20000);
		g_thread_pool_push(pool, GINT_TO_POINTER(number + PARTS), NULL);
		wait_for(number + PARTS);
	}
	finish(number);
}

/* The same by a queue. */
static void work_by_queue(gpointer data, gpointer unused)
{
	int number = GPOINTER_TO_INT(data);

	(void)unused;
	if (number < PARTS) {
		g_usleep(20000);
		g_thread_pool_push(pool, GINT_TO_POINTER(number + PARTS), NULL);
		g_async_queue_pop(queue);
		finish(number);
	} else {
		g_async_queue_push(queue, data);
	}
}

static void nap(gpointer data, gpointer unused)
{
	(void)data;
	(void)unused;
	g_usleep(30000);
}

static void push_both(GFunc function, gboolean is_exclusive)
{
	pool = g_thread_pool_new(function, NULL, is_fine ? 2 * THREADS : THREADS, is_exclusive,
		NULL);
	for (int i = 1; i <= THREADS; i++)
		g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
	for (int i = 1; i <= THREADS; i++)
		wait_for(i);
	g_thread_pool_free(pool, FALSE, TRUE);
}

/* Threads of another pool are idle. */
static void run_parts(void)
{
	GThreadPool *other = g_thread_pool_new(nap, NULL, 3, TRUE, NULL);

	for (int i = 0; i < 6; i++)
		g_thread_pool_push(other, other, NULL);
	g_usleep(100000);
	push_both(work, FALSE);
	g_thread_pool_free(other, FALSE, TRUE);
}

static void run_queue(void)
{
	queue = g_async_queue_new();
	push_both(work_by_queue, TRUE);
}

static gboolean free_pool(gpointer data)
{
	g_thread_pool_free(pool, FALSE, TRUE);
	g_main_loop_quit(data);
	return FALSE;
}

static gboolean is_over(gpointer data)
{
	return g_thread_pool_unprocessed(pool) > 0 || g_thread_pool_get_num_threads(pool) > 0 ||
		free_pool(data);
}

static GMainLoop *main_loop;
static int results;

/* The first one is taken before the pool is freed, so that it is known who takes results. */
static gboolean take_result(gpointer data)
{
	finish(GPOINTER_TO_INT(data));
	if (results++ == 0)
		g_timeout_add(5, is_fine ? is_over : free_pool, main_loop);
	return FALSE;
}

/* The main loop takes the result. */
static void hand_over(gpointer data, gpointer unused)
{
	(void)unused;
	g_usleep(20000);
	g_idle_add(take_result, data);
	wait_for(GPOINTER_TO_INT(data));
}

/* The main loop frees the pool, and waits for its items, which wait for the main loop. */
static void run_free(void)
{
	main_loop = g_main_loop_new(NULL, FALSE);
	pool = g_thread_pool_new(hand_over, NULL, THREADS, FALSE, NULL);
	for (int i = 1; i < 3 * THREADS; i++)
		g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
	g_main_loop_run(main_loop);
}

/* ---- Healthy ones ------------------------------------------------------------------------------- */

/* They wait for the main thread, which waits for its input. */
static void wait_at_gate(gpointer data, gpointer unused)
{
	(void)data;
	(void)unused;
	wait_for(1);
}

static void run_gate(void)
{
	char byte;
	int ends[2];

	pool = g_thread_pool_new(wait_at_gate, NULL, THREADS, FALSE, NULL);
	for (int i = 0; i < 3 * THREADS; i++)
		g_thread_pool_push(pool, pool, NULL);
	if (pipe(ends) == 0 && read(ends[0], &byte, 1) > 0)
		finish(1);
}

/* The same, but they push others before, and a timer opens the gate. */
static void push_and_wait(gpointer data, gpointer unused)
{
	(void)unused;
	if (GPOINTER_TO_INT(data) < PARTS)
		g_thread_pool_push(pool, GINT_TO_POINTER(PARTS), NULL);
	wait_for(1);
}

static gboolean open_gate(gpointer loop)
{
	finish(1);
	g_main_loop_quit(loop);
	return FALSE;
}

static void run_timer(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	pool = g_thread_pool_new(push_and_wait, NULL, THREADS, FALSE, NULL);
	for (int i = 1; i <= THREADS; i++)
		g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
	g_timeout_add(100000, open_gate, loop);
	g_main_loop_run(loop);
}

static gint compare(gconstpointer one, gconstpointer other, gpointer unused)
{
	(void)unused;
	return GPOINTER_TO_INT(other) - GPOINTER_TO_INT(one);
}

static void print(gpointer data, gpointer argument)
{
	int number = GPOINTER_TO_INT(data);

	if (number == PARTS) {
		finish(number);
		wait_for(0);
	}
	printf("%d %s\n", number, (const char *)argument);
}

static void print_free(gpointer data)
{
	printf("%d freed\n", GPOINTER_TO_INT(data));
	finish(GPOINTER_TO_INT(data));
}

/* The order is the program's own, one number comes twice, and the last ones never run. */
static void run_order(void)
{
	pool = g_thread_pool_new(print, (gpointer) "ran", 1, TRUE, NULL);
	printf("%s\n", (const char *)pool->user_data);
	g_thread_pool_set_sort_function(pool, compare, NULL);
	g_thread_pool_push(pool, GINT_TO_POINTER(PARTS), NULL);
	wait_for(PARTS);
	for (int i = 1; i < 6; i++)
		g_thread_pool_push(pool, GINT_TO_POINTER(i / 2 + 1), NULL);
	g_thread_pool_move_to_front(pool, GINT_TO_POINTER(2));
	finish(0);
	g_thread_pool_free(pool, FALSE, TRUE);
#if GLIB_CHECK_VERSION(2, 70, 0)
	memset(done, 0, sizeof done);
	pool = g_thread_pool_new_full(print, (gpointer) "ran", print_free, 1, TRUE, NULL);
	g_thread_pool_push(pool, GINT_TO_POINTER(PARTS), NULL);
	wait_for(PARTS);
	for (int i = 1; i < 4; i++)
		g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
	g_thread_pool_free(pool, TRUE, FALSE);
	finish(0);
	for (int i = 1; i < 4; i++)
		wait_for(i);
#else
	(void)print_free;
#endif
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} runs[] = {{"parts", run_parts}, {"queue", run_queue}, {"gate", run_gate},
		{"timer", run_timer}, {"order", run_order}, {"free", run_free}};

	is_fine = count > 2;
	end_after(is_fine || (count > 1 && strcmp(arguments[1], "order") == 0) ? 20 : 3);
	for (size_t i = 0; count > 1 && i < G_N_ELEMENTS(runs); i++)
		if (strcmp(arguments[1], runs[i].name) == 0)
			runs[i].run();
	return 0;
}
