/* SPDX-License-Identifier: ISC */
/* It hangs as its first argument says, in GLib's locks, in work that is done once and in handlers of a
 * cancellable; unless there is a second one. */
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

static GMutex mutex;
static GRWLock table;
static gsize first, second;
static gboolean is_fine;
static gint entered, is_running, is_locked;

static gpointer finish(gpointer data)
{
	return data;
}

static void join(const char *name, GThreadFunc function)
{
	g_thread_join(g_thread_new(name, function, NULL));
}

/* ---- Locks -------------------------------------------------------------------------------------- */

/* Nothing is recorded before. */
static void run_again(void)
{
	g_mutex_lock(&mutex);
	if (!is_fine)
		g_mutex_lock(&mutex);
	g_mutex_unlock(&mutex);
	join("worker", finish);
}

static gpointer take_mutex(gpointer data)
{
	g_mutex_lock(&mutex);
	g_mutex_unlock(&mutex);
	return data;
}

/* The mutex is taken before there is a thread. */
static void run_before(void)
{
	g_mutex_lock(&mutex);
	if (is_fine)
		g_mutex_unlock(&mutex);
	join("worker", take_mutex);
}

static gpointer write_table(gpointer data)
{
	g_rw_lock_writer_lock(&table);
	g_rw_lock_writer_unlock(&table);
	return data;
}

static void run_reader(void)
{
	join("first", finish);
	g_rw_lock_reader_lock(&table);
	if (is_fine)
		g_rw_lock_reader_unlock(&table);
	join("writer", write_table);
}

/* The lock is taken before there is a thread. */
static void run_early(void)
{
	g_rw_lock_reader_lock(&table);
	if (is_fine)
		g_rw_lock_reader_unlock(&table);
	join("writer", write_table);
}

/* There is no thread at all, unless it goes well. */
static void run_upgrade(void)
{
	g_rw_lock_reader_lock(&table);
	if (is_fine)
		g_rw_lock_reader_unlock(&table);
	g_rw_lock_writer_lock(&table);
	g_rw_lock_writer_unlock(&table);
	join("writer", write_table);
}

static gpointer write_late(gpointer data)
{
	g_usleep(1500000);
	g_rw_lock_reader_unlock(&table);
	return write_table(data);
}

/* It is healthy: the thread releases the lock later, as it was told to. */
static void run_handed(void)
{
	g_rw_lock_reader_lock(&table);
	join("writer", write_late);
}

/* ---- Once --------------------------------------------------------------------------------------- */

static void make_itself(int depth)
{
	if (g_once_init_enter(&first)) {
		if (!is_fine && depth == 0)
			make_itself(1);
		g_once_init_leave(&first, 1);
	}
}

static void run_itself(void)
{
	make_itself(0);
	join("worker", finish);
}

static GOnce global = G_ONCE_INIT;

static gpointer make_global(gpointer data)
{
	if (!is_fine)
		g_once(&global, make_global, data);
	return &first;
}

static void run_once(void)
{
	g_once(&global, make_global, NULL);
	join("worker", finish);
}

static gpointer make_and_forget(gpointer data)
{
	if (g_once_init_enter(&first) && is_fine)
		g_once_init_leave(&first, 1);
	return data;
}

static void run_forgotten(void)
{
	join("maker", make_and_forget);
	if (g_once_init_enter(&first))
		g_once_init_leave(&first, 1);
}

static void make_second(gboolean makes_first);

/* Until both threads have begun one. */
static void wait_for_both(void)
{
	g_atomic_int_inc(&entered);
	while (g_atomic_int_get(&entered) < 2)
		g_usleep(10000);
}

static void make_first(gboolean makes_second)
{
	if (g_once_init_enter(&first)) {
		wait_for_both();
		if (makes_second)
			make_second(FALSE);
		g_once_init_leave(&first, 1);
	}
}

static void make_second(gboolean makes_first)
{
	if (g_once_init_enter(&second)) {
		wait_for_both();
		if (makes_first)
			make_first(FALSE);
		g_once_init_leave(&second, 1);
	}
}

static gpointer make_other(gpointer data)
{
	make_second(!is_fine);
	return data;
}

static void run_both(void)
{
	GThread *thread = g_thread_new("other", make_other, NULL);

	make_first(TRUE);
	g_thread_join(thread);
}

/* ---- Cancellables -------------------------------------------------------------------------------- */

static GCancellable *cancellable;
static gulong handler;

static void on_cancelled(void)
{
	if (is_fine)
		g_signal_handler_disconnect(cancellable, handler);
	else
		g_cancellable_disconnect(cancellable, handler);
}

/* Its handler disconnects itself. */
static void run_cancelled(void)
{
	join("worker", finish);
	handler = g_cancellable_connect(cancellable, G_CALLBACK(on_cancelled), NULL, NULL);
	g_cancellable_cancel(cancellable);
}

static void lock_when_cancelled(void)
{
	g_atomic_int_set(&is_running, TRUE);
	do
		g_usleep(100000);
	while (!is_fine && !g_atomic_int_get(&is_locked));
	g_mutex_lock(&mutex);
	g_mutex_unlock(&mutex);
}

/* While the handler runs, which waits for the mutex. */
static gpointer disconnect(gpointer data)
{
	if (!is_fine)
		g_mutex_lock(&mutex);
	g_atomic_int_set(&is_locked, TRUE);
	while (!g_atomic_int_get(&is_running))
		g_usleep(10000);
	g_cancellable_disconnect(cancellable, handler);
	if (!is_fine)
		g_mutex_unlock(&mutex);
	return data;
}

static void run_disconnected(void)
{
	GThread *thread;

	handler = g_cancellable_connect(cancellable, G_CALLBACK(lock_when_cancelled), NULL, NULL);
	thread = g_thread_new("other", disconnect, NULL);
	g_cancellable_cancel(cancellable);
	g_cancellable_cancel(cancellable);
	g_thread_join(thread);
	g_cancellable_reset(cancellable);
	g_cancellable_cancel(cancellable);
}

static void reset(void)
{
	if (!is_fine)
		g_cancellable_reset(cancellable);
}

static void run_reset(void)
{
	join("worker", finish);
	g_cancellable_connect(cancellable, G_CALLBACK(reset), NULL, NULL);
	g_cancellable_cancel(cancellable);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} runs[] = {{"again", run_again}, {"before", run_before}, {"reader", run_reader},
		{"early", run_early}, {"upgrade", run_upgrade}, {"handed", run_handed},
		{"itself", run_itself}, {"once", run_once}, {"forgotten", run_forgotten},
		{"both", run_both}, {"cancelled", run_cancelled},
		{"disconnected", run_disconnected}, {"reset", run_reset}};

	is_fine = count > 2;
	end_after(is_fine ? 20 : 3);
	cancellable = g_cancellable_new();
	for (size_t i = 0; count > 1 && i < G_N_ELEMENTS(runs); i++)
		if (strcmp(arguments[1], runs[i].name) == 0)
			runs[i].run();
	return 0;
}
