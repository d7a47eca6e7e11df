/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the answer to call 4 comes in two pieces. on_bytes() keeps the first piece and ends, instead of
 *     reading on, so “bus reader” ends and nobody reads the second piece or any answer after it.
 *   culprit: bus reader|on_bytes
 *   victim: call [45]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A message bus: a client with many calls over one connection, and the service that answers them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <thrum/promise.h>

#define CALLS 5

struct bus {
	struct thrum_loop *loop;
	struct thrum_connection *connection;
	struct thrum_promise *reader;
	struct thrum_resolver *waiting[CALLS + 1]; /* by the number of the call */
	char partial[256];
	size_t partial_size;
};

struct service {
	struct thrum_listener *listener;
	struct thrum_connection *connection;
	int long_answer; /* the number of the call whose answer is long; 0: none */
};

struct part {
	struct service *service;
	int number;
};

static char path[64];

/* ---- The service ----------------------------------------------------------------------------- */

static struct thrum_promise *send_text(struct service *service, const char *text)
{
	char *copy = strdup(text);

	return thrum_connection_write(service->connection, thrum_value_own(copy, free),
		strlen(copy));
}

static struct thrum_promise *send_rest(struct thrum_loop *loop, void *value, void *data)
{
	struct part *part = data;

	(void)loop, (void)value;
	return send_text(part->service, " and the rest of it\n");
}

static struct thrum_promise *send_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct part *part = data;
	char text[64];

	(void)value;
	if (part->number == part->service->long_answer) {
		/* It doesn't fit a packet. */
		snprintf(text, sizeof text, "%d a very long answer", part->number);
		thrum_promise_ignore_result(send_text(part->service, text));
		return thrum_promise_bind(thrum_sleep(loop, 200), send_rest, part, NULL);
	}
	snprintf(text, sizeof text, "%d done\n", part->number);
	return send_text(part->service, text);
}

static struct thrum_promise *finished(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve_calls(struct thrum_loop *loop, void *value, void *data)
{
	struct service *service = data;
	struct thrum_bytes *bytes = value;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < bytes->size; i++) {
		struct part *part;
		struct thrum_promise *sent;

		if (bytes->data[i] < '0' || bytes->data[i] > '9')
			continue;
		part = calloc(1, sizeof *part);
		*part = (struct part){service, bytes->data[i] - '0'};
		sent = thrum_promise_bind(thrum_sleep(loop, 20), send_answer, part, NULL);
		sent = thrum_promise_labelf(sent, "serve %d", part->number);
		thrum_promise_ignore_result(thrum_promise_finalize(sent, finished, part, free));
	}
	return thrum_promise_bind(thrum_connection_read(service->connection), serve_calls, service,
		NULL);
}

static struct thrum_promise *accepted(struct thrum_loop *loop, void *value, void *data)
{
	struct service *service = data;
	struct thrum_value mine;

	(void)value;
	if (!thrum_loop_take(loop, &mine))
		return thrum_promise_fail(loop, -EBUSY, NULL);
	service->connection = mine.data;
	return thrum_promise_bind(thrum_connection_read(service->connection), serve_calls, service,
		NULL);
}

/* ---- The client ------------------------------------------------------------------------------ */

static __attribute__((noinline)) void deliver(struct bus *bus, const char *line)
{
	int number = atoi(line);
	struct thrum_resolver *resolver = NULL;

	if (number > 0 && number <= CALLS) {
		resolver = bus->waiting[number];
		bus->waiting[number] = NULL;
	}
	thrum_resolver_resolve(resolver, thrum_value_own(strdup(line), free));
}

/* Delivers the whole lines, and keeps the rest for the next bytes. */
static struct thrum_promise *on_bytes(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	struct bus *bus = data;
	char *line = bus->partial, *end;

	if (!bytes || bus->partial_size + bytes->size >= sizeof bus->partial)
		return thrum_promise_fail(loop, -EPIPE, "the bus is gone");
	memcpy(bus->partial + bus->partial_size, bytes->data, bytes->size);
	bus->partial_size += bytes->size;
	bus->partial[bus->partial_size] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		deliver(bus, line);
		line = end + 1;
	}
	bus->partial_size = strlen(line);
	memmove(bus->partial, line, bus->partial_size + 1);
	if (bus->partial_size > 0)
		return thrum_promise_return(loop, thrum_value_none()); /* the rest will come */
	return thrum_promise_bind(thrum_connection_read(bus->connection), on_bytes, bus, NULL);
}

static __attribute__((noinline)) struct thrum_promise *bus_call(struct bus *bus, int number)
{
	struct thrum_promise *call = thrum_promise_task(bus->loop, NULL, &bus->waiting[number]);
	char *text = malloc(16);
	int size = snprintf(text, 16, "%d\n", number);

	thrum_promise_labelf(call, "call %d", number);
	/* The reader ends it. */
	thrum_task_wait(thrum_promise_task_id(call), thrum_promise_task_id(bus->reader));
	thrum_promise_ignore_result(
		thrum_connection_write(bus->connection, thrum_value_own(text, free), (size_t)size));
	return call;
}

static struct thrum_promise *call_next(struct thrum_loop *loop, void *value, void *data)
{
	static int number;
	struct bus *bus = data;

	if (value)
		printf("%s\n", (const char *)value);
	if (number == CALLS)
		return thrum_promise_return(loop, thrum_value_none());
	number++;
	return thrum_promise_bind(bus_call(bus, number), call_next, bus, NULL);
}

static struct thrum_promise *connected(struct thrum_loop *loop, void *value, void *data)
{
	struct bus *bus = data;
	struct thrum_value mine;

	(void)value;
	if (!thrum_loop_take(loop, &mine))
		return thrum_promise_fail(loop, -EBUSY, NULL);
	bus->connection = mine.data;
	bus->reader = thrum_promise_label(thrum_promise_bind(thrum_connection_read(bus->connection),
						  on_bytes, bus, NULL),
		"bus reader");
	return call_next(loop, NULL, bus);
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	struct service service = {.long_answer = broken ? 4 : 0};
	struct thrum_promise *session;
	struct bus bus = {0};
	uv_loop_t uv;
	int status;

	snprintf(path, sizeof path, "/tmp/am_bus.%d.socket", (int)getpid());
	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &bus.loop))
		return 2;
	unlink(path);
	if (thrum_pipe_listen(bus.loop, path, 4, &service.listener))
		return 2;
	thrum_promise_ignore_result(
		thrum_promise_label(thrum_promise_bind(thrum_listener_accept(service.listener),
					    accepted, &service, NULL),
			"service"));
	session = thrum_promise_label(thrum_promise_bind(thrum_pipe_connect(bus.loop, path),
					      connected, &bus, NULL),
		"session");
	status = thrum_promise_run(thrum_promise_should_resolve(session));

	thrum_stop();
	thrum_promise_unref(bus.reader);
	thrum_promise_unref(thrum_connection_close(bus.connection));
	thrum_promise_unref(thrum_connection_close(service.connection));
	thrum_promise_unref(thrum_listener_close(service.listener));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(bus.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	unlink(path);
	return status == 0 ? 0 : 1;
}
