/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_sensor_line returns FALSE for a comment, so GLib removes its source; nobody reads the sensor.
 *   culprit: (Ends|ended|emove|REMOVE|gone).*on_sensor_line|on_sensor_line.*(Ends|ended|emove|REMOVE|gone)
 *   victim: run_sensor|wait_for_ack|cellar|g_main_loop_run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Logs the temperatures of a house. Each sensor is a thread with a socket, and waits for an answer. */
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SENSORS = 4,
	READINGS = 12
};

struct sensor {
	const char *name;
	int theirs, ours;
	int count;
	double last;
	guint watch;
	GThread *thread;
};

static struct sensor sensors[SENSORS] = {
	{.name = "hall"},
	{.name = "kitchen"},
	{.name = "cellar"},
	{.name = "attic"},
};
static gboolean keep_watching;
static GMainLoop *loop;
static GMutex totals_lock;
static int logged, finished, summaries;

static gboolean wait_for_ack(struct sensor *sensor)
{
	char ack;

	return recv(sensor->theirs, &ack, 1, 0) == 1 && ack == '+';
}

/* Lines that begin with # are comments, and get no answer. */
static void say(struct sensor *sensor, const char *line)
{
	if (send(sensor->theirs, line, strlen(line), MSG_NOSIGNAL) < 0)
		g_error("%s: cannot send", sensor->name);
}

static gpointer run_sensor(gpointer data)
{
	struct sensor *sensor = data;
	char line[64];

	for (int i = 0; i < READINGS; i++) {
		g_usleep(2000 + 300 * (sensor - sensors));
		if (i == 7 && sensor == &sensors[2]) {
			say(sensor, "# calibrated again\n");
			g_usleep(1000);
		}
		g_snprintf(line, sizeof(line), "%d.%d\n", 17 + i % 4, i % 10);
		say(sensor, line);
		if (!wait_for_ack(sensor))
			break;
	}
	shutdown(sensor->theirs, SHUT_WR);
	return sensor;
}

static void log_value(struct sensor *sensor, const char *line)
{
	sensor->last = g_ascii_strtod(line, NULL);
	sensor->count++;
	g_mutex_lock(&totals_lock);
	logged++;
	g_mutex_unlock(&totals_lock);
}

static gboolean on_all_finished(gpointer unused)
{
	(void)unused;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

/* The result says whether GLib goes on to watch the socket. */
static gboolean on_sensor_line(gint socket, GIOCondition condition, gpointer data)
{
	struct sensor *sensor = data;
	char line[64];
	ssize_t length = recv(socket, line, sizeof(line) - 1, MSG_DONTWAIT);

	(void)condition;
	if (length <= 0) {
		sensor->watch = 0;
		if (++finished == SENSORS)
			g_idle_add(on_all_finished, NULL);
		return G_SOURCE_REMOVE;
	}
	line[length] = '\0';
	if (line[0] == '#')
		return keep_watching; /* the bug: FALSE was meant as: not a value */
	log_value(sensor, line);
	if (send(socket, "+", 1, MSG_NOSIGNAL) != 1)
		g_warning("%s: cannot answer", sensor->name);
	return G_SOURCE_CONTINUE;
}

static gboolean on_summary(gpointer unused)
{
	(void)unused;
	summaries++;
	return G_SOURCE_CONTINUE;
}

/* A slow display: it is drawn once, half way through. */
static gboolean on_draw(gpointer unused)
{
	(void)unused;
	g_mutex_lock(&totals_lock);
	g_usleep(8000);
	g_mutex_unlock(&totals_lock);
	return G_SOURCE_REMOVE;
}

static gboolean on_never(gpointer unused)
{
	(void)unused;
	g_warning("the sensors need too long");
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	guint summary, patience;

	keep_watching = argc > 1 && !strcmp(argv[1], "healthy");
	loop = g_main_loop_new(NULL, FALSE);
	for (int i = 0; i < SENSORS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			return 1;
		sensors[i].theirs = ends[0];
		sensors[i].ours = ends[1];
		sensors[i].watch = g_unix_fd_add(ends[1], G_IO_IN | G_IO_HUP, on_sensor_line,
			&sensors[i]);
		sensors[i].thread = g_thread_new(sensors[i].name, run_sensor, &sensors[i]);
	}
	summary = g_timeout_add(10, on_summary, NULL);
	patience = g_timeout_add_seconds(20, on_never, NULL);
	g_timeout_add(15, on_draw, NULL);
	g_main_loop_run(loop);
	g_source_remove(summary);
	g_source_remove(patience);
	for (int i = 0; i < SENSORS; i++) {
		g_thread_join(sensors[i].thread);
		close(sensors[i].theirs);
		close(sensors[i].ours);
		g_print("%s: %d values, last %.1f\n", sensors[i].name, sensors[i].count,
			sensors[i].last);
	}
	g_main_loop_unref(loop);
	return logged == SENSORS * READINGS ? 0 : 1;
}
