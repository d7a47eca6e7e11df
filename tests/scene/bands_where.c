/* SPDX-License-Identifier: ISC */
/* Where the time of a band's group goes, and links to groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "picture_helper.h"
#include "scene/bands/bands.h"

#define REQUESTS 12

/* Requests that wait for a lock that a task "keeper" holds, for 90 µs of 100. */
static void set_up(struct picture *p)
{
	static char text[20000];
	size_t used = (size_t)snprintf(text, sizeof text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n"
		"0 create 1 5 lock\n0 label 5 \"database\n"
		"0 create 1 6 task\n0 label 6 \"keeper\n");

	for (int i = 0; i < REQUESTS; i++) {
		int id = 10 + i, at = 1000000 * i;

		used += (size_t)snprintf(text + used, sizeof text - used,
			"%d switch 6\n%d lock 6 5\n%d switch 1\n"
			"%d create 1 %d request\n%d label %d \"GET /%d\n%d should-resolve %d\n"
			"%d switch %d\n%d wait %d 5\n%d switch 1\n",
			at, at, at, at, id, at, id, i, at, id, at, id, at + 1000, id, at + 1000);
		used += (size_t)snprintf(text + used, sizeof text - used,
			"%d switch 6\n%d unlock 6 5\n%d switch %d\n%d lock %d 5\n"
			"%d unlock %d 5\n%d resolve %d %d\n%d switch 1\n",
			at + 91000, at + 91000, at + 91000, id, at + 91000, id, at + 100000, id,
			at + 100000, id, id, at + 100000);
	}
	assert_true(used < sizeof text);
	picture_init(p, text, false);
}

static uint32_t group_named(const struct picture *p, const char *name)
{
	const struct thrum__bands *bands = thrum__scene_bands_of(p->scene);

	assert_non_null(bands);
	return thrum__family_find(&bands->family, name, strlen(name));
}

/* It is found out when it is wanted. */
static void test_look(void **state)
{
	const struct thrum__story_where *where;
	struct picture p;

	(void)state;
	set_up(&p);
	assert_null(thrum__scene_bands_of(p.scene));
	assert_null(thrum__scene_bands_where(p.scene));
	assert_int_equal(thrum__scene_bands_look(p.scene), 0);
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, 1600, 900);
	assert_null(thrum__scene_bands_where(p.scene));
	assert_int_equal(thrum__scene_bands_look_on(p.scene), 1);
	while (thrum__scene_bands_look_on(p.scene) > 0)
		;
	assert_int_equal(thrum__scene_bands_look(p.scene), 0);
	where = &thrum__scene_bands_where(p.scene)[0];
	assert_int_equal(where->parts[0].kind, THRUM__WHERE_WAITS);
	assert_true(where->parts[0].share > 0.89 && where->parts[0].share < 0.91);
	picture_finish(&p);
}

/* Only the latest part of a big trace is looked at; for a range, the part before its end. */
static void test_part(void **state)
{
	struct thrum__bands_time early = {{3500000, 0}, {5500000, 0}};
	const struct thrum__story_where *where;
	struct thrum__story_where there;
	struct picture p;
	uint32_t group;

	(void)state;
	set_up(&p);
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, 1600, 900);
	p.scene->bands->path_rows = 60;
	group = group_named(&p, "GET /#");
	assert_int_equal(thrum__scene_bands_look(p.scene), 0);
	where = &thrum__scene_bands_where(p.scene)[0];
	assert_true(where->since > 3000000);
	assert_true(where->tasks > 0 && where->tasks < REQUESTS);
	assert_int_equal(where->parts[0].kind, THRUM__WHERE_WAITS);
	assert_true(where->parts[0].share > 0.89 && where->parts[0].share < 0.91);
	assert_int_equal(thrum__scene_bands_where_in(p.scene, group, &early, &there), 0);
	assert_true(there.since > 0 && there.since < 4000000);
	assert_int_equal(there.tasks, 2);
	assert_int_equal(there.parts[0].kind, THRUM__WHERE_WAITS);
	assert_true(there.parts[0].share > 0.89 && there.parts[0].share < 0.91);
	/* A story makes all paths: then all is looked at. */
	assert_non_null(thrum__scene_bands_paths(p.scene->bands));
	assert_int_equal(thrum__scene_bands_where_in(p.scene, group, &early, &there), 0);
	assert_int_equal(there.since, 0);
	picture_finish(&p);
}

static void test_range(void **state)
{
	struct thrum__bands_time time = {{0, 0}, {5000000, 0}};
	struct thrum__story_where where;
	struct picture p;

	(void)state;
	set_up(&p);
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, 1600, 900);
	assert_int_equal(thrum__scene_bands_where_in(p.scene, group_named(&p, "GET /#"), &time,
				 &where),
		0);
	assert_int_equal(where.tasks, 5);
	assert_int_equal(where.parts[0].kind, THRUM__WHERE_WAITS);
	assert_int_equal(thrum__scene_bands_where_in(p.scene, THRUM__NONE, &time, &where), 0);
	assert_int_equal(where.count, 0);
	picture_finish(&p);
}

static bool tells(const struct thrum__scene_item *items, uint32_t count, const char *words)
{
	for (uint32_t i = 0; i < count; i++)
		if (strstr(items[i].words, words))
			return true;
	return false;
}

