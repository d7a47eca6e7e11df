/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 600
 *   ask: why
 *   truth: "path npc 17" searches for ever (its goal is walled in and closed tiles are opened again); it holds the
 *          only loop, and the players' moves get no answer.
 *   culprit: path npc 17|find_path
 *   victim: (move|player)
 * case: healthy
 *   args: healthy
 *   run: live 600
 *   ask: why
 *   culprit: nothing
 * case: over
 *   args: over
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	PLAYERS = 3
};
static int wires[PLAYERS][2];
static int walled_in, limit_ms = 1100;
static volatile unsigned sink;

static int now_ms(void)
{
	static struct timespec zero;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	if (!zero.tv_sec)
		zero = t;
	return (int)((t.tv_sec - zero.tv_sec) * 1000 + (t.tv_nsec - zero.tv_nsec) / 1000000);
}

static void *player(void *data)
{
	int number = (int)(intptr_t)data;
	char name[32], c = 'm';

	snprintf(name, sizeof(name), "player %d", number + 1);
	thrum_lane_name(name);
	for (;;) {
		thrum_task move = thrum_task_create(THRUM_KIND_REQUEST, "move");

		if (send(wires[number][1], &c, 1, MSG_NOSIGNAL) != 1) {
			thrum_task_cancel(move);
			break;
		}
		thrum_task_wait(thrum_task_current(), move);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (recv(wires[number][1], &c, 1, 0) != 1) {
			thrum_resume();
			thrum_task_cancel(move);
			break;
		}
		thrum_resume();
		thrum_task_resolve(move);
		/* the third player reads the chat, and seldom moves */
		usleep(number == 2 ? 150000 : 9000);
	}
	return NULL;
}

/* A*, more or less. */
static void find_path(int npc)
{
	int begun = now_ms(), open = 1;

	while (open > 0) {
		for (int i = 0; i < 5000; i++)
			sink = sink * 1664525u + 1013904223u;
		if (npc == 17 && walled_in)
			open++; /* neighbours are opened again and again */
		else if (now_ms() - begun > (npc == 17 ? 110 : 3))
			open = 0;
	}
}

static void think(int tick)
{
	int npc = tick == 12 ? 17 : tick % 9;
	thrum_task path = thrum_task_createf(THRUM_KIND_TASK, "path npc %d", npc);

	THRUM_RUN (path) {
		find_path(npc);
		thrum_task_resolve(path);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[PLAYERS];
	int tick = 0;

	walled_in = argc > 1 && !strcmp(argv[1], "broken");
	if (argc > 1 && !strcmp(argv[1], "over"))
		limit_ms = 500;
	alarm(3);
	thrum_lane_name("game loop");
	for (int i = 0; i < PLAYERS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, wires[i]))
			return 1;
		pthread_create(&threads[i], NULL, player, (void *)(intptr_t)i);
	}
	now_ms();
	while (now_ms() < limit_ms) {
		struct pollfd fds[PLAYERS];
		int wait = tick * 20 - now_ms();

		for (int i = 0; i < PLAYERS; i++)
			fds[i] = (struct pollfd){wires[i][0], POLLIN, 0};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(fds, PLAYERS, wait > 0 ? wait : 0);
		thrum_resume();
		for (int i = 0; i < PLAYERS; i++)
			if (fds[i].revents & POLLIN) {
				char c;

				if (recv(wires[i][0], &c, 1, 0) == 1)
					send(wires[i][0], &c, 1, MSG_NOSIGNAL);
			}
		if (now_ms() >= tick * 20) {
			tick++;
			if (tick % 4 == 0)
				think(tick);
		}
	}
	for (int i = 0; i < PLAYERS; i++)
		shutdown(wires[i][0], SHUT_RDWR);
	for (int i = 0; i < PLAYERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
