/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=thread fetch_page
 *   truth: A fetch_page waits for its answer because the event loop runs the callback render_report for 250 ms.
 *   culprit: event_loop|evloop|render_report|report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about libevent's evhttp: if one request takes long in its callback, many others are delayed as long,
 * because they were accepted by the same event loop.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CLIENTS = 16
};

static int connections[CLIENTS + 1][2];
static bool broken;
static sem_t report_begins;
static pthread_t report_thread;

static void answer(int client)
{
	if (write(connections[client][1], "200", 3) != 3)
		perror("answer");
}

/* The database takes a quarter of a second. */
static void *render_report(void *unused)
{
	sem_post(&report_begins);
	usleep(250 * 1000);
	answer(CLIENTS);
	return unused;
}

static void *event_loop(void *unused)
{
	struct pollfd ready[CLIENTS + 1];
	int left = CLIENTS + 1;
	char request;

	pthread_setname_np(pthread_self(), "evloop");
	for (int i = 0; i <= CLIENTS; i++)
		ready[i] = (struct pollfd){.fd = connections[i][1], .events = POLLIN};
	while (left) {
		poll(ready, CLIENTS + 1, -1);
		for (int i = 0; i <= CLIENTS; i++) {
			if (!(ready[i].revents & POLLIN) || read(ready[i].fd, &request, 1) != 1)
				continue;
			ready[i].fd = -1;
			left--;
			if (i < CLIENTS)
				answer(i);
			else if (broken)
				render_report(NULL);
			else
				pthread_create(&report_thread, NULL, render_report, NULL);
		}
	}
	return unused;
}

static void *fetch_page(void *number)
{
	int fd = connections[(long)number][0];
	char text[4];

	if (write(fd, "G", 1) != 1 || read(fd, text, 3) != 3)
		perror("fetch");
	return NULL;
}

static void fetch_pages(long from, long to)
{
	pthread_t thread;

	for (; from < to; from++) {
		pthread_create(&thread, NULL, fetch_page, (void *)from);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	pthread_t loop;
	char text[4];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&report_begins, 0, 0);
	for (int i = 0; i <= CLIENTS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, connections[i]))
			return 1;
	pthread_create(&loop, NULL, event_loop, NULL);
	fetch_pages(0, CLIENTS / 2);
	if (write(connections[CLIENTS][0], "R", 1) != 1)
		return 1;
	sem_wait(&report_begins);
	fetch_pages(CLIENTS / 2, CLIENTS);
	if (read(connections[CLIENTS][0], text, 3) != 3)
		return 1;
	pthread_join(loop, NULL);
	if (!broken)
		pthread_join(report_thread, NULL);
	puts("all answered");
	return 0;
}
