/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: A bus carries one command at a time. When the furnace refuses a command, on_frame fails it and lets the recipe
 *     try again, but it doesn't call bus_free. So the refused command (hold, of recipe 5 on bus A) still has the bus, and all
 *     commands after it stay in the queue for ever.
 *   culprit: on_frame|hold of recipe 5|bus_free
 *   victim: recipe 7|recipe 9|hold again of recipe 5
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The controller of two furnaces: recipes send commands over a bus to each furnace, one command at a time. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	BUSES = 2,
	RECIPES = 12,
	STEPS = 4
};

struct recipe;

struct command {
	thrum_task task;
	struct recipe *recipe;
	char word;
	struct command *next;
};

struct bus {
	const char *name;
	thrum_task line;  /* the open device */
	thrum_task owner; /* the lock of the command that is on the bus */
	int near_end;
	int far_end;
	struct command *current;
	struct command *queue;
	struct command **queue_end;
};

struct recipe {
	thrum_task task;
	thrum_task timer;
	int64_t due; /* ms; 0: none */
	int number;
	int step;
	struct bus *bus;
};

static struct bus buses[BUSES] = {{.name = "bus A"}, {.name = "bus B"}};
static struct recipe recipes[RECIPES];
static const char *const steps[STEPS] = {"purge", "heat", "hold", "cool"};
static unsigned unfinished = RECIPES;
static bool free_always;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void bus_start(struct bus *bus)
{
	struct command *command = bus->queue;

	if (bus->current || !command)
		return;
	bus->queue = command->next;
	if (!bus->queue)
		bus->queue_end = &bus->queue;
	bus->current = command;
	THRUM_RUN (command->task) {
		thrum_lock_acquired(bus->owner);
		thrum_task_wait(command->task, bus->line);
		if (write(bus->near_end, &command->word, 1) != 1)
			abort();
	}
}

/* The command runs that has had the bus. */
static void bus_free(struct bus *bus)
{
	thrum_lock_released(bus->owner);
	bus->current = NULL;
}

static void recipe_send(struct recipe *recipe, bool again)
{
	struct bus *bus = recipe->bus;
	struct command *command = calloc(1, sizeof *command);

	if (!command)
		abort();
	command->task = thrum_task_createf(THRUM_KIND_REQUEST, "%s%s of recipe %d",
		steps[recipe->step], again ? " again" : "", recipe->number);
	command->recipe = recipe;
	command->word = !again && recipe->step == 2 && recipe->number == 5 ? '!' : 'c';
	*bus->queue_end = command;
	bus->queue_end = &command->next;
	thrum_task_wait(command->task, bus->owner);
	thrum_task_wait(recipe->task, command->task);
	bus_start(bus);
}

static void recipe_pause(struct recipe *recipe, int ms)
{
	recipe->timer = thrum_task_create(THRUM_KIND_TIMER, "pause");
	thrum_task_due(recipe->timer, (int64_t)ms * 1000000);
	thrum_task_wait(recipe->task, recipe->timer);
	recipe->due = now_ms() + ms;
}

static void recipe_step_done(struct recipe *recipe)
{
	if (++recipe->step < STEPS) {
		recipe_pause(recipe, 8);
		return;
	}
	thrum_task_resolve(recipe->task);
	printf("recipe %d is done\n", recipe->number);
	unfinished--;
}

static void on_frame(struct bus *bus)
{
	struct command *command = bus->current;
	struct recipe *recipe;
	char reply;

	if (read(bus->near_end, &reply, 1) != 1 || !command)
		return;
	recipe = command->recipe;
	if (reply == 'N') { /* refused: the furnace is too hot just now */
		THRUM_RUN (command->task) {
			thrum_task_read(command->task, bus->line);
			if (free_always)
				bus_free(bus);
			thrum_task_fail(command->task, "refused");
		}
		THRUM_RUN (recipe->task) {
			thrum_task_read(recipe->task, command->task);
			recipe_send(recipe, true);
		}
		return;
	}
	THRUM_RUN (command->task) {
		thrum_task_read(command->task, bus->line);
		bus_free(bus);
		thrum_task_resolve(command->task);
	}
	THRUM_RUN (recipe->task) {
		thrum_task_read(recipe->task, command->task);
		recipe_step_done(recipe);
	}
	free(command);
	bus_start(bus);
}

/* The furnace at the other end of a bus. */
static void *furnace(void *data)
{
	struct bus *bus = data;
	char word;
	char reply;

	while (read(bus->far_end, &word, 1) == 1) {
		usleep(4000);
		reply = word == '!' ? 'N' : 'A';
		if (write(bus->far_end, &reply, 1) != 1)
			break;
	}
	return NULL;
}

static void run_timers(void)
{
	int64_t now = now_ms();

	for (int i = 0; i < RECIPES; i++) {
		struct recipe *recipe = &recipes[i];

		if (recipe->due == 0 || recipe->due > now)
			continue;
		recipe->due = 0;
		thrum_task_resolve(recipe->timer);
		THRUM_RUN (recipe->task) {
			thrum_task_read(recipe->task, recipe->timer);
			recipe_send(recipe, false);
		}
	}
}

static int timers_ms(void)
{
	int64_t next = now_ms() + 50; /* the display blinks */

	for (int i = 0; i < RECIPES; i++)
		if (recipes[i].due != 0 && recipes[i].due < next)
			next = recipes[i].due;
	next -= now_ms();
	return next > 0 ? (int)next : 0;
}

int main(int argc, char **argv)
{
	struct pollfd lines[BUSES];
	pthread_t thread;
	int ends[2];

	free_always = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	thrum_lane_name("controller");
	for (int i = 0; i < BUSES; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		buses[i].near_end = ends[0];
		buses[i].far_end = ends[1];
		buses[i].queue_end = &buses[i].queue;
		buses[i].line = thrum_task_createf(THRUM_KIND_HANDLE, "line of %s", buses[i].name);
		buses[i].owner = thrum_task_create(THRUM_KIND_LOCK, buses[i].name);
		lines[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
		pthread_create(&thread, NULL, furnace, &buses[i]);
		pthread_detach(thread);
	}
	for (int i = 0; i < RECIPES; i++) {
		recipes[i].number = i + 1;
		recipes[i].bus = &buses[i % BUSES];
		recipes[i].task = thrum_task_createf(THRUM_KIND_TASK, "recipe %d", i + 1);
		thrum_task_should_resolve(recipes[i].task);
		recipe_pause(&recipes[i], 10 + i * 25);
	}
	while (unfinished > 0) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(lines, BUSES, timers_ms());
		thrum_resume();
		for (int i = 0; i < BUSES; i++)
			if (lines[i].revents)
				on_frame(&buses[i]);
		run_timers();
	}
	thrum_stop();
	return 0;
}
