/* SPDX-License-Identifier: ISC */
/* Documents of tasks and traces. Those of findings: document_finding.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/graph.h"
#include "document_helper.h"
#include "laid_out.h"
#include "story.h"

struct read {
	struct thrum__model *model;
	struct thrum__stats stats;
	struct thrum__document document;
};

static void begin(struct read *r, const char *lines, bool is_mirage)
{
	r->model = story_model(lines, is_mirage);
	assert_int_equal(thrum__stats_make(r->model, true, 10, &r->stats), 0);
	thrum__document_init(&r->document);
}

static const char *read_task(struct read *r, uint64_t id)
{
	assert_int_equal(thrum__document_task(&r->stats, story_task(r->model, id), THRUM__NONE,
				 &r->document),
		0);
	document_check(&r->document, r->model);
	return document_show(&r->document);
}

static void end(struct read *r)
{
	thrum__document_finish(&r->document);
	thrum__stats_free(&r->stats);
	thrum__model_destroy(r->model);
}

/* ---- Tasks --------------------------------------------------------------------------------- */

static const char story[] = "0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
			    "1000 create 1 2 request\n1000 label 2 \"GET /9\n"
			    "2000 create 1 3 request\n2000 label 3 \"get /10\n"
			    "3000 create 1 -1 timer\n"
			    "3500 create 1 5 bind\n"
			    "4000 switch 2\n4500 wait 2 3\n5000 switch 1\n5200 log 2 \"half-way\n"
			    "6000 fail 1 2 \"connection reset\n"
			    "7000 switch 3\n1000000 resolve 1 3\n1000000 switch 1\n"
			    "1200000 counter 1 =5 \"net/open\n2200000 counter 1 =6 \"net/open\n"
			    "2300000 become 5 3\n";

static void a_task_that_failed(void **state)
{
	struct read r;

	(void)state;
	begin(&r, story, false);
	assert_string_equal(read_task(&r, 2),
		"title: GET /9\n"
		"remark: request 2\n"
		"pair State: !failed!: connection reset\n"
		"pair Begins: [1.0 µs], from [main]\n"
		"pair Ends: [6.0 µs]\n"
		"pair Failed by: [main]\n"
		"pair Life: 5 µs\n"
		"pair Running: 1 µs\n"
		"pair Waiting: 4 µs · [why slow?]\n"
		"section: Log\n"
		"line: half-way -- [5.2 µs]\n"
		"section: Waited for\n"
		"line: [get /10] -- [4.5 µs]\n"
		"section: Ran\n"
		"header: |when|for|thread\n"
		"row: |[4.0 µs]|1 µs|main\n");
	assert_int_equal(document_find(&r.document, "main")->target, story_task(r.model, 1));
	assert_int_equal(document_find(&r.document, "get /10")->target, story_task(r.model, 3));
	assert_int_equal(document_find(&r.document, "get /10")->link, THRUM__LINK_TO_TASK);
	assert_int_equal(document_find(&r.document, "4.5 µs")->target, 4500);
	assert_int_equal(document_find(&r.document, "4.5 µs")->link, THRUM__LINK_TO_TIME);
	end(&r);
}

static void counters_and_those_who_wait(void **state)
{
	struct read r;
	const char *text;

	(void)state;
	begin(&r, story, false);
	text = read_task(&r, 1);
	assert_non_null(strstr(text,
		"section: Log\n"
		"line: net/open 0 → 5 -- [1.200 ms]\n"
		"line: net/open 5 → 6 -- [2.200 ms]\n"));
	assert_non_null(strstr(text, "line: [timer 18446744073709551615] -- [3.000 µs]\n"));
	text = read_task(&r, 3);
	assert_non_null(strstr(text, "section: Waited for by\nline: [GET /9] -- [4.5 µs]\n"));
	assert_non_null(strstr(text, "pair State: resolved\n"));
	end(&r);
}

