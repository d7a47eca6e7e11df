/* SPDX-License-Identifier: ISC */
/* The strip's columns are kept from frame to frame: only as long as they are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/story.h"
#include "view/paint.h"

/* What is told last is earlier than the end, which stays. */
static const char trace[] = "0 create - 1 thread\n"
			    "0 switch 1\n"
			    "10 create 1 2 promise\n"
			    "900 resolve 1 2\n"
			    "1000 switch -\n"
			    "100 @1 create - 3 thread\n"
			    "100 @1 switch 3\n"
			    "200 @1 create 3 4 promise\n"
			    "500 @1 resolve 3 4\n"
			    "600 @1 switch -\n";
#define FIRST 5

static char *strip(struct thrum__view *view, float width, float height)
{
	struct thrum__list list;

	thrum__list_init(&list);
	assert_int_equal(thrum__view_strip(view, width, height, &thrum__metrics_plain, &list), 0);
	size_t size = thrum__list_print(&list, NULL, 0) + 1;
	char *text = malloc(size);

	assert_non_null(text);
	thrum__list_print(&list, text, size);
	thrum__list_finish(&list);
	return text;
}

static void same(struct thrum__view *kept, struct thrum__view *fresh, float width, float height)
{
	char *one = strip(kept, width, height), *other = strip(fresh, width, height);

	assert_string_equal(one, other);
	free(one);
	free(other);
}

static void columns_are_those_of_now(void **state)
{
	struct thrum__model *model;
	struct thrum__view *kept, *fresh;
	struct story story;

	story_init(&story, trace);
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, story.events, FIRST), 0);
	assert_int_equal(thrum__view_create(model, NULL, NULL, NULL, &kept), 0);
	char *before = strip(kept, 1000, THRUM__STRIP);

	assert_int_equal(thrum__model_append(model, story.events + FIRST, story.count - FIRST), 0);
	assert_int_equal(thrum__view_update(kept), 0);
	assert_int_equal(thrum__view_create(model, NULL, NULL, NULL, &fresh), 0);
	char *after = strip(kept, 1000, THRUM__STRIP);

	assert_string_not_equal(before, after);
	same(kept, fresh, 1000, THRUM__STRIP);
	same(kept, fresh, 1000, THRUM__STRIP);
	same(kept, fresh, 700, THRUM__STRIP);
	same(kept, fresh, 700, THRUM__STRIP + 20);
	free(before);
	free(after);
	thrum__view_destroy(kept);
	thrum__view_destroy(fresh);
	thrum__model_destroy(model);
	story_finish(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_those_of_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
