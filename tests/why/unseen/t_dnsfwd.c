/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The deadline timer of img.example never fires: on_deadline doesn't re-arm the timerfd for the next entry of the list after it has expired cdn.example. So the query isn't retried at the secondary. Culprit: the deadline of img.example (overdue); victim: the query.
 *   culprit: \bdeadline img\.example|deadline_fd|on_deadline
 *   victim: (query|ask).*img\.example
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define QUERIES 9
#define DEADLINE 100000000LL

struct query {
	const char *name;
	int id, attempt, done;
	long long due;
	thrum_task task, either, ask, deadline;
	struct query *next;
};

struct packet {
	int id, attempt;
};

static const char *names[QUERIES] = {"www.example", "mx.example", "api.example", "cdn.example",
	"img.example", "git.example", "doc.example", "ntp.example", "irc.example"};
static struct query queries[QUERIES];
static struct query *pending; /* sorted by deadline */
static int sockets[2], deadline_fd, client_fd, epoll_fd;
static int broken, asked, answered;
static thrum_task upstream[2], client_socket;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The resolvers of the provider. */
static void *resolvers(void *data)
{
	struct packet packet;

	while (read(sockets[1], &packet, sizeof(packet)) == sizeof(packet)) {
		if (packet.id < 0)
			break;
		if (packet.attempt == 0 && (packet.id == 3 || packet.id == 4))
			continue; /* UDP: lost */
		usleep(3000 + packet.id * 300);
		if (write(sockets[1], &packet, sizeof(packet)) < 0)
			break;
	}
	return NULL;
}

static void arm(long long due)
{
	struct itimerspec spec = {.it_value = {due / 1000000000, due % 1000000000}};

	timerfd_settime(deadline_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void send_query(struct query *query)
{
	struct packet packet = {query->id, query->attempt};
	struct query **place = &pending;

	query->ask = thrum_task_createf(THRUM_KIND_REQUEST, "ask %s %s",
		query->attempt ? "149.112.112.112" : "9.9.9.9", query->name);
	thrum_task_wait(query->ask, upstream[query->attempt]);
	query->deadline = thrum_task_createf(THRUM_KIND_TIMER, "deadline %s", query->name);
	thrum_task_due(query->deadline, DEADLINE);
	query->either = thrum_task_create(THRUM_KIND_CHOOSE, "answer or deadline");
	thrum_task_wait(query->either, query->ask);
	thrum_task_wait(query->either, query->deadline);
	thrum_task_wait(query->task, query->either);
	query->due = now() + DEADLINE;
	if (!pending)
		arm(query->due);
	while (*place)
		place = &(*place)->next;
	query->next = NULL;
	*place = query;
	if (write(sockets[0], &packet, sizeof(packet)) < 0)
		thrum_task_fail(query->ask, "write");
}

static void on_client(void)
{
	struct query *query = &queries[asked];

	query->id = asked;
	query->name = names[asked++];
	query->task = thrum_task_createf(THRUM_KIND_TASK, "query %s", query->name);
	thrum_task_should_resolve(query->task);
	THRUM_RUN (query->task)
		send_query(query);
}

static void on_reply(void)
{
	struct packet packet;
	struct query *query, **place = &pending;

	if (read(sockets[0], &packet, sizeof(packet)) != sizeof(packet))
		return;
	query = &queries[packet.id];
	THRUM_RUN (query->task) {
		while (*place && *place != query)
			place = &(*place)->next;
		if (*place)
			*place = query->next;
		thrum_task_read(query->ask, upstream[packet.attempt]);
		thrum_task_resolve(query->ask);
		thrum_task_cancel(query->deadline);
		thrum_task_resolve(query->either);
		thrum_task_read(query->task, query->either);
		query->done = 1;
		answered++;
		thrum_task_resolve(query->task);
	}
}

static void on_deadline(void)
{
	struct query *query;

	while ((query = pending) && query->due <= now()) {
		pending = query->next;
		THRUM_RUN (query->task) {
			thrum_task_resolve(query->deadline);
			thrum_task_cancel(query->ask);
			thrum_task_resolve(query->either);
			thrum_task_read(query->task, query->either);
			thrum_logf("%s: no answer, trying the secondary", query->name);
			query->attempt = 1;
			send_query(query);
		}
	}
	if (pending && !broken)
		arm(pending->due);
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 20000000}, {0, 20000000}};
	struct packet quit = {-1, 0};
	pthread_t thread;
	uint64_t count;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_lane_name("forwarder loop");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		return 1;
	epoll_fd = epoll_create1(0);
	deadline_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	client_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timerfd_settime(client_fd, 0, &every, NULL);
	upstream[0] = thrum_task_create(THRUM_KIND_HANDLE, "upstream 9.9.9.9");
	upstream[1] = thrum_task_create(THRUM_KIND_HANDLE, "upstream 149.112.112.112");
	client_socket = thrum_task_create(THRUM_KIND_HANDLE, "udp :53");
	watch(sockets[0]);
	watch(deadline_fd);
	watch(client_fd);
	pthread_create(&thread, NULL, resolvers, NULL);
	while (answered < QUERIES) {
		struct epoll_event event;
		int n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epoll_fd, &event, 1, -1);
		thrum_resume();
		if (n < 1)
			continue;
		if (event.data.fd == sockets[0])
			on_reply();
		else if (read(event.data.fd, &count, sizeof(count)) < 0)
			continue;
		else if (event.data.fd == deadline_fd)
			on_deadline();
		else if (asked < QUERIES)
			on_client();
	}
	if (write(sockets[0], &quit, sizeof(quit)) < 0)
		return 1;
	pthread_join(thread, NULL);
	thrum_stop();
	return 0;
}
