/* SPDX-License-Identifier: ISC */
/* The documents of a program at work, and of a range of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "document_helper.h"
#include "draw/theme.h"
#include "report/document/program.h"
#include "story.h"
#include "words/bands.h"

struct read {
	struct thrum__model *model;
	struct thrum__bands *bands;
	struct thrum__paths paths;
	struct thrum__story_where where[THRUM__FAMILY_BANDS];
	struct thrum__findings findings;
	struct thrum__document document;
	struct thrum__document_program program;
	char text[100000];
	size_t size;
};

static void put(struct read *r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	r->size += (size_t)vsnprintf(r->text + r->size, sizeof r->text - r->size, format,
		arguments);
	va_end(arguments);
	assert_true(r->size < sizeof r->text);
}

/* Where the time of a group goes. */
static struct thrum__story_where where_of(struct read *r, uint32_t group,
	const struct thrum__bands_time *time)
{
	struct thrum__story_where where;
	uint32_t tasks[50], count = thrum__bands_sample(r->bands, group, time, tasks, 50);

	assert_int_equal(thrum__story_where_make(&r->paths, &r->bands->family, tasks, count,
				 &where),
		0);
	return where;
}

/* Reads the text. */
static void read_text(struct read *r)
{
	r->model = story_model(r->text, false);
	assert_int_equal(thrum__bands_make(r->model, NULL, NULL, &r->bands), 0);
	assert_int_equal(thrum__slow_paths_init(&r->paths, r->model), 0);
	assert_int_equal(thrum__why_make(r->model, &r->findings), 0);
	r->program = (struct thrum__document_program){r->bands, r->bands->from, r->bands->to,
		r->where, &r->findings};
	for (uint32_t i = 0; i < r->bands->family.shown_count; i++)
		r->where[i] = where_of(r, r->bands->family.shown[i],
			&(struct thrum__bands_time){{r->bands->from, 0}, {r->bands->to, 0}});
}

/* Requests, one each 100 ms, that wait 49 ms for a lock which a task "keeper" holds. Each tenth fails;
 * one runs for 30 ms, and the last never ends. */
static struct read *begin(void)
{
	struct read *r = calloc(1, sizeof *r);

	assert_non_null(r);
	put(r,
		"0 create - 1 thread\n0 label 1 \"loop 1\n0 switch 1\n"
		"0 create 1 5 lock\n0 label 5 \"database\n"
		"0 create 1 6 task\n0 label 6 \"keeper\n");
	for (int i = 0; i < 30; i++) {
		int id = i + 10, at = 100 * i;

		put(r, "%d000000 switch 6\n%d000000 lock 6 5\n%d000001 switch 1\n", at, at, at);
		put(r,
			"%d000001 create 1 %d request\n%d000001 label %d \"GET /%d\n"
			"%d000001 should-resolve %d\n",
			at, id, at, id, i, at, id);
		put(r, "%d000001 switch %d\n%d000000 wait %d 5\n%d000000 switch 1\n", at, id,
			at + 1, id, at + 1);
		put(r, "%d000000 switch 6\n%d000000 unlock 6 5\n", at + 50, at + 50);
		if (i == 29)
			break;
		put(r, "%d000000 switch %d\n%d000000 lock %d 5\n", at + 50, id, at + 50, id);
		at += i == 7 ? 80 : 51;
		put(r, "%d000000 unlock %d 5\n%d000000 %s %d %d%s\n%d000000 switch 1\n", at, id, at,
			i % 10 == 3 ? "fail" : "resolve", id, id, i % 10 == 3 ? " \"timed out" : "",
			at);
	}
	put(r, "2950000000 switch 1\n3100000000 log 1 \"end\n");
	read_text(r);
	return r;
}

static void end(struct read *r)
{
	thrum__document_finish(&r->document);
	thrum__why_free(&r->findings);
	thrum__slow_paths_finish(&r->paths);
	thrum__bands_destroy(r->bands);
	thrum__model_destroy(r->model);
	free(r);
}

