/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=thread upload_batch
 *   truth: For a batch of more than 1024 bytes upload_batch sends "Expect: 100-continue" and waits for the server's word
 *     before the body. This server doesn't know the header and never says it, so await_continue waits for its whole
 *     time-out of 600 ms.
 *   culprit: await_continue|poll
 *   victim: serve_batches|collector
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about uploads with curl that take a second longer. A household's meter sends its readings in batches
 * by HTTP. The server is a thread of the same program.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const size_t batches[] = {200, 320, 180, 2400, 260, 300};
#define BATCHES (sizeof(batches) / sizeof(batches[0]))

static int listener;
static struct sockaddr_in address;
static bool polite; /* ask before a large body is sent */

/* ---- The collector: the server ---- */

static bool read_head(int client, char *head, size_t size)
{
	size_t length = 0;

	while (length < size - 1 && read(client, head + length, 1) == 1) {
		head[++length] = '\0';
		if (length >= 4 && !strcmp(head + length - 4, "\r\n\r\n"))
			return true;
	}
	return false;
}

static void skip_body(int client, size_t size)
{
	char part[512];
	ssize_t done;

	while (size > 0) {
		done = read(client, part, size < sizeof(part) ? size : sizeof(part));
		if (done <= 0)
			return;
		size -= (size_t)done;
	}
}

static void *serve_batches(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < BATCHES; i++) {
		int client = accept(listener, NULL, NULL);
		char head[512], *field;

		if (client < 0)
			break;
		if (read_head(client, head, sizeof(head))) {
			field = strstr(head, "Content-Length: ");
			skip_body(client, field ? strtoul(field + 16, NULL, 10) : 0);
			dprintf(client, "HTTP/1.1 204 No Content\r\n\r\n");
		}
		close(client);
	}
	return NULL;
}

/* ---- The meter ---- */

/* The server should say that it wants the body. Old servers say nothing; then the body is sent all the same. */
static void await_continue(int server)
{
	struct pollfd ready = {.fd = server, .events = POLLIN};
	char head[512];

	if (poll(&ready, 1, 600) == 1)
		read_head(server, head, sizeof(head));
}

static bool send_body(int server, size_t size)
{
	char *body = calloc(1, size);
	bool good;

	if (!body)
		return false;
	memset(body, '7', size);
	good = write(server, body, size) == (ssize_t)size;
	free(body);
	return good;
}

static void *upload_batch(void *data)
{
	size_t size = *(const size_t *)data;
	bool expect = polite && size > 1024;
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char head[512];

	if (connect(server, (struct sockaddr *)&address, sizeof(address))) {
		perror("connect");
		close(server);
		return NULL;
	}
	dprintf(server, "POST /readings HTTP/1.1\r\nContent-Length: %zu\r\n%s\r\n", size,
		expect ? "Expect: 100-continue\r\n" : "");
	if (expect)
		await_continue(server);
	if (!send_body(server, size) || !read_head(server, head, sizeof(head)))
		fprintf(stderr, "a batch is lost\n");
	close(server);
	return NULL;
}

int main(int argc, char **argv)
{
	socklen_t length = sizeof(address);
	pthread_t collector, uploader;

	polite = argc > 1 && !strcmp(argv[1], "broken");
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 8) ||
		getsockname(listener, (struct sockaddr *)&address, &length))
		return 1;
	pthread_create(&collector, NULL, serve_batches, NULL);
	pthread_setname_np(collector, "collector");
	for (size_t i = 0; i < BATCHES; i++) {
		pthread_create(&uploader, NULL, upload_batch, (void *)&batches[i]);
		pthread_join(uploader, NULL);
	}
	pthread_join(collector, NULL);
	close(listener);
	return 0;
}
