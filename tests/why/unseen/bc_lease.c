/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: schedule_renewal() in thread lease-client uses g_timeout_add, which attaches the timer to the
 *     default main context; but the thread runs a loop of its own context, and nobody iterates the default
 *     one, so renew_lease is never called; main waits for the renewals in g_async_queue_pop
 *   culprit: schedule_renewal|renew_lease|default (main )?context
 *   victim: main|lease-client|renewals|dhcp-server|follow_leases
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A DHCP-like client in a thread with a loop of its own; main takes the news from a queue. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RENEWALS = 4
};

struct news {
	char text[48];
	bool last;
};

struct lease_client {
	GMainContext *context;
	GMainLoop *loop;
	GAsyncQueue *renewals;
	GSocketConnection *connection;
	GInputStream *answers;
	int socket, server;
	int renewed;
	char buffer[64];
	bool private_timers; /* timers belong to the thread's own loop */
};

static void read_answer(struct lease_client *client);

static void tell(struct lease_client *client, const char *text, bool last)
{
	struct news *news = g_new0(struct news, 1);

	g_strlcpy(news->text, text, sizeof(news->text));
	news->last = last;
	g_async_queue_push(client->renewals, news);
}

static gboolean renew_lease(gpointer data)
{
	struct lease_client *client = data;

	if (write(client->socket, "REQUEST\n", 8) != 8)
		g_warning("can't ask");
	return G_SOURCE_REMOVE;
}

static void schedule_renewal(struct lease_client *client, unsigned ms)
{
	GSource *source;

	if (!client->private_timers) {
		g_timeout_add(ms, renew_lease, client);
		return;
	}
	source = g_timeout_source_new(ms);
	g_source_set_callback(source, renew_lease, client, NULL);
	g_source_attach(source, g_main_context_get_thread_default());
	g_source_unref(source);
}

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	struct lease_client *client = data;
	gssize size = g_input_stream_read_finish(G_INPUT_STREAM(object), result, NULL);
	char text[48];

	if (size <= 0) {
		g_main_loop_quit(client->loop);
		return;
	}
	g_snprintf(text, sizeof(text), "lease %d", client->renewed);
	if (client->renewed++ == RENEWALS) {
		tell(client, text, true);
		g_main_loop_quit(client->loop);
		return;
	}
	tell(client, text, false);
	schedule_renewal(client, 40);
	read_answer(client);
}

static void read_answer(struct lease_client *client)
{
	g_input_stream_read_async(client->answers, client->buffer, sizeof(client->buffer),
		G_PRIORITY_DEFAULT, NULL, on_answer, client);
}

static gpointer lease_main(gpointer data)
{
	struct lease_client *client = data;

	g_main_context_push_thread_default(client->context);
	client->answers = g_io_stream_get_input_stream(G_IO_STREAM(client->connection));
	read_answer(client);
	renew_lease(client); /* the first lease is asked for at once */
	g_main_loop_run(client->loop);
	g_main_context_pop_thread_default(client->context);
	return NULL;
}

/* The server answers each request. */
static gpointer server_main(gpointer data)
{
	struct lease_client *client = data;
	char request[64];

	while (read(client->server, request, sizeof(request)) > 0) {
		g_usleep(3000);
		if (write(client->server, "ACK\n", 4) != 4)
			break;
	}
	close(client->server);
	return NULL;
}

/* Takes news until the last. */
static int follow_leases(GAsyncQueue *renewals)
{
	int count = 0;
	bool last = false;

	while (!last) {
		struct news *news = g_async_queue_pop(renewals);

		printf("%s\n", news->text);
		last = news->last;
		count++;
		g_free(news);
	}
	return count;
}

int main(int argc, char **argv)
{
	struct lease_client client = {0};
	GThread *thread, *server;
	GSocket *socket;
	int ends[2], count;

	client.private_timers = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	client.socket = ends[0];
	client.server = ends[1];
	socket = g_socket_new_from_fd(client.socket, NULL);
	client.connection = g_socket_connection_factory_create_connection(socket);
	g_object_unref(socket);
	client.context = g_main_context_new();
	client.loop = g_main_loop_new(client.context, FALSE);
	client.renewals = g_async_queue_new();
	server = g_thread_new("dhcp-server", server_main, &client);
	thread = g_thread_new("lease-client", lease_main, &client);
	count = follow_leases(client.renewals);
	g_thread_join(thread);
	shutdown(client.socket, SHUT_RDWR);
	g_thread_join(server);
	g_object_unref(client.connection);
	g_main_loop_unref(client.loop);
	g_main_context_unref(client.context);
	g_async_queue_unref(client.renewals);
	return count == RENEWALS + 1 ? 0 : 1;
}
