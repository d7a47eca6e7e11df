/* SPDX-License-Identifier: ISC */
/* The document on the differences of two traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "document_helper.h"
#include "read/read.h"
#include "story.h"

static const char good[] = "0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
			   "10 create 1 2 bind\n10 label 2 \"asker\n"
			   "10 create 1 3 condition\n10 label 3 \"reply 1\n"
			   "100 wait 2 3\n200 signal 1 3\n300 read 2 3\n400 resolve 1 2\n"
			   "500 resolve 1 1\n";
static const char bad[] = "0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
			  "10 create 1 2 bind\n10 label 2 \"asker\n"
			  "10 create 1 3 condition\n10 label 3 \"reply 2\n"
			  "100 signal 1 3\n200 wait 2 3\n500 resolve 1 1\n";
static const char other[] = "0 create - 1 thread\n0 label 1 \"else\n0 switch 1\n";

static const struct thrum_trace_site *get_site(const struct thrum_trace *trace, unsigned number)
{
	static const struct thrum_trace_site place = {"a.c", "load", 1};

	(void)trace;
	return number == 1 ? &place : NULL;
}

/* All waits of the lines begin in one place. */
static struct thrum__model *make_model(const char *lines)
{
	static const struct thrum__read_format format = {.site = get_site};
	static const struct thrum_trace trace = {.format = &format};
	struct thrum__model *m;
	struct story story;

	story_init(&story, lines);
	assert_int_equal(thrum__model_create(NULL, &m), 0);
	for (size_t i = 0; i < story.count; i++) {
		story.events[i].site = story.events[i].type == THRUM_EVENT_WAIT;
		assert_int_equal(thrum__model_append_from(m, &trace, &story.events[i], 1), 0);
	}
	story_finish(&story);
	return m;
}

static void show(const char *first, const char *second, struct thrum__document *document,
	struct thrum__model *models[2])
{
	static const char *const names[] = {"a.thrum", "b.thrum"};
	struct thrum__comparison comparison;

	models[0] = make_model(first);
	models[1] = make_model(second);
	assert_int_equal(thrum__diff_make(models[0], models[1], &comparison), 0);
	assert_int_equal(thrum__document_diff(&comparison, names, document), 0);
	document_check(document, models[0]);
	thrum__diff_free(&comparison);
}

static void finish(struct thrum__document *document, struct thrum__model *models[2])
{
	thrum__document_finish(document);
	thrum__model_destroy(models[0]);
	thrum__model_destroy(models[1]);
}

static void a_lost_signal(void **state)
{
	struct thrum__document document = {0};
	struct thrum__model *models[2];
	const struct thrum__document_piece *piece;
	const char *text;

	(void)state;
	show(good, bad, &document, models);
	text = document_show(&document);
	assert_non_null(strstr(text,
		"title: Differences\n"
		"pair GOOD: a.thrum: 500 ns, 2 labelled tasks\n"
		"pair BAD: b.thrum: 500 ns, 2 labelled tasks\n"
		"section: The main difference:\n"
		"line: [!“reply #” (condition): in BAD the signal precedes the wait!]\n"
		"pair GOOD: at 100 ns [“asker” (task 2)] waits, then at 200 ns [“main” (task 1)] "
		"signals\n"
		"pair BAD: at 100 ns [“main” (task 1)] signals, then at 200 ns [“asker” (task 2)] "
		"waits\n"));
	piece = document_find(&document,
		"“reply #” (condition): in BAD the signal precedes the wait");
	assert_int_equal(piece->link, THRUM__LINK_TO_DIFFERENCE);
	assert_true(piece->is_bad);
	for (uint32_t i = 0; i < document.count; i++) {
		const struct thrum__document_paragraph *p = &document.paragraphs[i];

		for (uint32_t k = p->first; k < p->first + p->count; k++)
			if (document.pieces[k].link == THRUM__LINK_TO_TASK)
				assert_int_equal(document.pieces[k].side,
					strcmp(p->key, "BAD") == 0);
	}
	finish(&document, models);
}

static void no_differences(void **state)
{
	struct thrum__document document = {0};
	struct thrum__model *models[2];

	(void)state;
	show(good, good, &document, models);
	assert_non_null(strstr(document_show(&document),
		"section: Result\nline: No differences in 2 groups of tasks.\n"));
	finish(&document, models);
	document = (struct thrum__document){0};
	show(good, other, &document, models);
	assert_non_null(strstr(document_show(&document),
		"line: Nothing can be compared: no labels in common.\n"));
	finish(&document, models);
}

/* A page waits for the disk, in BAD for longer. */
#define PAGE_UNTIL(time) \
	"0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"page\n" \
	"20 create 2 3 request\n20 label 3 \"disk\n20 wait 2 3\n" time " resolve 1 3\n" time \
	" resolve 1 2\n"

static void a_longer_wait_has_its_function(void **state)
{
	struct thrum__document document = {0};
	struct thrum__model *models[2];

	(void)state;
	show(PAGE_UNTIL("2000000"), PAGE_UNTIL("80000020"), &document, models);
	assert_non_null(strstr(document_show(&document),
		"“page” (task): slower in BAD: it took 80 ms, in GOOD 2 ms; 78 ms more waiting in "
		"load for “disk”"));
	finish(&document, models);
}

/* Tells of 30 tasks that take so long; but every tenth waits 50 ms for a lock that the backup holds. */
static void tell_saves(int ns, bool waits, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 lock\n0 label 2 \"db\n"
		"0 create 1 3 task\n0 label 3 \"backup\n");

	for (int i = 0; i < 30; i++) {
		int64_t at = INT64_C(100000000) * (i + 1), end = at + ns + i;
		int task = 10 + i;

		used += (size_t)snprintf(to + used, size - used,
			"%jd lock 3 2\n%jd create 1 %d task\n%jd label %d \"save\n",
			(intmax_t)at - 10, (intmax_t)at, task, (intmax_t)at, task);
		if (waits && i % 10 == 9) {
			used += (size_t)snprintf(to + used, size - used, "%jd wait %d 2\n",
				(intmax_t)at + 1, task);
			end = at + 50000000;
		}
		used += (size_t)snprintf(to + used, size - used,
			"%jd unlock 3 2\n%jd resolve 1 %d\n", (intmax_t)end - 10, (intmax_t)end,
			task);
	}
}

/* Most take hardly longer: what a few wait for explains the time, not what the others do. */
static void a_few_that_wait_are_the_example(void **state)
{
	struct thrum__document document = {0};
	struct thrum__model *models[2];
	char first[8000], second[8000];

	(void)state;
	tell_saves(100000, false, first, sizeof first);
	tell_saves(200000, true, second, sizeof second);
	show(first, second, &document, models);
	assert_non_null(strstr(document_show(&document),
		"in one slower than 93 % of them, 50 ms more waiting in load for lock “db”, held by "
		"“backup”"));
	finish(&document, models);
	/* All of them take longer. */
	tell_saves(200000, false, second, sizeof second);
	show(first, second, &document, models);
	assert_non_null(strstr(document_show(&document), "of cases; 100 µs more"));
	finish(&document, models);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_signal),
		cmocka_unit_test(no_differences),
		cmocka_unit_test(a_longer_wait_has_its_function),
		cmocka_unit_test(a_few_that_wait_are_the_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
