/* SPDX-License-Identifier: ISC */
/* Connections over TCP and pipes. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BIG ((size_t)3 << 20)

/* A listener, one connection to it, and the other end. */
struct pair {
	struct world world;
	struct thrum_listener *listener;
	struct thrum_connection *client, *server;
};

static struct thrum_listener *listen_tcp(struct world *world, struct sockaddr_in *address)
{
	struct thrum_listener *listener = NULL;

	assert_int_equal(uv_ip4_addr("127.0.0.1", 0, address), 0);
	assert_int_equal(thrum_tcp_listen(world->loop, (struct sockaddr *)address, 16, &listener),
		0);
	assert_int_not_equal(thrum_listener_port(listener), 0);
	address->sin_port = htons((uint16_t)thrum_listener_port(listener));
	return listener;
}

static void connect_pair(struct pair *pair, bool is_pipe)
{
	struct thrum_promise *connect, *accept;
	const char *path = scratch("socket");
	struct sockaddr_in address;

	world_init(&pair->world);
	if (is_pipe) {
		assert_int_equal(thrum_pipe_listen(pair->world.loop, path, 16, &pair->listener), 0);
		assert_int_equal(thrum_listener_port(pair->listener), 0);
		connect = thrum_pipe_connect(pair->world.loop, path);
	} else {
		pair->listener = listen_tcp(&pair->world, &address);
		connect = thrum_tcp_connect(pair->world.loop, (struct sockaddr *)&address);
	}
	accept = thrum_listener_accept(pair->listener);
	pair->client = value_of(settled(connect));
	pair->server = value_of(settled(accept));
}

static void finish_pair(struct pair *pair)
{
	thrum_promise_unref(thrum_connection_close(pair->client));
	thrum_promise_unref(thrum_connection_close(pair->server));
	assert_int_equal(settle(thrum_listener_close(pair->listener)), 0);
	world_finish(&pair->world);
}

static struct thrum_promise *write_text(struct thrum_connection *connection, const char *text)
{
	return thrum_connection_write(connection, thrum_value_static(text), strlen(text));
}

static void assert_reads(struct thrum_promise *read, const char *text)
{
	const struct thrum_bytes *bytes;

	assert_int_equal(settle(thrum_promise_ref(read)), 0);
	bytes = thrum_promise_value(read);
	assert_non_null(bytes);
	assert_int_equal(bytes->size, strlen(text));
	assert_memory_equal(bytes->data, text, bytes->size);
	thrum_promise_unref(read);
}

static void talk(bool is_pipe)
{
	struct thrum_promise *read, *second;
	struct pair pair;

	connect_pair(&pair, is_pipe);
	read = thrum_connection_read(pair.server);
	second = thrum_connection_read(pair.server);
	assert_int_equal(code_of(second), -EBUSY);
	thrum_promise_unref(second);
	assert_int_equal(settle(write_text(pair.client, "hello")), 0);
	assert_reads(read, "hello");

	/* A cancelled read loses nothing; the next one goes on. */
	read = thrum_connection_read(pair.client);
	thrum_promise_cancel(read);
	assert_int_equal(code_of(read), THRUM_CANCELED);
	thrum_promise_unref(read);
	assert_int_equal(settle(write_text(pair.server, "world")), 0);
	go_round(&pair.world, 3);
	assert_reads(thrum_connection_read(pair.client), "world");

	assert_int_equal(settle(thrum_connection_write(pair.client, thrum_value_none(), 0)), 0);
	assert_int_equal(settle(thrum_connection_write(pair.client, thrum_value_none(), 1)),
		-EINVAL);

	/* The end of the input. */
	assert_int_equal(settle(thrum_connection_shutdown(pair.client)), 0);
	for (int i = 0; i < 2; i++) {
		read = settled(thrum_connection_read(pair.server));
		assert_int_equal(code_of(read), 0);
		assert_null(thrum_promise_value(read));
		thrum_promise_unref(read);
	}
	assert_reads((thrum_promise_unref(write_text(pair.server, "bye")),
			     thrum_connection_read(pair.client)),
		"bye");
	finish_pair(&pair);
}

static void test_tcp(void **state)
{
	talk(false);
}

static void test_pipe(void **state)
{
	talk(true);
}

/* More bytes than the kernel takes at once: they arrive in order, and the value is destroyed when
 * all are written. */
