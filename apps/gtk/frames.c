/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct frames {
	FILE *file;
	int64_t begin, begin_cpu;
};

/* Of this thread, in µs. */
static int64_t cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void begin_frame(GdkFrameClock *clock, struct frames *frames)
{
	frames->begin = g_get_monotonic_time();
	frames->begin_cpu = cpu_time();
}

static void end_frame(GdkFrameClock *clock, struct frames *frames)
{
	fprintf(frames->file, "%" PRId64 " %" PRId64 "\n", g_get_monotonic_time() - frames->begin,
		cpu_time() - frames->begin_cpu);
	fflush(frames->file);
}

static void was_realized(GtkWidget *widget, struct frames *frames)
{
	GdkFrameClock *clock = gtk_widget_get_frame_clock(widget);

	g_signal_connect(clock, "before-paint", G_CALLBACK(begin_frame), frames);
	g_signal_connect(clock, "after-paint", G_CALLBACK(end_frame), frames);
}

void frames_measure(GtkWidget *widget)
{
	static struct frames frames;
	const char *name = g_getenv("THRUM_GTK_FRAMES");

	if (name && !frames.file)
		frames.file = fopen(name, "a");
	if (frames.file)
		g_signal_connect(widget, "realize", G_CALLBACK(was_realized), &frames);
}
