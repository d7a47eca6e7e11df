/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "picture/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static struct frames {
	FILE *file; /* NULL: nothing is measured */
	int64_t begin, begin_cpu;
	int64_t until;
	uint64_t events, lost;
} frames;

/* Returns the processor time of this thread, in µs. */
static int64_t cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void begin_frame(GdkFrameClock *clock, void *unused)
{
	frames.begin = g_get_monotonic_time();
	frames.begin_cpu = cpu_time();
}

static void end_frame(GdkFrameClock *clock, void *unused)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	fprintf(frames.file,
		"%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n",
		g_get_monotonic_time() - frames.begin, cpu_time() - frames.begin_cpu,
		now.tv_sec * INT64_C(1000000000) + now.tv_nsec, frames.until, frames.events,
		frames.lost);
	fflush(frames.file);
}

static void was_realized(GtkWidget *widget, void *unused)
{
	GdkFrameClock *clock = gtk_widget_get_frame_clock(widget);

	g_signal_connect(clock, "before-paint", G_CALLBACK(begin_frame), NULL);
	g_signal_connect(clock, "after-paint", G_CALLBACK(end_frame), NULL);
}

void frames_measure(GtkWidget *widget)
{
	const char *name = g_getenv("THRUM_GTK_FRAMES");

	if (name && !frames.file)
		frames.file = fopen(name, "a");
	if (frames.file)
		g_signal_connect(widget, "realize", G_CALLBACK(was_realized), NULL);
}

void frames_note(int64_t until, uint64_t events, uint64_t lost)
{
	frames.until = until;
	frames.events = events;
	frames.lost = lost;
}
