/* SPDX-License-Identifier: ISC */
/*
 * Threads that wait for another one's turn, by the argument. SIGALRM ends the program while they wait. With a
 * second argument, the turn never comes:
 *   poll     for room, which a thread makes when its poll() has waited long enough (it waits without a limit)
 *   timer    the same, with a timer that is a descriptor (it isn't armed any more)
 *   notice   for a notice, by a thread of the C library (by one of its own, which is the last)
 *   handler  for a pipe, to which only a signal's handler writes (there is none)
 *   child    for a child that runs (while it has a lock that another one needs)
 *   ring     for the one before in a ring, which works for the first time (it has left)
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

enum {
	ROOM = 6,
	TURNS = 5, /* fast ones, before the one in which the program ends */
	TURN = 30, /* ms */
	MEMBERS = 4
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER, turns[MEMBERS];
static int count, turn, ends[2];
static bool never;

static void rest(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&time, &time) != 0)
		;
}

static pthread_t start(void *(*run)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, data) != 0)
		kill(getpid(), SIGABRT);
	return thread;
}

/* ---- Room ------------------------------------------------------------------------------------ */

static void *put(void *data)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (count >= ROOM)
			pthread_cond_wait(&room, &lock);
		count++;
		pthread_mutex_unlock(&lock);
		rest(1);
	}
	return data;
}

static void wait_for_turn(bool is_timer, bool is_last)
{
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};
	struct itimerspec time = {.it_value = {is_last ? 3600 : 0, TURN * 1000000L}};
	uint64_t times;

	if (is_last && never)
		time = (struct itimerspec){.it_value = {0, 0}};
	if (is_timer && timerfd_settime(fd.fd, 0, &time, NULL) != 0)
		kill(getpid(), SIGABRT);
	if (poll(&fd, 1,
		    is_timer || (is_last && never) ? -1
			    : is_last              ? 3600000
						   : TURN) == 1 &&
		read(fd.fd, &times, sizeof times) != sizeof times)
		kill(getpid(), SIGABRT);
}

static void *make_room(void *is_timer)
{
	if (is_timer)
		ends[0] = timerfd_create(CLOCK_MONOTONIC, 0);
	else if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		kill(getpid(), SIGABRT);
	for (int i = 0;; i++) {
		if (i == TURNS)
			end_after(1);
		wait_for_turn(is_timer != NULL, i == TURNS);
		pthread_mutex_lock(&lock);
		count = 0;
		pthread_cond_broadcast(&room);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static pthread_t run_room(bool is_timer)
{
	pthread_t first = start(put, NULL);

	start(put, NULL);
	start(make_room, is_timer ? &lock : NULL);
	return first;
}

/* ---- A notice -------------------------------------------------------------------------------- */

static void *await(void *data)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&room, &lock);
	return data;
}

static void *give(void *data)
{
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&room);
	pthread_mutex_unlock(&lock);
	return data;
}

static void give_notice(union sigval value)
{
	give(value.sival_ptr);
	if (++turn == TURNS)
		end_after(1);
}

static void make_notices(void)
{
	struct sigevent notice = {.sigev_notify = SIGEV_THREAD,
		.sigev_notify_function = give_notice};
	struct itimerspec time = {{0, TURN * 1000000L}, {0, TURN * 1000000L}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &notice, &timer) != 0 ||
		timer_settime(timer, 0, &time, NULL) != 0)
		kill(getpid(), SIGABRT);
}

static pthread_t run_notice(void)
{
	pthread_t first = start(await, NULL);

	if (!never) {
		make_notices();
		return first;
	}
	rest(TURN);
	pthread_join(start(give, NULL), NULL);
	end_after(1);
	return first;
}

/* ---- A handler ------------------------------------------------------------------------------- */

static void tell(int number)
{
	(void)number;
	if (write(ends[1], "", 1) != 1)
		kill(getpid(), SIGABRT);
}

static void *reload(void *data)
{
	char byte;

	while (read(ends[0], &byte, 1) == 1)
		give(NULL);
	return data;
}

static pthread_t run_handler(void)
{
	struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
	pthread_t first;

	if (pipe(ends) != 0 || (!never && sigaction(SIGHUP, &action, NULL) != 0))
		kill(getpid(), SIGABRT);
	first = start(reload, NULL);
	start(await, NULL);
	end_after(1);
	return first;
}

/* ---- A ring ---------------------------------------------------------------------------------- */

static void *pass_on(void *data)
{
	int number = (int)(intptr_t)data;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (turn != number)
			pthread_cond_wait(&turns[number], &lock);
		pthread_mutex_unlock(&lock);
		if (number == 2)
			end_after(1);
		if (number == 2 && never)
			return NULL;
		rest(number == 2 ? 3600000 : TURN);
		pthread_mutex_lock(&lock);
		turn = (number + 1) % MEMBERS;
		pthread_cond_signal(&turns[turn]);
		pthread_mutex_unlock(&lock);
	}
}

static pthread_t run_ring(void)
{
	pthread_t first = start(pass_on, (void *)(intptr_t)(MEMBERS - 1));

	for (int i = 0; i < MEMBERS - 1; i++)
		start(pass_on, (void *)(intptr_t)i);
	return first;
}

/* ---- A child --------------------------------------------------------------------------------- */

static void *need_lock(void *data)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return data;
}

static void *run_child(void *data)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	if (never)
		pthread_mutex_lock(&lock);
	start(need_lock, NULL);
	if (waitpid(child, &status, 0) != child)
		kill(getpid(), SIGABRT);
	return data;
}

static pthread_t run_driver(void)
{
	end_after(1);
	return start(run_child, NULL);
}

static pthread_t run(const char *story)
{
	return strcmp(story, "poll") == 0       ? run_room(false)
		: strcmp(story, "timer") == 0   ? run_room(true)
		: strcmp(story, "notice") == 0  ? run_notice()
		: strcmp(story, "handler") == 0 ? run_handler()
		: strcmp(story, "child") == 0   ? run_driver()
						: run_ring();
}

int main(int argc, char **argv)
{
	never = argc > 2;
	for (int i = 0; i < MEMBERS; i++)
		pthread_cond_init(&turns[i], NULL);
	pthread_join(run(argc > 1 ? argv[1] : "poll"), NULL);
	return 0;
}
