/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the server watches each connection with EV_READ, without EV_PERSIST, and on_readable adds the
 *     event again after each request. If only a part of a line has come, it returns early and doesn't add
 *     it. So the rest of the line "define zebra" is never read, and its client waits for ever.
 *   culprit: on_readable
 *   victim: ask_words
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A dictionary: a server on libevent, and two clients that ask for words over connections of their own. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct client {
	struct event *readable;
	char line[256];
	size_t size;
};

static struct event_base *base;
static int adds_always;
static unsigned short port;
static int lookups;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void answer(int socket, struct client *client)
{
	char text[300];
	int size = snprintf(text, sizeof(text), "%.*s: a word\n", (int)client->size - 1,
		client->line);

	lookups++;
	if (write(socket, text, (size_t)size) != size)
		perror("write");
	client->size = 0;
}

static void on_readable(evutil_socket_t socket, short what, void *data)
{
	struct client *client = data;
	ssize_t size = read(socket, client->line + client->size,
		sizeof(client->line) - client->size);

	(void)what;
	if (size <= 0) {
		event_free(client->readable);
		close(socket);
		free(client);
		return;
	}
	client->size += (size_t)size;
	if (client->line[client->size - 1] != '\n') {
		if (adds_always)
			event_add(client->readable, NULL);
		return;
	}
	answer(socket, client);
	event_add(client->readable, NULL);
}

static void on_connection(evutil_socket_t listener, short what, void *data)
{
	struct client *client;
	int socket = accept(listener, NULL, NULL);

	(void)what;
	(void)data;
	if (socket < 0)
		return;
	client = calloc(1, sizeof(*client));
	if (!client)
		abort();
	client->readable = event_new(base, socket, EV_READ, on_readable, client);
	event_add(client->readable, NULL);
}

static int connect_to_server(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port};
	int socket_ = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(socket_, (struct sockaddr *)&address, sizeof(address)))
		abort();
	setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return socket_;
}

static void send_text(int socket, const char *text)
{
	if (write(socket, text, strlen(text)) != (ssize_t)strlen(text))
		perror("write");
}

/* Asks for one word after the other. The editor of words sends some as they are typed. */
static void *ask_words(void *data)
{
	static const char *const words[] = {"apple", "bear", "cloud", "door", "zebra"};
	const char *name = data;
	int socket = connect_to_server();
	char line[300];

	for (int i = 0;; i++) {
		const char *word = words[i % 5];

		if (i > 50 && word[0] == 'z') {
			send_text(socket, "define ");
			pause_ms(60);
			snprintf(line, sizeof(line), "%s\n", word);
		} else {
			snprintf(line, sizeof(line), "define %s\n", word);
		}
		send_text(socket, line);
		if (read(socket, line, sizeof(line)) <= 0)
			break;
		if (i % 100 == 99) {
			printf("%s: %d\n", name, i + 1);
			fflush(stdout);
		}
		pause_ms(4);
	}
	close(socket);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct event *incoming;
	pthread_t first, second;

	adds_always = argc > 1 && strcmp(argv[1], "broken") != 0;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 8) ||
		getsockname(listener, (struct sockaddr *)&address, &size))
		return 1;
	port = address.sin_port;
	base = event_base_new();
	incoming = event_new(base, listener, EV_READ | EV_PERSIST, on_connection, NULL);
	event_add(incoming, NULL);
	if (pthread_create(&first, NULL, ask_words, "first") ||
		pthread_create(&second, NULL, ask_words, "second"))
		return 1;
	event_base_dispatch(base);
	return 0;
}
