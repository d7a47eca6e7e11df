/* SPDX-License-Identifier: ISC */
/*
 * A loop writes to a pipe that it told not to block, and another process lets it block: O_NONBLOCK belongs to
 * the open file, which both have. It knows nothing of thrum. Where it hangs, SIGALRM ends it: without a
 * handler, as threads whose calls a handler might end don't look.
 *
 * let_block loop	nobody reads any more
 *
 * These end:
 *
 * let_block slow	the reader reads so slowly that the loop waits for a while, again and again
 * let_block own	the loop itself lets the pipe block, to write the last part
 * let_block plain	one who serves nobody else waits for the reader
 * let_block kept	nobody lets it block, and the reader rests for long
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define PART 4096
#define ROOM 65536   /* of a pipe */
#define ROUNDS 40    /* parts: more than it has room for */
#define LONG 1200000 /* us: long enough to be looked at */

static int ends[2];
static char bytes[PART];

static void set_blocking(bool is_blocking)
{
	int flags = fcntl(ends[1], F_GETFL);

	if (fcntl(ends[1], F_SETFL, is_blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) < 0)
		abort();
}

static void read_for_ever(const char *name)
{
	char part[PART];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ends[1]);
	if (strcmp(name, "loop") == 0)
		for (;;)
			pause();
	if (strcmp(name, "slow") != 0)
		usleep(LONG);
	while (read(ends[0], part, sizeof part) > 0)
		if (strcmp(name, "slow") == 0)
			usleep(20000);
	_exit(0);
}

static void let_block(void)
{
	pid_t child = fork();

	if (child == 0) {
		set_blocking(true);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static bool send_part(void)
{
	return write(ends[1], bytes, sizeof bytes) > 0 || errno != EAGAIN;
}

/* Sends a part each time that the timer comes, or tries to. */
static void run_loop(bool is_own)
{
	struct itimerspec every = {{0, 5000000}, {0, 5000000}};
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), set = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	uint64_t ticks;

	timerfd_settime(timer, 0, &every, NULL);
	epoll_ctl(set, EPOLL_CTL_ADD, timer, &event);
	for (int i = 0; i < ROUNDS; i++) {
		if (epoll_wait(set, &event, 1, -1) != 1 ||
			read(timer, &ticks, sizeof ticks) != sizeof ticks)
			abort();
		if (is_own && i == ROOM / PART)
			set_blocking(true);
		send_part();
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "loop";
	bool is_own = strcmp(name, "own") == 0;
	pid_t reader;

	end_after(20);
	if (pipe(ends) < 0)
		abort();
	set_blocking(false);
	reader = fork();
	if (reader == 0)
		read_for_ever(name);
	close(ends[0]);
	if (!is_own && strcmp(name, "kept") != 0)
		let_block();
	if (strcmp(name, "plain") == 0)
		for (int i = 0; i < ROUNDS; i++)
			send_part();
	else
		run_loop(is_own);
	close(ends[1]);
	waitpid(reader, NULL, 0);
	return 0;
}
