/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 1500
 *   ask: why
 *   truth: Requests have ids of 8 bits. While the slow "report" waits, send_request comes round to its id and puts the resolver of a later request into its place of the table. So nobody can resolve the report any more when its reply comes.
 *   culprit: report|send_request
 *   victim: dashboard|list items
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "thrum/promise.h"

/* A client with many requests under way on one connection. A reply has the id of its request. */

#define ITEMS 400

static bool broken;
static struct thrum_connection *connection;
static struct thrum_resolver *pending[256];
static uint8_t next_id;
static int listener, items;

/* The server: a request is an id and a letter. It answers the report after many others. */
static void *run_server(void *unused)
{
	int fd = accept(listener, NULL, NULL), answered = 0, report = -1;
	unsigned char request[2], id;

	(void)unused;
	while (recv(fd, request, 2, MSG_WAITALL) == 2) {
		if (request[1] == 'r') {
			report = request[0];
			continue;
		}
		if (send(fd, request, 1, MSG_NOSIGNAL) != 1)
			break;
		if (++answered == 300 && report >= 0) {
			id = (unsigned char)report;
			if (send(fd, &id, 1, MSG_NOSIGNAL) != 1)
				break;
		}
	}
	close(fd);
	return NULL;
}

static struct thrum_promise *send_request(struct thrum_loop *loop, char letter)
{
	struct thrum_promise *reply;
	char *bytes = malloc(2);

	if (!bytes)
		abort();
	while (!broken && pending[next_id])
		next_id++;
	reply = thrum_promise_task(loop, letter == 'r' ? "report" : "item", &pending[next_id]);
	bytes[0] = (char)next_id++;
	bytes[1] = letter;
	thrum_promise_ignore_result(
		thrum_connection_write(connection, thrum_value_own(bytes, free), 2));
	return thrum_promise_should_resolve(reply);
}

/* Reads replies until the connection is closed. */
static struct thrum_promise *on_replies(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;

	(void)data;
	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < bytes->size; i++) {
		uint8_t id = (uint8_t)bytes->data[i];
		struct thrum_resolver *resolver = pending[id];

		pending[id] = NULL;
		thrum_resolver_resolve(resolver, thrum_value_none());
	}
	return thrum_promise_bind(thrum_connection_read(connection), on_replies, NULL, NULL);
}

static struct thrum_promise *read_replies(struct thrum_loop *loop, void *data)
{
	(void)loop, (void)data;
	return thrum_promise_bind(thrum_connection_read(connection), on_replies, NULL, NULL);
}

static struct thrum_promise *list_items(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)nothing, (void)data;
	if (items == ITEMS)
		return thrum_promise_return(loop, thrum_value_none());
	items++;
	return thrum_promise_bind(send_request(loop, 'i'), list_items, NULL, NULL);
}

static struct thrum_promise *show_dashboard(struct thrum_loop *loop, void *nothing, void *data)
{
	struct thrum_value taken;
	struct thrum_promise *report, *list;

	(void)nothing, (void)data;
	if (!thrum_loop_take(loop, &taken))
		abort();
	connection = taken.data;
	thrum_promise_async(loop, "replies", read_replies, NULL, NULL);
	report = send_request(loop, 'r');
	list = thrum_promise_label(list_items(loop, NULL, NULL), "list items");
	return thrum_promise_both(report, list);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	struct thrum_promise *dashboard;
	struct thrum_loop *loop;
	pthread_t server;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1) ||
		getsockname(listener, (struct sockaddr *)&address, &size) ||
		thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	pthread_create(&server, NULL, run_server, NULL);
	dashboard = thrum_promise_bind(thrum_tcp_connect(loop, (struct sockaddr *)&address),
		show_dashboard, NULL, NULL);
	error = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_label(dashboard, "dashboard")));
	thrum_stop();
	printf("%d items and a report\n", items);
	thrum_promise_unref(thrum_connection_close(connection));
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	pthread_join(server, NULL);
	return error ? 1 : 0;
}
