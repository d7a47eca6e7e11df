/* SPDX-License-Identifier: ISC */
/*
 * Findings of a model that has forgotten rows: no conclusion from the absence of edges that may be
 * forgotten. Each test has a twin, of which all that counts is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define SECOND INT64_C(1000000000)
#define FILLERS 4000  /* tasks: a few blocks of each table */
#define FILLER 100000 /* the first of their ids */

/* The thread 1 and the fiber 2 never end, so the first block of tasks stays. */
#define BEGINNING \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"0 create 1 2 fiber\n"

static void append_lines(struct thrum__model *model, const char *lines)
{
	struct story story;

	story_init(&story, lines);
	assert_int_equal(thrum__model_append(model, story.events, story.count), 0);
	story_finish(&story);
}

/* Appends tasks that are created by the thread, waited for, read and resolved. */
static void append_fillers(struct thrum__model *model, int64_t from)
{
	static const uint8_t TYPES[] = {THRUM_EVENT_CREATE, THRUM_EVENT_LABEL, THRUM_EVENT_WAIT,
		THRUM_EVENT_RESOLVE, THRUM_EVENT_READ};

	for (int64_t i = 0; i < FILLERS; i++) {
		for (size_t k = 0; k < sizeof TYPES; k++) {
			bool is_label = TYPES[k] == THRUM_EVENT_LABEL;
			struct thrum_event event = {
				.time = from + i * 1000 + (int64_t)k,
				.type = TYPES[k],
				.kind = THRUM_KIND_PROMISE,
				.task = is_label ? FILLER + (uint64_t)i : 1,
				.other = FILLER + (uint64_t)i,
				.text = "filler",
				.text_size = 6,
				.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER |
					THRUM_EVENT_HAS_TEXT,
			};

			assert_int_equal(thrum__model_append(model, &event, 1), 0);
		}
	}
}

/*
 * Appends `before`, fillers from 10 s on, and `after`; forgets all before 12 s. Returns how many
 * findings of a class there are.
 */
static uint32_t count_findings(const char *before, const char *after, int class)
{
	char lines[4000];
	struct thrum__findings findings;
	struct thrum__model *model;
	uint32_t count = 0;

	snprintf(lines, sizeof lines, BEGINNING "%s", before);
	model = story_model(lines, false);
	append_fillers(model, 10 * SECOND);
	append_lines(model, after);
	append_lines(model, "20000000000 log 1 \"end\n");
	thrum__model_forget(model, 12 * SECOND);
	assert_null(model->edges.block[0]);
	assert_null(model->notes.block[0]);
	assert_null(model->tasks.block[1]);
	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		count += findings.findings[i].class == class;
	story_free(model, &findings);
	return count;
}

static void failure_whose_reader_is_forgotten(void **state)
{
	(void)state;
	assert_int_equal(count_findings("1000000000 create 2 3 promise\n"
					"2000000000 fail 1 3 \"no\n"
					"3000000000 read 2 3\n",
				 "13000000000 log 1 \"later\n", THRUM__FINDING_FAILED_UNSEEN),
		0);
	/* The fiber waits for the promise from before, and ends later. */
	assert_int_equal(count_findings("1000000000 create 2 3 promise\n"
					"1000000000 create 2 4 fiber\n"
					"2000000000 wait 4 3\n",
				 "13000000000 fail 1 3 \"no\n"
				 "14000000000 resolve 4 4\n",
				 THRUM__FINDING_FAILED_UNSEEN),
		0);
}

static void failure_that_is_known_whole(void **state)
{
	(void)state;
	assert_int_equal(count_findings("1000000000 create 2 3 promise\n",
				 "13000000000 fail 1 3 \"no\n", THRUM__FINDING_FAILED_UNSEEN),
		1);
}

static void leaf_whose_waits_are_forgotten(void **state)
{
	(void)state;
	assert_int_equal(count_findings("1000000000 create 1 3 promise\n"
					"1000000000 create 1 4 fiber\n"
					"1000000000 should-resolve 4\n"
					"2000000000 read 4 3\n",
				 "13000000000 log 1 \"later\n", THRUM__FINDING_NEVER_RESOLVED),
		0);
}

/* A message was sent for the answer, over a link, to a task in the same recording. */
static void link_is_forgotten(void **state)
{
	static const char lines[] = "1000000000 create 2 3 promise\n"
				    "1000000000 should-resolve 3\n"
				    "2000000000 link-send 2 \"key\n"
				    "3000000000 link-receive 1 \"key\n";

	(void)state;
	assert_int_equal(count_findings(lines, "13000000000 log 1 \"later\n",
				 THRUM__FINDING_NEVER_RESOLVED),
		0);
}

