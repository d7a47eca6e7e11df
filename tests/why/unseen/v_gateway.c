/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 700
 *   ask: why
 *   truth: the handler of "POST /upload" reads the body with a blocking read in the event loop's thread; that client sent half of it and then nothing. "GET /quote" would get its answer from the backend, but the loop never looks at it.
 *   culprit: POST /upload
 *   victim: GET /quote|quotes backend
 * case: healthy
 *   args: healthy
 *   run: stop 700
 *   ask: why
 *   culprit: nothing
 */
/* An HTTP gateway with its own epoll loop. Requests report themselves to thrum, nothing else does. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define BODY 4096

struct exchange {
	int fd;
	bool backend; /* else a client */
	thrum_task task;
};

static struct exchange *asked[64]; /* quotes that the backend owes us */
static unsigned asked_in, asked_out;
static struct exchange backend_side;
static int epoll_fd, server_ends[5], client_ends[5], backend_end;
static bool slow_client;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void on_upload(struct exchange *client)
{
	char body[BODY];
	size_t have = 0;

	client->task = thrum_task_create(THRUM_KIND_TASK, "POST /upload");
	thrum_task_should_resolve(client->task);
	THRUM_RUN (client->task) {
		while (have < BODY) {
			ssize_t n = read(client->fd, body + have, BODY - have);

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0) {
				thrum_task_fail(client->task, "connection lost");
				return;
			}
			have += (size_t)n;
		}
		if (write(client->fd, "2", 1) == 1)
			thrum_task_resolve(client->task);
	}
}

static void on_quote(struct exchange *client)
{
	client->task = thrum_task_create(THRUM_KIND_TASK, "GET /quote");
	thrum_task_should_resolve(client->task);
	THRUM_RUN (client->task) {
		asked[asked_in++ % 64] = client;
		if (write(backend_side.fd, "?", 1) != 1)
			thrum_task_fail(client->task, "backend");
	}
}

static void on_client(struct exchange *client)
{
	char verb;

	if (read(client->fd, &verb, 1) != 1) {
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, client->fd, NULL);
		return;
	}
	switch (verb) {
	case 'P': on_upload(client); break;
	case 'G': on_quote(client); break;
	case 'E': /* a long poll: answered when something happens, and nothing does */
		client->task = thrum_task_create(THRUM_KIND_TASK, "GET /events");
		break;
	}
}

static void on_backend(void)
{
	struct exchange *client;
	char quote;

	if (read(backend_side.fd, &quote, 1) != 1 || asked_in == asked_out)
		return;
	client = asked[asked_out++ % 64];
	THRUM_RUN (client->task) {
		if (write(client->fd, &quote, 1) == 1)
			thrum_task_resolve(client->task);
	}
}

/* ---- The world outside ------------------------------------------------------------------------ */

static void *quotes_backend(void *unused)
{
	char question;

	while (read(backend_end, &question, 1) == 1) {
		pause_ms(12);
		if (write(backend_end, "4", 1) != 1)
			break;
	}
	return NULL;
}

static void *browser(void *data)
{
	int fd = *(int *)data;
	char reply;

	for (int i = 0; i < 16; i++) {
		if (write(fd, "G", 1) != 1 || read(fd, &reply, 1) != 1)
			break;
		pause_ms(3);
	}
	return NULL;
}

static void *uploader(void *data)
{
	int fd = *(int *)data;
	char body[BODY], reply;

	memset(body, 'b', sizeof(body));
	for (int i = 0; i < 3; i++) {
		pause_ms(55);
		if (write(fd, "P", 1) != 1)
			break;
		if (slow_client && i == 1) {
			if (write(fd, body, BODY / 2) < 0)
				break;
			for (;;)
				pause(); /* out of coverage */
		}
		if (write(fd, body, BODY / 2) < 0)
			break;
		pause_ms(3);
		if (write(fd, body, BODY / 2) < 0 || read(fd, &reply, 1) != 1)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct exchange clients[5];
	pthread_t thread;

	slow_client = argc > 1 && !strcmp(argv[1], "broken");
	epoll_fd = epoll_create1(0);
	for (int i = 0; i < 5; i++) {
		int ends[2];
		struct exchange *exchange = i == 4 ? &backend_side : &clients[i];
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = exchange};

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		exchange->fd = server_ends[i] = ends[0];
		exchange->backend = i == 4;
		client_ends[i] = ends[1];
		epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ends[0], &event);
	}
	backend_end = client_ends[4];
	pthread_create(&thread, NULL, quotes_backend, NULL);
	pthread_create(&thread, NULL, browser, &client_ends[0]);
	pthread_create(&thread, NULL, browser, &client_ends[1]);
	pthread_create(&thread, NULL, uploader, &client_ends[2]);
	if (write(client_ends[3], "E", 1) != 1)
		return 1;
	for (int idle = 0; idle < 6 || slow_client;) {
		struct epoll_event events[4];
		int count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(epoll_fd, events, 4, 100);
		thrum_resume();
		idle = count ? 0 : idle + 1;
		for (int i = 0; i < count; i++) {
			struct exchange *exchange = events[i].data.ptr;

			if (exchange->backend)
				on_backend();
			else
				on_client(exchange);
		}
	}
	puts("idle: bye");
	return 0;
}
