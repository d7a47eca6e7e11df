/* SPDX-License-Identifier: ISC */
/* It hangs as its first argument says, in GLib's locks and in work that is done once; unless there is a
 * second one. */
#include <glib.h>
#include <string.h>
#include <unistd.h>

static GMutex mutex;
static GRWLock table;
static gsize first, second;
static gboolean is_fine;

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

static void make_first(gboolean makes_second)
{
	if (g_once_init_enter(&first)) {
		g_usleep(50000);
		if (makes_second)
			make_second(FALSE);
		g_once_init_leave(&first, 1);
	}
}

static void make_second(gboolean makes_first)
{
	if (g_once_init_enter(&second)) {
		g_usleep(50000);
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

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} runs[] = {{"again", run_again}, {"before", run_before}, {"reader", run_reader},
		{"itself", run_itself}, {"once", run_once}, {"forgotten", run_forgotten},
		{"both", run_both}};

	is_fine = count > 2;
	alarm(3);
	for (size_t i = 0; count > 1 && i < G_N_ELEMENTS(runs); i++)
		if (strcmp(arguments[1], runs[i].name) == 0)
			runs[i].run();
	return 0;
}
