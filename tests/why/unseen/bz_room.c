/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: room_move subscribes to the new room before it leaves the old one, and room_leave removes the client
 *     from wherever it is; so carol is in no room any more
 *   culprit: room_move|room_leave|move carol
 *   victim: read of carol|carol
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

static struct timer {
	long at;
	void (*run)(void *);
	void *data;
} timers[256];
static int timer_count;
static bool is_done, is_broken;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void after(int ms, void (*run)(void *), void *data)
{
	timers[timer_count++] = (struct timer){now_us() + ms * 1000L, run, data};
}

static void run_loop(void)
{
	while (!is_done && timer_count > 0) {
		int first = 0;
		struct timer timer;
		long left;

		for (int i = 1; i < timer_count; i++)
			if (timers[i].at < timers[first].at)
				first = i;
		timer = timers[first];
		for (int i = first; i < timer_count - 1; i++)
			timers[i] = timers[i + 1];
		timer_count--;
		left = timer.at - now_us();
		if (left > 0) {
			struct timespec t = {left / 1000000, left % 1000000 * 1000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&t, NULL);
			thrum_resume();
		}
		timer.run(timer.data);
	}
}

/* A chat server: each client waits for the next line of its room. */
struct client {
	const char *name;
	int room;
	thrum_task read;
} clients[] = {{"alice", 0, 0}, {"bert", 0, 0}, {"carol", 0, 0}, {"dora", 1, 0}, {"emil", 1, 0}};
static struct client *members[2][8];
static int lines, moves;

static void room_enter(int room, struct client *client)
{
	for (int i = 0; i < 8; i++)
		if (!members[room][i]) {
			members[room][i] = client;
			return;
		}
}

static void room_leave(int room, struct client *client)
{
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < 8; i++)
			if (members[r][i] == client && (is_broken || r == room))
				members[r][i] = NULL;
}

static void client_read(struct client *client)
{
	client->read = thrum_task_createf(THRUM_KIND_TASK, "read of %s", client->name);
	thrum_task_should_resolve(client->read);
}

static void room_move(struct client *client, int room)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "move %s", client->name);

	THRUM_RUN (task) {
		int old = client->room;

		room_enter(room, client);
		client->room = room;
		room_leave(old, client);
		thrum_task_resolve(task);
	}
	moves++;
}

static void say(void *data)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "say in room %d", ++lines % 2);

	(void)data;
	THRUM_RUN (task) {
		for (int i = 0; i < 8; i++) {
			struct client *client = members[lines % 2][i];

			if (!client)
				continue;
			thrum_task_resolve(client->read);
			client_read(client);
		}
		thrum_task_resolve(task);
	}
	if (lines == 21)
		room_move(&clients[2], 1);
	if (lines < 70 || is_broken)
		after(8, say, NULL);
	else {
		for (int i = 0; i < 5; i++)
			thrum_task_cancel(clients[i].read);
		is_done = true;
	}
}

int main(int argc, char **argv)
{
	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < 5; i++) {
		client_read(&clients[i]);
		room_enter(clients[i].room, &clients[i]);
	}
	after(8, say, NULL);
	run_loop();
	return 0;
}
