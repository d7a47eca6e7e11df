/* SPDX-License-Identifier: ISC */
/*
 * A loop that leaves the rest of a long message, while a visitor goes on. Mostly its sockets are watched
 * for new data only (EPOLLET), and it reads once for each event. SIGALRM ends the program.
 *
 * edges thread	the uploader, which waits for the answer, and the visitor are threads
 * edges child	they are children, and a timer ticks
 * edges write	the uploader waits for room to write the rest
 * edges once	the watch (EPOLLONESHOT) isn't armed again after a part
 * edges removed	the watch is removed after a part
 * edges room	the rest of an answer isn't sent once there is room
 * edges sleeper	the loop has a thread of its own, and the first thread sleeps
 * edges doze	the same, but only for some seconds: then it may go on with the rest
 * edges beat	so it has, and the first thread makes one that naps while the loop works
 *
 * With "fine" it takes, or sends, all. These are well, too, and end by themselves:
 *
 * edges worker	the rest is left until a worker has done with the first part
 * edges helper	the same, and the loop makes the worker before the rest comes
 * edges busy	the same, and the worker got its work before the rest came
 * edges late	a timer that comes once reads on
 * edges limit	the end of a time limit of the loop does so
 * edges ticks	a timer reads on, a part each fifth time
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

#define PART 1024
#define TICKS 5   /* of 100 ms, after which another part is read */
#define WORKS 12  /* naps of 250 ms */
#define LATE 3000 /* ms */

static bool is_fine, is_child, is_once, is_removed, is_room, has_worker, has_ticks;
static bool is_busy, is_late, has_limit, has_helper;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static bool is_given;
static int64_t due; /* when the rest is to be read, in ms; 0: not set */
static size_t size = 3 * PART;
static int set, uploads[2], visits[2], timer, done;
static atomic_bool is_over;

/* ---- Clients ----------------------------------------------------------------------------------- */

static void ask(int fd, const char *message, size_t length)
{
	static __thread char answer[PART];
	size_t left = length > 1 && is_room ? PART * PART : 1;

	for (ssize_t sent; length > 0; message += sent, length -= (size_t)sent)
		if ((sent = write(fd, message, length)) <= 0)
			exit(1);
	for (ssize_t count; left > 0; left -= (size_t)count)
		if ((count = read(fd, answer, left < PART ? left : PART)) <= 0)
			exit(1);
}

static void *upload(void *unused)
{
	char *message = calloc(1, size);

	for (int i = 0; i < 4; i++) {
		ask(uploads[1], ".", 1);
		usleep(10000);
	}
	message[size - 1] = '.';
	ask(uploads[1], message, size);
	is_over = true;
	free(message);
	shutdown(uploads[1], SHUT_WR);
	return unused;
}

static void *visit(void *unused)
{
	for (int i = 0; is_child ? !is_fine || i < 10 : !is_over; i++) {
		ask(visits[1], ".", 1);
		usleep(20000);
	}
	shutdown(visits[1], SHUT_WR);
	return unused;
}

static void start(void *(*client)(void *), int own)
{
	pthread_t thread;

	if (!is_child) {
		pthread_create(&thread, NULL, client, NULL);
		return;
	}
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(own);
	client(NULL);
	_exit(0);
}

/* ---- The loop ---------------------------------------------------------------------------------- */

static void watch(int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	if (fd < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0)
		exit(1);
}

static void unwatch(int fd)
{
	epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL);
}

/* It has read a part only, or all of a message. */
static void watch_on(int fd, bool is_all)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};

	if (is_once && (is_all || is_fine))
		epoll_ctl(set, EPOLL_CTL_MOD, fd, &event);
	if (is_removed && !is_all && !is_fine)
		unwatch(fd);
}

static char answers[PART * PART];
static size_t unsent; /* of the long answer */

static void send_rest(void)
{
	ssize_t sent = 1;

	for (; unsent > 0 && sent > 0; unsent -= sent > 0 ? (size_t)sent : 0)
		sent = send(uploads[0], answers, unsent, MSG_DONTWAIT);
}

static void answer(int fd, bool is_long)
{
	if (is_long) {
		unsent = sizeof answers;
		send_rest();
	} else if (send(fd, answers, 1, MSG_DONTWAIT) != 1) {
		exit(1);
	}
}

/* Returns whether there may be more to read. */
static bool take(int fd, int *open)
{
	char part[PART];
	ssize_t count = recv(fd, part, sizeof part, MSG_DONTWAIT);
	bool is_all = count > 0 && part[count - 1] == '.';

	if (count == 0) {
		--*open;
		unwatch(fd);
	} else if (count > 0) {
		watch_on(fd, is_all);
	}
	if (is_all)
		answer(fd, is_room && count > 1);
	return count > 0;
}

