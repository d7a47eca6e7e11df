/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_refresh, a timer, runs while checkout waits in ask_sync (a nested main loop), and calls
 *     ask_sync itself. The inner loop waits for the answer to "list", which the license server gives only
 *     when the checkout is committed; the outer one has its answer, but can't return before the inner one
 *     has, so nobody commits
 *   culprit: on_refresh
 *   victim: checkout|ask_sync|server|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A desktop program that borrows licenses from a server, with calls that run a nested main loop. */

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECKOUTS 6
#define REFRESH_MS 30

enum operation {
	OP_OPEN,
	OP_COMMIT,
	OP_LIST,
	OP_QUIT
};

struct message {
	uint32_t id, operation, value;
};

struct call {
	GMainLoop *loop;
	uint32_t id, value;
	bool answered;
};

struct client {
	GSocket *socket;
	GHashTable *calls; /* by id */
	GMainLoop *loop;
	uint32_t last_id;
	unsigned checkouts, refreshes, licenses;
	bool busy, refresh_due;
	GSourceFunc refresh;
};

/* ---- The license server, a thread ---- */

/* Lists are answered only while no checkout is open: until then they wait here. */
static gpointer server_run(gpointer data)
{
	int socket = GPOINTER_TO_INT(data);
	struct message message, waiting[8];
	unsigned lists = 0, sold = 0;
	bool open = false;

	while (recv(socket, &message, sizeof(message), MSG_WAITALL) == sizeof(message)) {
		if (message.operation == OP_QUIT)
			break;
		if (message.operation == OP_LIST && open) {
			waiting[lists++ % 8] = message;
			continue;
		}
		if (message.operation == OP_OPEN) {
			g_usleep(sold == 2 ? 45000 : 6000); /* asks the vendor */
			open = true;
		}
		if (message.operation == OP_COMMIT) {
			open = false;
			sold++;
		}
		message.value = sold;
		if (send(socket, &message, sizeof(message), MSG_NOSIGNAL) < 0)
			break;
		for (; !open && lists > 0; lists--) {
			waiting[lists - 1].value = sold;
			if (send(socket, &waiting[lists - 1], sizeof(message), MSG_NOSIGNAL) < 0)
				break;
		}
	}
	close(socket);
	return NULL;
}

/* ---- The client ---- */

static gboolean on_answer(GSocket *socket, GIOCondition condition, gpointer data)
{
	struct client *client = data;
	struct message message;
	struct call *call;

	(void)condition;
	if (g_socket_receive(socket, (char *)&message, sizeof(message), NULL, NULL) !=
		sizeof(message))
		return G_SOURCE_REMOVE;
	call = g_hash_table_lookup(client->calls, GUINT_TO_POINTER(message.id));
	if (call) {
		call->value = message.value;
		call->answered = true;
		g_main_loop_quit(call->loop);
	}
	return G_SOURCE_CONTINUE;
}

static uint32_t ask_sync(struct client *client, enum operation operation)
{
	struct call call = {g_main_loop_new(NULL, FALSE), ++client->last_id, 0, false};
	struct message message = {call.id, operation, 0};

	g_hash_table_insert(client->calls, GUINT_TO_POINTER(call.id), &call);
	g_socket_send(client->socket, (char *)&message, sizeof(message), NULL, NULL);
	if (!call.answered)
		g_main_loop_run(call.loop);
	g_hash_table_remove(client->calls, GUINT_TO_POINTER(call.id));
	g_main_loop_unref(call.loop);
	return call.value;
}

static void refresh_licenses(struct client *client)
{
	client->licenses = ask_sync(client, OP_LIST);
	client->refreshes++;
}

/* Keeps the list in the window up to date. */
static gboolean on_refresh(gpointer data)
{
	refresh_licenses(data);
	return G_SOURCE_CONTINUE;
}

static gboolean on_refresh_when_idle(gpointer data)
{
	struct client *client = data;

	if (client->busy)
		client->refresh_due = true;
	else
		refresh_licenses(client);
	return G_SOURCE_CONTINUE;
}

static void checkout(struct client *client)
{
	client->busy = true;
	ask_sync(client, OP_OPEN);
	ask_sync(client, OP_COMMIT);
	client->busy = false;
	client->checkouts++;
	if (client->refresh_due) {
		client->refresh_due = false;
		refresh_licenses(client);
	}
}

static gboolean on_checkout(gpointer data)
{
	struct client *client = data;

	checkout(client);
	if (client->checkouts == CHECKOUTS) {
		g_main_loop_quit(client->loop);
		return G_SOURCE_REMOVE;
	}
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	struct client client = {.refresh = on_refresh};
	struct message quit = {0, OP_QUIT, 0};
	GSource *source;
	GThread *server;
	guint timer;
	int ends[2];

	if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 2;
	if (strcmp(argv[1], "healthy") == 0)
		client.refresh = on_refresh_when_idle;
	server = g_thread_new("server", server_run, GINT_TO_POINTER(ends[1]));
	client.socket = g_socket_new_from_fd(ends[0], NULL);
	client.calls = g_hash_table_new(NULL, NULL);
	client.loop = g_main_loop_new(NULL, FALSE);
	source = g_socket_create_source(client.socket, G_IO_IN, NULL);
	g_source_set_callback(source, G_SOURCE_FUNC(on_answer), &client, NULL);
	g_source_set_can_recurse(source, TRUE); /* it is called in nested loops */
	g_source_attach(source, NULL);
	refresh_licenses(&client);
	timer = g_timeout_add(REFRESH_MS, client.refresh, &client);
	g_timeout_add(35, on_checkout, &client);
	g_main_loop_run(client.loop);
	g_source_remove(timer);
	g_socket_send(client.socket, (char *)&quit, sizeof(quit), NULL, NULL);
	g_thread_join(server);
	g_source_destroy(source);
	g_source_unref(source);
	g_hash_table_unref(client.calls);
	g_main_loop_unref(client.loop);
	g_object_unref(client.socket);
	printf("%u checkouts, %u refreshes, %u licenses\n", client.checkouts, client.refreshes,
		client.licenses);
	return 0;
}
