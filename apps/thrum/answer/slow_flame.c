/* SPDX-License-Identifier: ISC */
/* Flame graphs as a picture, and as folded stacks, which flamegraph.pl, speedscope and inferno
 * read. */
#define _GNU_SOURCE
#include "answer/slow_flame.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "line/output.h"
#include "line/text.h"
#include "picture/picture.h"
#include "report/flame.h"
#include "trace/file.h"
#include "trace/load.h"

#define WIDTH 1200 /* px */

/* ---- Folded ---------------------------------------------------------------------------------- */

/* Replaces semicolons, which separate frames, and control characters. */
static char *put_frame(char *to, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		*to++ = c == ';' ? ',' : c < ' ' || c == 0x7f ? ' ' : text[i];
	}
	return to;
}

static void write_stack(struct output *out, const struct thrum__paths *paths, uint32_t frame)
{
	uint32_t frames[THRUM__STACK_DEPTH + 2];
	uint32_t count = 0;

	for (; frame != THRUM__NONE && count <= THRUM__STACK_DEPTH;
		frame = paths->frames[frame].parent)
		frames[count++] = frame;
	while (count-- > 0) {
		size_t size;
		const char *name = thrum__slow_frame_name(paths, frames[count], &size);

		if (paths->frames[frames[count]].doing == THRUM__DOING_SUSPENDED)
			output_text(out, "[suspended] ");
		else if (paths->frames[frames[count]].doing != THRUM__DOING_RUNS)
			output_text(out, "[lane runs] ");
		output_put(out, name, size, put_frame, 1);
		output_text(out, count > 0 ? ";" : "");
	}
}

struct folded {
	const struct thrum__paths *paths;
	const struct thrum__flame *flame;
};

static int write_folded(void *context, const char *path, int fd)
{
	const struct folded *folded = context;
	struct output out;

	(void)path;
	if (output_open(&out, fd) < 0)
		return STATUS_FAILED;
	for (uint32_t i = 0; i < folded->flame->count; i++) {
		const struct thrum__flame_box *box = &folded->flame->boxes[i];

		if (box->self == 0)
			continue;
		write_stack(&out, folded->paths, box->frame);
		if (box->doing == THRUM__DOING_RUNS)
			output_text(&out, ";[runs]");
		output_text(&out, " ");
		out.at = put_signed(output_room(&out, NUMBER_ROOM), box->self);
		output_text(&out, "\n");
	}
	return output_close(&out);
}

/* ---- Picture --------------------------------------------------------------------------------- */

static int draw_flame(const struct thrum__paths *paths, const struct thrum__flame *flame,
	const char *file)
{
	struct picture picture = {.format = picture_format_of(file),
		.theme = THRUM__THEME_LIGHT,
		.scale = 1,
		.title = "thrum: flame graph"};
	struct thrum__draw_metrics metrics;
	struct thrum__draw_list list;
	int status = picture_metrics_make(picture.format, file, &metrics);

	if (status != STATUS_OK)
		return status;
	thrum__draw_list_init(&list);
	status = thrum__report_flame_frame(paths, flame, WIDTH, &metrics, &list) < 0
		? load_no_memory()
		: picture_write(&picture, &list, 1, file);
	thrum__draw_list_finish(&list);
	picture_metrics_free(picture.format, &metrics);
	return status;
}

int slow_flame(struct thrum__paths *paths, const struct thrum__lives *lives, const char *picture,
	const char *folded)
{
	struct thrum__flame flame;
	struct folded context = {paths, &flame};
	int status = STATUS_OK;

	if (thrum__slow_flame_make(paths, lives, &flame) < 0)
		return load_no_memory();
	if (picture)
		status = draw_flame(paths, &flame, picture);
	if (folded && status == STATUS_OK)
		status = file_write(folded, FILE_OUTPUT, write_folded, &context);
	thrum__slow_flame_free(&flame);
	return status;
}
