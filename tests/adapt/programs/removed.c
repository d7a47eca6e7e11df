/* SPDX-License-Identifier: ISC */
/*
 * A loop that takes a connection out of its epoll, though the other end asks on. It knows nothing of thrum.
 * Where it hangs, SIGALRM ends it: without a handler, as threads whose calls a handler might end don't look.
 *
 * removed pair		the two ends are a pair of sockets
 * removed door		they are a connection, and the loop waits for others, too
 * removed ticking	the same as pair, but the loop also has a timer that comes often
 *
 * removed beside	the same as pair, but another thread sleeps again and again
 *
 * removed throttled	such a timer adds it again, but not once
 * removed asked	the other end asks for that over another pair, after a while, but not once
 *
 * With `fine`: the connection stays there, or comes back, once far later. Then these end, too:
 *
 * removed handed	another thread answers one question slowly, and adds the connection again
 * removed paused	a timer adds it again
 * removed resting	the same after far longer
 * removed child	the loop waits for what a child writes, and adds it again
 * removed doubled	the loop waits for the same connection by another descriptor
 * removed polled	a thread that sleeps again and again adds it after many rounds
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define SLOW 1300000 /* us: long enough to be looked at */
#define PAUSE 900    /* ms: as long as a timer may take */
#define LATE 90      /* turns of a timer */
#define WHILE 400000 /* us until it is asked */
#define NAP 20000    /* us between the rounds of another thread, */
#define NAPS 100     /* of which so many pass */

static bool is_fine;
static const char *name;
static int turns_away = -1;       /* until the connection comes back; -1: it is there, or doesn't */
static atomic_int naps_away = -1; /* the same in rounds of another thread */
static int set, ends[2], more[2], timer = -1, from_child = -1;

static bool is(const char *other)
{
	return strcmp(name, other) == 0;
}

static __attribute__((noinline, used)) void watch(int operation, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(set, operation, fd, &event))
		abort();
}

/* Its last call is a jump. */
void unwatch(int operation, int fd);
#if defined(__x86_64__)
__asm__(".text\n.type unwatch, @function\nunwatch:\n.cfi_startproc\njmp watch\n.cfi_endproc\n"
	".size unwatch, . - unwatch\n");
#else
void unwatch(int operation, int fd)
{
	watch(operation, fd);
}
#endif

static void make_timer(long ms)
{
	struct timespec one = {ms / 1000, ms % 1000 * 1000000};
	struct itimerspec time = {one, one};

	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(timer, 0, &time, NULL);
	watch(EPOLL_CTL_ADD, timer);
}

static void start_child(void)
{
	int both[2];

	if (pipe(both))
		abort();
	if (fork() == 0) {
		usleep(SLOW);
		_exit(write(both[1], "x", 1) != 1);
	}
	close(both[1]);
	watch(EPOLL_CTL_ADD, from_child = both[0]);
}

static void answer_question(void)
{
	if (send(ends[0], "!", 1, 0) != 1)
		abort();
}

static void *work_slowly(void *unused)
{
	usleep(SLOW);
	answer_question();
	watch(EPOLL_CTL_ADD, ends[0]);
	return unused;
}

/* Only sleeps, or adds the connection after many rounds. */
static void *nap(void *unused)
{
	for (;;) {
		usleep(NAP);
		if (is("beside") || atomic_load(&naps_away) < 0)
			continue;
		if (atomic_fetch_sub(&naps_away, 1) == 0) {
			answer_question();
			watch(EPOLL_CTL_ADD, ends[0]);
		}
	}
	return unused;
}

/* An x: it was wrong to leave the connection, or it comes back. */
static void leave_connection(void)
{
	static pthread_t worker;

	unwatch(EPOLL_CTL_DEL, ends[0]);
	if (is("handed"))
		pthread_create(&worker, NULL, work_slowly, NULL);
	else if (is("paused"))
		make_timer(PAUSE);
	else if (is("resting"))
		make_timer(4 * PAUSE);
	else if (is("child"))
		start_child();
	else if (is("doubled"))
		watch(EPOLL_CTL_ADD, dup(ends[0]));
	else if (is("polled"))
		atomic_store(&naps_away, NAPS);
}

