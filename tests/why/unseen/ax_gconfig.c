/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: settings_get_sync runs in the main loop, starts a GTask and waits on a condition until
 *     on_settings has the result; but the task returns to the context of the very thread that waits, where
 *     nobody dispatches it
 *   culprit: settings_get_sync|wait_on_condition
 *   victim: on_settings|read_settings|g_main_loop_run|session_main|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A settings service: sessions ask for settings; some are cached, the others are read by a task in
 * the pool.
 */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REQUESTS 12

struct reply {
	GMutex lock;
	GCond arrived;
	GMainContext *context;
	char *value;
	bool done;
};

struct service;

typedef void wait_fn(struct reply *reply);

struct service {
	GMainLoop *loop;
	GHashTable *cache;
	wait_fn *wait;
	bool own_context;
	int answered;
	int from_disk;
};

struct request {
	struct service *service;
	char *key;
	GAsyncQueue *answers;
};

static void read_settings(GTask *task, void *source, void *data, GCancellable *cancellable)
{
	const char *key = data;

	(void)source;
	(void)cancellable;
	g_usleep(8000);
	g_task_return_pointer(task, g_strdup_printf("value of %s", key), g_free);
}

static void on_settings(GObject *source, GAsyncResult *result, void *data)
{
	struct reply *reply = data;

	(void)source;
	g_mutex_lock(&reply->lock);
	reply->value = g_task_propagate_pointer(G_TASK(result), NULL);
	reply->done = true;
	g_cond_signal(&reply->arrived);
	g_mutex_unlock(&reply->lock);
}

static void settings_get_async(const char *key, GAsyncReadyCallback callback, void *data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);

	g_task_set_task_data(task, g_strdup(key), g_free);
	g_task_run_in_thread(task, read_settings);
	g_object_unref(task);
}

static void wait_on_condition(struct reply *reply)
{
	g_mutex_lock(&reply->lock);
	while (!reply->done)
		g_cond_wait(&reply->arrived, &reply->lock);
	g_mutex_unlock(&reply->lock);
}

static void wait_in_context(struct reply *reply)
{
	while (!reply->done)
		g_main_context_iteration(reply->context, TRUE);
}

static char *settings_get_sync(struct service *service, const char *key)
{
	struct reply reply = {.done = false};

	g_mutex_init(&reply.lock);
	g_cond_init(&reply.arrived);
	if (service->own_context) {
		reply.context = g_main_context_new();
		g_main_context_push_thread_default(reply.context);
	}
	settings_get_async(key, on_settings, &reply);
	service->wait(&reply);
	if (reply.context) {
		g_main_context_pop_thread_default(reply.context);
		g_main_context_unref(reply.context);
	}
	g_cond_clear(&reply.arrived);
	g_mutex_clear(&reply.lock);
	return reply.value;
}

static const char *service_find(struct service *service, const char *key)
{
	char *value = g_hash_table_lookup(service->cache, key);

	if (!value) {
		value = settings_get_sync(service, key);
		g_hash_table_insert(service->cache, g_strdup(key), value);
		service->from_disk++;
	}
	return value;
}

static gboolean on_request(void *data)
{
	struct request *request = data;

	g_async_queue_push(request->answers,
		g_strdup(service_find(request->service, request->key)));
	request->service->answered++;
	return G_SOURCE_REMOVE;
}

static void request_free(void *data)
{
	struct request *request = data;

	g_async_queue_unref(request->answers);
	g_free(request->key);
	g_free(request);
}

static gboolean on_idle_report(void *data)
{
	struct service *service = data;

	fprintf(stderr, "settings: %d answered, %d read\n", service->answered, service->from_disk);
	return G_SOURCE_CONTINUE;
}

static gboolean on_quit(void *data)
{
	struct service *service = data;

	g_main_loop_quit(service->loop);
	return G_SOURCE_REMOVE;
}

/* A session asks one setting after the other, some of them again and again. */
static void *session_main(void *data)
{
	struct service *service = data;
	GAsyncQueue *answers = g_async_queue_new_full(g_free);
	static const char *const keys[] = {"theme", "font", "theme", "keyboard/layout", "font",
		"theme"};

	for (int i = 0; i < REQUESTS; i++) {
		struct request *request = g_new0(struct request, 1);

		request->service = service;
		request->key = g_strdup(keys[i % G_N_ELEMENTS(keys)]);
		request->answers = g_async_queue_ref(answers);
		g_main_context_invoke_full(NULL, G_PRIORITY_DEFAULT, on_request, request,
			request_free);
		g_free(g_async_queue_pop(answers));
		g_usleep(5000);
	}
	g_async_queue_unref(answers);
	g_idle_add(on_quit, service);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct service service;
	GThread *session;
	guint report;

	service.own_context = strcmp(mode, "broken") != 0;
	service.wait = service.own_context ? wait_in_context : wait_on_condition;
	service.cache = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	service.loop = g_main_loop_new(NULL, FALSE);
	/* the theme is shipped with the service; other settings are read when they are asked for */
	g_hash_table_insert(service.cache, g_strdup("theme"), g_strdup("light"));
	report = g_timeout_add(40, on_idle_report, &service);
	session = g_thread_new("client", session_main, &service);
	g_main_loop_run(service.loop);
	g_thread_join(session);
	g_source_remove(report);
	g_hash_table_unref(service.cache);
	g_main_loop_unref(service.loop);
	printf("%d answered, %d read\n", service.answered, service.from_disk);
	return service.answered == REQUESTS && service.from_disk == 2 ? 0 : 1;
}
