/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: a handler of the event loop (thread quoted) reads from the exchange in fetch_upstream with a blocking read and without a timeout; the exchange says nothing, and the loop serves nobody any more.
 *   culprit: fetch_upstream|quoted
 *   victim: client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	CLIENTS = 3,
	ROUNDS = 12
};

static int exchange_socket, quote_socket;
static bool broken;
static int cached = 100;

static int tcp_listen(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(s, (struct sockaddr *)&address, sizeof address) || listen(s, 16))
		perror("listen");
	return s;
}

static int tcp_connect(int listener)
{
	struct sockaddr_in address;
	socklen_t size = sizeof address;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	getsockname(listener, (struct sockaddr *)&address, &size);
	if (connect(s, (struct sockaddr *)&address, size))
		perror("connect");
	return s;
}

/* The exchange answers twice, then the market closes. */
static void *exchange(void *data)
{
	for (int i = 0;; i++) {
		int s = accept(exchange_socket, NULL, NULL), price = 101 + i;

		if (s < 0)
			return data;
		if (i < 2) {
			if (write(s, &price, sizeof price) < 0)
				perror("exchange");
			close(s);
		}
	}
}

static int fetch_upstream(void)
{
	int s = tcp_connect(exchange_socket), price;
	struct timeval patience = {.tv_usec = 100000};

	if (!broken)
		setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (read(s, &price, sizeof price) == sizeof price)
		cached = price;
	close(s);
	return cached;
}

/* Answers a question: 'c' wants the cached price, 'f' a fresh one. */
static void on_readable(int s)
{
	char question;
	int price;

	if (read(s, &question, 1) != 1 && close(s) == 0)
		return;
	price = question == 'f' ? fetch_upstream() : cached;
	if (write(s, &price, sizeof price) < 0)
		perror("reply");
}

static void *serve(void *data)
{
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = quote_socket};

	epoll_ctl(epoll, EPOLL_CTL_ADD, quote_socket, &event);
	while (epoll_wait(epoll, &event, 1, -1) >= 0) {
		if (event.data.fd == quote_socket) {
			event.events = EPOLLIN;
			event.data.fd = accept(quote_socket, NULL, NULL);
			epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
		} else
			on_readable(event.data.fd);
	}
	return data;
}

static void *client(void *data)
{
	int s = tcp_connect(quote_socket), price;

	for (int i = 0; i < ROUNDS; i++) {
		bool fresh = data && i % 3 == 1;

		if (write(s, fresh ? "f" : "c", 1) != 1 ||
			read(s, &price, sizeof price) != sizeof price)
			break;
		usleep(20000);
	}
	close(s);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS], server, upstream;

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	exchange_socket = tcp_listen();
	quote_socket = tcp_listen();
	pthread_create(&upstream, NULL, exchange, NULL);
	pthread_setname_np(upstream, "exchange");
	pthread_create(&server, NULL, serve, NULL);
	pthread_setname_np(server, "quoted");
	for (int i = 0; i < CLIENTS; i++) {
		char name[16];

		snprintf(name, sizeof name, "client-%d", i);
		pthread_create(&threads[i], NULL, client, (void *)(intptr_t)(i == 1));
		pthread_setname_np(threads[i], name);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
