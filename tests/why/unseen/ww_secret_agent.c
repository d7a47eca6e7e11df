/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When the user takes a request for a password back, on_request_cancelled removes it from the agent
 *          and never returns its task, so the callback isn't called. The device stays busy and the next
 *          activation never starts.
 *   culprit: on_request_cancelled|agent_get_secrets|take_request_back
 *   victim: activate_next|on_secrets
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	CONNECTIONS = 25,
	PROMPTED = 9
};

struct secret_request {
	GTask *task;
	int connection;
	guint reply_source;
	gulong cancel_handler;
};

struct device {
	GCancellable *cancellable;
	int connection; /* that it activates */
	int active, refused;
};

static bool broken;
static GMainLoop *loop;
static GHashTable *requests;
static unsigned scans, carrier_checks;

static void activate_next(struct device *device);

static void forget_request(struct secret_request *request)
{
	g_hash_table_remove(requests, GINT_TO_POINTER(request->connection));
	if (request->reply_source)
		g_source_remove(request->reply_source);
	g_object_unref(request->task);
	g_free(request);
}

/* The desktop's keyring answers. */
static gboolean on_keyring_reply(void *data)
{
	struct secret_request *request = data;
	GCancellable *cancellable = g_task_get_cancellable(request->task);

	request->reply_source = 0;
	g_cancellable_disconnect(cancellable, request->cancel_handler);
	g_task_return_pointer(request->task, g_strdup_printf("psk-%d", request->connection),
		g_free);
	forget_request(request);
	return G_SOURCE_REMOVE;
}

static gboolean take_request_back(void *data)
{
	struct secret_request *request = g_hash_table_lookup(requests, data);

	if (!request)
		return G_SOURCE_REMOVE;
	if (!broken)
		g_task_return_new_error(request->task, G_IO_ERROR, G_IO_ERROR_CANCELLED,
			"taken back");
	forget_request(request);
	return G_SOURCE_REMOVE;
}

static void on_request_cancelled(GCancellable *cancellable, void *data)
{
	struct secret_request *request = data;

	(void)cancellable;
	/* the handler can't be disconnected while it runs, so the loop does the rest */
	g_idle_add(take_request_back, GINT_TO_POINTER(request->connection));
}

static void agent_get_secrets(int connection, GCancellable *cancellable,
	GAsyncReadyCallback callback, void *data)
{
	struct secret_request *request = g_new0(struct secret_request, 1);

	request->connection = connection;
	request->task = g_task_new(NULL, cancellable, callback, data);
	g_hash_table_insert(requests, GINT_TO_POINTER(connection), request);
	request->cancel_handler = g_cancellable_connect(cancellable,
		G_CALLBACK(on_request_cancelled), request, NULL);
	/* the keyring has most of the passwords; one it must ask the user for */
	request->reply_source = g_timeout_add(connection == PROMPTED ? 60000 : 3, on_keyring_reply,
		request);
}

static void on_secrets(GObject *source, GAsyncResult *result, void *data)
{
	struct device *device = data;
	g_autoptr(GError) error = NULL;
	g_autofree char *secret = g_task_propagate_pointer(G_TASK(result), &error);

	(void)source;
	if (secret)
		device->active++;
	else
		device->refused++;
	g_clear_object(&device->cancellable);
	device->connection++;
	activate_next(device);
}

static gboolean on_user_closed_dialog(void *data)
{
	struct device *device = data;

	if (device->cancellable && device->connection == PROMPTED)
		g_cancellable_cancel(device->cancellable);
	return G_SOURCE_REMOVE;
}

static void activate_next(struct device *device)
{
	if (device->connection == CONNECTIONS) {
		g_main_loop_quit(loop);
		return;
	}
	device->cancellable = g_cancellable_new();
	agent_get_secrets(device->connection, device->cancellable, on_secrets, device);
	if (device->connection == PROMPTED)
		g_timeout_add(20, on_user_closed_dialog, device);
}

static gboolean on_scan(void *data)
{
	(void)data;
	scans++;
	return G_SOURCE_CONTINUE;
}

static void check_carrier(GTask *task, void *source, void *data, GCancellable *cancellable)
{
	(void)source, (void)data, (void)cancellable;
	g_usleep(1500);
	g_task_return_boolean(task, TRUE);
}

static void on_carrier(GObject *source, GAsyncResult *result, void *data)
{
	(void)source, (void)data;
	carrier_checks += g_task_propagate_boolean(G_TASK(result), NULL);
}

static gboolean on_carrier_timer(void *data)
{
	g_autoptr(GTask) task = g_task_new(NULL, NULL, on_carrier, NULL);

	(void)data;
	g_task_run_in_thread(task, check_carrier);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	struct device wlan = {0};

	broken = argc > 1 && !strcmp(argv[1], "broken");
	loop = g_main_loop_new(NULL, FALSE);
	requests = g_hash_table_new(NULL, NULL);
	g_timeout_add(7, on_scan, NULL);
	g_timeout_add(11, on_carrier_timer, NULL);
	activate_next(&wlan);
	g_main_loop_run(loop);
	printf("%d active, %d refused; ", wlan.active, wlan.refused);
	printf("%u scans, %u carrier checks\n", scans, carrier_checks);
	return wlan.active + wlan.refused == CONNECTIONS ? 0 : 1;
}