static void leaf_that_is_known_whole(void **state)
{
	(void)state;
	assert_int_equal(count_findings("1000000000 create 1 3 promise\n"
					"1000000000 label 3 \"answer\n"
					"1000000000 should-resolve 3\n",
				 "13000000000 log 1 \"later\n", THRUM__FINDING_NEVER_RESOLVED),
		1);
}

/* It is due in 100 s. */
static void due_time_is_forgotten(void **state)
{
	(void)state;
	assert_int_equal(count_findings("1000000000 create 1 3 promise\n"
					"1000000000 due 3 =100000000000\n"
					"1000000000 should-resolve 3\n",
				 "13000000000 log 1 \"later\n", THRUM__FINDING_NEVER_RESOLVED) +
			count_findings("1000000000 create 1 3 promise\n"
				       "1000000000 due 3 =100000000000\n"
				       "1000000000 should-resolve 3\n",
				"13000000000 log 1 \"later\n", THRUM__FINDING_OUTSIDE),
		0);
}

/* Task 300000 cancels one that this task created at 11 s. Returns the number of findings. */
static uint32_t count_cancelled(int creator)
{
	char after[1000];

	snprintf(after, sizeof after,
		"11000000000 create %d 300001 promise\n"
		"13000000000 create 2 300000 fiber\n"
		"13000000000 should-resolve 300001\n"
		"14000000000 cancel 300000 300001\n",
		creator);
	return count_findings("", after, THRUM__FINDING_CANCELLED);
}

/* A forgotten filler may have been created by the task that cancels. */
static void creator_is_forgotten(void **state)
{
	(void)state;
	assert_int_equal(count_cancelled(FILLER + 2000), 0);
	assert_int_equal(count_cancelled(1), 1);
}

/* Growth can't be told from a time of which ended tasks are forgotten. */
static void growth_before_is_unknown(void **state)
{
	static const char later[] = "3000000000 create 1 20 promise\n"
				    "3000000000 label 20 \"alike\n"
				    "5000000000 create 1 21 promise\n"
				    "5000000000 label 21 \"alike\n"
				    "8000000000 create 1 22 promise\n"
				    "8000000000 label 22 \"alike\n";
	static const char now[] = "13000000000 create 1 300001 promise\n"
				  "13000000000 label 300001 \"alike\n"
				  "14000000000 create 1 300002 promise\n"
				  "14000000000 label 300002 \"alike\n"
				  "16000000000 create 1 300003 promise\n"
				  "16000000000 label 300003 \"alike\n"
				  "18000000000 create 1 300004 promise\n"
				  "18000000000 label 300004 \"alike\n";
	static char first[4000], before[8000];
	size_t size = 0;

	(void)state;
	for (int i = 0; i < 10; i++)
		size += (size_t)snprintf(first + size, sizeof first - size,
			"%d00000000 create 1 %d promise\n"
			"%d00000000 label %d \"alike\n",
			i + 1, 3 + i, i + 1, 3 + i);
	snprintf(before, sizeof before, "%s%s", first, later);
	assert_int_equal(count_findings(before, "13000000000 log 1 \"later\n", THRUM__FINDING_LEAK),
		0);
	assert_int_equal(count_findings(first, now, THRUM__FINDING_LEAK), 1);
}

/* The promise 4 hung until all was cancelled, unless it waited for a task that is forgotten. */
static void hung_before_a_tear_down(void **state)
{
	(void)state;
	assert_int_equal(count_findings("1 create 1 3 promise\n"
					"1 should-resolve 3\n"
					"1 create 1 4 promise\n"
					"2 create 1 5 promise\n"
					"2 wait 4 5\n",
				 "13000000000 wait 3 4\n19990000000 cancel 1 4\n"
				 "19990000000 cancel 1 3\n",
				 THRUM__FINDING_NEVER_RESOLVED),
		0);
	assert_int_equal(count_findings("1 create 1 3 promise\n"
					"1 should-resolve 3\n",
				 "13000000000 create 1 4 promise\n13000000001 wait 3 4\n"
				 "19990000000 cancel 1 4\n19990000000 cancel 1 3\n",
				 THRUM__FINDING_NEVER_RESOLVED),
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failure_whose_reader_is_forgotten),
		cmocka_unit_test(failure_that_is_known_whole),
		cmocka_unit_test(leaf_whose_waits_are_forgotten),
		cmocka_unit_test(link_is_forgotten),
		cmocka_unit_test(leaf_that_is_known_whole),
		cmocka_unit_test(due_time_is_forgotten),
		cmocka_unit_test(creator_is_forgotten),
		cmocka_unit_test(growth_before_is_unknown),
		cmocka_unit_test(hung_before_a_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
