/* SPDX-License-Identifier: ISC */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "picture_helper.h"
#include "story.h"

#define NAMES_MAX 2000

void picture_of_model(struct picture *picture, struct thrum__model *model)
{
	struct thrum__scene_options options = {.by_lane = true};

	picture->model = model;
	thrum__draw_list_init(&picture->list);
	assert_int_equal(thrum__scene_create(model, &options, NULL, NULL, &picture->scene), 0);
	picture->scene->state.fold = THRUM__FOLD_OFF;
}

void picture_init(struct picture *picture, const char *lines, bool is_mirage)
{
	picture_of_model(picture, story_model(lines, is_mirage));
}

void picture_finish(struct picture *picture)
{
	thrum__draw_list_finish(&picture->list);
	thrum__scene_destroy(picture->scene);
	thrum__model_destroy(picture->model);
}

void picture_paint(struct picture *picture, float width, float height)
{
	assert_int_equal(thrum__scene_settle(picture->scene), 0);
	assert_int_equal(thrum__scene_frame(picture->scene, width, height,
				 &thrum__draw_metrics_plain, &picture->list),
		0);
}

void picture_texts(const struct picture *picture, int first, int last,
	void (*found)(void *context, const struct written *), void *context)
{
	const struct thrum__draw_list *list = &picture->list;

	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];
		const struct thrum__draw_text *texts = batch->items;

		if (batch->style.op != THRUM__OP_TEXT || batch->style.z < first ||
			batch->style.z > last)
			continue;
		for (uint32_t k = 0; k < batch->count; k++) {
			struct written written = {list->text + texts[k].offset, texts[k].size,
				texts[k].x, texts[k].y, 0, batch->style.z, batch->style.font,
				batch->style.colour};

			written.width =
				thrum__draw_metrics_plain.width(thrum__draw_metrics_plain.context,
					written.text, written.size, written.font);
			found(context, &written);
		}
	}
}

struct search {
	const char *text;
	struct written *where;
	unsigned count;
};

static void compare(void *context, const struct written *written)
{
	struct search *search = context;

	if (written->size != strlen(search->text) ||
		memcmp(written->text, search->text, written->size) != 0)
		return;
	search->count++;
	if (search->where)
		*search->where = *written;
}

unsigned picture_find(const struct picture *picture, const char *text, struct written *where)
{
	struct search search = {text, where, 0};

	picture_texts(picture, 0, THRUM__Z_FRAME_TEXT, compare, &search);
	return search.count;
}

static bool is_or_any(float wanted, float is)
{
	return isnan(wanted) || wanted == is;
}

bool picture_has_rect(const struct picture *picture, int colour, float x, float y, float width,
	float height)
{
	for (uint32_t i = 0; i < picture->list.batch_count; i++) {
		const struct thrum__draw_batch *batch = &picture->list.batches[i];
		const struct thrum__draw_rect *rects = batch->items;

		for (uint32_t k = 0; k < batch->count; k++)
			if (batch->style.op == THRUM__OP_RECT && batch->style.colour == colour &&
				is_or_any(x, rects[k].x) && is_or_any(y, rects[k].y) &&
				is_or_any(width, rects[k].width) &&
				is_or_any(height, rects[k].height))
				return true;
	}
	return false;
}

struct names {
	struct written all[NAMES_MAX];
	unsigned count;
};

static void collect(void *context, const struct written *written)
{
	struct names *names = context;

	assert_true(names->count < NAMES_MAX);
	names->all[names->count++] = *written;
}

unsigned picture_check_names(const struct picture *picture, float top, float bottom, float right)
{
	struct names *names = calloc(1, sizeof *names);
	unsigned count;

	assert_non_null(names);
	picture_texts(picture, THRUM__Z_LABEL, THRUM__Z_LABEL, collect, names);
	count = names->count;
	for (unsigned i = 0; i < count; i++) {
		const struct written *a = &names->all[i];

		assert_true(a->x >= 0 && a->x + a->width <= right);
		assert_true(a->y - 9 >= top && a->y + 2 <= bottom);
		for (unsigned k = i + 1; k < count; k++) {
			const struct written *b = &names->all[k];

			if (a->x < b->x + b->width && b->x < a->x + a->width &&
				fabsf(a->y - b->y) < 9)
				fail_msg("\"%.*s\" lies on \"%.*s\"", (int)a->size, a->text,
					(int)b->size, b->text);
		}
	}
	free(names);
	return count;
}
