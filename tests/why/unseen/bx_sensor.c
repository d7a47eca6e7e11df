/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: on_frame returns what frame_store returned as if it said whether the watch shall stay. For a frame
 *     with a wrong checksum that is FALSE, G_SOURCE_REMOVE: the watch of the boiler's line is gone. The boiler
 *     sends the frame again, and waits for ever for the answer.
 *   culprit: on_frame
 *   victim: boiler_main|boiler|send_frame
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A gateway for the sensors of a house. Each sends frames over its line, and gets an answer for each. */
#include <glib-unix.h>
#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct frame {
	guint8 sensor;
	guint8 value;
	guint8 number;
	guint8 checksum;
};

struct line {
	const char *name;
	int gateway;
	int sensor;
	guint frames;
	guint bad;
	guint latest;
};

static bool broken;
static GMainLoop *loop;
static struct line boiler = {.name = "boiler"};
static struct line roof = {.name = "roof"};
static guint sensors_left = 2;

static guint8 frame_sum(const struct frame *frame)
{
	return (guint8)(frame->sensor + frame->value + frame->number);
}

/* Returns whether the frame is good. A bad one is refused, and comes again. */
static gboolean frame_store(struct line *line, const struct frame *frame)
{
	if (frame->checksum != frame_sum(frame)) {
		line->bad++;
		if (write(line->gateway, "-", 1) != 1)
			g_printerr("%s: can't answer\n", line->name);
		return FALSE;
	}
	line->frames++;
	line->latest = frame->value;
	if (write(line->gateway, "+", 1) != 1)
		g_printerr("%s: can't answer\n", line->name);
	return TRUE;
}

static gboolean on_frame(gint fd, GIOCondition condition, gpointer data)
{
	struct line *line = data;
	struct frame frame;
	gboolean stored;

	(void)condition;
	if (read(fd, &frame, sizeof(frame)) != sizeof(frame)) {
		close(fd);
		if (--sensors_left == 0)
			g_main_loop_quit(loop);
		return G_SOURCE_REMOVE;
	}
	stored = frame_store(line, &frame);
	if (broken)
		return stored;
	return G_SOURCE_CONTINUE;
}

/* Once in a while the values go to the display. */
static gboolean on_display(gpointer data)
{
	static guint shown;

	(void)data;
	shown += boiler.latest + roof.latest;
	return G_SOURCE_CONTINUE;
}

/* Sends a frame until the gateway takes it. `noise` spoils the first try. */
static void send_frame(struct line *line, guint8 number, guint8 noise)
{
	struct frame frame = {1, (guint8)(40 + number % 7), number, 0};
	char answer;

	do {
		frame.checksum = (guint8)(frame_sum(&frame) + noise);
		noise = 0;
		if (write(line->sensor, &frame, sizeof(frame)) != sizeof(frame))
			return;
		if (read(line->sensor, &answer, 1) != 1)
			return;
	} while (answer != '+');
}

static void *boiler_main(void *data)
{
	(void)data;
	for (guint8 i = 0; i < 30; i++) {
		send_frame(&boiler, i, i == 11 ? 4 : 0);
		usleep(20000);
	}
	close(boiler.sensor);
	return NULL;
}

static void *roof_main(void *data)
{
	(void)data;
	for (guint8 i = 0; i < 200; i++) {
		send_frame(&roof, i, 0);
		usleep(10000);
	}
	close(roof.sensor);
	return NULL;
}

static void line_open(struct line *line)
{
	int ends[2];
	GSource *source;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		g_error("socketpair");
	line->gateway = ends[0];
	line->sensor = ends[1];
	source = g_unix_fd_source_new(line->gateway, G_IO_IN);
	g_source_set_callback(source, G_SOURCE_FUNC(on_frame), line, NULL);
	g_source_attach(source, NULL);
	g_source_unref(source);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	loop = g_main_loop_new(NULL, FALSE);
	line_open(&boiler);
	line_open(&roof);
	g_timeout_add(50, on_display, NULL);
	pthread_create(&threads[0], NULL, boiler_main, NULL);
	pthread_create(&threads[1], NULL, roof_main, NULL);
	g_main_loop_run(loop);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	g_main_loop_unref(loop);
	printf("boiler: %u frames, %u bad; roof: %u frames\n", boiler.frames, boiler.bad,
		roof.frames);
	return 0;
}
