/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: several ask for one icon, which is loaded once for all of them with the cancellable of the first. When
 *     the first gives up, on_icon_read answers only that one, and the others' tasks never return.
 *   culprit: on_icon_read|icon_cache_cancel|folder\.png|icon_load_async
 *   victim: sidebar|toolbar|on_icon_ready
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A cache of icons, as a file manager has it, on GIO: who asks for an icon that is being loaded shares that load. */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

struct load {
	char *name;
	GList *waiters; /* GTask *, the first who asked is the first */
	GCancellable *cancellable;
};

static gboolean broken;
static GHashTable *loads; /* name -> struct load */
static GMainLoop *loop;
static int pending, redraws;

static void load_free(struct load *load)
{
	g_hash_table_remove(loads, load->name);
	g_list_free_full(load->waiters, g_object_unref);
	g_clear_object(&load->cancellable);
	g_free(load->name);
	g_free(load);
}

/* A thread of the pool decodes the file. */
static void icon_decode(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	const char *name = data;
	int steps = strcmp(name, "folder.png") == 0 ? 40 : 4;

	(void)source;
	for (int i = 0; i < steps; i++) {
		if (g_cancellable_is_cancelled(cancellable))
			break;
		g_usleep(5000);
	}
	if (!g_task_return_error_if_cancelled(task))
		g_task_return_int(task, steps * 16);
}

static void icon_start(struct load *load);

static void on_icon_read(GObject *source, GAsyncResult *result, gpointer data)
{
	struct load *load = data;
	g_autoptr(GError) error = NULL;
	gssize size = g_task_propagate_int(G_TASK(result), &error);

	(void)source;
	if (error && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		GTask *first = load->waiters->data;

		load->waiters = g_list_delete_link(load->waiters, load->waiters);
		g_task_return_error(first, g_steal_pointer(&error));
		g_object_unref(first);
		if (!load->waiters) {
			load_free(load);
		} else if (!broken) {
			/* The others still want it. */
			g_clear_object(&load->cancellable);
			icon_start(load);
		}
		return;
	}
	for (GList *waiter = load->waiters; waiter; waiter = waiter->next) {
		if (error)
			g_task_return_error(waiter->data, g_error_copy(error));
		else
			g_task_return_int(waiter->data, size);
	}
	load_free(load);
}

static void icon_start(struct load *load)
{
	GTask *task = g_task_new(NULL, load->cancellable, on_icon_read, load);

	g_task_set_name(task, "read icon");
	g_task_set_task_data(task, g_strdup(load->name), g_free);
	g_task_run_in_thread(task, icon_decode);
	g_object_unref(task);
}

static void icon_load_async(const char *name, GCancellable *cancellable,
	GAsyncReadyCallback callback, const char *who)
{
	GTask *task = g_task_new(NULL, NULL, callback, (gpointer)who);
	struct load *load = g_hash_table_lookup(loads, name);
	g_autofree char *label = g_strdup_printf("icon %s for %s", name, who);

	g_task_set_name(task, label);
	g_task_set_source_tag(task, icon_load_async);
	pending++;
	if (load) {
		load->waiters = g_list_append(load->waiters, task);
		return;
	}
	load = g_new0(struct load, 1);
	load->name = g_strdup(name);
	load->waiters = g_list_append(NULL, task);
	load->cancellable = cancellable ? g_object_ref(cancellable) : NULL;
	g_hash_table_insert(loads, load->name, load);
	icon_start(load);
}

static void maybe_quit(void)
{
	if (pending == 0 && redraws >= 40)
		g_main_loop_quit(loop);
}

static void on_icon_ready(GObject *source, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	gssize size = g_task_propagate_int(G_TASK(result), &error);

	(void)source;
	if (error)
		g_message("%s: %s", (const char *)data, error->message);
	else
		g_message("%s: %zd bytes", (const char *)data, size);
	pending--;
	maybe_quit();
}

/* The user goes to another folder before its icons are there. */
static gboolean on_leave_folder(gpointer data)
{
	g_cancellable_cancel(data);
	return G_SOURCE_REMOVE;
}

static gboolean on_redraw(gpointer data)
{
	static const char *const names[] = {"text.png", "music.png", "movie.png"};

	(void)data;
	if (redraws < 40 && redraws % 8 == 0)
		icon_load_async(names[redraws / 8 % 3], NULL, on_icon_ready, "view");
	redraws++;
	maybe_quit();
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	g_autoptr(GCancellable) window = g_cancellable_new();

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	loads = g_hash_table_new(g_str_hash, g_str_equal);
	loop = g_main_loop_new(NULL, FALSE);
	icon_load_async("folder.png", window, on_icon_ready, "window");
	icon_load_async("folder.png", NULL, on_icon_ready, "sidebar");
	icon_load_async("folder.png", NULL, on_icon_ready, "toolbar");
	g_timeout_add(30, on_leave_folder, window);
	g_timeout_add(25, on_redraw, NULL);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	g_hash_table_unref(loads);
	return 0;
}
