/* SPDX-License-Identifier: ISC */
/* HTTP messages, reduced to what this server and its clients use. */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

THRUM_CATEGORY(http, "http");
THRUM_TAG(parsing, &http, "http/parse", 1);

/* ---- Parsing --------------------------------------------------------------------------------- */

static const char *header(const char *head, const char *name)
{
	const char *found = strcasestr(head, name);

	return found ? found + strlen(name) : NULL;
}

/* Takes a message out of the buffer. Returns 1, 0 if it isn't complete yet, or a negative errno
 * value. */
static int parse(struct channel *channel)
{
	struct message *message = &channel->message;
	char *body = strstr(channel->in, "\r\n\r\n");
	const char *length, *id;
	size_t size, head;

	if (!body)
		return channel->used == sizeof channel->in - 1 ? -EMSGSIZE : 0;
	head = (size_t)(body + 4 - channel->in);
	*body = 0;
	length = header(channel->in, "\r\nContent-Length: ");
	id = header(channel->in, "\r\nRequest-Id: ");
	size = length ? strtoul(length, NULL, 10) : 0;
	*body = '\r';
	if (size >= sizeof message->body)
		return -EMSGSIZE;
	if (channel->used - head < size)
		return 0;
	snprintf(message->start, sizeof message->start, "%.*s", (int)strcspn(channel->in, "\r"),
		channel->in);
	snprintf(message->id, sizeof message->id, "%.*s", id ? (int)strcspn(id, "\r") : 0,
		id ? id : "");
	memcpy(message->body, channel->in + head, size);
	message->body[size] = 0;
	channel->used -= head + size;
	memmove(channel->in, channel->in + head + size, channel->used + 1);
	return 1;
}

static bool keep(struct channel *channel, const struct thrum_bytes *bytes)
{
	if (bytes->size >= sizeof channel->in - channel->used ||
		memchr(bytes->data, 0, bytes->size))
		return false;
	memcpy(channel->in + channel->used, bytes->data, bytes->size);
	channel->used += bytes->size;
	channel->in[channel->used] = 0;
	return true;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static struct thrum_promise *got_bytes(struct thrum_loop *loop, void *bytes, void *data)
{
	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	if (!keep(data, bytes))
		return thrum_promise_fail(loop, -EMSGSIZE, NULL);
	return channel_next(loop, data);
}

struct thrum_promise *channel_next(struct thrum_loop *loop, struct channel *channel)
{
	int found = 0;

	if (channel->used > 0) {
		thrum_span_begin(&parsing);
		found = parse(channel);
		thrum_span_end(&parsing);
	}
	if (found < 0)
		return thrum_promise_fail(loop, found, NULL);
	if (found)
		return thrum_promise_return(loop, thrum_value_static(&channel->message));
	return thrum_promise_bind(thrum_connection_read(channel->connection), got_bytes, channel,
		NULL);
}

static struct thrum_promise *still_there(struct thrum_loop *loop, void *bytes, void *data)
{
	if (!bytes || !keep(data, bytes))
		return thrum_promise_fail(loop, -ECONNRESET, NULL);
	return channel_watch(loop, data);
}

struct thrum_promise *channel_watch(struct thrum_loop *loop, struct channel *channel)
{
	(void)loop;
	return thrum_promise_bind(thrum_connection_read(channel->connection), still_there, channel,
		NULL);
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct thrum_promise *channel_send(struct thrum_loop *loop, struct channel *channel,
	const char *start, const char *id, const char *body)
{
	char text[512];
	size_t used = (size_t)snprintf(text, sizeof text, "%.100s\r\n", start);
	char *copy;

	if (id)
		used += (size_t)snprintf(text + used, 64, "Request-Id: %.20s\r\n", id);
	if (body)
		used += (size_t)snprintf(text + used, 32, "Content-Length: %zu\r\n",
			strnlen(body, 128));
	used += (size_t)snprintf(text + used, 160, "\r\n%.128s", body ? body : "");
	copy = malloc(used);
	if (!copy)
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	memcpy(copy, text, used);
	thrum_counter_add(bytes_sent, (int64_t)used);
	return thrum_connection_write(channel->connection, thrum_value_own(copy, free), used);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

struct channel *channel_take(struct thrum_loop *loop)
{
	struct channel *channel = calloc(1, sizeof *channel);
	struct thrum_value connection;

	if (!channel || !thrum_loop_take(loop, &connection)) {
		free(channel);
		return NULL;
	}
	channel->connection = connection.data;
	return channel;
}

void channel_close(struct channel *channel)
{
	thrum_promise_unref(thrum_connection_close(channel->connection));
	free(channel);
}