/* A run comes first: when and where it was, its request, what the task did in it, and where nothing is
 * recorded. Its lines in the lists of the whole task are marked. */
static void a_run(void **state)
{
	struct read r;
	uint32_t task;

	(void)state;
	begin(&r,
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		"500 create 1 2 bind\n"
		"600 switch 2\n700 log 2 \"before\n800 switch 1\n"
		"2000 switch 2\n2100 log 2 \"parsed\n"
		"8000 create 2 3 request\n8000 label 3 \"GET /1\n8000 should-resolve 3\n"
		"9000 wait 2 3\n9000 switch 1\n"
		"10000 resolve 1 3\n11000 switch 2\n11100 log 2 \"after\n11200 switch 1\n",
		false);
	task = story_task(r.model, 2);
	assert_int_equal(thrum__document_task(&r.stats, task,
				 THRUM__RUN(r.model, THRUM__TASK(r.model, task, run), prev),
				 &r.document),
		0);
	document_check(&r.document, r.model);
	assert_string_equal(document_show(&r.document),
		"title: A run of 7 µs\n"
		"pair From: [2.0 µs]\n"
		"pair Thread: [main]\n"
		"pair Request: [GET /1]\n"
		"section: In this run\n"
		"line: parsed -- [2.100 µs]\n"
		"more: 5.9 µs without an event\n"
		"line: creates [GET /1] -- [8.000 µs]\n"
		"line: waits for [GET /1] -- [9.000 µs]\n"
		"section: Its task: bind 2\n"
		"pair State: pending\n"
		"pair Begins: [500 ns], from [main]\n"
		"pair Last activity: [11.2 µs]\n"
		"pair Life: ≥ 10.7 µs\n"
		"pair Running: 7.4 µs in 3 stretches\n"
		"pair Waiting: 3.3 µs · [why slow?]\n"
		"pair Kind: bind: calls a function with a result, and waits for what that returns\n"
		"section: Log\n"
		"line: before -- [700 ns]\n"
		"line marked: parsed -- [2.100 µs]\n"
		"line: after -- [11.100 µs]\n"
		"section: Created\n"
		"line marked: [GET /1] -- [8.0 µs]\n"
		"section: Waited for\n"
		"line marked: [GET /1] -- [9.0 µs]\n"
		"section: Ran\n"
		"header: |when|for|thread\n"
		"row: |[600 ns]|200 ns|main\n"
		"row marked: |[2.000 µs]|7 µs|main\n"
		"row: |[11.000 µs]|200 ns|main\n");
	end(&r);
}

/* Nothing is recorded in the whole run. */
static void a_silent_run(void **state)
{
	struct read r;
	uint32_t task;

	(void)state;
	begin(&r,
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 bind\n"
		"2000 switch 2\n9000 switch 1\n",
		false);
	task = story_task(r.model, 2);
	assert_int_equal(thrum__document_task(&r.stats, task, THRUM__TASK(r.model, task, run),
				 &r.document),
		0);
	document_check(&r.document, r.model);
	assert_non_null(strstr(document_show(&r.document),
		"section: In this run\nmore: 7 µs without an event\nsection: Its task"));
	end(&r);
}

/* A lane's own task has many edges after a run: the run's request is found all the same. In the next run it
 * has to do with two requests, so none is told. */
