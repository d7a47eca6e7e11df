/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_apply removes its timer by returning G_SOURCE_REMOVE, but leaves room->apply_id set. So the next change
 *     of the same room takes the timer for armed (room_set), arms none, and its task never returns.
 *   culprit: on_apply|room_set|apply_id|set living room
 *   victim: scene_step|on_set|evening
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A thermostat: changes of a room's temperature are collected for a moment, then sent to its valve. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define APPLY_DELAY 40 /* ms */

struct room {
	const char *name;
	double wanted, actual;
	guint apply_id; /* the timer that sends the change to the valve */
	GQueue changes; /* of GTask: those who want to know when it is sent */
	unsigned sent;
};

static struct room rooms[] = {{.name = "living room"}, {.name = "kitchen"}, {.name = "bath"}};
static GMainLoop *main_loop;
static gboolean forget_timer;
static unsigned measurements;

static gboolean on_apply(gpointer data)
{
	struct room *room = data;
	GTask *task;

	room->sent++;
	g_print("%s: valve for %.1f\n", room->name, room->wanted);
	if (forget_timer)
		room->apply_id = 0;
	while ((task = g_queue_pop_head(&room->changes))) {
		g_task_return_boolean(task, TRUE);
		g_object_unref(task);
	}
	return G_SOURCE_REMOVE;
}

static void room_set(struct room *room, double wanted, GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);
	char name[48];

	snprintf(name, sizeof(name), "set %s", room->name);
	g_task_set_name(task, name);
	g_task_set_source_tag(task, room_set);
	room->wanted = wanted;
	g_queue_push_tail(&room->changes, task);
	if (room->apply_id == 0)
		room->apply_id = g_timeout_add(APPLY_DELAY, on_apply, room);
}

static gboolean room_set_finish(GAsyncResult *result)
{
	return g_task_propagate_boolean(G_TASK(result), NULL);
}

/* A scene is a list of changes, one after the other. */
static const struct {
	unsigned room;
	double wanted;
} evening[] = {{1, 19.5}, {0, 21}, {2, 23}, {0, 21.5}, {1, 18}};
static unsigned scene_at;

static void scene_step(void);

static void on_set(GObject *source, GAsyncResult *result, gpointer data)
{
	(void)source;
	(void)data;
	if (room_set_finish(result))
		scene_step();
}

static void scene_step(void)
{
	if (scene_at == G_N_ELEMENTS(evening)) {
		g_print("scene evening is set\n");
		g_main_loop_quit(main_loop);
		return;
	}
	scene_at++;
	room_set(&rooms[evening[scene_at - 1].room], evening[scene_at - 1].wanted, on_set, NULL);
}

static gboolean measure(gpointer data)
{
	(void)data;
	measurements++;
	for (unsigned i = 0; i < G_N_ELEMENTS(rooms); i++)
		rooms[i].actual += (rooms[i].wanted - rooms[i].actual) / 50;
	return G_SOURCE_CONTINUE;
}

static gboolean report(gpointer data)
{
	(void)data;
	for (unsigned i = 0; i < G_N_ELEMENTS(rooms); i++)
		g_print("%s %.1f  ", rooms[i].name, rooms[i].actual);
	g_print("(%u measurements)\n", measurements);
	return G_SOURCE_CONTINUE;
}

static gboolean start_scene(gpointer data)
{
	(void)data;
	scene_step();
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	forget_timer = strcmp(argv[1], "broken") != 0;
	main_loop = g_main_loop_new(NULL, FALSE);
	for (unsigned i = 0; i < G_N_ELEMENTS(rooms); i++) {
		g_queue_init(&rooms[i].changes);
		rooms[i].actual = 17 + i;
		rooms[i].wanted = 17;
	}
	guint sensor = g_timeout_add(20, measure, NULL);
	guint reporter = g_timeout_add(200, report, NULL);
	g_timeout_add(60, start_scene, NULL);
	g_main_loop_run(main_loop);
	g_source_remove(sensor);
	g_source_remove(reporter);
	g_main_loop_unref(main_loop);
	return 0;
}
