/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 700
 *   ask: why
 *   truth: The handler of "GET /exif/7" asks the metadata helper with a blocking read in the event loop (read_metadata); the helper waits for more input and never answers. So the loop is stuck, and the other requests that have arrived and the session timer never get a turn.
 *   culprit: GET /exif/7|read_metadata
 *   victim: GET /(index|album|thumb)|expire sessions
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

#define CLIENTS 4
#define ROUNDS 10

struct client {
	int fd, peer;
	char url[24];
	thrum_task request;
	struct client *next;
};

static struct client clients[CLIENTS];
static struct client *queue, **queue_end = &queue;
static int helper[2], served;
static bool torn;

/* The metadata helper wants a whole line. */
static void *helper_main(void *data)
{
	char line[64];
	size_t n = 0;
	ssize_t got;

	while ((got = read(helper[1], line + n, sizeof line - n)) > 0) {
		n += (size_t)got;
		if (line[n - 1] != '\n')
			continue;
		usleep(2000);
		if (write(helper[1], "f/2.8", 5) != 5)
			break;
		n = 0;
	}
	return data;
}

static void read_metadata(const char *name, char *answer)
{
	char line[48];
	int n = snprintf(line, sizeof line, "%s\n", name);

	/* the bug: the name of picture 7 is sent without the end of the line */
	if (torn && strchr(name, '7'))
		n--;
	if (write(helper[0], line, (size_t)n) != n || read(helper[0], answer, 16) < 0)
		perror("helper");
}

static void *visitors(void *data)
{
	static const char *const urls[CLIENTS] = {"GET /index", "GET /exif/%d", "GET /album",
		"GET /thumb/%d"};

	for (int round = 0; round < ROUNDS; round++) {
		char url[24], reply[8];

		for (int i = 0; i < CLIENTS; i++) {
			snprintf(url, sizeof url, urls[i], round);
			send(clients[i].peer, url, strlen(url), 0);
		}
		for (int i = 0; i < CLIENTS; i++)
			recv(clients[i].peer, reply, sizeof reply, 0);
		usleep(15000);
	}
	for (int i = 0; i < CLIENTS; i++)
		close(clients[i].peer);
	return data;
}

static bool on_request(struct client *client)
{
	ssize_t n = recv(client->fd, client->url, sizeof client->url - 1, 0);

	if (n <= 0)
		return false;
	client->url[n] = 0;
	client->request = thrum_task_create(THRUM_KIND_TASK, client->url);
	thrum_task_should_resolve(client->request);
	thrum_task_ready(client->request);
	client->next = NULL;
	*queue_end = client;
	queue_end = &client->next;
	return true;
}

static void serve(struct client *client)
{
	char answer[16] = "";

	THRUM_RUN (client->request) {
		if (!strncmp(client->url, "GET /exif/", 10))
			read_metadata(client->url + 10, answer);
		else
			usleep(300);
		served++;
		send(client->fd, "200", 3, 0);
		thrum_task_resolve(client->request);
	}
}

int main(int argc, char **argv)
{
	struct itimerspec often = {{0, 60000000}, {0, 60000000}};
	struct epoll_event events[8], add = {.events = EPOLLIN, .data.ptr = NULL};
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0), open = CLIENTS;
	thrum_task expire;
	pthread_t threads[2];
	uint64_t ticks;

	torn = argc > 1 && !strcmp(argv[1], "broken");
	socketpair(AF_UNIX, SOCK_STREAM, 0, helper);
	thrum_lane_name("web loop");
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &add);
	timerfd_settime(timer, 0, &often, NULL);
	expire = thrum_task_create(THRUM_KIND_TIMER, "expire sessions");
	thrum_task_due(expire, 60000000);
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
		clients[i].fd = ends[0];
		clients[i].peer = ends[1];
		add.data.ptr = &clients[i];
		epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &add);
	}
	pthread_create(&threads[0], NULL, helper_main, NULL);
	pthread_create(&threads[1], NULL, visitors, NULL);
	while (open) {
		int n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		epoll_wait(epoll, events, 1, -1);
		usleep(4000); /* let requests gather, for fewer wake-ups */
		n = epoll_wait(epoll, events, 8, 0);
		thrum_resume();
		for (int i = 0; i < n; i++) {
			struct client *client = events[i].data.ptr;

			if (!client) {
				THRUM_RUN (expire)
					if (read(timer, &ticks, 8) == 8)
						thrum_task_due(expire, 60000000);
			} else if (!on_request(client)) {
				epoll_ctl(epoll, EPOLL_CTL_DEL, client->fd, NULL);
				open--;
			}
		}
		while (queue) {
			struct client *client = queue;

			queue = client->next;
			if (!queue)
				queue_end = &queue;
			serve(client);
		}
	}
	thrum_task_cancel(expire);
	pthread_join(threads[1], NULL);
	shutdown(helper[0], SHUT_RDWR);
	pthread_join(threads[0], NULL);
	printf("%d served\n", served);
	return 0;
}
