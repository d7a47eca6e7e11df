/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow=GET /health
 *   truth: Head-of-line blocking: all requests share one connection, one after the other; a GET /health is queued behind GET /export.csv, which occupies the connection for a quarter of a second.
 *   culprit: export
 *   victim: GET /health
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* dashboard: polls a server over a keep-alive connection, one request at a time on each */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

struct request {
	struct request *next;
	const char *url;
	unsigned char work; /* the server's, in ms */
	thrum_task task;
};

struct connection {
	int fd, peer;
	struct request *first, **last;
	thrum_task handle, turn;
};

static struct connection connections[2];
static int finished;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *server(void *data)
{
	struct connection *c = data;
	unsigned char work;

	while (read(c->peer, &work, 1) == 1) {
		usleep(work * 1000);
		if (write(c->peer, "2", 1) != 1)
			break;
	}
	return NULL;
}

static void send_first(struct connection *c)
{
	THRUM_RUN (c->first->task) {
		thrum_lock_acquired(c->turn);
		thrum_task_wait(c->first->task, c->handle);
		if (write(c->fd, &c->first->work, 1) != 1)
			thrum_task_fail(c->first->task, "write");
	}
}

static void get(struct connection *c, const char *url, int work)
{
	struct request *request = calloc(1, sizeof(*request));

	request->url = url;
	request->work = work;
	request->task = thrum_task_create(THRUM_KIND_REQUEST, url);
	thrum_task_should_resolve(request->task);
	*c->last = request;
	c->last = &request->next;
	if (c->first == request)
		send_first(c);
	else
		thrum_task_wait(request->task, c->turn);
}

static void on_answer(struct connection *c)
{
	struct request *request = c->first;
	char answer;

	if (read(c->fd, &answer, 1) != 1)
		exit(1);
	THRUM_RUN (request->task) {
		thrum_task_read(request->task, c->handle);
		thrum_lock_released(c->turn);
		thrum_task_resolve(request->task);
	}
	finished++;
	c->first = request->next;
	if (!c->first)
		c->last = &c->first;
	else
		send_first(c);
	free(request);
}

int main(int argc, char **argv)
{
	bool slow = argc > 1 && !strcmp(argv[1], "slow");
	long next = now();
	pthread_t thread;
	int asked = 0;

	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		connections[i] = (struct connection){.fd = ends[0], .peer = ends[1]};
		connections[i].last = &connections[i].first;
		connections[i].handle = thrum_task_create(THRUM_KIND_HANDLE,
			i ? "conn bulk" : "conn main");
		connections[i].turn = thrum_task_create(THRUM_KIND_LOCK,
			i ? "turn bulk" : "turn main");
		pthread_create(&thread, NULL, server, &connections[i]);
	}
	while (finished < 20) {
		struct pollfd polled[] = {{connections[0].fd, POLLIN}, {connections[1].fd, POLLIN}};

		if (asked < 18 && now() >= next) {
			next += 30;
			get(&connections[0], "GET /health", 2);
			if (asked++ == 7)
				get(&connections[!slow], "GET /export.csv", 250);
			if (asked == 3)
				get(&connections[0], "GET /users", 8);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polled, 2, asked < 18 ? (int)(next > now() ? next - now() : 0) : -1);
		thrum_resume();
		for (int i = 0; i < 2; i++)
			if (polled[i].revents)
				on_answer(&connections[i]);
	}
	printf("dashboard: %d answers\n", finished);
	return 0;
}