static void a_run_long_ago(void **state)
{
	char lines[8192] = "0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
			   "10 create 1 2 request\n10 label 2 \"GET /1\n10 should-resolve 2\n"
			   "10 create 1 3 request\n10 label 3 \"GET /2\n10 should-resolve 3\n"
			   "20 create 1 9 task\n20 switch 9\n30 wait 9 2\n40 switch 1\n"
			   "50 switch 9\n60 wait 9 2\n70 wait 9 3\n80 switch 1\n"
			   "90 switch 9\n";
	size_t size = strlen(lines);
	uint32_t task, run;
	struct read r;

	(void)state;
	for (int i = 0; i < 200; i++)
		size += (size_t)snprintf(lines + size, sizeof lines - size, "%d wait 9 3\n",
			100 + i);
	snprintf(lines + size, sizeof lines - size, "400 switch 1\n");
	begin(&r, lines, false);
	task = story_task(r.model, 9);
	run = THRUM__TASK(r.model, task, run);
	assert_int_equal(thrum__analyse_run_request(r.model, run), story_task(r.model, 3));
	run = THRUM__RUN(r.model, run, prev);
	assert_int_equal(thrum__analyse_run_request(r.model, run), THRUM__NONE);
	run = THRUM__RUN(r.model, run, prev);
	assert_int_equal(thrum__analyse_run_request(r.model, run), story_task(r.model, 2));
	end(&r);
}

/* A lane's own task tells of all that the lane runs. */
static void a_thread(void **state)
{
	struct read r;
	const char *text;

	(void)state;
	begin(&r,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n"
		"1000 create 1 2 request\n1000 label 2 \"GET /1\n1000 should-resolve 2\n"
		"1000 create 2 3 bind\n1000 wait 2 3\n"
		"2000 switch 3\n2500 switch 1\n3000 switch 3\n5000 switch 1\n10000 switch 1\n",
		false);
	text = read_task(&r, 1);
	assert_non_null(strstr(text, "pair Runs: 25 % of the time: 2.5 µs in 2 runs\n"));
	assert_non_null(strstr(text,
		"section: Its longest runs\n"
		"line: [2 µs] [GET /1] -- [3.0 µs]\n"
		"line: [500 ns] [GET /1] -- [2.0 µs]\n"));
	assert_int_equal(document_find(&r.document, "2 µs")->link, THRUM__LINK_TO_RUN);
	end(&r);
}

/* From a client's promise of a reply to the server's request, the outer one. */
static void a_message(void **state)
{
	struct read r;
	const char *text;

	(void)state;
	begin(&r,
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		"100 create 1 2 bind\n100 switch 2\n110 link-send 2 \"7\n"
		"120 create 2 3 request\n120 label 3 \"reply\n120 should-resolve 3\n130 switch 1\n"
		"200 create 1 4 bind\n200 switch 4\n210 link-receive 4 \"7\n"
		"220 create 4 5 task\n220 label 5 \"lookup\n220 should-resolve 5\n"
		"230 create 4 6 bind\n230 label 6 \"GET /1\n230 should-resolve 6\n230 wait 6 5\n"
		"240 switch 1\n300 resolve 1 5\n310 resolve 1 6\n400 resolve 1 3\n",
		false);
	text = read_task(&r, 3);
	assert_non_null(strstr(text, "pair Served by: [GET /1]\n"));
	text = read_task(&r, 2);
	assert_non_null(strstr(text, "section: Sent to\nline: [bind 4] -- [210 ns]\n"));
	text = read_task(&r, 4);
	assert_non_null(strstr(text, "section: Received from\nline: [bind 2] -- [210 ns]\n"));
	assert_null(strstr(read_task(&r, 6), "Served by"));
	end(&r);
}

/* A task may resolve and run on: that is no part of its life. */
static void a_run_beyond_the_end(void **state)
{
	struct read r;

	(void)state;
	begin(&r,
		"0 create - 1 thread\n0 switch 1\n10 create 1 2 task\n10 label 2 \"report\n"
		"20 switch 2\n110 resolve 2 2\n610 switch 1\n700 log 1 \"end\n",
		false);
	assert_non_null(strstr(read_task(&r, 2),
		"pair Life: 100 ns\npair Running: 90 ns; ran on for 500 ns after its end\n"
		"pair Waiting: 10 ns"));
	end(&r);
}