struct big {
	struct pair pair;
	unsigned char *bytes;
	size_t at;
	bool destroyed;
};

static void destroy_big(void *data)
{
	free(data);
}

static struct thrum_promise *read_on(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *compare(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;
	struct big *big = data;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < bytes->size; i++, big->at++)
		assert_int_equal((unsigned char)bytes->data[i], (unsigned char)(big->at * 7 >> 3));
	return read_on(loop, NULL, big);
}

static struct thrum_promise *read_on(struct thrum_loop *loop, void *value, void *data)
{
	struct big *big = data;

	return thrum_promise_bind(thrum_connection_read(big->pair.server), compare, big, NULL);
}

static void test_big(void **state)
{
	struct thrum_promise *write, *shutdown, *read;
	struct big big = {.at = 0};

	connect_pair(&big.pair, false);
	big.bytes = malloc(BIG);
	assert_non_null(big.bytes);
	for (size_t i = 0; i < BIG; i++)
		big.bytes[i] = (unsigned char)(i * 7 >> 3);
	write = thrum_connection_write(big.pair.client, thrum_value_own(big.bytes, destroy_big),
		BIG);
	shutdown = thrum_connection_shutdown(big.pair.client);
	read = read_on(big.pair.world.loop, NULL, &big);
	assert_int_equal(settle(read), 0);
	assert_int_equal(big.at, BIG);
	assert_int_equal(settle(write), 0);
	assert_int_equal(settle(shutdown), 0);
	finish_pair(&big.pair);
}

/* A connection that nobody reads from doesn't keep the loop alive. Bytes that come are there
 * later. */
static void test_idle(void **state)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *never;
	struct pair pair;

	connect_pair(&pair, false);
	never = thrum_promise_wait(pair.world.loop, NULL, &resolver);
	thrum_promise_unref(thrum_listener_close(pair.listener));
	assert_int_equal(settle(write_text(pair.client, "one")), 0);
	assert_reads(thrum_connection_read(pair.server), "one");
	assert_int_equal(settle(thrum_promise_ref(never)), -EDEADLK);
	assert_int_equal(settle(write_text(pair.client, "two")), 0);
	assert_int_equal(settle(thrum_promise_ref(never)), -EDEADLK);
	go_round(&pair.world, 3);
	assert_reads(thrum_connection_read(pair.server), "two");
	thrum_resolver_drop(resolver);
	thrum_promise_unref(never);
	thrum_promise_unref(thrum_connection_close(pair.client));
	thrum_promise_unref(thrum_connection_close(pair.server));
	world_finish(&pair.world);
}

/* Operations that are under way when a connection is closed fail; so do later ones. */
static void test_close(void **state)
{
	struct thrum_promise *read, *write, *close, *late[3];
	struct pair pair;

	connect_pair(&pair, true);
	read = thrum_connection_read(pair.client);
	/* Part of the data doesn't fit into the kernel's buffer. */
	write = thrum_connection_write(pair.client, thrum_value_own(calloc(1, BIG), free), BIG);
	close = thrum_connection_close(pair.client);
	assert_int_equal(code_of(read), -ECANCELED);
	late[0] = thrum_connection_read(pair.client);
	late[1] = write_text(pair.client, "late");
	late[2] = thrum_connection_shutdown(pair.client);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(code_of(late[i]), -ECANCELED);
		thrum_promise_unref(late[i]);
	}
	assert_int_equal(settle(close), 0);
	assert_int_equal(code_of(write), -ECANCELED);
	thrum_promise_unref(read);
	thrum_promise_unref(write);
	pair.client = NULL;
	finish_pair(&pair);
}

static void test_refused(void **state)
{
	struct thrum_listener *listener, *other = NULL;
	struct sockaddr_in address;
	struct thrum_promise *connect;
	struct world world;
	char path[300];

	world_init(&world);
	listener = listen_tcp(&world, &address);
	assert_int_equal(thrum_tcp_listen(world.loop, (struct sockaddr *)&address, 1, &other),
		-EADDRINUSE);
	assert_int_equal(settle(thrum_listener_close(listener)), 0);
	connect = settled(thrum_tcp_connect(world.loop, (struct sockaddr *)&address));
	assert_int_equal(code_of(connect), -ECONNREFUSED);
	assert_non_null(strstr(thrum_promise_failure(connect)->file, "uv_stream.c"));
	thrum_promise_unref(connect);
	assert_int_equal(settle(thrum_pipe_connect(world.loop, scratch("nobody"))), -ENOENT);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(settle(thrum_pipe_connect(world.loop, path)), -ENAMETOOLONG);
	assert_int_equal(thrum_pipe_listen(world.loop, path, 1, &other), -ENAMETOOLONG);
	assert_null(other);
	world_finish(&world);
}

