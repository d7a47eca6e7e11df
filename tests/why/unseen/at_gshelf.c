/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_price_check runs in the main loop and calls shelf_load_sync (by check_shelf), which waits till
 *     the callback of a GTask ran; that callback is due in the main loop, which is blocked by this very wait
 *   culprit: shelf_load_sync|check_shelf|on_price_check
 *   victim: printer|clerk|pool|print_labels
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Keeps the price labels of a shop up to date, with GLib: threads load shelves, another one prints labels. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define SHELVES 6
#define CHECKS 3

struct shelf {
	int number;
	int items;
	int price[16];
};

struct sync {
	GMutex mutex;
	GCond done_cond;
	gboolean done;
	struct shelf *shelf;
};

static GMainLoop *main_loop;
static GAsyncQueue *labels;
static GThreadPool *clerks;
static int to_check = SHELVES;
static int checks;
static gboolean check_in_thread;
static struct shelf last_label;

static struct shelf *read_shelf(int number)
{
	struct shelf *shelf = g_new0(struct shelf, 1);

	g_usleep(6000 + number * 1000);
	shelf->number = number;
	shelf->items = 5 + number;
	for (int i = 0; i < shelf->items; i++)
		shelf->price[i] = 100 + 7 * i * number;
	return shelf;
}

static void load_shelf(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	(void)source;
	(void)cancellable;
	g_task_return_pointer(task, read_shelf(GPOINTER_TO_INT(data)), g_free);
}

static void shelf_load_async(int number, GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);

	g_task_set_name(task, "load shelf");
	g_task_set_task_data(task, GINT_TO_POINTER(number), NULL);
	g_task_run_in_thread(task, load_shelf);
	g_object_unref(task);
}

static void on_shelf_loaded(GObject *source, GAsyncResult *result, gpointer data)
{
	struct sync *sync = data;

	(void)source;
	g_mutex_lock(&sync->mutex);
	sync->shelf = g_task_propagate_pointer(G_TASK(result), NULL);
	sync->done = TRUE;
	g_cond_signal(&sync->done_cond);
	g_mutex_unlock(&sync->mutex);
}

/* The same for those who can wait. */
static struct shelf *shelf_load_sync(int number)
{
	struct sync sync = {.done = FALSE};

	g_mutex_init(&sync.mutex);
	g_cond_init(&sync.done_cond);
	shelf_load_async(number, on_shelf_loaded, &sync);
	g_mutex_lock(&sync.mutex);
	while (!sync.done)
		g_cond_wait(&sync.done_cond, &sync.mutex);
	g_mutex_unlock(&sync.mutex);
	g_cond_clear(&sync.done_cond);
	g_mutex_clear(&sync.mutex);
	return sync.shelf;
}

static gboolean on_all_checked(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static void shelf_done(struct shelf *shelf)
{
	g_async_queue_push(labels, shelf);
	if (g_atomic_int_dec_and_test(&to_check))
		g_idle_add(on_all_checked, NULL);
}

/* Runs in a thread of the pool: reads a shelf, and has its labels printed. */
static void clerk(gpointer data, gpointer pool_data)
{
	(void)pool_data;
	shelf_done(read_shelf(GPOINTER_TO_INT(data)));
}

static gpointer print_labels(gpointer data)
{
	struct shelf *shelf;
	int printed = 0;

	(void)data;
	while ((shelf = g_async_queue_pop(labels)) != &last_label) {
		g_usleep(shelf->items * 400);
		printed += shelf->items;
		g_free(shelf);
	}
	return GINT_TO_POINTER(printed);
}

static gpointer check_shelf(gpointer data)
{
	shelf_done(shelf_load_sync(GPOINTER_TO_INT(data)));
	return NULL;
}

/* A spot check now and then. */
static gboolean on_price_check(gpointer data)
{
	gpointer number = GINT_TO_POINTER(SHELVES + checks);

	(void)data;
	g_atomic_int_inc(&to_check);
	if (check_in_thread)
		g_thread_unref(g_thread_new("check", check_shelf, number));
	else
		check_shelf(number);
	return ++checks < CHECKS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean on_morning(gpointer data)
{
	(void)data;
	for (int i = 1; i <= SHELVES; i++)
		g_thread_pool_push(clerks, GINT_TO_POINTER(i), NULL);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	GThread *printer;
	int printed;

	check_in_thread = argc > 1 && !strcmp(argv[1], "healthy");
	main_loop = g_main_loop_new(NULL, FALSE);
	labels = g_async_queue_new();
	clerks = g_thread_pool_new(clerk, NULL, 2, FALSE, NULL);
	printer = g_thread_new("printer", print_labels, NULL);
	g_idle_add(on_morning, NULL);
	g_timeout_add(9, on_price_check, NULL);
	g_main_loop_run(main_loop);
	g_thread_pool_free(clerks, FALSE, TRUE);
	g_async_queue_push(labels, &last_label);
	printed = GPOINTER_TO_INT(g_thread_join(printer));
	printf("%d labels, %d checks\n", printed, checks);
	g_async_queue_unref(labels);
	g_main_loop_unref(main_loop);
	return printed == 0;
}
