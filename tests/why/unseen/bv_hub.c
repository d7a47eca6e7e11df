/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: Four scenes run at the same time on libuv's four worker threads. Each waits for a bridge command that needs
 *     a worker of the same pool, so no command ever runs: the pool is exhausted.
 *   culprit: run_scene|bridge_send|thread ?pool|uv.s pool
 *   victim: panel|\bmain\b
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */

/* A smart home hub: scenes send commands over the radio bridge; sensors report by timers. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define SCENES 4
#define STEPS 3

struct command {
	uv_work_t work;
	const char *device;
	sem_t sent;
	struct command *next;
};

struct scene {
	uv_work_t work;
	const char *name;
	unsigned runs;
};

static uv_loop_t *loop;
static uv_async_t wakeup;
static uv_mutex_t outbox_lock;
static struct command *outbox;
static struct scene scenes[SCENES] = {{.name = "morning"}, {.name = "away"}, {.name = "movie"},
	{.name = "night"}};
static int scenes_at_once = 2;
static int next_scene, running;
static unsigned readings, commands;

/* Talks to the bridge, which takes some milliseconds. */
static void bridge_send(uv_work_t *work)
{
	struct command *command = work->data;

	usleep(4000);
	sem_post(&command->sent);
}

static void bridge_done(uv_work_t *work, int status)
{
	struct command *command = work->data;

	(void)status;
	commands++;
	sem_destroy(&command->sent);
	free(command);
}

static void on_wakeup(uv_async_t *async)
{
	struct command *command;

	(void)async;
	uv_mutex_lock(&outbox_lock);
	while ((command = outbox)) {
		outbox = command->next;
		command->work.data = command;
		uv_queue_work(loop, &command->work, bridge_send, bridge_done);
	}
	uv_mutex_unlock(&outbox_lock);
}

static void switch_device(struct command *command)
{
	uv_mutex_lock(&outbox_lock);
	command->next = outbox;
	outbox = command;
	uv_mutex_unlock(&outbox_lock);
	uv_async_send(&wakeup);
}

static void run_scene(uv_work_t *work)
{
	static const char *const devices[STEPS] = {"lamp", "blind", "heating"};
	struct command *step;
	struct scene *scene = work->data;

	for (int i = 0; i < STEPS; i++) {
		step = calloc(1, sizeof *step);
		step->device = devices[i];
		sem_init(&step->sent, 0, 0);
		switch_device(step);
		sem_wait(&step->sent);
	}
	scene->runs++;
}

static void start_scenes(void);

static void scene_done(uv_work_t *work, int status)
{
	struct scene *scene = work->data;

	(void)status;
	running--;
	printf("scene %s is set (%u)\n", scene->name, scene->runs);
	start_scenes();
}

static void start_scenes(void)
{
	while (running < scenes_at_once && next_scene < SCENES) {
		struct scene *scene = &scenes[next_scene++];

		running++;
		scene->work.data = scene;
		uv_queue_work(loop, &scene->work, run_scene, scene_done);
	}
}

/* The wall panel asks for all scenes, to test them. */
static void on_panel(uv_timer_t *timer)
{
	(void)timer;
	if (running > 0)
		return;
	next_scene = 0;
	start_scenes();
}

static void on_sensor(uv_timer_t *timer)
{
	(void)timer;
	if (++readings % 25 == 0)
		printf("%u readings, %u commands\n", readings, commands);
}

int main(int argc, char **argv)
{
	uv_timer_t panel, sensor;

	if (argc > 1 && !strcmp(argv[1], "broken"))
		scenes_at_once = SCENES;
	setlinebuf(stdout);
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	loop = uv_default_loop();
	uv_mutex_init(&outbox_lock);
	uv_async_init(loop, &wakeup, on_wakeup);
	uv_timer_init(loop, &panel);
	uv_timer_start(&panel, on_panel, 50, 300);
	uv_timer_init(loop, &sensor);
	uv_timer_start(&sensor, on_sensor, 20, 20);
	return uv_run(loop, UV_RUN_DEFAULT);
}