static const char *read_program(struct read *r)
{
	assert_int_equal(thrum__document_program(&r->program, &r->document), 0);
	document_check(&r->document, r->model);
	return document_show(&r->document);
}

/* Those that mostly wait for the outside come last, also if there are more of them. */
static void answers_come_before_questions(void **state)
{
	struct read *r = calloc(1, sizeof *r);
	const char *text, *get, *ask;

	assert_non_null(r);
	put(r, "0 create - 1 thread\n0 label 1 \"loop 1\n0 switch 1\n");
	for (int i = 0; i < 60; i++)
		put(r,
			"%d000000 create 1 %d request\n%d000000 label %d \"%s %d\n"
			"%d000000 should-resolve %d\n%d000000 resolve 1 %d\n",
			20 * i, i + 10, 20 * i, i + 10, i % 3 ? "ask" : "GET", i, 20 * i, i + 10,
			20 * i + 10, i + 10);
	read_text(r);
	for (uint32_t i = 0; i < r->bands->family.shown_count; i++) {
		size_t size;
		const char *name = thrum__family_name(&r->bands->family, r->bands->family.shown[i],
			&size);

		r->where[i].count = 1;
		r->where[i].parts[0].kind = *name == 'a' ? THRUM__WHERE_OUTSIDE : THRUM__WHERE_RUNS;
	}
	text = read_program(r);
	get = strstr(text, "line: [GET #]");
	ask = strstr(text, "line: [ask #]");
	assert_non_null(get);
	assert_non_null(ask);
	assert_true(get < ask);
	end(r);
}

static void a_server(void **state)
{
	struct read *r = begin();

	(void)state;
	assert_string_equal(read_program(r),
		"title: In short\n"
		"remark: 31 labelled tasks in 3.1 s\n"
		"section: Where it runs\n"
		"line: [loop 1] runs 3 % of the time\n"
		"section: How fast it answers\n"
		"line: [GET /#]: 9.4 a second, half within 51 ms, 1 in 100 over 80 ms, "
		"the slowest [80 ms]; [!3 of 29!] fail\n"
		"section: Where it waits\n"
		"line: [GET /#] spends 94 % of its time waiting for the lock "
		"[database]. That is held "
		"50 % of the time; 0.5 wait for it at a time\n"
		"section: Out of the ordinary\n"
		"line: [750 ms]: [GET /7] runs for 30 ms on [loop 1]\n"
		"line: [1 ms]: nothing runs for 49 ms\n"
		"line: [!3 of 29!] [GET /#] fail after about 51 ms: “timed out”\n"
		"line: !1! [GET /#] is pending at the end, since [2.900 s]\n"
		"section: Findings\n"
		"line: [“GET /29” never resolves]\n"
		"line: [“GET /3” fails, and nobody reads the failure]\n");
	assert_int_equal(document_find(&r->document, "750 ms")->target, 750000000);
	assert_int_equal(document_find(&r->document, "750 ms")->until, 780000000);
	assert_int_equal(document_find(&r->document, "GET /#")->link, THRUM__LINK_TO_GROUP);
	assert_int_equal(document_find(&r->document, "GET /#")->target,
		thrum__family_find(&r->bands->family, "GET /#", 6));
	end(r);
}

/* A part of the time, before paths and findings are known. */
static void a_part(void **state)
{
	struct read *r = begin();

	(void)state;
	r->program.from = 1000000000;
	r->program.to = 1300000000;
	r->program.where = NULL;
	r->program.findings = NULL;
	assert_string_equal(read_program(r),
		"title: In short\n"
		"remark: 4 labelled tasks in 300 ms from [1.0000 s]\n"
		"section: Where it runs\n"
		"line: [loop 1] runs 2 % of the time\n"
		"section: How fast it answers\n"
		"line: [GET /#]: 10 a second, half within 51 ms, 1 in 100 over 51 ms, the slowest [51 ms]\n"
		"section: Out of the ordinary\n"
		"line: [1.0010 s]: nothing runs for 49 ms\n");
	end(r);
}

