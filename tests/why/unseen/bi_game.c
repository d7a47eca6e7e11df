/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=move #
 *   truth: the reactor handles all commands in one thread. handle_login asks for the host name of the
 *     player's address and blocks for 70 ms in that, so the moves of all other players stand in the queue
 *     meanwhile.
 *   culprit: login|reverse lookup
 *   victim: tick
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A game server: a thread receives commands, and a reactor handles them and moves the world on, tick by tick. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS 420
#define PLAYERS 8

enum verb {
	MOVE,
	LOGIN
};

struct command {
	struct command *next;
	enum verb verb;
	int player, x;
	thrum_task task;
	int64_t received;
};

struct reactor {
	pthread_mutex_t lock;
	struct command *first, **last;
	int epoll, wake, timer, handled;
};

THRUM_TAG(reverse_lookup, NULL, "reverse lookup", 0);

static struct reactor reactor = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &reactor.first};
static int positions[PLAYERS], logins, ticks, late;
static char host_names[PLAYERS][32];
static bool look_up;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

static void pause_ms(int ms)
{
	struct timespec time = {0, ms * 1000000L};

	nanosleep(&time, NULL);
}

static void reactor_post(struct command *command)
{
	uint64_t one = 1;

	thrum_task_ready(command->task);
	pthread_mutex_lock(&reactor.lock);
	*reactor.last = command;
	reactor.last = &command->next;
	pthread_mutex_unlock(&reactor.lock);
	if (write(reactor.wake, &one, sizeof(one)) != sizeof(one))
		abort();
}

static struct command *reactor_next(void)
{
	struct command *command;

	pthread_mutex_lock(&reactor.lock);
	command = reactor.first;
	if (command) {
		reactor.first = command->next;
		if (!reactor.first)
			reactor.last = &reactor.first;
	}
	pthread_mutex_unlock(&reactor.lock);
	return command;
}

/* The commands of the players. */
static void *receive_commands(void *data)
{
	(void)data;
	thrum_lane_name("receiver");
	for (int i = 0; i < COMMANDS; i++) {
		struct command *command = calloc(1, sizeof(*command));

		if (!command)
			abort();
		command->verb = i % 40 == 20 ? LOGIN : MOVE;
		command->player = i % PLAYERS;
		command->x = i % 7 - 3;
		command->received = now_ms();
		command->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d",
			command->verb == LOGIN ? "login" : "move", i);
		thrum_task_should_resolve(command->task);
		reactor_post(command);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		pause_ms(5);
		thrum_resume();
	}
	return NULL;
}

/* Asks the name service, which is slow for unknown addresses. */
static void host_name(int player, char *name, size_t size)
{
	thrum_suspend(&reverse_lookup);
	pause_ms(70);
	thrum_resume();
	snprintf(name, size, "host-%d.example.org", player);
}

static void handle_login(const struct command *command)
{
	char *name = host_names[command->player];

	if (look_up)
		host_name(command->player, name, sizeof(host_names[0]));
	else
		snprintf(name, sizeof(host_names[0]), "10.0.0.%d", command->player);
	positions[command->player] = 0;
	logins++;
}

static void handle_move(const struct command *command)
{
	int near = 0;

	positions[command->player] += command->x;
	for (int i = 0; i < PLAYERS; i++)
		near += abs(positions[i] - positions[command->player]) < 3;
	if (near == PLAYERS)
		positions[command->player]++;
}

static void on_commands(void)
{
	struct command *command;
	uint64_t count;

	if (read(reactor.wake, &count, sizeof(count)) != sizeof(count))
		return;
	while ((command = reactor_next())) {
		THRUM_RUN (command->task) {
			if (command->verb == LOGIN)
				handle_login(command);
			else
				handle_move(command);
			thrum_task_resolve(command->task);
		}
		late += now_ms() - command->received > 30;
		reactor.handled++;
		free(command);
	}
}

static void on_tick(void)
{
	thrum_task tick;
	uint64_t count;

	if (read(reactor.timer, &count, sizeof(count)) != sizeof(count))
		return;
	tick = thrum_task_createf(THRUM_KIND_TASK, "tick %d", ticks);
	ticks++;
	THRUM_RUN (tick) {
		for (int i = 0; i < 2000; i++)
			positions[i % PLAYERS] ^= i & 1;
		thrum_task_resolve(tick);
	}
}

static void watch(int file)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = file};

	if (epoll_ctl(reactor.epoll, EPOLL_CTL_ADD, file, &event))
		abort();
}

static void run_reactor(void)
{
	struct epoll_event events[4];

	while (reactor.handled < COMMANDS) {
		int count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(reactor.epoll, events, 4, -1);
		thrum_resume();
		for (int i = 0; i < count; i++)
			if (events[i].data.fd == reactor.wake)
				on_commands();
			else
				on_tick();
	}
}

int main(int argc, char **argv)
{
	struct itimerspec period = {{0, 20000000}, {0, 20000000}};
	pthread_t receiver;

	look_up = argc > 1 && !strcmp(argv[1], "broken");
	thrum_lane_name("reactor");
	reactor.epoll = epoll_create1(EPOLL_CLOEXEC);
	reactor.wake = eventfd(0, EFD_CLOEXEC);
	reactor.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	watch(reactor.wake);
	watch(reactor.timer);
	timerfd_settime(reactor.timer, 0, &period, NULL);
	if (pthread_create(&receiver, NULL, receive_commands, NULL))
		return 1;
	run_reactor();
	thrum_stop();
	pthread_join(receiver, NULL);
	printf("%d commands, %d logins, %d ticks, %d late\n", reactor.handled, logins, ticks, late);
	return 0;
}
