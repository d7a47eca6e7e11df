/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reload_hosts runs in the loop and posts an event for each host into the loop's own pipe, with a
 *          write that blocks. Only the same loop reads this pipe, so it blocks for ever once the pipe is
 *          full.
 *   culprit: send_event|reload_hosts
 *   victim: ask_lease|run_client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	CLIENTS = 3,
	LEASES = 60,
	HOSTS = 9000,
	EVENT_HOST = 1,
	EVENT_HOSTS = 2
};

struct event {
	int what, first, last;
};

struct watch {
	int fd;
	void (*ready)(struct watch *watch);
};

static bool broken;
static int poller, event_pipe[2], open_clients = CLIENTS;
static unsigned updated_hosts, granted, ticks;
static char hosts[HOSTS][20];

static void add_watch(struct watch *watch, int fd, void (*ready)(struct watch *))
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	*watch = (struct watch){fd, ready};
	epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

static void send_event(int what, int first, int last)
{
	struct event event = {what, first, last};

	if (write(event_pipe[1], &event, sizeof event) != sizeof event)
		perror("event");
}

static void on_event(struct watch *watch)
{
	struct event event;

	if (read(watch->fd, &event, sizeof event) != sizeof event)
		return;
	for (int host = event.first; host <= event.last; host++)
		updated_hosts += hosts[host][0] != 0;
}

/* SIGHUP: reads the file of hosts again; the records of the DNS are updated later, as events */
static void reload_hosts(void)
{
	for (int host = 0; host < HOSTS; host++) {
		snprintf(hosts[host], sizeof hosts[host], "10.1.%d.%d", host / 250, host % 250);
		if (broken)
			send_event(EVENT_HOST, host, host);
	}
	if (!broken)
		send_event(EVENT_HOSTS, 0, HOSTS - 1);
}

static void on_signal(struct watch *watch)
{
	struct signalfd_siginfo info;

	if (read(watch->fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGHUP)
		reload_hosts();
}

static void on_client(struct watch *watch)
{
	int wanted;

	if (read(watch->fd, &wanted, sizeof wanted) != sizeof wanted) {
		epoll_ctl(poller, EPOLL_CTL_DEL, watch->fd, NULL);
		open_clients--;
		return;
	}
	granted++;
	wanted += 0x0a010000;
	if (write(watch->fd, &wanted, sizeof wanted) != sizeof wanted)
		perror("lease");
	if (granted == CLIENTS * LEASES / 3)
		kill(getpid(), SIGHUP); /* as the administrator does */
}

static void on_tick(struct watch *watch)
{
	uint64_t count;

	if (read(watch->fd, &count, sizeof count) == sizeof count)
		ticks += count;
}

static int ask_lease(int fd, int wanted)
{
	int address = 0;

	if (write(fd, &wanted, sizeof wanted) != sizeof wanted ||
		read(fd, &address, sizeof address) != sizeof address)
		return 0;
	return address;
}

static void *run_client(void *data)
{
	int fd = *(int *)data;

	for (int i = 0; i < LEASES; i++) {
		if (!ask_lease(fd, i))
			perror("client");
		usleep(1000);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerspec each = {{0, 10000000}, {0, 10000000}};
	struct watch events, signals, timer, clients[CLIENTS];
	struct epoll_event ready[8];
	pthread_t threads[CLIENTS];
	int ends[CLIENTS][2];
	sigset_t set;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	poller = epoll_create1(EPOLL_CLOEXEC);
	if (pipe(event_pipe))
		return 2;
	add_watch(&events, event_pipe[0], on_event);
	add_watch(&signals, signalfd(-1, &set, SFD_CLOEXEC), on_signal);
	add_watch(&timer, timerfd_create(CLOCK_MONOTONIC, 0), on_tick);
	timerfd_settime(timer.fd, 0, &each, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends[i]))
			return 2;
		add_watch(&clients[i], ends[i][0], on_client);
		pthread_create(&threads[i], NULL, run_client, &ends[i][1]);
	}
	while (open_clients) {
		int count = epoll_wait(poller, ready, 8, -1);

		for (int i = 0; i < count; i++) {
			struct watch *watch = ready[i].data.ptr;

			watch->ready(watch);
		}
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	printf("%u leases, %u hosts, %u ticks\n", granted, updated_hosts, ticks);
	return granted == CLIENTS * LEASES && updated_hosts ? 0 : 1;
}
