/* SPDX-License-Identifier: ISC */
/*
 * After oven-sh/bun #38177 (usockets).
 *
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: After on_writable, us_dispatch_ready_poll takes away the interest in writing, unless a write has set
 *     last_write_failed. us_socket_write does that; us_socket_write2, for large messages, only re-arms the poll. When
 *     on_drain sends the next large message with it and not all is taken, the dispatch undoes the re-arm as soon as
 *     on_writable returns. The rest of the message is never written, and the client "download" waits for it.
 *   culprit: us_dispatch_ready_poll|us_socket_write2|on_drain|on_writable
 *   victim: download|read_message|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server of messages on libuv's polls, with two clients: "ticker" gets small ones, "download" also large ones. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <uv.h>

enum {
	LARGE = 200000,
	LARGE_FROM = 16384,
	SEND_BUFFER = 32768
};

struct wish {
	uint32_t size, count;
};

struct us_socket {
	uv_poll_t poll;
	int fd;
	bool last_write_failed;
	char *rest; /* what the kernel didn't take */
	size_t rest_size;
	struct wish wish;
};

static bool broken;
static uv_loop_t *loop;
static struct us_socket sockets[2];
static int messages_sent;

static void us_dispatch_ready_poll(uv_poll_t *poll, int status, int events);

/* ---- Sockets -------------------------------------------------------------------------------- */

static void us_poll_change(struct us_socket *socket, int events)
{
	uv_poll_start(&socket->poll, events, us_dispatch_ready_poll);
}

static size_t us_socket_write(struct us_socket *socket, const char *data, size_t size)
{
	ssize_t written = write(socket->fd, data, size);

	if (written < 0)
		written = 0;
	if ((size_t)written != size) {
		socket->last_write_failed = true;
		us_poll_change(socket, UV_READABLE | UV_WRITABLE);
	}
	return (size_t)written;
}

/* The same for a header and a payload. */
static size_t us_socket_write2(struct us_socket *socket, const char *header, size_t header_size,
	const char *payload, size_t payload_size)
{
	struct iovec parts[2] = {{(void *)header, header_size}, {(void *)payload, payload_size}};
	ssize_t written = writev(socket->fd, parts, 2);

	if (written < 0)
		written = 0;
	if ((size_t)written != header_size + payload_size) {
		if (!broken)
			socket->last_write_failed = true;
		us_poll_change(socket, UV_READABLE | UV_WRITABLE);
	}
	return (size_t)written;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void keep_rest(struct us_socket *socket, const char *data, size_t size)
{
	socket->rest = realloc(socket->rest, socket->rest_size + size + 1);
	memcpy(socket->rest + socket->rest_size, data, size);
	socket->rest_size += size;
}

static void send_message(struct us_socket *socket, uint32_t size)
{
	static char frame[sizeof(size) + LARGE];
	size_t written, all = sizeof(size) + size;

	memcpy(frame, &size, sizeof(size));
	memset(frame + sizeof(size), 'm', size);
	if (size < LARGE_FROM)
		written = us_socket_write(socket, frame, all);
	else
		written = us_socket_write2(socket, frame, sizeof(size), frame + sizeof(size), size);
	keep_rest(socket, frame + written, all - written);
	messages_sent++;
}

/* All that was to be sent is sent. */
static void on_drain(struct us_socket *socket)
{
	while (socket->wish.count > 0 && !socket->rest_size) {
		socket->wish.count--;
		send_message(socket, socket->wish.size);
	}
}

static void on_writable(struct us_socket *socket)
{
	size_t written = us_socket_write(socket, socket->rest, socket->rest_size);

	socket->rest_size -= written;
	memmove(socket->rest, socket->rest + written, socket->rest_size);
	if (!socket->rest_size)
		on_drain(socket);
}

/* Returns false when the client has gone. */
static bool on_data(struct us_socket *socket)
{
	if (read(socket->fd, &socket->wish, sizeof(socket->wish)) != sizeof(socket->wish))
		return false;
	on_drain(socket);
	return true;
}

static void us_dispatch_ready_poll(uv_poll_t *poll, int status, int events)
{
	struct us_socket *socket = poll->data;

	if (status < 0)
		return;
	if (events & UV_WRITABLE) {
		socket->last_write_failed = false;
		on_writable(socket);
		if (!socket->last_write_failed)
			us_poll_change(socket, UV_READABLE);
	}
	if (events & UV_READABLE && !on_data(socket)) {
		uv_poll_stop(poll);
		uv_close((uv_handle_t *)poll, NULL);
	}
}

/* ---- Clients -------------------------------------------------------------------------------- */

static bool read_message(int fd)
{
	static _Thread_local char buffer[LARGE];
	uint32_t size;

	return recv(fd, &size, sizeof(size), MSG_WAITALL) == sizeof(size) &&
		recv(fd, buffer, size, MSG_WAITALL) == (ssize_t)size;
}

static void ask(int fd, struct wish wish)
{
	if (write(fd, &wish, sizeof(wish)) != sizeof(wish))
		exit(2);
	while (wish.count--)
		if (!read_message(fd))
			exit(2);
}

static void *ticker(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "ticker");
	for (int i = 0; i < 100; i++) {
		ask(fd, (struct wish){.size = 300, .count = 2});
		usleep(20000);
	}
	close(fd);
	return NULL;
}

static void *download(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "download");
	for (int i = 0; i < 12; i++) {
		struct wish wish = {.size = 8000, .count = 40};

		if (i % 4 == 2)
			wish = (struct wish){.size = LARGE, .count = 1}; /* one large message */
		if (i == 8)
			wish = (struct wish){.size = LARGE, .count = 6}; /* several in a row */
		ask(fd, wish);
		usleep(30000);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const clients[2])(void *) = {ticker, download};
	static int ends[2][2];
	pthread_t threads[2];
	int size = SEND_BUFFER;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	loop = uv_default_loop();
	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]))
			return 2;
		fcntl(ends[i][0], F_SETFL, O_NONBLOCK);
		setsockopt(ends[i][0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		sockets[i].fd = ends[i][0];
		sockets[i].poll.data = &sockets[i];
		if (uv_poll_init(loop, &sockets[i].poll, ends[i][0]))
			return 2;
		us_poll_change(&sockets[i], UV_READABLE);
		if (pthread_create(&threads[i], NULL, clients[i], &ends[i][1]))
			return 2;
	}
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		free(sockets[i].rest);
	}
	printf("%d messages\n", messages_sent);
	return 0;
}
