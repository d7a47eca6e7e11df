/* SPDX-License-Identifier: ISC */
/* The clients. Each asks for a number of keys, one after the other, and checks the replies. */
#include "port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct client {
	struct port *port;
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	uint32_t random;
	unsigned sent;
	struct lines lines;
	char request[LINE_SIZE], expected[LINE_SIZE];
};

struct load {
	unsigned left;
	struct client clients[];
};

static void ask(struct client *client);

static void client_closed(uv_handle_t *handle)
{
	struct client *client = handle->data;

	if (--client->port->load->left == 0)
		port_done(client->port);
}

static void client_close(struct client *client)
{
	if (!uv_is_closing((uv_handle_t *)&client->tcp))
		uv_close((uv_handle_t *)&client->tcp, client_closed);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static unsigned pick(struct client *client, unsigned count)
{
	client->random = client->random * 1103515245 + 12345;
	return (client->random >> 16) % count;
}

/* Chooses a key. Every 16th key is a slow one, and every other 16th key doesn't exist. */
static void choose(struct client *client)
{
	unsigned number = pick(client, client->port->options.keys);
	const char *kind = number % 16 == 7 ? "slow" : number % 16 == 11 ? "none" : "key";

	snprintf(client->request, sizeof client->request, "GET %s-%u\n", kind, number);
	if (number % 16 == 11)
		snprintf(client->expected, sizeof client->expected, "ERROR no such key");
	else
		snprintf(client->expected, sizeof client->expected, "VALUE of %s-%u", kind, number);
}

static void has_written(uv_write_t *write, int status)
{
	if (status < 0)
		client_close(write->data);
}

static void ask(struct client *client)
{
	uv_buf_t buffer;

	if (client->sent++ == client->port->options.requests) {
		client_close(client);
		return;
	}
	choose(client);
	buffer = uv_buf_init(client->request, (unsigned)strlen(client->request));
	client->write.data = client;
	if (uv_write(&client->write, (uv_stream_t *)&client->tcp, &buffer, 1, has_written))
		client_close(client);
}

/* ---- The reply ------------------------------------------------------------------------------- */

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct client *client = handle->data;
	struct lines *lines = &client->lines;

	(void)size;
	*buffer = uv_buf_init(lines->text + lines->used,
		(unsigned)(sizeof lines->text - lines->used));
}

static void has_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct client *client = stream->data;
	char line[LINE_SIZE];

	(void)buffer;
	if (size < 0) {
		client_close(client);
		return;
	}
	client->lines.used += (size_t)size;
	if (!lines_take(&client->lines, line))
		return;
	client->port->replies++;
	client->port->wrong += strcmp(line, client->expected) != 0;
	ask(client);
}

static void connected(uv_connect_t *connect, int status)
{
	struct client *client = connect->data;

	if (status < 0 || uv_read_start((uv_stream_t *)&client->tcp, give_buffer, has_read))
		client_close(client);
	else
		ask(client);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

int load_start(struct port *port)
{
	struct sockaddr *address = (struct sockaddr *)&port->proxy_address;
	unsigned count = port->options.clients;
	struct load *load = calloc(1, sizeof *load + count * sizeof load->clients[0]);

	if (!load)
		return -ENOMEM;
	load->left = count;
	port->load = load;
	for (unsigned i = 0; i < count; i++) {
		struct client *client = &load->clients[i];

		client->port = port;
		client->random = i + 1;
		uv_tcp_init(&port->loop, &client->tcp);
		client->tcp.data = client->connect.data = client;
		if (uv_tcp_connect(&client->connect, &client->tcp, address, connected))
			client_close(client);
	}
	return 0;
}

void load_stop(struct port *port)
{
	free(port->load);
}
