/* SPDX-License-Identifier: ISC */
/* Tasks of which more and more are pending, and such as only seem to leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

static bool is_cut; /* the story's model is to look as if events were overwritten */

struct text {
	char lines[32768];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void tell(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text->used += (size_t)vsnprintf(text->lines + text->used, sizeof text->lines - text->used,
		format, arguments);
	va_end(arguments);
	assert_true(text->used < sizeof text->lines);
}

static void begin(struct text *text)
{
	text->used = 0;
	tell(text, "0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"server\n");
}

/* `task` creates another one. */
static void create(struct text *text, int ms, int task, int other, const char *kind,
	const char *label)
{
	tell(text, "%d000000 create %d %d %s\n%d000000 label %d \"%s\n", ms, task, other, kind, ms,
		other, label);
}

/* Ends the story. Returns the certainty of its only finding, which is a leak; -1 if there is none.
 */
static int certainty(struct text *text)
{
	struct thrum__model *model;
	struct thrum__findings findings;
	int certainty = -1;

	tell(text, "5000000000 log 1 \"end\n");
	model = story_model(text->lines, false);
	model->is_cut = is_cut;
	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		if (findings.findings[i].class == THRUM__FINDING_LEAK)
			certainty = findings.findings[i].certainty;
	story_free(model, &findings);
	return certainty;
}

/* 48 tasks of a kind, one each 100 ms. Those that don't leak end after 20 ms. */
static int grow(const char *kind, int leaks_every)
{
	struct text text;

	begin(&text);
	for (int i = 0; i < 48; i++) {
		create(&text, 10 + 100 * i, 2, 100 + i, kind, "thing");
		if (leaks_every == 0 || i % leaks_every != 0)
			tell(&text, "%d000000 cancel 2 %d\n", 30 + 100 * i, 100 + i);
	}
	return certainty(&text);
}

static void things_that_others_end(void **state)
{
	static const char *const kinds[] = {"promise", "handle", "timer", "stream", "mailbox"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		assert_int_equal(grow(kinds[i], 2), THRUM__LIKELY);
		assert_int_equal(grow(kinds[i], 0), -1);
	}
}

static void handles_that_nobody_ends(void **state)
{
	assert_int_equal(grow("handle", 1), THRUM__POSSIBLE);
	assert_int_equal(grow("promise", 1), THRUM__LIKELY);
	/* These live as long as their owner. */
	assert_int_equal(grow("mailbox", 1), -1);
	/* A program may leave these as they are, also if it ends some. */
	assert_int_equal(grow("lock", 2), -1);
	assert_int_equal(grow("condition", 2), -1);
}

/* 48 jobs, one each 100 ms, of which every second one waits for a timer that is due in so many ms. The others
 * end soon. */
static int rest(int due, bool is_awaited)
{
	struct text text;

	begin(&text);
	for (int i = 0; i < 48; i++) {
		int ms = 10 + 100 * i;

		create(&text, ms, 2, 100 + i, "promise", "job");
		create(&text, ms, 2, 200 + i, "timer", "rest");
		tell(&text, "%d000000 due %d =%d000000\n", ms, 200 + i, i % 2 ? 20 : due);
		if (is_awaited)
			tell(&text, "%d000000 wait %d %d\n", ms, 100 + i, 200 + i);
		if (i % 2 || !is_awaited)
			tell(&text, "%d000000 resolve 2 %d\n", ms + 20, 100 + i);
		if (i % 2)
			tell(&text, "%d000000 resolve 2 %d\n", ms + 20, 200 + i);
	}
	return certainty(&text);
}

static void jobs_that_rest_are_no_leak(void **state)
{
	assert_int_equal(rest(30000, true), -1);
	/* That time has passed, or nobody waits for it any more. */
	assert_int_equal(rest(50, true), THRUM__LIKELY);
	assert_int_equal(rest(30000, false), THRUM__LIKELY);
}

/* A queue of 48 jobs, one each 100 ms. A worker does four, and then sleeps in one, which it may have begun or
 * not, until a time in ms. */
static int queue(bool has_begun, int until)
{
	struct text text;

	begin(&text);
	tell(&text, "0 @1 create - 3 thread\n0 @1 switch 3\n");
	for (int i = 0; i < 48; i++) {
		int ms = 10 + 100 * i;

		create(&text, ms, 2, 100 + i, "task", "job");
		if (i < 4)
			tell(&text, "%d000000 @1 switch %d\n%d000000 @1 resolve %d %d\n", ms + 1,
				100 + i, ms + 5, 100 + i, 100 + i);
		if (i == 4 && has_begun)
			tell(&text, "%d000000 @1 switch %d\n", ms + 1, 100 + i);
		if (i == 4)
			tell(&text,
				"%d000000 @1 create 3 90 timer\n%d000000 @1 due 90 =%d000000\n"
				"%d000000 @1 wait %d 90\n%d000000 @1 suspend \"blocked for a time\n",
				ms + 2, ms + 2, until - ms, ms + 2, has_begun ? 100 + i : 3,
				ms + 2);
	}
	return certainty(&text);
}

static void a_queue_behind_a_long_job(void **state)
{
	assert_int_equal(queue(true, 9000), -1);
	/* The worker does something else, or should go on. */
	assert_int_equal(queue(false, 9000), THRUM__LIKELY);
	assert_int_equal(queue(true, 1000), THRUM__LIKELY);
}

/* A thread makes `stored` timers at the start, as a store for later, and `more` later on. */
static int store(int stored, int more)
{
	struct text text;

	begin(&text);
	for (int i = 0; i < stored; i++)
		create(&text, 1, 2, 100 + i, "timer", "store");
	for (int i = 0; i < more; i++) {
		create(&text, 10 + 4900 * i / more, 2, 1000 + i, "timer", "store");
		if (i % 3 == 0)
			tell(&text, "%d000000 cancel 2 %d\n", 11 + 4900 * i / more, 1000 + i);
	}
	return certainty(&text);
}

static void a_store_is_no_growth(void **state)
{
	assert_int_equal(store(200, 24), -1);
	/* It holds what is needed often, and more comes. */
	assert_int_equal(store(200, 120), THRUM__LIKELY);
	assert_int_equal(store(0, 24), THRUM__LIKELY);
	is_cut = true;
	assert_int_equal(store(200, 24), THRUM__LIKELY);
	is_cut = false;
}

/* 48 requests at the end, one each `step` ms. Every second one ends soon, the others would so, too. */
static int burst(const char *kind, int step)
{
	struct text text;

	begin(&text);
	for (int i = 0; i < 48; i++) {
		int ms = 5000 - (48 - i) * step;

		create(&text, ms, 2, 100 + i, kind, "request");
		if (i % 2)
			tell(&text, "%d500000 resolve 2 %d\n", ms, 100 + i);
	}
	return certainty(&text);
}

static void a_burst_at_the_end(void **state)
{
	static const char *const kinds[] = {"handle", "request", "promise"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		assert_int_equal(burst(kinds[i], 1), -1);
		assert_int_equal(burst(kinds[i], 2), -1);
		/* It goes on for so long that it is none. */
		assert_int_equal(burst(kinds[i], 10), THRUM__LIKELY);
	}
}

/* Those that ended may be among the lost events: only what comes after them tells of growth. */
static void growth_before_a_gap(void **state)
{
	struct text text;

	begin(&text);
	for (int i = 0; i < 24; i++)
		create(&text, 10 + 150 * i, 2, 100 + i, "promise", "session");
	tell(&text, "4000000000 lost =3 \"full\n");
	assert_int_equal(certainty(&text), -1);

	begin(&text);
	tell(&text, "9000000 lost =3 \"full\n");
	for (int i = 0; i < 24; i++)
		create(&text, 10 + 150 * i, 2, 100 + i, "promise", "session");
	assert_int_equal(certainty(&text), THRUM__LIKELY);
}

/* A server that always has as many sessions. When its recording begins they are there already, and of those
 * that end nothing else is known: so the ones that stay seem to come on top. */
static void sessions_older_than_the_recording(void **state)
{
	for (int ends = 0; ends < 3; ends++) {
		struct text text;

		begin(&text);
		for (int i = 0; i < 24; i++) {
			if (i == 12)
				tell(&text, "1800000000 lost =3 \"overwritten\n");
			create(&text, 10 + 150 * i, 2, 100 + i, "promise", "session");
			if (i >= 12 && (ends == 2 || (ends == 1 && i == 13)))
				tell(&text, "%d000000 resolve 2 %d\n", 20 + 150 * i, 1000 + i);
		}
		is_cut = true;
		/* One that ended in the beginning leaves the growth as it is. */
		assert_int_equal(certainty(&text), ends == 2 ? -1 : THRUM__LIKELY);
		is_cut = false;
	}
}

static void a_cache_that_is_full(void **state)
{
	struct text text;

	begin(&text);
	for (int i = 0; i < 60; i++)
		create(&text, 10 + 50 * i, 2, 100 + i, "handle", "entry");
	assert_int_equal(certainty(&text), -1);
}

/* Tasks that pile up go on to do so: here none came for a while. */
static void growth_with_a_pause(void **state)
{
	for (int pause = 0; pause < 2; pause++) {
		struct text text;

		begin(&text);
		for (int i = 0; i < 41; i++)
			if (!pause || i <= 10 || i > 20)
				create(&text, 10 + 100 * i, 2, 100 + i, "promise", "session");
		assert_int_equal(certainty(&text), pause ? -1 : THRUM__LIKELY);
	}
}

/* 30 requests, one each 100 ms. Each of the first `limit` makes a handle. The others fail, or wait
 * for ever, or neither. With "Fail" the third fails, too. */
static int use_up(int limit, const char *others)
{
	struct text text;

	begin(&text);
	create(&text, 1, 2, 3, "mailbox", "pool");
	for (int i = 0; i < 30; i++) {
		int ms = 10 + 100 * i, id = 100 + 2 * i;

		create(&text, ms, 2, id, "task", "request");
		if (i < limit)
			create(&text, ms, id, id + 1, "handle", "descriptor");
		if ((i < limit && (*others != 'F' || i != 2)) || *others == 'r')
			tell(&text, "%d000000 resolve 2 %d\n", ms + 5, id);
		else if (*others == 'f' || *others == 'F')
			tell(&text, "%d000000 fail 2 %d \"no descriptor left\n", ms + 5, id);
		else
			tell(&text, "%d000000 wait %d 3\n", ms + 5, id);
	}
	return certainty(&text);
}

static void a_limit(void **state)
{
	assert_int_equal(use_up(12, "fail"), THRUM__LIKELY);
	assert_int_equal(use_up(12, "wait"), THRUM__LIKELY);
	/* Some failed before, so they fail for another reason. */
	assert_int_equal(use_up(12, "Fail"), -1);
	/* A pool that fills once, and serves all. */
	assert_int_equal(use_up(12, "resolve"), -1);
}

/* The machine decides how many requests its devices have. */
static void requests_to_a_disk(void **state)
{
	struct text text;

	(void)state;
	begin(&text);
	create(&text, 10, 1, 3, "handle", "requests of vda");
	for (int i = 0; i < 40; i++)
		create(&text, 4000 + 24 * i, 3, 200 + i, "handle", "vda read 12 KiB");
	assert_int_equal(certainty(&text), -1);
	begin(&text);
	create(&text, 10, 1, 3, "handle", "server of files");
	for (int i = 0; i < 40; i++)
		create(&text, 4000 + 24 * i, 3, 200 + i, "handle", "read 12 KiB");
	assert_int_equal(certainty(&text), THRUM__POSSIBLE);
}

static void a_pool_beside_failures_of_others(void **state)
{
	struct text text;

	begin(&text);
	for (int i = 0; i < 12; i++)
		create(&text, 10 + i, 2, 100 + i, "handle", "worker");
	for (int i = 0; i < 12; i++) {
		create(&text, 100 + 100 * i, 2, 200 + i, "task", "upload");
		tell(&text, "%d000000 fail 2 %d \"refused\n", 110 + 100 * i, 200 + i);
	}
	assert_int_equal(certainty(&text), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(things_that_others_end),
		cmocka_unit_test(handles_that_nobody_ends),
		cmocka_unit_test(jobs_that_rest_are_no_leak),
		cmocka_unit_test(a_queue_behind_a_long_job),
		cmocka_unit_test(a_store_is_no_growth),
		cmocka_unit_test(a_burst_at_the_end),
		cmocka_unit_test(growth_before_a_gap),
		cmocka_unit_test(sessions_older_than_the_recording),
		cmocka_unit_test(a_cache_that_is_full),
		cmocka_unit_test(growth_with_a_pause),
		cmocka_unit_test(a_limit),
		cmocka_unit_test(requests_to_a_disk),
		cmocka_unit_test(a_pool_beside_failures_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
