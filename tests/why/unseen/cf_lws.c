/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: libwebsockets pull request #354 ("Handle pending SSL reads which would otherwise not trigger a POLLIN").
 *     ssl_read takes whole records from the socket, and service_fd hands on at most RX_BUFFER bytes of them. The rest
 *     in the SSL layer is noted (rx_pending), but service_loop polls the sockets without a look at that. A
 *     request with a giant header came in one record; the rest of it is no longer in the socket, so poll never
 *     reports it. The client of it, "giant", waits for its answer for ever; the others are served.
 *   culprit: service_loop|service_fd|ssl_read|thread server
 *   victim: thread giant|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A web server with one poll loop and an encrypting layer, and its clients. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 3
#define RX_BUFFER 512
#define RECORD 8192
#define KEY 0x5a

struct wsi {
	int fd;
	char record[RECORD]; /* decrypted, not yet handed on */
	size_t start, end;
	char header[RECORD];
	size_t header_size;
	unsigned served;
	bool rx_pending;
};

struct client {
	const char *name;
	int fd;
	unsigned requests;
	unsigned giant; /* the number of the request with large cookies, or 0 */
	unsigned answers;
	pthread_t thread;
};

static struct wsi wsis[CLIENTS];
static bool fixed;

/* ---- the encrypting layer ---- */

static void crypt_bytes(char *bytes, size_t size)
{
	while (size--)
		*bytes++ ^= KEY;
}

/* Returns up to `size` bytes, 0 at the end, or -1 with EAGAIN. */
static ssize_t ssl_read(struct wsi *wsi, char *buffer, size_t size)
{
	ssize_t count;

	if (wsi->start == wsi->end) {
		count = read(wsi->fd, wsi->record, sizeof(wsi->record));
		if (count <= 0)
			return count;
		crypt_bytes(wsi->record, (size_t)count);
		wsi->start = 0;
		wsi->end = (size_t)count;
	}
	if (size > wsi->end - wsi->start)
		size = wsi->end - wsi->start;
	memcpy(buffer, wsi->record + wsi->start, size);
	wsi->start += size;
	return (ssize_t)size;
}

static size_t ssl_pending(const struct wsi *wsi)
{
	return wsi->end - wsi->start;
}

static bool ssl_write(int fd, const char *text, size_t size)
{
	static __thread char record[RECORD];

	memcpy(record, text, size);
	crypt_bytes(record, size);
	return write(fd, record, size) == (ssize_t)size;
}

/* ---- the server ---- */

static void http_respond(struct wsi *wsi)
{
	static const char answer[] = "HTTP/1.1 200 OK\nContent-Length: 0\n\n";

	wsi->served++;
	wsi->header_size = 0;
	if (!ssl_write(wsi->fd, answer, strlen(answer)))
		exit(1);
}

/* Returns false when the connection has ended. */
static bool service_fd(struct wsi *wsi)
{
	char rx[RX_BUFFER];
	ssize_t count = ssl_read(wsi, rx, sizeof(rx));

	if (count <= 0)
		return count < 0 && errno == EAGAIN;
	if (wsi->header_size + (size_t)count > sizeof(wsi->header))
		return false;
	memcpy(wsi->header + wsi->header_size, rx, (size_t)count);
	wsi->header_size += (size_t)count;
	if (wsi->header_size >= 2 && !memcmp(wsi->header + wsi->header_size - 2, "\n\n", 2))
		http_respond(wsi);
	wsi->rx_pending = ssl_pending(wsi) > 0;
	return true;
}

static void *service_loop(void *arg)
{
	struct pollfd fds[CLIENTS];
	unsigned i, open = CLIENTS;
	int timeout;

	for (i = 0; i < CLIENTS; i++)
		fds[i] = (struct pollfd){.fd = wsis[i].fd, .events = POLLIN};
	while (open) {
		timeout = -1;
		for (i = 0; fixed && i < CLIENTS; i++) {
			if (fds[i].fd >= 0 && wsis[i].rx_pending)
				timeout = 0;
		}
		if (poll(fds, CLIENTS, timeout) < 0)
			exit(1);
		for (i = 0; i < CLIENTS; i++) {
			if (fds[i].fd < 0 || !(fds[i].revents || (fixed && wsis[i].rx_pending)))
				continue;
			if (!service_fd(&wsis[i])) {
				close(fds[i].fd);
				fds[i].fd = -1;
				open--;
			}
		}
	}
	return arg;
}

/* ---- clients ---- */

static size_t make_request(char *text, unsigned number, size_t cookies)
{
	size_t size = (size_t)sprintf(text, "GET /%u HTTP/1.1\nHost: localhost\nCookie: ", number);

	memset(text + size, 'a' + number % 26, cookies);
	size += cookies;
	memcpy(text + size, "\n\n", 2);
	return size + 2;
}

static void *run_client(void *arg)
{
	struct client *client = arg;
	char text[RECORD];
	unsigned i;

	for (i = 1; i <= client->requests; i++) {
		if (!ssl_write(client->fd, text,
			    make_request(text, i, i == client->giant ? 5000 : 20 + i % 300)))
			exit(1);
		if (read(client->fd, text, sizeof(text)) <= 0)
			exit(1);
		client->answers++;
		usleep(12000);
	}
	close(client->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct client clients[CLIENTS] = {
		{.name = "giant", .requests = 60, .giant = 41},
		{.name = "poller", .requests = 280},
		{.name = "reader", .requests = 240},
	};
	pthread_t server;
	unsigned i;
	int fds[2];

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	for (i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
			return 1;
		fcntl(fds[1], F_SETFL, O_NONBLOCK);
		clients[i].fd = fds[0];
		wsis[i].fd = fds[1];
	}
	pthread_create(&server, NULL, service_loop, NULL);
	pthread_setname_np(server, "server");
	for (i = 0; i < CLIENTS; i++) {
		pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
		pthread_setname_np(clients[i].thread, clients[i].name);
	}
	for (i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i].thread, NULL);
		printf("%s: %u answers\n", clients[i].name, clients[i].answers);
	}
	pthread_join(server, NULL);
	return 0;
}
