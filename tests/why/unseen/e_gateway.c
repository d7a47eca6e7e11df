/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: the gateway's watch of the connection "backend inventory" is one-shot; after a partial reply it isn't
 *     armed again, so the rest of that reply and all later ones are never read. Requests to inventory hang.
 *   culprit: backend inventory|GET /inventory|on_readable
 *   victim: client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* apigw: an API gateway. Clients ask it for pages; it asks one of three backends, over a connection each. */
struct client {
	int number, turn;
	thrum_task task;
};
struct request {
	struct request *next;
	struct client *client;
	thrum_task task;
};
struct backend {
	const char *name;
	int fd, peer;
	thrum_task handle;
	char buffer[8];
	int filled;
	struct request *first, **last;
};
static struct backend backends[3] = {{.name = "backend users"}, {.name = "backend inventory"},
	{.name = "backend prices"}};
static int epoll_fd, running;
static bool rearm;

/* The other end of a connection: answers each 4-byte question with an 8-byte answer, some in two parts. */
static void *simulate_backend(void *data)
{
	struct backend *backend = data;
	char question[4];
	int count = 0;

	while (read(backend->peer, question, 4) == 4) {
		usleep(3000);
		if (++count % 9 == 0 && backend == &backends[1]) {
			if (write(backend->peer, "HEAD", 4) != 4)
				break;
			usleep(10000);
			if (write(backend->peer, "BODY", 4) != 4)
				break;
		} else if (write(backend->peer, "HEADBODY", 8) != 8)
			break;
	}
	return NULL;
}

static void arm(struct backend *backend, int how)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = backend};

	epoll_ctl(epoll_fd, how, backend->fd, &event);
}

static void ask(struct client *client)
{
	static const char *const paths[] = {"/users", "/inventory", "/prices"};
	struct backend *backend = &backends[(client->number + client->turn) % 3];
	struct request *request = calloc(1, sizeof *request);

	client->turn++;
	request->client = client;
	request->task = thrum_task_createf(THRUM_KIND_REQUEST, "GET %s #%d.%d",
		paths[backend - backends], client->number, client->turn);
	thrum_task_should_resolve(request->task);
	thrum_task_wait(request->task, backend->handle);
	thrum_task_wait(client->task, request->task);
	*backend->last = request;
	backend->last = &request->next;
	if (write(backend->fd, "ask\n", 4) != 4)
		thrum_task_fail(request->task, "write");
}

static void on_readable(struct backend *backend)
{
	struct request *request;
	struct client *client;
	ssize_t got = read(backend->fd, backend->buffer + backend->filled, 8 - backend->filled);

	if (got <= 0)
		return;
	backend->filled += got;
	if (backend->filled < 8) {
		if (rearm)
			arm(backend, EPOLL_CTL_MOD);
		return; /* the rest comes later */
	}
	backend->filled = 0;
	request = backend->first;
	backend->first = request->next;
	if (!backend->first)
		backend->last = &backend->first;
	client = request->client;
	THRUM_RUN (request->task) {
		thrum_task_read(request->task, backend->handle);
		thrum_task_resolve(request->task);
	}
	THRUM_RUN (client->task) {
		thrum_task_read(client->task, request->task);
		if (client->turn == 15) {
			thrum_task_resolve(client->task);
			running--;
		} else
			ask(client);
	}
	free(request);
	arm(backend, EPOLL_CTL_MOD);
}

int main(int argc, char **argv)
{
	struct client clients[4];

	rearm = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	epoll_fd = epoll_create1(0);
	for (int i = 0; i < 3; i++) {
		int ends[2];
		pthread_t thread;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		backends[i].fd = ends[0];
		backends[i].peer = ends[1];
		backends[i].last = &backends[i].first;
		backends[i].handle = thrum_task_create(THRUM_KIND_HANDLE, backends[i].name);
		arm(&backends[i], EPOLL_CTL_ADD);
		pthread_create(&thread, NULL, simulate_backend, &backends[i]);
	}
	thrum_task_create(THRUM_KIND_HANDLE, "listener :8080");
	for (int i = 0; i < 4; i++, running++) {
		clients[i] = (struct client){i, 0,
			thrum_task_createf(THRUM_KIND_TASK, "client %d", i)};
		THRUM_RUN (clients[i].task)
			ask(&clients[i]);
	}
	while (running) {
		struct epoll_event event;
		int n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epoll_fd, &event, 1, -1);
		thrum_resume();
		if (n == 1)
			on_readable(event.data.ptr);
	}
	thrum_stop();
	puts("apigw: done");
	return 0;
}