/* Connections that come before an accept, and accepts that come before a connection. */
static void test_accept(void **state)
{
	struct thrum_promise *connect[3], *accept[4];
	struct thrum_listener *listener;
	struct sockaddr_in address;
	struct world world;

	world_init(&world);
	listener = listen_tcp(&world, &address);
	for (int i = 0; i < 3; i++)
		connect[i] = thrum_tcp_connect(world.loop, (struct sockaddr *)&address);
	assert_int_equal(settle(thrum_promise_ref(connect[2])), 0);
	go_round(&world, 3);
	for (int i = 0; i < 4; i++)
		accept[i] = thrum_listener_accept(listener);
	for (int i = 0; i < 3; i++)
		assert_int_equal(settle(thrum_promise_ref(accept[i])), 0);
	assert_int_equal(code_of(accept[3]), 1);
	thrum_promise_cancel(accept[3]);
	assert_int_equal(code_of(accept[3]), THRUM_CANCELED);
	thrum_promise_unref(accept[3]);
	accept[3] = thrum_listener_accept(listener);
	thrum_promise_unref(thrum_listener_close(listener));
	assert_int_equal(code_of(accept[3]), -ECANCELED);
	/* Values that nobody took close their connections. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(settle(connect[i]), 0);
		thrum_promise_unref(accept[i]);
	}
	thrum_promise_unref(accept[3]);
	world_finish(&world);
}

static void count_open(uv_handle_t *handle, void *count)
{
	*(int *)count += handle->type == UV_TCP && !uv_is_closing(handle);
}

/* A connection that nobody wants any more is closed at once. */
static void test_canceled_connect(void **state)
{
	struct thrum_listener *listener;
	struct sockaddr_in address;
	struct thrum_promise *connect;
	struct world world;
	int open;

	world_init(&world);
	listener = listen_tcp(&world, &address);
	for (int rounds = 0; rounds < 4; rounds++) {
		connect = thrum_tcp_connect(world.loop, (struct sockaddr *)&address);
		go_round(&world, rounds);
		thrum_promise_cancel(connect);
		if (rounds == 0)
			assert_int_equal(code_of(connect), THRUM_CANCELED);
		assert_int_not_equal(code_of(connect), 1);
		thrum_promise_unref(connect);
		open = 0;
		uv_walk(&world.uv, count_open, &open);
		assert_int_equal(open, 1);
	}
	thrum_promise_unref(thrum_listener_close(listener));
	world_finish(&world);
}

/* A loop that is destroyed with everything under way frees all of it. */
static void test_loop_ends(void **state)
{
	struct thrum_promise *promise[6];
	struct pair pair;
	struct sockaddr_in address;

	connect_pair(&pair, false);
	assert_int_equal(uv_ip4_addr("127.0.0.1", (int)thrum_listener_port(pair.listener),
				 &address),
		0);
	promise[0] = thrum_connection_read(pair.client);
	promise[1] = thrum_connection_write(pair.client, thrum_value_own(calloc(1, BIG), free),
		BIG);
	promise[2] = thrum_listener_accept(pair.listener);
	promise[3] = thrum_tcp_connect(pair.world.loop, (struct sockaddr *)&address);
	promise[4] = thrum_connection_close(pair.server);
	promise[5] = thrum_getaddrinfo(pair.world.loop, "127.0.0.1", "80", NULL);
	for (int i = 0; i < 6; i++)
		assert_int_equal(code_of(promise[i]), 1);
	world_finish(&pair.world);
}

static void test_getaddrinfo(void **state)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_family = AF_INET};
	struct thrum_promise *lookup;
	const struct addrinfo *found;
	struct world world;

	world_init(&world);
	lookup = settled(thrum_getaddrinfo(world.loop, "127.0.0.1", "80", &hints));
	found = thrum_promise_value(lookup);
	assert_non_null(found);
	assert_int_equal(((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_port,
		htons(80));
	thrum_promise_unref(lookup);
	assert_int_equal(settle(thrum_getaddrinfo(world.loop, "no number", "80", &hints)),
		UV_EAI_NONAME);
	lookup = thrum_getaddrinfo(world.loop, "127.0.0.1", "80", &hints);
	thrum_promise_cancel(lookup);
	assert_int_equal(settle(lookup), THRUM_CANCELED);
	assert_int_equal(settle(thrum_getaddrinfo(world.loop, NULL, NULL, NULL)), -EINVAL);
	world_finish(&world);
}

static unsigned port_of(const struct thrum_connection *connection)
{
	struct sockaddr_in address;
	int size = sizeof(address);

	assert_int_equal(uv_tcp_getsockname((uv_tcp_t *)thrum_connection_uv(connection),
				 (struct sockaddr *)&address, &size),
		0);
	return ntohs(address.sin_port);
}

static void test_trace(void **state)
{
	const struct seen_task *connect, *handle, *read, *write, *listener, *accept;
	struct thrum_promise *promise;
	struct pair pair;
	struct seen seen;
	char label[64];
	unsigned port, client_port;

	record();
	connect_pair(&pair, false);
	port = thrum_listener_port(pair.listener);
	client_port = port_of(pair.client);
	promise = thrum_connection_read(pair.server);
	assert_int_equal(settle(write_text(pair.client, "hello")), 0);
	assert_reads(promise, "hello");
	finish_pair(&pair);
	seen = seen_all();
	snprintf(label, sizeof(label), "tcp connect 127.0.0.1:%u", port);
	connect = seen_task(&seen, THRUM_KIND_REQUEST, label);
	snprintf(label, sizeof(label), "tcp 127.0.0.1:%u", port);
	handle = seen_task(&seen, THRUM_KIND_HANDLE, label);
	snprintf(label, sizeof(label), "tcp listen 127.0.0.1:%u", port);
	listener = seen_task(&seen, THRUM_KIND_HANDLE, label);
	snprintf(label, sizeof(label), "tcp accept 127.0.0.1:%u", port);
	accept = seen_task(&seen, THRUM_KIND_REQUEST, label);
	/* The server's peer is the client, and the client's peer is the server. */
	snprintf(label, sizeof(label), "read 127.0.0.1:%u", client_port);
	read = seen_task(&seen, THRUM_KIND_REQUEST, label);
	snprintf(label, sizeof(label), "close 127.0.0.1:%u", client_port);
	seen_task(&seen, THRUM_KIND_REQUEST, label);
	snprintf(label, sizeof(label), "write 127.0.0.1:%u", port);
	write = seen_task(&seen, THRUM_KIND_REQUEST, label);
	assert_int_equal(handle->parent, connect->id);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, accept->id, listener->id), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, write->id, handle->id), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_RESOLVE, read->id, read->id), 1);
	for (size_t i = 0; i < seen.tasks; i++) {
		if (seen.task[i].kind == THRUM_KIND_THREAD)
			continue;
		assert_true(seen.task[i].file || seen.task[i].label[0]);
		assert_int_not_equal(seen.task[i].end, -1);
	}
	seen_free(&seen);
}

/* At both ends the name of a pipe is its path, also when recording begins later than the pipe. */
static void trace_pipe(bool records_later)
{
	struct thrum_promise *promise;
	struct pair pair;
	struct seen seen;
	char label[600];
	const char *path = scratch("socket");

	if (!records_later)
		record();
	connect_pair(&pair, true);
	if (records_later)
		record();
	promise = thrum_connection_read(pair.server);
	assert_int_equal(settle(write_text(pair.client, "hello")), 0);
	assert_reads(promise, "hello");
	assert_int_equal(settle(thrum_connection_shutdown(pair.client)), 0);
	finish_pair(&pair);
	seen = seen_all();
	for (int i = 0; i < 4; i++) {
		static const char *const words[] = {"read", "write", "shutdown", "close"};

		snprintf(label, sizeof(label), "%s %s", words[i], path);
		seen_task(&seen, THRUM_KIND_REQUEST, label);
	}
	seen_free(&seen);
}

static void test_trace_pipe(void **state)
{
	trace_pipe(false);
	trace_pipe(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_canceled_connect),
		cmocka_unit_test(test_loop_ends),
		cmocka_unit_test(test_getaddrinfo),
		cmocka_unit_test(test_trace),
		cmocka_unit_test(test_trace_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