/* A lock tells who held it. A bind that gives it back did so for the task that waits for the bind. */
static void a_lock(void **state)
{
	struct read r;
	const char *text;

	(void)state;
	begin(&r,
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		"10 create 1 2 lock\n10 label 2 \"database\n"
		"10 create 1 3 task\n10 label 3 \"GET /1\n"
		"10 create 3 4 bind\n10 wait 3 4\n"
		"10 create 1 5 task\n10 label 5 \"GET /2\n"
		"100 lock 4 2\n200 wait 5 2\n700 unlock 4 2\n"
		"700 lock 5 2\n800 unlock 5 2\n1010 switch 1\n",
		false);
	text = read_task(&r, 2);
	assert_non_null(strstr(text, "pair State: free at the end\n"));
	assert_non_null(strstr(text, "pair Held: 70 % of the time, 2 times\n"));
	assert_non_null(strstr(text,
		"section: Held longest by\n"
		"line: [GET /1] for 600 ns, from [100 ns]\n"
		"line: [GET /2] for 100 ns, from [700 ns]\n"));
	assert_null(strstr(text, "why slow?"));
	assert_int_equal(document_find(&r.document, "GET /1")->target, story_task(r.model, 3));
	assert_int_equal(document_find(&r.document, "100 ns")->until, 700);
	/* Nothing is known of the time whose events are lost. */
	r.model->is_cut = true;
	r.model->lanes[0].first = 510;
	text = read_task(&r, 2);
	assert_non_null(strstr(text, "pair Held: 58 % of the 500 ns recorded, 2 times\n"));
	end(&r);
	/* Held at the end, for a request. */
	begin(&r,
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		"10 create 1 2 lock\n10 label 2 \"database\n"
		"10 create 1 3 request\n10 label 3 \"GET /1\n10 should-resolve 3\n"
		"10 create 3 4 task\n10 label 4 \"query\n10 wait 3 4\n"
		"100 lock 4 2\n1010 switch 1\n",
		false);
	text = read_task(&r, 2);
	assert_non_null(strstr(text, "pair State: at the end held by [query]\n"));
	assert_non_null(strstr(text, "line: [GET /1], [query] for 910 ns, from [100 ns]\n"));
	end(&r);
}

/* Tasks that became one another share a document, whichever of them is asked for. */
static void a_chain(void **state)
{
	static const char lines[] = "0 create - 1 thread\n0 switch 1\n"
				    "1000 create 1 2 bind\n1000 should-resolve 2\n"
				    "2000 create 2 3 bind\n2000 label 3 \"later\n"
				    "2500 log 2 \"early\n"
				    "3000 become 2 3\n"
				    "4000 create 1 4 request\n4000 wait 3 4\n"
				    "5000 log 1 \"end\n";
	struct read r;
	const char *text;

	(void)state;
	begin(&r, lines, false);
	text = read_task(&r, 2);
	assert_non_null(strstr(text,
		"remark: bind 2 » [bind 3] · should resolve\n"
		"pair State: !never resolved!\n"
		"pair Begins: [1.0 µs], from [thread 1]\n"));
	assert_non_null(strstr(text, "pair Waits for: [request 4]\n"));
	assert_non_null(strstr(text, "line: early -- [2.5 µs]\n"));
	text = read_task(&r, 3);
	assert_non_null(strstr(text,
		"title: later\n"
		"remark: [bind 2] » bind 3 · should resolve\n"
		"pair State: !never resolved!\n"));
	assert_non_null(strstr(text, "line: early -- [2.5 µs]\n"));
	end(&r);
}

static void chains_of_waits(void **state)
{
	static const char lines[] = "0 create - 1 thread\n0 switch 1\n"
				    "10 create 1 2 promise\n10 create 1 3 promise\n"
				    "10 create 1 4 promise\n10 create 1 5 promise\n"
				    "20 label 4 \"sleep\n20 label 5 \"sleep\n"
				    "30 wait 2 3\n31 wait 3 4\n"
				    "50 create 1 6 promise\n50 create 1 7 promise\n"
				    "60 wait 6 7\n61 wait 7 6\n";
	struct read r;

	(void)state;
	begin(&r, lines, false);
	/* Two tasks have that name. */
	assert_non_null(strstr(read_task(&r, 2), "pair Waits for: [promise 3] › [sleep 4]\n"));
	assert_non_null(
		strstr(read_task(&r, 6), "pair Waits for: [promise 7] › [promise 6]!: a cycle!\n"));
	end(&r);
}