static void *work(void *unused)
{
	uint64_t one = 1;

	pthread_mutex_lock(&lock);
	while (is_busy && !is_given)
		pthread_cond_wait(&has_work, &lock);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKS; i++)
		usleep(250000);
	if (write(done, &one, sizeof one) != sizeof one)
		exit(1);
	return unused;
}

static void *beat(void *unused)
{
	for (;;)
		usleep(50000);
	return unused;
}

static void give_work(void)
{
	pthread_mutex_lock(&lock);
	is_given = true;
	pthread_cond_signal(&has_work);
	pthread_mutex_unlock(&lock);
}

/* The milliseconds until the rest is to be read. */
static int left_of_time(void)
{
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = due - now.tv_sec * 1000 - now.tv_nsec / 1000000;
	return due == 0 ? -1 : left < 0 ? 0 : (int)left;
}

/* The first part of a long message was read. */
static void leave_rest(void)
{
	const struct itimerspec once = {{0, 0}, {LATE / 1000, 0}};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (is_late)
		timerfd_settime(timer, 0, &once, NULL);
	if (has_limit)
		due = now.tv_sec * 1000 + now.tv_nsec / 1000000 + LATE;
}

static void take_event(int fd, uint32_t events, int *open)
{
	static int ticks, parts;
	pthread_t worker;
	uint64_t count;
	bool is_more;

	if (fd == timer || fd == done) {
		if (read(fd, &count, sizeof count) == sizeof count)
			ticks++;
		if (has_ticks && ticks % TICKS == 0)
			take(uploads[0], open);
		while ((fd == done || is_late) && take(uploads[0], open))
			continue;
		return;
	}
	if (events & EPOLLOUT && is_fine)
		send_rest();
	do
		is_more = take(fd, open);
	while (is_fine && is_more);
	parts += fd == uploads[0];
	if (is_busy && parts == 1)
		give_work();
	if (fd == uploads[0] && parts == (has_worker ? 5 : has_helper ? 2 : 0))
		pthread_create(&worker, NULL, work, NULL);
	if (fd == uploads[0] && parts == 5)
		leave_rest();
}

static void run(int open)
{
	struct epoll_event event;
	int count;

	while (open > 0 && (count = epoll_wait(set, &event, 1, left_of_time())) >= 0) {
		if (count == 1)
			take_event(event.data.fd, event.events, &open);
		if (due != 0 && left_of_time() <= 0)
			for (due = 0; take(uploads[0], &open);)
				continue;
	}
	puts("done");
}

static void *serve(void *unused)
{
	(void)unused;
	run(2);
	exit(0);
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 100000000}, {0, 100000000}};
	const char *name = argc > 1 ? argv[1] : "";
	uint32_t events;
	pthread_t worker;

	is_fine = argc > 2;
	is_child = strcmp(name, "child") == 0;
	is_once = strcmp(name, "once") == 0;
	is_removed = strcmp(name, "removed") == 0;
	is_room = strcmp(name, "room") == 0;
	has_worker = strcmp(name, "worker") == 0;
	has_helper = strcmp(name, "helper") == 0;
	has_ticks = strcmp(name, "ticks") == 0;
	is_busy = strcmp(name, "busy") == 0;
	is_late = strcmp(name, "late") == 0;
	has_limit = strcmp(name, "limit") == 0;
	size = strcmp(name, "write") == 0 ? PART * PART : has_ticks ? 8 * PART : is_room ? 2 : size;
	end_after(
		is_fine || has_worker || has_helper || has_ticks || is_busy || is_late || has_limit
			? 60
			: 3);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, uploads) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, visits))
		return 1;
	start(upload, uploads[0]);
	start(visit, visits[0]);
	if (is_child) {
		close(uploads[1]);
		close(visits[1]);
	}
	set = epoll_create1(0);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	done = eventfd(0, EFD_NONBLOCK);
	events = is_once ? EPOLLONESHOT : is_removed ? 0 : is_room ? EPOLLOUT | EPOLLET : EPOLLET;
	watch(uploads[0], EPOLLIN | events);
	watch(visits[0], EPOLLIN | events);
	watch(done, EPOLLIN);
	if (is_child || has_ticks)
		timerfd_settime(timer, 0, &every, NULL);
	watch(timer, EPOLLIN);
	if (is_busy)
		pthread_create(&worker, NULL, work, NULL);
	if (strcmp(name, "sleeper") == 0 || strcmp(name, "beat") == 0 ||
		strcmp(name, "doze") == 0) {
		pthread_create(&worker, NULL, serve, NULL);
		usleep(20000);
		if (name[0] == 'b')
			pthread_create(&worker, NULL, beat, NULL);
		sleep(name[0] == 'd' ? 5 : 100);
		puts("done");
		exit(0);
	}
	run(2);
	return 0;
}
