/* SPDX-License-Identifier: ISC */
/* Tasks that nobody wakes, and hangs in a recording whose end isn't known: each story with a finding
 * has a twin without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* The story that is being written, and what was found in it. */
static struct {
	struct thrum__model *model;
	struct thrum__findings findings;
} story;

static bool is_cut; /* the story's model is to look as if events were overwritten */

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
}

static const struct thrum__finding *judge(enum thrum_ending ending, uint32_t count)
{
	story.model = story_model(story_told(), false);
	story.model->ending = ending;
	story.model->is_cut = is_cut;
	story_find(story.model, &story.findings);
	assert_int_equal(story.findings.count, count);
	return story.findings.findings;
}

static void finish(void)
{
	story_free(story.model, &story.findings);
}

/* A page waits for glyphs in the middle of its run; `wakes` tells whether it goes on. */
static void tell_page(int at, int page, int glyphs, bool wakes)
{
	story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"page %d\n%d" MS "switch %d\n", at,
		page, at, page, page, at, page);
	story_tell("%d" MS "create %d %d promise\n%d" MS "wait %d %d\n%d" MS "switch 1\n", at, page,
		glyphs, at + 1, page, glyphs, at + 2);
	if (!wakes)
		return;
	story_tell("%d" MS "resolve 1 %d\n%d" MS "switch %d\n%d" MS "read %d %d\n", at + 3, glyphs,
		at + 4, page, at + 4, page, glyphs);
	story_tell("%d" MS "resolve %d %d\n%d" MS "switch 1\n", at + 4, page, page, at + 5);
}

/* Ten pages; the glyphs of the last one are awaited by a prefetch, too. */
static void tell_pages(bool hangs)
{
	begin();
	for (int i = 0; i < 10; i++)
		tell_page(10 * i, 100 + i, 200 + i, true);
	tell_page(100, 110, 210, false);
	story_tell("103" MS "create 1 3 task\n103" MS "label 3 \"prefetch\n103" MS "switch 3\n");
	story_tell("104" MS "wait 3 210\n104" MS "switch 1\n105" MS "resolve 1 210\n");
	story_tell("106" MS "switch 3\n106" MS "read 3 210\n106" MS "resolve 3 3\n107" MS
		   "switch 1\n");
	if (!hangs)
		story_tell("108" MS "switch 110\n108" MS "read 110 210\n108" MS
			   "resolve 110 110\n109" MS "switch 1\n");
	story_tell("110" MS "suspend \"wait for work\n800" MS "resume\n800" MS
		   "suspend \"wait for work\n");
}

static void another_is_woken(void **state)
{
	const struct thrum__finding *finding;

	tell_pages(true);
	finding = judge(THRUM_ENDING_UNKNOWN, 1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->certainty, THRUM__LIKELY);
	assert_int_equal(finding->step_count, 2);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_WOKEN);
	assert_int_equal(finding->steps[0].task, story_task(story.model, 3));
	assert_int_equal(finding->steps[1].kind, THRUM__STEP_NOT_WOKEN);
	assert_int_equal(finding->steps[1].task, story_task(story.model, 110));
	finish();
	tell_pages(false);
	judge(THRUM_ENDING_UNKNOWN, 0);
	finish();
}

/* A join of eight flushes; all but the third end, and the loop rests at once. */
static void tell_flushes(int count)
{
	begin();
	story_tell("1" MS "create 1 2 join\n1" MS "label 2 \"checkpoint\n");
	for (int i = 0; i < 8; i++)
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"flush %c\n%d" MS
			   "wait 2 %d\n",
			2 + i, 10 + i, 2 + i, 10 + i, 'a' + i, 2 + i, 10 + i);
	for (int i = 0; i < count; i++)
		if (i != 2)
			story_tell("%d" MS "resolve 1 %d\n", 12 + i, 10 + i);
	story_tell("21" MS "suspend \"wait for work\n");
}

static void overtaken_by_siblings(void **state)
{
	const struct thrum__finding *finding;

	tell_flushes(8);
	finding = judge(THRUM_ENDING_GONE, 1);
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->certainty, THRUM__POSSIBLE);
	assert_int_equal(finding->steps[0].other, story_task(story.model, 12));
	finish();
	/* The end is known: the flush is young. */
	tell_flushes(8);
	judge(THRUM_ENDING_KILLED, 0);
	finish();
	/* Others are under way as well. */
	tell_flushes(7);
	judge(THRUM_ENDING_GONE, 0);
	finish();
}

/* A task whose result was read has ended, although the beginning of a lane is overwritten that told
 * so. */
static void end_is_overwritten(void **state)
{
	begin();
	story_tell("1" MS "create 1 2 promise\n1" MS "label 2 \"answer\n1" MS "should-resolve 2\n");
	story_tell("1" MS "create 1 3 task\n1" MS "switch 3\n1" MS "wait 3 2\n2" MS "read 3 2\n");
	story_tell("2" MS "resolve 3 3\n2" MS "switch 1\n900" MS "log 1 \"end\n");
	judge(THRUM_ENDING_UNKNOWN, 1);
	finish();
	is_cut = true;
	judge(THRUM_ENDING_UNKNOWN, 0);
	finish();
	is_cut = false;
}

/* A server answers none of its requests, each 2 ms after the one before, until the recording ends. */
static void tell_requests(int end)
{
	begin();
	story_tell("1" MS "create 1 2 task\n1" MS "label 2 \"server\n");
	for (int i = 0; i < 20; i++)
		story_tell("%d" MS "create 2 %d task\n%d" MS "label %d \"GET %d\n%d" MS
			   "should-resolve %d\n",
			2 + 2 * i, 10 + i, 2 + 2 * i, 10 + i, i, 2 + 2 * i, 10 + i);
	story_tell("%d" MS "log 1 \"end\n", end);
}

static void broken_off_at_once(void **state)
{
	static const enum thrum_ending endings[] = {THRUM_ENDING_GONE, THRUM_ENDING_KILLED,
		THRUM_ENDING_RUNNING};

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		tell_requests(60);
		judge(endings[i], 0);
		finish();
	}
	/* The program ended by itself, or there was time enough. */
	tell_requests(60);
	judge(THRUM_ENDING_EXITED, 1);
	finish();
	tell_requests(900);
	judge(THRUM_ENDING_KILLED, 1);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_is_woken),
		cmocka_unit_test(overtaken_by_siblings),
		cmocka_unit_test(end_is_overwritten),
		cmocka_unit_test(broken_off_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