/* Where the time of a group goes has bars, of the colours of waiting and running. */
static void assert_bars(const struct thrum__document *document)
{
	static const int colours[] = {THRUM__COLOUR_PEND, THRUM__COLOUR_RUN};
	uint32_t count = 0, sum = 0;

	for (uint32_t i = 0; i < document->count; i++) {
		const struct thrum__document_paragraph *row = &document->paragraphs[i];

		if (row->bar == 0)
			continue;
		assert_true(count < 2);
		assert_int_equal(row->role, THRUM__ROLE_ROW);
		assert_int_equal(row->bar_colour, colours[count++]);
		sum += row->bar;
	}
	assert_int_equal(count, 2);
	assert_in_range(sum, 999, 1001);
}

static void a_range(void **state)
{
	struct read *r = begin();
	struct thrum__document_range range = {600000000, 900000000, THRUM__NONE, NULL, NULL, 0, 0};
	struct thrum__story_where here, other;

	(void)state;
	range.group = thrum__family_find(&r->bands->family, "GET /#", 6);
	here = where_of(r, range.group,
		&(struct thrum__bands_time){{range.from, 0}, {range.to, 0}});
	other = where_of(r, range.group,
		&(struct thrum__bands_time){{0, range.to}, {range.from, r->bands->to}});
	range.here = &here;
	range.other = &other;
	assert_int_equal(thrum__document_range(&r->program, &range, &r->document), 0);
	document_check(&r->document, r->model);
	assert_string_equal(document_show(&r->document),
		"title: 600.0 ms … 900.0 ms\n"
		"remark: these 300 ms beside the other 2.8 s of the trace\n"
		"section: Greatest differences\n"
		"line: Nothing differs by more than a third.\n"
		"section: Threads\n"
		"header: ||here|else|\n"
		"row: |loop 1|12 %|2 %|× 6.2\n"
		"line: [750.0 ms]: [GET /7] runs for 30 ms on [loop 1]\n"
		"line: [601.0 ms]: nothing runs for 49 ms\n"
		"section: Where the time of GET /# goes\n"
		"header: ||here|else|\n"
		"row: |waits for database|81 %|96 %|\n"
		"row: |runs|19 %|4 %|× 4.9\n"
		"section: Failed\n"
		"header: ||here|else|\n"
		"row: |[GET /#]|0|3|\n");
	assert_bars(&r->document);
	end(r);
}

static void a_group(void **state)
{
	struct read *r = begin();
	uint32_t group = thrum__family_find(&r->bands->family, "GET /#", 6);
	const struct thrum__document_piece *failed;

	(void)state;
	assert_int_equal(thrum__document_group(&r->program, group,
				 &r->where[r->bands->family.groups[group].shown], &r->document),
		0);
	document_check(&r->document, r->model);
	assert_string_equal(document_show(&r->document),
		"title: GET /#\n"
		"remark: 30 tasks in 3.1 s\n"
		"pair Ended: 29, 9.4 a second\n"
		"pair Took: half within 51 ms, 1 in 100 over 80 ms, the slowest [80 ms]\n"
		"pair Failed: [!3 of 29!] after about 51 ms: “timed out”\n"
		"pair Pending: 1 at the end\n"
		"section: Where its time goes\n"
		"line: [GET /#] spends 94 % of its time waiting for the lock [database]. "
		"That is held 50 % of the time; 0.5 wait for it at a time\n"
		"line: [GET /#] runs for 6 % of its time\n");
	failed = document_find(&r->document, "3 of 29");
	assert_int_equal(failed->link, THRUM__LINK_TO_FILTER);
	assert_int_equal(failed->until, strlen("state:failed label:\"=GET /*\""));
	assert_memory_equal(r->document.text + failed->target, "state:failed label:\"=GET /*\"",
		(size_t)failed->until);
	/* In a part of the time there is no link: a search finds those of all times. */
	r->program.to = r->bands->to - 1;
	assert_int_equal(thrum__document_group(&r->program, group,
				 &r->where[r->bands->family.groups[group].shown], &r->document),
		0);
	failed = document_find(&r->document, "3 of 29");
	assert_int_equal(failed->link, THRUM__LINK_TO_NONE);
	assert_true(failed->is_bad);
	assert_int_equal(thrum__document_group(&r->program, THRUM__NONE, r->where, &r->document),
		0);
	assert_int_equal(r->document.count, 0);
	end(r);
}

