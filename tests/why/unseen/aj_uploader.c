/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: on_ack() signals the condition “window” only when the bytes under way are exactly LOW_WATER. An odd chunk
 *     of the file makes the sum skip that value, so that the window is never opened again, and send_chunks() waits for
 *     it for ever though all is acknowledged.
 *   culprit: window|on_ack
 *   victim: upload |main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Uploads files in chunks to a store, which acknowledges each chunk. At most HIGH_WATER bytes may be under way; then the
 * uploader pauses until the store has caught up. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <thrum/promise.h>

#define CHUNK 4096
#define HIGH_WATER (4 * CHUNK)
#define LOW_WATER CHUNK

struct store {
	struct thrum_listener *listener;
	struct thrum_connection *connection;
	char buffer[2 * HIGH_WATER];
	size_t used;
	char ack[16];
};

struct uploader {
	struct thrum_loop *loop;
	struct thrum_connection *connection;
	struct thrum_condition *window;
	unsigned in_flight;
	const unsigned *chunks; /* the file's chunks, ended by 0 */
	char line[64];
	size_t used;
};

static char zeros[CHUNK];

/* ---- The store: takes "SIZE\n" and as many bytes, and answers "SIZE\n" ------------------------- */

static struct thrum_promise *store_read(struct store *store);

static struct thrum_promise *store_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *send_ack(struct thrum_loop *loop, void *value, void *data)
{
	struct store *store = data;

	(void)loop, (void)value;
	return thrum_promise_bind(thrum_connection_write(store->connection,
					  thrum_value_static(store->ack), strlen(store->ack)),
		store_next, store, NULL);
}

/* Stores the next chunk in the buffer, or reads more. */
static struct thrum_promise *store_next(struct thrum_loop *loop, void *value, void *data)
{
	struct store *store = data;
	char *end = memchr(store->buffer, '\n', store->used);
	size_t size, whole;

	(void)value;
	if (!end)
		return store_read(store);
	size = strtoul(store->buffer, NULL, 10);
	whole = (size_t)(end + 1 - store->buffer) + size;
	if (store->used < whole)
		return store_read(store);
	snprintf(store->ack, sizeof store->ack, "%zu\n", size);
	memmove(store->buffer, store->buffer + whole, store->used - whole);
	store->used -= whole;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 10), "write to disk"),
		send_ack, store, NULL);
}

static struct thrum_promise *store_received(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	struct store *store = data;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	if (bytes->size > sizeof store->buffer - store->used)
		return thrum_promise_fail(loop, -EMSGSIZE, NULL);
	memcpy(store->buffer + store->used, bytes->data, bytes->size);
	store->used += bytes->size;
	return store_next(loop, NULL, store);
}

static struct thrum_promise *store_read(struct store *store)
{
	return thrum_promise_bind(thrum_connection_read(store->connection), store_received, store,
		NULL);
}

static struct thrum_promise *store_accepted(struct thrum_loop *loop, void *value, void *data)
{
	struct store *store = data;
	struct thrum_value taken;

	(void)value;
	if (!thrum_loop_take(loop, &taken))
		abort();
	store->connection = taken.data;
	return store_read(store);
}

static struct thrum_promise *run_store(struct thrum_loop *loop, void *data)
{
	struct store *store = data;

	(void)loop;
	return thrum_promise_bind(thrum_listener_accept(store->listener), store_accepted, store,
		NULL);
}

/* ---- The uploader ---------------------------------------------------------------------------- */

static void on_ack(struct uploader *uploader, unsigned size)
{
	uploader->in_flight -= size;
	if (uploader->in_flight == LOW_WATER)
		thrum_condition_broadcast(uploader->window, thrum_value_none());
}

static struct thrum_promise *read_acks(struct thrum_loop *loop, void *data);

static struct thrum_promise *parse_acks(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	struct uploader *uploader = data;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < bytes->size; i++) {
		if (bytes->data[i] != '\n') {
			uploader->line[uploader->used++ % sizeof uploader->line] = bytes->data[i];
			continue;
		}
		uploader->line[uploader->used % sizeof uploader->line] = '\0';
		uploader->used = 0;
		on_ack(uploader, (unsigned)strtoul(uploader->line, NULL, 10));
	}
	return read_acks(loop, uploader);
}

static struct thrum_promise *read_acks(struct thrum_loop *loop, void *data)
{
	struct uploader *uploader = data;

	(void)loop;
	return thrum_promise_bind(thrum_connection_read(uploader->connection), parse_acks, uploader,
		NULL);
}

static struct thrum_promise *send_chunks(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *send_chunk(struct uploader *uploader, unsigned size)
{
	char header[16], *text = malloc(sizeof header + CHUNK);
	int length = snprintf(header, sizeof header, "%u\n", size);

	if (!text)
		return NULL;
	memcpy(text, header, (size_t)length);
	memcpy(text + length, zeros, size);
	uploader->in_flight += size;
	return thrum_connection_write(uploader->connection, thrum_value_own(text, free),
		(size_t)length + size);
}

static struct thrum_promise *send_chunks(struct thrum_loop *loop, void *value, void *data)
{
	struct uploader *uploader = data;
	unsigned size = *uploader->chunks;

	(void)value;
	if (size == 0)
		return thrum_promise_return(loop, thrum_value_none());
	if (uploader->in_flight + size > HIGH_WATER)
		return thrum_promise_bind(thrum_condition_wait(uploader->window, NULL), send_chunks,
			uploader, NULL);
	uploader->chunks++;
	return thrum_promise_bind(send_chunk(uploader, size), send_chunks, uploader, NULL);
}

static struct thrum_promise *upload_connected(struct thrum_loop *loop, void *value, void *data)
{
	struct uploader *uploader = data;
	struct thrum_value taken;

	(void)value;
	if (!thrum_loop_take(loop, &taken))
		abort();
	uploader->connection = taken.data;
	thrum_promise_async(loop, "read acks", read_acks, uploader, NULL);
	return send_chunks(loop, NULL, uploader);
}

static struct thrum_promise *upload(struct uploader *uploader, const char *name, unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_promise *promise;

	promise = thrum_promise_bind(thrum_tcp_connect(uploader->loop, (struct sockaddr *)&address),
		upload_connected, uploader, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(promise, "upload %s", name));
}

int main(int argc, char **argv)
{
	/* A file with a hole has a short chunk before it. */
	static const unsigned whole[] = {CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, CHUNK,
		CHUNK, 0};
	static const unsigned with_hole[] = {CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, 1000, CHUNK,
		CHUNK, 0};
	bool broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct uploader uploader = {.chunks = broken ? with_hole : whole};
	static struct store store;
	uv_loop_t uv;
	int result;

	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &uploader.loop) ||
		thrum_tcp_listen(uploader.loop, (struct sockaddr *)&any, 8, &store.listener))
		return 2;
	uploader.window = thrum_condition_create(uploader.loop, "window");
	thrum_promise_async(uploader.loop, "store", run_store, &store, NULL);
	result = thrum_promise_run(upload(&uploader, broken ? "disk.img" : "photo.raw",
		thrum_listener_port(store.listener)));
	thrum_stop();
	printf("upload: %s\n", result ? thrum_promise_error_message(result) : "done");
	thrum_promise_unref(thrum_connection_close(uploader.connection));
	thrum_promise_unref(thrum_connection_close(store.connection));
	thrum_promise_unref(thrum_listener_close(store.listener));
	thrum_condition_destroy(uploader.window);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(uploader.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result != 0;
}
