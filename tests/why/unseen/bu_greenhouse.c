/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: poll_moisture returns whether the sensor could be read. When the bus gives an error once, that is
 *     G_SOURCE_REMOVE, so the sensor of the herbs is never polled again, and their watering waits for ever.
 *   culprit: poll_moisture|moisture-herbs|moisture herbs
 *   victim: water_zone
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <glib.h>
#include <string.h>

#define ZONES 3

struct zone {
	const char *name;
	GMutex lock;
	GCond changed;
	gboolean valve_open;
	int moisture;
	int polls;
	int bad_poll;
	guint source;
	GThread *thread;
};

static struct zone zones[ZONES] = {
	{.name = "tomatoes", .moisture = 20},
	{.name = "herbs", .moisture = 10, .bad_poll = 25},
	{.name = "orchids", .moisture = 30},
};
static GMainLoop *main_loop;
static gint zones_left = ZONES;
static gboolean healthy;
static int log_lines;

/* FALSE if the bus was disturbed. */
static gboolean read_sensor(struct zone *zone, int *value)
{
	if (++zone->polls == zone->bad_poll)
		return FALSE;
	*value = zone->moisture + (zone->valve_open ? 2 : -1);
	return TRUE;
}

static gboolean poll_moisture(gpointer data)
{
	struct zone *zone = data;
	gboolean good;
	int value;

	g_mutex_lock(&zone->lock);
	good = read_sensor(zone, &value);
	if (good) {
		zone->moisture = value;
		g_cond_signal(&zone->changed);
	}
	g_mutex_unlock(&zone->lock);
	return healthy ? G_SOURCE_CONTINUE : good;
}

static gboolean finish(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

static gpointer water_zone(gpointer data)
{
	struct zone *zone = data;

	for (int round = 0; round < 4; round++) {
		g_mutex_lock(&zone->lock);
		zone->valve_open = TRUE;
		while (zone->moisture < 45)
			g_cond_wait(&zone->changed, &zone->lock);
		zone->valve_open = FALSE;
		while (zone->moisture > 38)
			g_cond_wait(&zone->changed, &zone->lock);
		g_mutex_unlock(&zone->lock);
	}
	if (g_atomic_int_dec_and_test(&zones_left))
		g_idle_add(finish, NULL);
	return NULL;
}

/* The fans and the log go by their own clock. */
static gboolean turn_fans(gpointer data)
{
	int *angle = data;

	*angle = (*angle + 15) % 360;
	return G_SOURCE_CONTINUE;
}

static gboolean write_log(gpointer data)
{
	(void)data;
	log_lines++;
	for (int i = 0; i < ZONES; i++) {
		g_mutex_lock(&zones[i].lock);
		g_debug("%s %d", zones[i].name, zones[i].moisture);
		g_mutex_unlock(&zones[i].lock);
	}
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	int angle = 0;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(40, turn_fans, &angle);
	g_timeout_add(100, write_log, NULL);
	for (int i = 0; i < ZONES; i++) {
		char name[32];

		g_snprintf(name, sizeof(name), "moisture-%s", zones[i].name);
		g_mutex_init(&zones[i].lock);
		g_cond_init(&zones[i].changed);
		zones[i].source = g_timeout_add(10, poll_moisture, &zones[i]);
		g_source_set_name_by_id(zones[i].source, name);
		zones[i].thread = g_thread_new(zones[i].name, water_zone, &zones[i]);
	}
	g_main_loop_run(main_loop);
	for (int i = 0; i < ZONES; i++)
		g_thread_join(zones[i].thread);
	g_print("all zones watered, %d log lines\n", log_lines);
	return 0;
}