/* The lines of a range that took long: what is more frequent among them. */
static void a_range_of_durations(void **state)
{
	struct read *r = begin();
	struct thrum__document_range range = {600000000, 900000000, THRUM__NONE, NULL, NULL,
		60000000, 100000000};

	(void)state;
	range.group = thrum__family_find(&r->bands->family, "GET /#", 6);
	assert_int_equal(thrum__document_range(&r->program, &range, &r->document), 0);
	document_check(&r->document, r->model);
	assert_string_equal(document_show(&r->document),
		"title: [1 GET /#]\n"
		"remark: that took 60 ms to 100 ms; o shows them as rows\n"
		"section: More frequent here\n"
		"line: No name and no thread.\n");
	end(r);
}

/* A trace without tasks gives a document without numbers. */
static void nothing(void **state)
{
	struct thrum__model *model = story_model("0 log - \"nothing\n", false);
	struct thrum__document document = {0};
	struct thrum__bands *bands;

	(void)state;
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_int_equal(thrum__document_program(&(struct thrum__document_program){bands, 0, 0,
							 NULL, NULL},
				 &document),
		0);
	document_check(&document, model);
	thrum__document_finish(&document);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
}

static void words(void **state)
{
	struct read *r = begin();
	struct thrum__story_part part = {THRUM__WHERE_WAITS, 0, 0.5};
	char text[100];

	(void)state;
	part.group = thrum__family_find(&r->bands->family, "database", 8);
	assert_int_equal(thrum__words_where(&r->bands->family, &part, text, sizeof text), 18);
	assert_string_equal(text, "waits for database");
	part.kind = THRUM__WHERE_OUTSIDE;
	assert_int_equal(thrum__words_where(&r->bands->family, &part, text, 8), 21);
	assert_string_equal(text, "waits f");
	assert_int_equal(thrum__words_thread(r->bands, 0, text, sizeof text), 6);
	assert_string_equal(text, "loop 1");
	end(r);
}

/* A task without a label is told with that for which it runs. */
static void what_runs(void **state)
{
	struct thrum__model *model =
		story_model("0 create - 1 thread\n0 label 1 \"loop 1\n0 switch 1\n"
			    "1 create 1 5 request\n1 label 5 \"GET /1\n1 switch 5\n"
			    "2 create 5 6 task\n3 wait 5 6\n4 switch 6\n90 resolve 6 6\n"
			    "90 switch 5\n91 read 5 6\n92 resolve 5 5\n93 switch 1\n",
			false);
	const char *const names[] = {"loop 1", "GET /1", "GET /1, task 6"};
	struct thrum__family family;
	char words[100];

	(void)state;
	assert_int_equal(thrum__family_init(&family, model), 0);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t task = story_task(model, (const uint32_t[]){1, 5, 6}[i]);

		assert_int_equal(thrum__words_running(&family, task, words, sizeof words),
			strlen(names[i]));
		assert_string_equal(words, names[i]);
	}
	thrum__family_finish(&family);
	thrum__model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_come_before_questions),
		cmocka_unit_test(what_runs),
		cmocka_unit_test(a_server),
		cmocka_unit_test(a_part),
		cmocka_unit_test(a_range),
		cmocka_unit_test(a_group),
		cmocka_unit_test(a_range_of_durations),
		cmocka_unit_test(nothing),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
