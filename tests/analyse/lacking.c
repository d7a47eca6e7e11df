/* SPDX-License-Identifier: ISC */
/* The one of several tasks that BAD lacks, while something hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/diff/diff.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* An album, 2, whose thumbnails, up to `count`, are made one after the other. */
struct album {
	unsigned count, lacks; /* lacks: the one that isn't made; 0: none */
	unsigned pending;      /* the one that doesn't end; 0: none */
	unsigned first;        /* its number */
	unsigned end;          /* ms */
	bool is_done;
};

static struct thrum__model *model_of(const struct album *album)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 2 promise\n0 label 2 \"album\n"
		   "0 should-resolve 2\n");
	for (unsigned i = 1; i <= album->count; i++) {
		unsigned id = 10 + i;

		if (i == album->lacks)
			continue;
		story_tell("%u" MS "create 1 %u task\n%u" MS "label %u \"thumbnail %u\n", 10 * i,
			id, 10 * i, id, album->first + i - 1);
		if (i != album->pending)
			story_tell("%u" MS "resolve 1 %u\n", 10 * i + 5, id);
	}
	if (album->is_done)
		story_tell("%u" MS "resolve 1 2\n", 10 * album->count + 10);
	story_tell("%u" MS "log 1 \"end\n", album->end);
	return story_model(story_told(), false);
}

/* Expects that BAD lacks this one of GOOD's; 0: none is told. */
static void expect(const struct album *bad, uint64_t lacking)
{
	const struct album good = {8, 0, 0, 1, 200, true};
	struct thrum__model *models[] = {model_of(&good), model_of(bad)};
	struct thrum__comparison comparison;
	uint64_t found = 0;

	assert_int_equal(thrum__diff_make(models[0], models[1], &comparison), 0);
	for (uint32_t i = 0; i < comparison.count; i++) {
		const struct thrum__difference *d = &comparison.differences[i];

		if (d->kind != THRUM__DIFFERENCE_MISSING || d->side[THRUM__GOOD].count > 1)
			continue;
		assert_int_equal(d->side[THRUM__GOOD].of, 8);
		found = THRUM__TASK(models[0], d->side[THRUM__GOOD].task, id);
	}
	assert_int_equal(found, lacking);
	thrum__diff_free(&comparison);
	thrum__model_destroy(models[0]);
	thrum__model_destroy(models[1]);
}

static void one_of_several_is_missing(void **state)
{
	(void)state;
	expect(&(struct album){8, 8, 0, 1, 1000, false}, 18);
	expect(&(struct album){8, 3, 0, 1, 1000, false}, 13);
	/* Nothing hangs; it was to come when the program ended; one goes on before it. */
	expect(&(struct album){8, 8, 0, 1, 1000, true}, 0);
	expect(&(struct album){8, 8, 0, 1, 100, false}, 0);
	expect(&(struct album){8, 8, 7, 1, 1000, false}, 0);
	/* Several are missing; or all have numbers of their own. */
	expect(&(struct album){6, 0, 0, 1, 1000, false}, 0);
	expect(&(struct album){7, 0, 0, 31, 1000, false}, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_several_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
