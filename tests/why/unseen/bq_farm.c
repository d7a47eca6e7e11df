/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_child_signal takes one child for each SIGCHLD that it reads, but when several children end while the loop is busy, they
 *     leave one signal only. The other children stay zombies, their tiles count as running, and the next row never begins.
 *   culprit: on_child_signal|reap_child|SIGCHLD
 *   victim: run_loop|main\b|row_start
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Renders a picture row by row; each tile of a row is rendered by a child process. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROWS = 5,
	COLUMNS = 4
};

struct tile {
	pid_t process;
	bool is_running;
	bool is_done;
};

static struct tile tiles[ROWS][COLUMNS];
static int row;
static int running;
static bool takes_all;
static int seconds_tenth;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&time, &time) && errno == EINTR)
		continue;
}

static void render_tile(int tile_row, int column)
{
	double sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += (double)(i * (column + 1) % 97) / (tile_row + 1);
	pause_ms(20);
	_exit(sum < 0);
}

static void tile_start(struct tile *tile, int column)
{
	tile->process = fork();
	if (tile->process == 0)
		render_tile(row, column);
	if (tile->process < 0) {
		perror("fork");
		exit(1);
	}
	tile->is_running = true;
	running++;
}

/* The index tells viewers which rows they may fetch. It is small, but the disk is a network disk. */
static void write_index(void)
{
	pause_ms(row == 0 ? 1 : 150);
	printf("index: %d rows\n", row);
	fflush(stdout);
}

static void row_start(void)
{
	for (int column = 0; column < (row == 0 ? 1 : COLUMNS); column++)
		tile_start(&tiles[row][column], column);
	write_index();
}

static bool reap_child(void)
{
	int status;
	pid_t process = waitpid(-1, &status, WNOHANG);

	if (process <= 0)
		return false;
	for (int column = 0; column < COLUMNS; column++) {
		struct tile *tile = &tiles[row][column];

		if (tile->is_running && tile->process == process) {
			tile->is_running = false;
			tile->is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
			running--;
		}
	}
	return true;
}

static void on_child_signal(int descriptor)
{
	struct signalfd_siginfo info;

	if (read(descriptor, &info, sizeof(info)) != sizeof(info))
		return;
	while (reap_child() && takes_all)
		continue;
	if (running == 0 && ++row < ROWS)
		row_start();
}

static void on_tick(int descriptor)
{
	uint64_t ticks;

	if (read(descriptor, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	seconds_tenth += (int)ticks;
	fprintf(stderr, "%d.%d s: row %d, %d tiles running\n", seconds_tenth / 10,
		seconds_tenth % 10, row, running);
}

static void watch(int epoll, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void run_loop(int epoll, int signals, int timer)
{
	while (row < ROWS) {
		struct epoll_event events[4];
		int count = epoll_wait(epoll, events, 4, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == signals)
				on_child_signal(signals);
			else if (events[i].data.fd == timer)
				on_tick(timer);
		}
	}
}

int main(int count, char **arguments)
{
	struct itimerspec tenth = {{0, 100000000}, {0, 100000000}};
	sigset_t set;
	int epoll;
	int signals;
	int timer;

	if (count < 2)
		return 2;
	takes_all = !strcmp(arguments[1], "healthy");
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	timerfd_settime(timer, 0, &tenth, NULL);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(epoll, signals);
	watch(epoll, timer);
	row_start();
	run_loop(epoll, signals, timer);
	puts("picture complete");
	return 0;
}
