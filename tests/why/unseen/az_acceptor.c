/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: accept_pause takes the listener out of the epoll set when all places are taken; connection_drop
 *     gives a place back without accept_resume, and connection_finish resumes only if all places were taken;
 *     so the listener stays out, and the clients wait in the backlog for ever
 *   culprit: accept_pause|connection_drop
 *   victim: client|listener
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small server on epoll with a limit on connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PLACES 3
#define CLIENTS 6
#define REQUESTS 12

struct connection {
	int socket;
	bool has_request;
	long due; /* when the answer is ready, in ms */
	char request[32];
};

static struct connection connections[PLACES];
static int connection_count;
static int listener;
static int epoll;
static bool is_paused;
static bool resume_on_drop;
static int served;
static int dropped;
static struct sockaddr_in address;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *client(void *data)
{
	int number = *(int *)data;
	char answer[32];

	for (int i = 0; i < REQUESTS; i++) {
		int socket_ = socket(AF_INET, SOCK_STREAM, 0);
		bool is_bad = (number + i) % 5 == 4;

		if (connect(socket_, (struct sockaddr *)&address, sizeof(address)))
			perror("connect");
		if (write(socket_, is_bad ? "???" : "GET", 3) != 3)
			perror("write");
		while (read(socket_, answer, sizeof(answer)) > 0)
			continue;
		close(socket_);
	}
	return NULL;
}

__attribute__((noinline)) static void accept_pause(void)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, listener, NULL);
	is_paused = true;
}

__attribute__((noinline)) static void accept_resume(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};

	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	is_paused = false;
}

static void connection_close(struct connection *connection)
{
	close(connection->socket);
	connection->socket = -1;
	connection_count--;
}

/* The request was answered. */
static void connection_finish(struct connection *connection)
{
	if (write(connection->socket, "200 OK\n", 7) != 7)
		perror("write");
	connection_close(connection);
	served++;
	if (is_paused && connection_count == PLACES - 1)
		accept_resume();
}

/* The request makes no sense. */
__attribute__((noinline)) static void connection_drop(struct connection *connection)
{
	connection_close(connection);
	dropped++;
	if (resume_on_drop && is_paused)
		accept_resume();
}

static void on_connection(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	if (socket < 0)
		return;
	for (int i = 0; i < PLACES; i++) {
		if (connections[i].socket >= 0)
			continue;
		connections[i] = (struct connection){.socket = socket};
		event.data.ptr = &connections[i];
		epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
		break;
	}
	if (++connection_count == PLACES)
		accept_pause();
}

static void on_request(struct connection *connection)
{
	ssize_t size = read(connection->socket, connection->request, sizeof(connection->request));

	if (size < 0 && errno == EAGAIN)
		return;
	if (size < 3 || memcmp(connection->request, "GET", 3)) {
		connection_drop(connection);
		return;
	}
	connection->has_request = true;
	connection->due = now_ms() + 4;
}

/* Answers what is ready. Returns how long to sleep. */
static int answer_ready(void)
{
	int timeout = -1;

	for (int i = 0; i < PLACES; i++) {
		if (connections[i].socket < 0 || !connections[i].has_request)
			continue;
		if (connections[i].due <= now_ms())
			connection_finish(&connections[i]);
		else
			timeout = 2;
	}
	return timeout;
}

static void serve(void)
{
	struct epoll_event events[PLACES + 1];

	while (served + dropped < CLIENTS * REQUESTS) {
		int timeout = answer_ready();
		int count = 0;

		if (served + dropped < CLIENTS * REQUESTS)
			count = epoll_wait(epoll, events, PLACES + 1, timeout);
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr)
				on_request(events[i].data.ptr);
			else if (!is_paused)
				on_connection();
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS];
	int numbers[CLIENTS];
	socklen_t size = sizeof(address);

	resume_on_drop = argc < 2 || strcmp(argv[1], "broken") != 0;
	for (int i = 0; i < PLACES; i++)
		connections[i].socket = -1;
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 64))
		return 1;
	getsockname(listener, (struct sockaddr *)&address, &size);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	accept_resume();
	for (int i = 0; i < CLIENTS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, client, &numbers[i]);
		pthread_setname_np(threads[i], "client");
	}
	serve();
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	close(listener);
	close(epoll);
	printf("%d served, %d dropped\n", served, dropped);
	return 0;
}