/* A y is forgotten, or comes back late. */
static void throttle(char byte)
{
	watch(EPOLL_CTL_DEL, ends[0]);
	turns_away = byte == 'x' ? 1 : is_fine ? LATE : -1;
}

static void pass_turn(void)
{
	uint64_t ticks;

	if (read(timer, &ticks, sizeof ticks) < 0)
		abort();
	if (turns_away < 0 || turns_away-- > 0)
		return;
	answer_question();
	watch(EPOLL_CTL_ADD, ends[0]);
}

static void come_back(int fd)
{
	watch(EPOLL_CTL_DEL, fd);
	answer_question();
	watch(EPOLL_CTL_ADD, ends[0]);
}

/* The other end asks that the connection comes back. */
static void be_asked(void)
{
	char byte;

	if (recv(more[0], &byte, 1, 0) != 1)
		abort();
	answer_question();
	watch(EPOLL_CTL_ADD, ends[0]);
}

static void ask_after_a_while(char byte)
{
	if (!is("asked") || (byte != 'x' && !(byte == 'y' && is_fine)))
		return;
	usleep(WHILE);
	if (send(more[1], "!", 1, 0) != 1)
		abort();
}

/* Returns false at the end. */
static bool take_question(void)
{
	char byte;

	if (recv(ends[0], &byte, 1, MSG_DONTWAIT) != 1)
		return false;
	if (is("throttled") || is("asked")) {
		if (byte == 'a')
			answer_question();
		else if (is("asked"))
			watch(EPOLL_CTL_DEL, ends[0]);
		else
			throttle(byte);
		return true;
	}
	if (byte == 'x' &&
		(!is_fine || !(is("pair") || is("door") || is("ticking") || is("beside"))))
		leave_connection();
	if (byte != 'x' || is("pair") || is("door") || is("ticking") || is("beside") ||
		is("doubled"))
		answer_question();
	return true;
}

static void *serve(void *unused)
{
	struct epoll_event event;

	if (is("ticking") || is("throttled"))
		make_timer(10);
	watch(EPOLL_CTL_ADD, ends[0]);
	while (epoll_wait(set, &event, 1, -1) == 1) {
		if (event.data.fd == timer && (is("ticking") || is("throttled")))
			pass_turn();
		else if (event.data.fd == timer || event.data.fd == from_child)
			come_back(event.data.fd);
		else if (is("asked") && event.data.fd == more[0])
			be_asked();
		else if (!take_question())
			break;
	}
	return unused;
}

/* Asks the next question before the answer to the one before comes. */
static void *ask(void *unused)
{
	const char *questions = is("throttled") || is("asked") ? "aaxaxaxayaa" : "aaxaa";
	char byte;

	for (int i = 0; questions[i]; i++) {
		if (send(ends[1], &questions[i], 1, 0) != 1)
			abort();
		if (i > 0)
			ask_after_a_while(questions[i - 1]);
		if (i > 0 && recv(ends[1], &byte, 1, 0) != 1)
			abort();
		usleep(1000);
	}
	if (recv(ends[1], &byte, 1, 0) != 1)
		abort();
	shutdown(ends[1], SHUT_WR);
	return unused;
}

static void open_door(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	int door = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&address, length) || listen(door, 1) ||
		getsockname(door, (struct sockaddr *)&address, &length) ||
		connect(ends[1], (struct sockaddr *)&address, length))
		abort();
	ends[0] = accept(door, NULL, NULL);
	watch(EPOLL_CTL_ADD, door);
}

int main(int argc, char **argv)
{
	pthread_t server, client, napper;

	name = argc > 1 ? argv[1] : "";
	is_fine = argc > 2;
	if (!is_fine)
		end_after(6);
	set = epoll_create1(0);
	if (is("door") || is("doubled"))
		open_door();
	else
		socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	if (is("asked")) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, more);
		watch(EPOLL_CTL_ADD, more[0]);
	}
	pthread_create(&server, NULL, serve, NULL);
	pthread_create(&client, NULL, ask, NULL);
	if (is("beside") || is("polled"))
		pthread_create(&napper, NULL, nap, NULL);
	pthread_join(client, NULL);
	pthread_join(server, NULL);
	return 0;
}
