/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "capture/segments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/scheduled.h"
#include "line/text.h"
#include "trace/input.h"

#define LOOK_MS 200 /* between looks for new recordings */
#define FIRST_MS 5  /* until there is one */

struct segments_part {
	struct segments_part *next;
	struct thrum__source_segments *segments; /* NULL: it isn't cut */
	struct thrum_error_info error;
	bool has_failed;
	char path[PATH_MAX];
};

static struct segments_part *find_part(const struct segments *segments, const char *path)
{
	struct segments_part *part = segments->parts;

	while (part && strcmp(part->path, path) != 0)
		part = part->next;
	return part;
}

/* Begins to cut a recording that wasn't seen yet. */
static void add_part(void *data, const char *path)
{
	struct segments *segments = data;
	struct segments_part *part;

	if (find_part(segments, path) || !(part = calloc(1, sizeof(*part))))
		return;
	if (snprintf(part->path, sizeof(part->path), "%s", path) >= (int)sizeof(part->path) ||
		thrum__source_segments_create(path, &segments->options, &part->segments,
			&part->error) < 0)
		/* Segments are found, too, and left alone. */
		part->has_failed = part->error.code != -THRUM_E_ARGUMENT;
	part->next = segments->parts;
	segments->parts = part;
}

/* Takes a step with each recording. Returns the time until the next one. */
static int step(struct segments *segments)
{
	int least = segments->parts ? LOOK_MS : FIRST_MS;

	for (struct segments_part *part = segments->parts; part; part = part->next) {
		int pause = LOOK_MS;

		if (part->segments && !part->has_failed)
			part->has_failed = thrum__source_segments_step(part->segments, &pause,
						   &part->error) < 0;
		least = pause < least ? pause : least;
	}
	return least;
}

static void *run(void *data)
{
	struct segments *segments = data;
	int waited = LOOK_MS;

	while (!atomic_load(&segments->is_over)) {
		if (waited >= LOOK_MS || !segments->parts) {
			recorded_visit(segments->recorded, add_part, segments);
			waited = 0;
		}
		int pause = step(segments);
		struct timespec time = {0, pause * 1000000L};

		nanosleep(&time, NULL);
		waited += pause;
	}
	return NULL;
}

static int add_scheduled(void *owner, const char *file)
{
	return scheduled_write(owner, file, NULL);
}

int segments_start(struct segments *segments, const struct recorded *recorded,
	const struct thrum__source_segments_options *options)
{
	*segments = (struct segments){.options = *options, .recorded = recorded};
	if (recorded->scheduled) {
		segments->options.add = add_scheduled;
		segments->options.owner = recorded->scheduled;
	}
	segments->is_running = pthread_create(&segments->thread, NULL, run, segments) == 0;
	if (segments->is_running)
		return STATUS_OK;
	complain("no thread can be started that writes the segments");
	return STATUS_FAILED;
}

void segments_stop(struct segments *segments)
{
	atomic_store(&segments->is_over, true);
	if (segments->is_running)
		pthread_join(segments->thread, NULL);
	segments->is_running = false;
	recorded_visit(segments->recorded, add_part, segments);
}

/* Prints "thrum: recorded 12 files, server.0003.thrum to server.0014.thrum (1.1 GiB)". */
static void print_report(const struct thrum__source_segments_count *count)
{
	char files[NUMBER_ROOM], size[NUMBER_ROOM], missed[NUMBER_ROOM];
	const char *first = recorded_shorten(count->first), *last = recorded_shorten(count->last);

	*put_count(files, count->files) = '\0';
	*put_size(size, count->bytes) = '\0';
	*put_count(missed, count->overwritten) = '\0';
	if (count->files == 1)
		complain("recorded %s (%s)", last, size);
	else if (strcmp(first, last) == 0)
		complain("recorded %s files; kept is %s (%s)", files, last, size);
	else
		complain("recorded %s files; kept are %s to %s (%s)", files, first, last, size);
	if (count->overwritten > 0)
		complain("%s packet%s overwritten before %s could be copied: a greater --size "
			 "loses less",
			missed, count->overwritten == 1 ? " was" : "s were",
			count->overwritten == 1 ? "it" : "they");
}

bool segments_report(struct segments *segments, const char *path)
{
	struct segments_part *part = find_part(segments, path);

	if (!part)
		return false;
	if (part->segments && !part->has_failed)
		part->has_failed = thrum__source_segments_end(part->segments, &part->error) < 0;
	if (part->segments && thrum__source_segments_count(part->segments)->files > 0)
		print_report(thrum__source_segments_count(part->segments));
	if (part->has_failed)
		input_failed(path, &part->error);
	return part->segments && !part->has_failed;
}

void segments_finish(struct segments *segments)
{
	while (segments->parts) {
		struct segments_part *part = segments->parts;

		segments->parts = part->next;
		thrum__source_segments_destroy(part->segments);
		free(part);
	}
}
