/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=query
 *   truth: every 250 ms reload_blocklist reads the whole list from a slow disk in the loop's own thread
 *     (load_list in "reload blocklist", 90 ms). The answers that come meanwhile aren't handled, so the
 *     queries of that time are slow.
 *   culprit: reload blocklist|reload_blocklist|load_list
 *   victim: query|upstream|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A resolver with a blocklist: an event loop, an upstream server (a thread), clients that ask. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define QUERIES 240
#define UPSTREAM_MS 20

struct question {
	int number;
	int64_t sent;
};

struct query {
	int number;
	thrum_task task;
	thrum_task upstream;
};

static struct {
	int epoll, client_timer, reload_timer, socket;
	int asked, answered, reloads;
	atomic_int list_entries;
	bool loads_aside;
	pthread_t loader;
	bool has_loader;
	struct query queries[QUERIES];
} resolver;

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

/* The upstream server: it answers each question after 20 ms. */
static void *run_upstream(void *data)
{
	int socket = *(int *)data;
	struct question question;
	int64_t left;

	thrum_lane_name("upstream server");
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (read(socket, &question, sizeof(question)) != sizeof(question))
			break;
		left = question.sent + UPSTREAM_MS * 1000 - now_us();
		if (left > 0)
			usleep((useconds_t)left);
		thrum_resume();
		if (write(socket, &question.number, sizeof(int)) != sizeof(int))
			break;
	}
	return NULL;
}

/* Reads the list, piece by piece, from a slow disk. */
static void load_list(void)
{
	int entries = 0;

	for (int piece = 0; piece < 9; piece++) {
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		usleep(10000);
		thrum_resume();
		entries += 1000;
	}
	atomic_store(&resolver.list_entries, entries);
}

static void *run_loader(void *data)
{
	thrum_task *reload = data;

	thrum_lane_name("loader");
	THRUM_RUN (*reload) {
		load_list();
		thrum_task_resolve(*reload);
	}
	free(reload);
	return NULL;
}

static void join_loader(void)
{
	if (resolver.has_loader)
		pthread_join(resolver.loader, NULL);
	resolver.has_loader = false;
}

static void reload_blocklist(void)
{
	thrum_task reload = thrum_task_create(THRUM_KIND_TASK, "reload blocklist");

	resolver.reloads++;
	if (resolver.loads_aside) {
		thrum_task *copy = malloc(sizeof(*copy));

		*copy = reload;
		join_loader();
		resolver.has_loader = pthread_create(&resolver.loader, NULL, run_loader, copy) == 0;
		return;
	}
	THRUM_RUN (reload) {
		load_list();
		thrum_task_resolve(reload);
	}
}

static void ask_upstream(struct query *query)
{
	struct question question = {query->number, now_us()};

	query->upstream = thrum_task_create(THRUM_KIND_REQUEST, "upstream");
	thrum_task_wait(query->task, query->upstream);
	if (write(resolver.socket, &question, sizeof(question)) != sizeof(question))
		thrum_task_fail(query->upstream, "write");
}

/* A client asks. */
static void on_client(void)
{
	struct query *query = &resolver.queries[resolver.asked];

	query->number = resolver.asked++;
	query->task = thrum_task_createf(THRUM_KIND_TASK, "query %d", query->number);
	thrum_task_should_resolve(query->task);
	THRUM_RUN (query->task)
		ask_upstream(query);
}

static void on_upstream(void)
{
	int number;

	while (recv(resolver.socket, &number, sizeof(number), MSG_DONTWAIT) == sizeof(number)) {
		struct query *query = &resolver.queries[number];

		THRUM_RUN (query->task) {
			thrum_task_resolve(query->upstream);
			thrum_task_read(query->task, query->upstream);
			resolver.answered++;
			thrum_task_resolve(query->task);
		}
	}
}

static void watch(int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	if (epoll_ctl(resolver.epoll, EPOLL_CTL_ADD, descriptor, &event))
		abort();
}

static int timer_every(long ms)
{
	struct itimerspec every = {{0, ms * 1000000}, {0, ms * 1000000}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	timerfd_settime(timer, 0, &every, NULL);
	watch(timer);
	return timer;
}

static void run_loop(void)
{
	while (resolver.answered < QUERIES) {
		struct epoll_event events[8];
		uint64_t ticks;
		int count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(resolver.epoll, events, 8, -1);
		thrum_resume();
		for (int i = 0; i < count; i++) {
			int descriptor = events[i].data.fd;

			if (descriptor == resolver.socket) {
				on_upstream();
				continue;
			}
			if (read(descriptor, &ticks, sizeof(ticks)) != sizeof(ticks))
				continue;
			if (descriptor == resolver.reload_timer)
				reload_blocklist();
			if (descriptor == resolver.client_timer)
				for (; ticks && resolver.asked < QUERIES; ticks--)
					on_client();
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t upstream;
	int ends[2];

	if (argc != 2 || thrum_start(NULL))
		return 2;
	resolver.loads_aside = strcmp(argv[1], "healthy") == 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	resolver.socket = ends[0];
	resolver.epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(resolver.socket);
	pthread_create(&upstream, NULL, run_upstream, &ends[1]);
	resolver.client_timer = timer_every(5);
	resolver.reload_timer = timer_every(250);
	run_loop();
	join_loader();
	thrum_stop();
	close(resolver.socket);
	pthread_join(upstream, NULL);
	printf("%d answers, %d reloads, %d entries\n", resolver.answered, resolver.reloads,
		atomic_load(&resolver.list_entries));
	return 0;
}