static void who_woke_it(void **state)
{
	static const char lines[] = "0 create - 1 thread\n0 switch 1\n"
				    "10 create 1 2 promise\n10 create 1 3 timer\n"
				    "20 wait 2 3\n30 resolve 1 3\n40 switch 2\n40 read 2 3\n"
				    "50 resolve 2 2\n60 cancel 1 9\n60 switch 1\n";
	struct read r;
	const char *text;

	(void)state;
	begin(&r, lines, false);
	text = read_task(&r, 2);
	assert_non_null(strstr(text, "pair Woken by: [timer 3], [40 ns]\n"));
	assert_non_null(strstr(text, "pair Resolved by: itself\n"));
	assert_non_null(strstr(read_task(&r, 9), "pair State: cancelled\n"));
	assert_non_null(strstr(document_show(&r.document), "pair Begins: before the trace\n"));
	end(&r);
}

/* Long lists are cut, the latest stay. */
static void long_lists(void **state)
{
	char *lines = malloc(1 << 20);
	size_t at = (size_t)sprintf(lines, "0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n");
	unsigned said = 0;
	struct read r;
	const char *text;

	(void)state;
	for (int i = 0; i < 5000; i++)
		at += (size_t)sprintf(lines + at, "%d log 2 \"line %d\n%d counter 2 =%d \"c\n", i,
			i, i, i);
	begin(&r, lines, false);
	text = read_task(&r, 2);
	assert_non_null(strstr(text, "section: Log\nmore: 9,900 earlier ones aren't shown\n"));
	for (const char *line = text; (line = strstr(line, "\nline: ")); line++)
		said++;
	assert_int_equal(said, THRUM__DETAILS_MOST);
	assert_non_null(strstr(text, "line: line 4999 -- [4.999 µs]\n"));
	assert_non_null(strstr(text, "line: c 4998 → 4999 -- [4.999 µs]\n"));
	assert_null(strstr(text, "line: line 4949 "));
	end(&r);
	free(lines);
}

/* ---- Hostile texts and traces -------------------------------------------------------------- */

static void hostile_texts(void **state)
{
	static const char bad[] = "a\n\x1b[31m\0\xe2\x80\xae\xff\xc3$t[$o]%s";
	const size_t size = 100000;
	char *huge = malloc(size + 1);
	struct thrum__model *model;
	struct story told;
	struct read r;

	(void)state;
	for (size_t i = 0; i < size; i++)
		huge[i] = bad[i % (sizeof bad - 1)];
	huge[size] = '\0';
	story_init(&told,
		"0 create - 1 thread\n0 switch 1\n0 create 1 7 promise\n"
		"1 label 7 \"x\n2 label 7 \"x\n3 log 7 \"x\n4 counter 7 =1 \"x\n5 fail 1 7 \"x\n");
	for (size_t i = 0; i < told.count; i++) {
		if (told.events[i].text_size == 0)
			continue;
		told.events[i].text = huge + i;
		told.events[i].text_size = (uint32_t)(size - i);
	}
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, told.events, told.count), 0);
	r.model = model;
	assert_int_equal(thrum__stats_make(model, true, 10, &r.stats), 0);
	thrum__document_init(&r.document);
	read_task(&r, 7);
	assert_true(r.document.pieces[0].size > THRUM__DOCUMENT_TEXT - 8);
	assert_non_null(strstr(document_show(&r.document), "a\uFFFD\uFFFD[31m\uFFFD"));
	assert_int_equal(thrum__document_trace(&r.stats, NULL, huge, false, &r.document), 0);
	document_check(&r.document, model);
	end(&r);
	story_finish(&told);
	free(huge);
}