/* How many boxes of an opened thread have a colour. */
static uint32_t boxes_in(const struct picture *p, int colour)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->list.batch_count; i++)
		if (p->list.batches[i].style.z == THRUM__Z_RUN &&
			p->list.batches[i].style.op == THRUM__OP_RECT &&
			p->list.batches[i].style.colour == colour)
			count += p->list.batches[i].count;
	return count;
}

/* The outline tells for whom an opened band's rows wait, and who runs in an opened thread. There the task
 * under the pointer stands out. */
static void test_opened(void **state)
{
	static struct thrum__scene_item items[THRUM__OUTLINE_MAX];
	struct picture p;
	uint32_t count, all;

	(void)state;
	set_up(&p);
	p.scene->state.as = THRUM__AS_BANDS;
	p.scene->state.from = 0;
	p.scene->state.to = 200000;
	strcpy(p.scene->state.bands.opened[0], "GET /#");
	p.scene->state.bands.opened_count = 1;
	picture_paint(&p, 1600, 900);
	count = thrum__scene_outline(p.scene, items);
	assert_true(tells(items, count, ", waits longest for database: 90 µs"));
	assert_false(tells(items, count, "runs GET /0"));
	strcpy(p.scene->state.bands.opened[0], "loop");
	picture_paint(&p, 1600, 900);
	count = thrum__scene_outline(p.scene, items);
	assert_true(tells(items, count, "runs GET /0: 9 µs, at 91.0 µs"));
	all = boxes_in(&p, THRUM__COLOUR_RUN);
	assert_true(all > 1);
	thrum__scene_hover(p.scene, thrum__model_find(p.model, 10));
	picture_paint(&p, 1600, 900);
	assert_in_range(boxes_in(&p, THRUM__COLOUR_RUN), 1, all - 1);
	picture_finish(&p);
}

/* So many requests that their critical paths aren't made on the way. */
static char *many_requests(uint32_t count)
{
	const size_t room = 160 * (size_t)count + 100;
	char *text = test_malloc(room);
	size_t used = (size_t)snprintf(text, room,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");

	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = 10 + i, at = 100 * i;

		used += (size_t)snprintf(text + used, room - used,
			"%u create 1 %u request\n%u label %u \"GET /%u\n%u switch %u\n"
			"%u resolve %u %u\n%u switch 1\n",
			at, id, at, id, i, at, id, at + 50, id, id, at + 60);
	}
	assert_true(used < room);
	return text;
}

/* Critical paths that are made elsewhere: until they come, there are no stories, and nothing fails. */
static void test_paths_later(void **state)
{
	struct thrum__bands_time time = {{0, 0}, {5000000, 0}};
	struct thrum__story_where where;
	struct thrum__paths *paths;
	struct picture p;
	char *text = many_requests(THRUM__LATER_PATHS / 2);

	(void)state;
	picture_init(&p, text, false);
	test_free(text);
	p.scene->state.as = THRUM__AS_BANDS;
	p.scene->paths_later = true;
	picture_paint(&p, 1600, 900);
	assert_false(thrum__scene_awaits_paths(p.scene));
	assert_true(thrum__scene_bands_lacks_where(p.scene));
	p.scene->state.bands.stories[0] = 20;
	p.scene->state.bands.story_count = 1;
	picture_paint(&p, 1600, 900);
	assert_true(thrum__scene_awaits_paths(p.scene));
	assert_int_equal(picture_find(&p, "Story", NULL), 0);
	assert_int_equal(thrum__scene_bands_look_on(p.scene), 0);
	assert_int_equal(thrum__scene_bands_where_in(p.scene, group_named(&p, "GET /#"), &time,
				 &where),
		0);
	assert_int_equal(where.count, 0);
	assert_int_equal(thrum__scene_paths_make(p.model, &paths), 0);
	thrum__scene_take_paths(p.scene, paths);
	assert_false(thrum__scene_awaits_paths(p.scene));
	picture_paint(&p, 1600, 900);
	assert_int_equal(picture_find(&p, "Story", NULL), 1);
	assert_int_equal(thrum__scene_bands_where_in(p.scene, group_named(&p, "GET /#"), &time,
				 &where),
		0);
	assert_true(where.count > 0);
	/* A second one isn't needed. */
	assert_int_equal(thrum__scene_paths_make(p.model, &paths), 0);
	thrum__scene_take_paths(p.scene, paths);
	picture_finish(&p);
}

/* A link to a group shows its band, from rows, too; a document is written anew for a range. */
static void test_link(void **state)
{
	struct picture p;
	uint32_t group, whole;

	(void)state;
	set_up(&p);
	assert_int_equal(thrum__scene_bands_subject(p.scene), 0);
	assert_int_equal(thrum__scene_show_group(p.scene, 100), 0);
	assert_int_equal(thrum__scene_show_group(p.scene, 0), 1);
	picture_paint(&p, 1600, 900);
	group = group_named(&p, "GET /#");
	assert_int_equal(thrum__scene_show_group(p.scene, group), 1);
	picture_paint(&p, 1600, 900);
	assert_int_equal(thrum__scene_bands_focus(p.scene), group);
	whole = thrum__scene_bands_subject(p.scene);
	assert_int_not_equal(whole, 0);
	p.scene->state.bands.range_from = 1000000;
	p.scene->state.bands.range_to = 3000000;
	assert_int_not_equal(thrum__scene_bands_subject(p.scene), whole);
	picture_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_paths_later),
		cmocka_unit_test(test_opened),
		cmocka_unit_test(test_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
