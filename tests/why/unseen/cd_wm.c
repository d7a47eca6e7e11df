/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: i3 issue #1876 ("IPC busy/infinite loop"): a script disconnects after a message's header, without the ten
 *     bytes that the header promised. ipc_recv_message reads on until all bytes are there; at the end of the file
 *     read returns 0 each time, which it takes for nothing yet. So the window manager's only loop never leaves
 *     that function, at 100 % of a CPU, and answers nobody.
 *   culprit: ipc_recv_message|on_client
 *   victim: bar
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A window manager: clients send it commands by a socket. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define MAGIC "i3-ipc"
#define ROUNDS 30

struct __attribute__((packed)) header {
	char magic[6];
	uint32_t size;
	uint32_t type;
};

struct client {
	uv_poll_t poll;
	int fd;
};

static uv_loop_t loop;
static uv_timer_t tiler;
static uv_poll_t acceptor;
static int listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static bool fixed;
static int commands, frames, clients_left = 2;

/* ---- the window manager ---- */

static void on_closed(uv_handle_t *handle)
{
	struct client *client = handle->data;

	close(client->fd);
	free(client);
}

/* Reads a message. Returns its size; -2 if the client is gone, and -1 if it sends nonsense. */
static int ipc_recv_message(int fd, uint32_t *type, char *payload, size_t room)
{
	struct header header;
	size_t have = 0;
	ssize_t n;

	while (have < sizeof(header)) {
		n = read(fd, (char *)&header + have, sizeof(header) - have);
		if (n == 0)
			return -2;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		have += n > 0 ? (size_t)n : 0;
	}
	if (memcmp(header.magic, MAGIC, 6) || header.size > room)
		return -1;
	*type = header.type;
	have = 0;
	while (have < header.size) {
		n = read(fd, payload + have, header.size - have);
		if (n < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			return -1;
		}
		if (n == 0 && fixed)
			return -2;
		have += (size_t)n;
	}
	return (int)header.size;
}

static void on_client(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;
	struct header reply = {.magic = MAGIC};
	char payload[256];
	uint32_t type;

	(void)status, (void)events;
	if (ipc_recv_message(client->fd, &type, payload, sizeof(payload)) < 0) {
		uv_poll_stop(poll);
		uv_close((uv_handle_t *)poll, on_closed);
		return;
	}
	commands++;
	reply.type = type;
	if (write(client->fd, &reply, sizeof(reply)) != sizeof(reply))
		fprintf(stderr, "no reply\n");
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct client *client = calloc(1, sizeof(*client));

	(void)poll, (void)status, (void)events;
	client->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (client->fd < 0)
		exit(1);
	uv_poll_init(&loop, &client->poll, client->fd);
	client->poll.data = client;
	uv_poll_start(&client->poll, UV_READABLE, on_client);
}

static void on_frame(uv_timer_t *timer)
{
	if (++frames % 10 == 0) {
		printf("frame %d, %d commands\n", frames, commands);
		fflush(stdout);
	}
	if (!__atomic_load_n(&clients_left, __ATOMIC_ACQUIRE)) {
		uv_timer_stop(timer);
		uv_poll_stop(&acceptor);
	}
}

/* ---- clients ---- */

static int ipc_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		exit(1);
	return fd;
}

static void ipc_send(int fd, uint32_t type, const char *text, size_t sent)
{
	struct header header = {.magic = MAGIC, .size = (uint32_t)strlen(text), .type = type};

	if (write(fd, &header, sizeof(header)) < 0 || write(fd, text, sent) < 0)
		exit(1);
}

static void ipc_answer(int fd)
{
	struct header header;

	if (recv(fd, &header, sizeof(header), MSG_WAITALL) != sizeof(header))
		exit(1);
}

static void *bar(void *data)
{
	int fd = ipc_connect();
	int i;

	(void)data;
	for (i = 0; i < ROUNDS; i++) {
		ipc_send(fd, 1, "get_workspaces", 14);
		ipc_answer(fd);
		usleep(30000);
	}
	close(fd);
	__atomic_sub_fetch(&clients_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *script(void *data)
{
	int i, fd;

	(void)data;
	for (i = 0; i < 8; i++) {
		usleep(70000);
		fd = ipc_connect();
		if (i == 6) { /* it is stopped just now */
			ipc_send(fd, 0, "exec xterm", 0);
		} else {
			ipc_send(fd, 0, "exec xterm", 10);
			ipc_answer(fd);
		}
		close(fd);
	}
	__atomic_sub_fetch(&clients_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "wm-ipc-%d", (int)getpid());
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
		listen(listener, 8))
		return 1;
	uv_loop_init(&loop);
	uv_timer_init(&loop, &tiler);
	uv_timer_start(&tiler, on_frame, 16, 16);
	uv_poll_init(&loop, &acceptor, listener);
	uv_poll_start(&acceptor, UV_READABLE, on_connection);
	if (pthread_create(&threads[0], NULL, bar, NULL) ||
		pthread_create(&threads[1], NULL, script, NULL))
		return 1;
	pthread_setname_np(threads[0], "bar");
	pthread_setname_np(threads[1], "script");
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%d commands\n", commands);
	return 0;
}