static void no_such_task(void **state)
{
	struct read r;

	(void)state;
	begin(&r, story, false);
	read_task(&r, 2);
	assert_int_equal(thrum__document_task(&r.stats, 12345, THRUM__NONE, &r.document), 0);
	assert_int_equal(r.document.count, 0);
	assert_int_equal(thrum__document_task(&r.stats, THRUM__NONE, THRUM__NONE, &r.document), 0);
	assert_int_equal(r.document.count, 0);
	end(&r);
}

/* Random events in any order. */
static void random_traces(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct thrum_event *events = layout_events(seed, 2000, 1 + (uint32_t)seed % 3);
		struct read r = {.model = layout_model(events, 2000)};

		assert_int_equal(thrum__stats_make(r.model, seed % 3 == 0, 10, &r.stats), 0);
		for (uint32_t task = 0; task < r.model->tasks.count; task++) {
			assert_int_equal(thrum__document_task(&r.stats, task, THRUM__NONE,
						 &r.document),
				0);
			document_check(&r.document, r.model);
		}
		end(&r);
		free(events);
	}
}

/* ---- Traces -------------------------------------------------------------------------------- */

static void a_trace(void **state)
{
	const struct thrum_trace_info info = {.format = "thrum",
		.program = "server",
		.host = "",
		.clock = "tsc",
		.state = "killed",
		.start = INT64_C(1709164799000000000),
		.pid = 4711,
		.file_size = 1234567,
		.lost = {[1] = 1200}};
	struct read r;
	char wanted[1000];

	(void)state;
	begin(&r, story, false);
	assert_int_equal(thrum__document_trace(&r.stats, &info, "a.thrum", false, &r.document), 0);
	document_check(&r.document, r.model);
	snprintf(wanted, sizeof wanted,
		"title: a.thrum\n"
		"pair Duration: 2.3 ms\n"
		"pair Threads: 1\n"
		"pair Events: 20\n"
		"pair Tasks: 5\n"
		"pair : [1 resolved]\n"
		"pair : [1 continued as another task]\n"
		"pair : [1 pending]\n"
		"pair : [!1 failed!]\n"
		"pair : 1 own tasks of threads\n"
		"pair Counters: 1\n"
		"pair Program: server\n"
		"pair Process: 4711\n"
		"pair State: killed\n"
		"pair Began: 2024-02-28 23:59:59 UTC\n"
		"pair Format: thrum\n"
		"pair Clock: tsc\n"
		"pair Size: 1.2 MB\n"
		"section: Lost\n"
		"line: %s -- 1,200\n",
		thrum_lost_name(1));
	assert_string_equal(document_show(&r.document), wanted);
	/* The info tells nothing. */
	assert_int_equal(thrum__document_trace(&r.stats, &(struct thrum_trace_info){0}, "", false,
				 &r.document),
		0);
	document_check(&r.document, r.model);
	assert_null(strstr(document_show(&r.document), "pair Program"));
	assert_null(strstr(document_show(&r.document), "section"));
	end(&r);
}

/* Tasks that never resolved, though there are no findings: it says why. */
static void a_trace_without_findings(void **state)
{
	static const char under_way[] = "0 create - 1 thread\n0 create 1 2 promise\n"
					"1 should-resolve 2\n2 log 1 \"end\n";
	const struct thrum_trace_info killed = {.state = "killed"};
	struct read r;

	(void)state;
	begin(&r, under_way, false);
	assert_int_equal(thrum__document_trace(&r.stats, NULL, "", true, &r.document), 0);
	assert_non_null(strstr(document_show(&r.document), "1 under way at the end"));
	assert_non_null(strstr(document_show(&r.document), "nothing shows that they hang"));
	assert_int_equal(thrum__document_trace(&r.stats, &killed, "", true, &r.document), 0);
	assert_non_null(strstr(document_show(&r.document), "They are no findings: they are under"));
	assert_int_equal(thrum__document_trace(&r.stats, NULL, "", false, &r.document), 0);
	assert_null(strstr(document_show(&r.document), "no findings"));
	end(&r);
	begin(&r, "0 create - 1 thread\n2 log 1 \"end\n", false);
	assert_int_equal(thrum__document_trace(&r.stats, NULL, "", true, &r.document), 0);
	assert_null(strstr(document_show(&r.document), "no findings"));
	end(&r);
}

