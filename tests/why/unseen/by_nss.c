/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: systemd issue #15316 and pull request #22552 ("fix nss deadlock between dbus-daemon and PID 1"): the
 *     manager, in on_name_owner_changed, calls the broker and waits in call_broker for its answer (get_connection_user). The
 *     broker, another process, waits meanwhile for the manager's answer to its look-up of a user, a request that lies unread
 *     in the manager's socket, as the manager's loop doesn't run. So the two processes wait for each other.
 *   culprit: call_broker|get_connection_user|on_name_owner_changed
 *   victim: on_users|on_clock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A manager of services, a message broker, and a client that brings up services one after the other: three processes.
 * The broker asks the manager for users; the manager asks the broker to whom a name belongs. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HELLO,
	WELCOME,
	NAME_OWNER_CHANGED,
	GET_CONNECTION_USER,
	CONNECTION_USER,
	LOOK_UP_USER,
	USER
};

struct message {
	int type;
	int user;
	char name[32];
};

static const char *const names[] = {"hostname1", "locale1", "login1", "timedate1", "PolicyKit1",
	"resolve1", "portable1"};
#define NAMES (sizeof names / sizeof *names)

static bool careful;

/* ---- All ---- */

static bool receive(int fd, struct message *message)
{
	return recv(fd, message, sizeof *message, MSG_WAITALL) == (ssize_t)sizeof *message;
}

static void transmit(int fd, int type, int user, const char *name)
{
	struct message message = {.type = type, .user = user};

	snprintf(message.name, sizeof message.name, "%s", name);
	if (send(fd, &message, sizeof message, MSG_NOSIGNAL) != (ssize_t)sizeof message)
		_exit(1);
}

/* ---- The client ---- */

static _Noreturn void run_client(int broker)
{
	struct message message;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < NAMES; i++) {
		usleep(100000);
		transmit(broker, HELLO, 100 + (int)i, names[i]);
		if (!receive(broker, &message))
			_exit(1);
	}
	_exit(0);
}

/* ---- The broker ---- */

/* The C library's getpwuid, which asks the manager about users that it has made up. */
static void look_up_user(int manager, struct message *message)
{
	transmit(manager, LOOK_UP_USER, message->user, message->name);
	do {
		if (!receive(manager, message))
			_exit(1);
	} while (message->type != USER);
}

static _Noreturn void run_broker(int bus, int users, int client)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		fd_set ready;
		struct message message;

		FD_ZERO(&ready);
		FD_SET(bus, &ready);
		FD_SET(client, &ready);
		if (select((bus > client ? bus : client) + 1, &ready, NULL, NULL, NULL) < 0)
			_exit(1);
		if (FD_ISSET(client, &ready)) {
			if (!receive(client, &message))
				_exit(0);
			transmit(bus, NAME_OWNER_CHANGED, message.user, message.name);
			usleep(20000); /* its policy */
			look_up_user(users, &message);
			transmit(client, WELCOME, message.user, message.name);
		} else if (FD_ISSET(bus, &ready)) {
			if (!receive(bus, &message))
				_exit(0);
			transmit(bus, CONNECTION_USER, message.user, message.name);
		}
	}
}

/* ---- The manager ---- */

static struct {
	int bus;
	int users;
	int clock;
	unsigned looks;
	unsigned answers;
	unsigned started;
} manager;

/* Only this service tells by a name on the bus that it is up. */
static bool has_bus_name(const char *name)
{
	return !strcmp(name, "PolicyKit1");
}

static void service_is_up(const struct message *message)
{
	if (message->user >= 0)
		manager.started++;
}

static void call_broker(int type, const char *name, struct message *answer)
{
	transmit(manager.bus, type, 0, name);
	if (!receive(manager.bus, answer))
		exit(1);
}

static void get_connection_user(const char *name, struct message *answer)
{
	call_broker(GET_CONNECTION_USER, name, answer);
}

static void on_name_owner_changed(const struct message *message)
{
	struct message answer;

	if (!has_bus_name(message->name))
		return;
	if (careful) {
		transmit(manager.bus, GET_CONNECTION_USER, 0, message->name);
		return;
	}
	get_connection_user(message->name, &answer);
	service_is_up(&answer);
}

static void on_bus(void)
{
	struct message message;

	if (!receive(manager.bus, &message))
		exit(0);
	if (message.type == NAME_OWNER_CHANGED)
		on_name_owner_changed(&message);
	else if (message.type == CONNECTION_USER)
		service_is_up(&message);
}

static void on_users(void)
{
	struct message message;

	if (!receive(manager.users, &message))
		exit(0);
	manager.answers++;
	transmit(manager.users, USER, message.user, message.name);
}

static void on_clock(void)
{
	unsigned long long count;

	if (read(manager.clock, &count, sizeof count) == (ssize_t)sizeof count)
		manager.looks++; /* at the services' watchdogs */
}

static void run_manager(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	const int fds[] = {manager.bus, manager.users, manager.clock};
	void (*const handlers[])(void) = {on_bus, on_users, on_clock};

	for (unsigned i = 0; i < 3; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

		epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event);
	}
	while (manager.answers < NAMES) {
		struct epoll_event events[3];
		int count = epoll_wait(epoll, events, 3, -1);

		for (int i = 0; i < count; i++)
			handlers[events[i].data.u32]();
	}
	close(epoll);
}

int main(int argc, char **argv)
{
	struct itimerspec interval = {{0, 50000000}, {0, 50000000}};
	struct message answer;
	int bus[2], users[2], clients[2];

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, bus) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, users) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, clients))
		return 1;
	if (!fork()) {
		close(bus[0]);
		close(users[0]);
		close(clients[0]);
		run_broker(bus[1], users[1], clients[1]);
	}
	close(bus[1]);
	close(users[1]);
	close(clients[1]);
	if (!fork()) {
		close(bus[0]);
		close(users[0]);
		run_client(clients[0]);
	}
	close(clients[0]);
	manager.bus = bus[0];
	manager.users = users[0];
	manager.clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(manager.clock, 0, &interval, NULL);
	for (int i = 0; i < 3; i++) /* those that are there already */
		get_connection_user("systemd1", &answer);
	run_manager();
	close(manager.bus);
	close(manager.users);
	while (wait(NULL) > 0)
		continue;
	printf("%u users, %u services\n", manager.answers, manager.started);
	return 0;
}
