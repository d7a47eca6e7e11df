/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <limits.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/slow/answer.h"
#include "analyse/slow/flame.h"
#include "story.h"

/* Two requests: the first waits 60 ns for a disk and runs 10, the second waits 20 and runs 10. */
#define REQUESTS \
	"0 create - 1 thread\n" \
	"0 create 1 2 promise\n" \
	"0 label 2 \"GET 1\n" \
	"0 create 1 3 request\n" \
	"0 label 3 \"disk\n" \
	"0 wait 2 3\n" \
	"60 resolve 1 3\n" \
	"60 switch 2\n" \
	"70 resolve 2 2\n" \
	"70 switch 1\n" \
	"100 create 1 4 promise\n" \
	"100 label 4 \"GET 2\n" \
	"100 create 1 5 request\n" \
	"100 label 5 \"disk\n" \
	"100 wait 4 5\n" \
	"120 resolve 1 5\n" \
	"120 switch 4\n" \
	"130 resolve 4 4\n"

static bool is_get(const void *context, const char *label, size_t size)
{
	return size > 3 && memcmp(label, "GET", 3) == 0;
}

static struct thrum__model *model;
static struct thrum__paths paths;
static struct thrum__lives lives;

static int set_up(void **state)
{
	model = story_model(REQUESTS, false);
	return thrum__slow_paths_init(&paths, model) < 0 ||
		thrum__slow_lives_make(model, paths.heads, is_get, NULL, &lives) < 0;
}

static int tear_down(void **state)
{
	thrum__slow_lives_free(&lives);
	thrum__slow_paths_finish(&paths);
	thrum__model_destroy(model);
	return 0;
}

static void lives_are_in_order(void **state)
{
	assert_int_equal(lives.count, 2);
	assert_int_equal(lives.items[0].item, story_task(model, 4));
	assert_int_equal(lives.items[0].key, 30);
	assert_int_equal(thrum__slow_lives_at(&lives, 50)->key, 30);
	assert_int_equal(thrum__slow_lives_at(&lives, 99)->key, 70);
	assert_int_equal(thrum__slow_lives_at(&lives, 100)->key, 70);
}

static void times_add_up(void **state)
{
	struct thrum__flame flame;

	assert_int_equal(thrum__slow_flame_make(&paths, &lives, &flame), 0);
	assert_int_equal(flame.tasks, 2);
	assert_int_equal(flame.total, 100);
	assert_int_equal(flame.count, 3);
	assert_int_equal(flame.depth, 1);
	assert_int_equal(flame.boxes[0].time, 100);
	assert_int_equal(flame.boxes[0].self, 0);
	assert_int_equal(flame.boxes[1].doing, THRUM__DOING_RUNS);
	assert_int_equal(flame.boxes[1].time, 20);
	assert_int_equal(flame.boxes[1].from, 0);
	assert_int_equal(flame.boxes[2].doing, THRUM__DOING_WAITS);
	assert_int_equal(flame.boxes[2].time, 80);
	assert_int_equal(flame.boxes[2].from, 20);
	thrum__slow_flame_free(&flame);
}

static void shares_are_beside_the_usual(void **state)
{
	struct thrum__path slow, usual;
	struct thrum__shares shares;

	assert_int_equal(thrum__slow_path_make(&paths, story_task(model, 2), &slow), 0);
	assert_int_equal(thrum__slow_path_make(&paths, story_task(model, 4), &usual), 0);
	assert_int_equal(thrum__slow_shares_make(&slow, &usual, &shares), 0);
	assert_int_equal(shares.count, 2);
	assert_int_equal(shares.shares[0].doing, THRUM__DOING_WAITS);
	assert_int_equal(shares.shares[0].time, 60);
	assert_int_equal(shares.shares[0].usual, 20);
	assert_int_equal(shares.shares[1].doing, THRUM__DOING_RUNS);
	assert_int_equal(shares.shares[1].time, 10);
	assert_int_equal(shares.shares[1].usual, 10);
	thrum__slow_shares_free(&shares);
	thrum__slow_path_free(&slow);
	thrum__slow_path_free(&usual);
}

static void nothing_makes_an_empty_pile(void **state)
{
	struct thrum__lives none = {0};
	struct thrum__flame flame;

	assert_int_equal(thrum__slow_flame_make(&paths, &none, &flame), 0);
	assert_int_equal(flame.count, 0);
	assert_int_equal(flame.total, 0);
	thrum__slow_flame_free(&flame);
}

/* Makes at most so many steps of an answer and of its flame graph. Returns how many there were. */
static unsigned make_steps(unsigned most, struct thrum__flame *flame)
{
	struct thrum__flame_work *work = NULL;
	struct thrum__slow_answer answer;
	unsigned steps = 0;
	int more = 1;

	thrum__slow_answer_begin(model, story_task(model, 2), &answer);
	for (; more > 0 && steps < most; steps++)
		more = thrum__slow_answer_go_on(&answer);
	if (more == 0) {
		assert_int_equal(answer.lives.count, 2);
		assert_int_equal(answer.path.to - answer.path.from, 70);
		work = thrum__slow_flame_begin(&answer.paths, &answer.lives);
		assert_non_null(work);
		more = 1;
	}
	for (; work && more > 0 && steps < most; steps++)
		more = thrum__slow_flame_go_on(work);
	thrum__slow_flame_end(work, work && more == 0 ? flame : NULL);
	thrum__slow_answer_free(&answer);
	return steps;
}

/* The usual one is that in the middle. */
static void the_usual_one_is_the_median(void **state)
{
	struct thrum__slow_answer answer;
	struct thrum__model *three = story_model(REQUESTS "200 create 1 6 promise\n"
							  "200 label 6 \"GET 3\n"
							  "245 resolve 6 6\n",
		false);

	(void)state;
	assert_int_equal(thrum__slow_answer_of(three, story_task(three, 2), &answer), 0);
	assert_int_equal(answer.usual_of, 3);
	assert_int_equal(answer.usual, story_task(three, 6));
	thrum__slow_answer_free(&answer);
	thrum__model_destroy(three);
}

/* A viewer goes on to another task before an answer is complete. */
static void steps_may_end_early(void **state)
{
	struct thrum__flame flame = {0};
	unsigned all = make_steps(UINT_MAX, &flame);

	(void)state;
	assert_true(all > 10);
	assert_int_equal(flame.tasks, 2);
	assert_int_equal(flame.total, 100);
	thrum__slow_flame_free(&flame);
	for (unsigned most = 0; most < all; most++)
		assert_int_equal(make_steps(most, &flame), most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lives_are_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(times_add_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shares_are_beside_the_usual, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_makes_an_empty_pile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(steps_may_end_early, set_up, tear_down),
		cmocka_unit_test(the_usual_one_is_the_median),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