/* A task that came after the statistics were made isn't counted, so that the states add up to the
 * tasks. */
static void a_trace_that_grows(void **state)
{
	struct thrum_event events[20] = {{0}};
	char before[1000];
	struct read r;

	(void)state;
	begin(&r, story, false);
	assert_int_equal(thrum__document_trace(&r.stats, NULL, "", false, &r.document), 0);
	snprintf(before, sizeof before, "%s", strstr(document_show(&r.document), "pair Tasks"));
	for (uint64_t i = 0; i < 20; i++)
		events[i] = (struct thrum_event){.time = r.model->end + 1,
			.type = THRUM_EVENT_CREATE,
			.kind = i % 2 ? THRUM_KIND_THREAD : THRUM_KIND_PROMISE,
			.other = 1000 + i,
			.flags = THRUM_EVENT_HAS_OTHER,
			.text = ""};
	assert_int_equal(thrum__model_append(r.model, events, 20), 0);
	assert_int_equal(thrum__document_trace(&r.stats, NULL, "", false, &r.document), 0);
	document_check(&r.document, r.model);
	assert_string_equal(strstr(document_show(&r.document), "pair Tasks"), before);
	assert_non_null(strstr(document_show(&r.document), "pair Events: 40\n"));
	end(&r);
}

static void read_all(const char *name, const struct thrum__model *model)
{
	struct thrum__document document = {0};
	struct thrum__findings findings;
	struct thrum__stats stats;

	assert_int_equal(thrum__stats_make(model, true, 10, &stats), 0);
	assert_int_equal(thrum__why_make(model, &findings), 0);
	for (uint32_t task = 0; task < model->tasks.count; task++) {
		assert_int_equal(thrum__document_task(&stats, task, THRUM__NONE, &document), 0);
		document_check(&document, model);
		assert_true(document.count > 0);
	}
	for (uint32_t i = 0; i < findings.count; i++) {
		assert_int_equal(thrum__document_finding(model, &findings.findings[i], &document),
			0);
		document_check(&document, model);
	}
	assert_int_equal(thrum__document_trace(&stats, NULL, name, false, &document), 0);
	document_check(&document, model);
	thrum__document_finish(&document);
	thrum__why_free(&findings);
	thrum__stats_free(&stats);
}

static void real_traces(void **state)
{
	(void)state;
	if (layout_each_trace(read_all) == 0) {
		printf("skipped: no real traces (THRUM_MIRAGE_DATA)\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_failed),
		cmocka_unit_test(counters_and_those_who_wait),
		cmocka_unit_test(a_run),
		cmocka_unit_test(a_silent_run),
		cmocka_unit_test(a_run_long_ago),
		cmocka_unit_test(a_thread),
		cmocka_unit_test(a_message),
		cmocka_unit_test(a_run_beyond_the_end),
		cmocka_unit_test(a_lock),
		cmocka_unit_test(a_chain),
		cmocka_unit_test(chains_of_waits),
		cmocka_unit_test(who_woke_it),
		cmocka_unit_test(long_lists),
		cmocka_unit_test(hostile_texts),
		cmocka_unit_test(no_such_task),
		cmocka_unit_test(random_traces),
		cmocka_unit_test(a_trace),
		cmocka_unit_test(a_trace_without_findings),
		cmocka_unit_test(a_trace_that_grows),
		cmocka_unit_test(real_traces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
