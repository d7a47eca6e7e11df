/* SPDX-License-Identifier: ISC */
/* The document on why a task was slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "document_helper.h"
#include "requests.h"
#include "story.h"

static const char *read_slow(struct thrum__model *model, uint64_t id,
	struct thrum__document *document)
{
	struct thrum__slow_answer answer;

	assert_int_equal(thrum__slow_answer_of(model, story_task(model, id), &answer), 0);
	assert_int_equal(thrum__document_slow(&answer, document), 0);
	document_check(document, model);
	thrum__slow_answer_free(&answer);
	return document_show(document);
}

static void a_task_that_waited_long(void **state)
{
	struct thrum__model *model = requests_model();
	struct thrum__document document = {0};

	(void)state;
	assert_string_equal(read_slow(model, 28, &document),
		"title: Where the time of “GET /9” went\n"
		"remark: [“GET /9” (task 28)] took 5.05 µs, the slowest of 10; usual (the median) "
		"is 150 ns.\n"
		"line: 99 % of its time (5 µs; usually 100 ns) it waited for [“disk; sector 9” (task 29)].\n"
		"pair Usual: [GET /4], bind 18\n"
		"section: Its time, beside a usual one's\n"
		"step 1: waits for [disk; sector # (task 29)] -- [5 µs, usually 100 ns]\n"
		"step 2: runs -- [50 ns, usually 50 ns]\n");
	assert_int_equal(document_find(&document, "disk; sector # (task 29)")->target,
		story_task(model, 29));
	assert_int_equal(document_find(&document, "50 ns, usually 50 ns")->target, 97000);
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

static void a_task_among_others(void **state)
{
	struct thrum__model *model = requests_model();
	struct thrum__document document = {0};

	(void)state;
	assert_non_null(strstr(read_slow(model, 24, &document), "slower than 7 of 10; usual"));
	assert_non_null(strstr(document_show(&document),
		"step 1: waits for [disk; sector # (task 25)] -- [100 ns, usually 100 ns]"));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

static void a_task_without_others(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n0 switch 1\n"
						 "1000 create 1 2 request\n1000 label 2 \"alone\n"
						 "2000 create 1 3 request\n"
						 "9000 log 2 \"end\n",
		false);
	struct thrum__document document = {0};
	const char *text = read_slow(model, 2, &document);

	(void)state;
	assert_non_null(strstr(text,
		"remark: [“alone” (task 2)] has been pending for 8 µs. No other task of its label "
		"has ended, so nothing tells what is usual.\n"));
	assert_non_null(strstr(text, "section: Its time\nstep 1: "));
	assert_null(strstr(text, "usually"));
	text = read_slow(model, 3, &document);
	assert_non_null(strstr(text, "It has no label, so nothing tells what is usual.\n"));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

/* A pending task waits for the one that the details name; which of those that ended is usual, those that
 * failed don't tell. */
static void a_task_that_waits_for_ever(void **state)
{
	struct thrum__model *model =
		story_model("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
			    "10 create 1 2 request\n10 label 2 \"GET /1\n"
			    "10 create 1 3 request\n10 label 3 \"GET /2\n"
			    "10 create 1 4 request\n10 label 4 \"GET /3\n"
			    "20 create 4 5 request\n20 label 5 \"look up 3\n20 wait 4 5\n"
			    "30 create 2 6 request\n30 label 6 \"look up 1\n30 wait 2 6\n"
			    "40 fail 1 3\n50 resolve 1 6\n90 resolve 1 2\n"
			    "2000 create 1 7 request\n9000 log 7 \"end\n",
			false);
	struct thrum__document document = {0};
	const char *text = read_slow(model, 4, &document);

	(void)state;
	assert_non_null(strstr(text,
		"remark: [“GET /3” (task 4)] has been pending for 8.99 µs; usual (the median of the 1 "
		"that did not fail) is 80 ns.\n"
		"line: 100 % of its time (8.98 µs; usually 20 ns) it waited for [“look up 3” (task "
		"5)].\n"));
	assert_non_null(strstr(text, "pair Usual: [GET /1]"));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

/* Tells a task that waits for tries, one after the other; `last` is the name of the last one. */
static void check_tries(const char *last, const char *expected)
{
	char story[1000];
	size_t used = (size_t)snprintf(story, sizeof story,
		"0 create - 1 thread\n0 switch 1\n10 create 1 2 request\n10 label 2 \"page\n");
	struct thrum__document document = {0};
	struct thrum__model *model;

	for (int i = 0; i < 4; i++)
		used += (size_t)snprintf(story + used, sizeof story - used,
			"%d create 1 %d request\n%d label %d \"%s\n%d wait 2 %d\n%d fail 1 %d\n",
			10 + i * 10, i + 3, 10 + i * 10, i + 3, i < 3 ? "connect 10" : last,
			10 + i * 10, i + 3, 19 + i * 10, i + 3);
	snprintf(story + used, sizeof story - used, "50 resolve 1 2\n");
	model = story_model(story, false);
	if (!strstr(read_slow(model, 2, &document), expected))
		fail_msg("%s\nis not in\n%s", expected, document_show(&document));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

static void names_of_those_awaited(void **state)
{
	(void)state;
	check_tries("connect 10", "it waited 4 times, one after the other, for “connect 10”.");
	check_tries("connect 11",
		"it waited 4 times, one after the other, for “connect #”, 3 times for “connect 10”.");
}

static void the_one_awaited_longest(void **state)
{
	struct thrum__document document = {0};
	struct thrum__model *model = story_model("0 create - 1 thread\n0 switch 1\n"
						 "10 create 1 2 request\n10 label 2 \"page\n"
						 "10 create 1 3 request\n10 label 3 \"ask 1\n"
						 "10 wait 2 3\n90 fail 1 3\n"
						 "90 create 1 4 request\n90 label 4 \"ask 2\n"
						 "90 wait 2 4\n95 resolve 1 4\n95 resolve 1 2\n",
		false);

	(void)state;
	assert_non_null(strstr(read_slow(model, 2, &document),
		"it waited 2 times, one after the other, for “ask #”, most of the time for “ask 1”."));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

/* A request waits for an answer from another machine, whose task begins and ends at some times by its own
 * clock. */
static void on_two_machines(int begun, int ended, int64_t error, const char *words)
{
	struct thrum__document document = {0};
	struct thrum__model *model;
	char lines[1000];

	snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n0 @1 create - 9 thread\n0 @1 switch 9\n"
		"1 @1 suspend \"wait for work\n10 create 1 2 request\n10 label 2 \"GET 1\n"
		"10 switch 2\n20 link-send 2 \"key\n20 switch 1\n21 suspend \"wait for work\n"
		"%d @1 resume\n%d @1 create 9 3 request\n%d @1 label 3 \"serve 1\n"
		"%d @1 switch 3\n%d @1 link-receive 3 \"key\n%d @1 resolve 3 3\n"
		"%d @1 switch 9\n999 resume\n1000 resolve 1 2\n",
		begun, begun, begun, begun, begun, ended, ended);
	model = story_model(lines, false);
	for (uint32_t i = 0; i < model->lane_count; i++)
		model->lanes[i].process = model->lanes[i].host = i;
	story_clocks(model, error, error);
	assert_non_null(strstr(read_slow(model, 2, &document), words));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

static void ways_are_as_exact_as_the_clocks(void **state)
{
	(void)state;
	/* Clocks that are wrong make one way longer by what the other one is shorter. */
	on_two_machines(320, 900, 50,
		"on the network (there and back; either way alone is ± 50 ns), 2 times");
	/* The other machine is said to have begun before it was asked. */
	on_two_machines(5, 900, 50, "on the network (± 50 ns)");
	on_two_machines(5, 970, 50,
		"on the network (not measurable: the clocks agree within ± 50 ns)");
	on_two_machines(5, 900, INT64_MAX,
		"on the network (not measurable: the clocks can't be compared)");
	on_two_machines(320, 900, INT64_MAX, "on the network (there and back), 2 times");
}

/* A task waits for a condition or a timer. `signals`: those that came before, and their waiters. */
static const char *tell_wait(const char *signals, struct thrum__document *document)
{
	char story[1500];
	struct thrum__model *model;
	const char *text;

	snprintf(story, sizeof story,
		"0 create - 1 thread\n0 switch 1\n0 create 1 3 condition\n0 label 3 \"seen\n"
		"0 create 1 4 fiber\n0 label 4 \"scanner\n"
		"10 create 1 11 wait\n10 wait 11 3\n11 signal 4 3 =1\n12 read 11 3\n13 resolve 11 11\n"
		"20 create 1 12 wait\n20 wait 12 3\n21 signal 4 3 =1\n22 read 12 3\n23 resolve 12 12\n"
		"50 create 1 100 task\n50 label 100 \"order\n%s"
		"60 create 1 101 wait\n60 wait 101 3\n60 create 1 102 timer\n60 label 102 \"timeout\n"
		"60 due 102 =260\n60 create 1 103 pick\n60 wait 103 101\n60 wait 103 102\n"
		"60 wait 100 103\n260 switch 102\n260 resolve 102 102\n261 switch 103\n"
		"261 read 103 102\n261 cancel 103 101\n261 resolve 103 103\n262 switch 100\n"
		"262 read 100 103\n263 resolve 100 100\n",
		signals);
	model = story_model(story, false);
	text = read_slow(model, 100, document);
	thrum__model_destroy(model);
	return text;
}

static void a_signal_that_came_before_the_wait(void **state)
{
	struct thrum__document document = {0};

	(void)state;
	assert_non_null(strstr(tell_wait("55 signal 4 3 =0\n", &document),
		" [“scanner” (task 4)] signalled “seen” 5 ns before that wait began, when nobody waited: the "
		"signal is lost.\n"));
	assert_null(strstr(tell_wait("55 signal 4 3 =1\n", &document), "signalled"));
	thrum__document_finish(&document);
}

/* Two permits: `kept` says what becomes of that of “send 2”. */
#define PERMITS(kept) \
	"0 create - 1 thread\n0 switch 1\n" \
	"0 create 1 4 semaphore\n0 label 4 \"connections\n" \
	"1000 create 1 5 task\n1000 label 5 \"send 1\n1000 lock 5 4\n" \
	"2000 create 1 6 task\n2000 label 6 \"send 2\n2000 lock 6 4\n" kept "3000 resolve 6 6\n" \
	"4000 create 1 7 task\n4000 label 7 \"send 3\n4000 wait 7 4\n" \
	"9000 unlock 5 4\n9000 resolve 5 5\n" \
	"9000 read 7 4\n9000 lock 7 4\n9500 unlock 7 4\n9600 resolve 7 7\n"

static void permits_that_are_never_given_back(void **state)
{
	struct thrum__model *model = story_model(PERMITS(""), false);
	struct thrum__document document = {0};

	(void)state;
	assert_non_null(strstr(read_slow(model, 7, &document),
		" 1 permit of “connections” was never given back, by [“send 2” (task 6)], which has "
		"ended.\n"));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
	model = story_model(PERMITS("2900 unlock 6 4\n"), false);
	assert_null(strstr(read_slow(model, 7, &document), "given back"));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
	/* A stranger gives one back: it may be that one. */
	model = story_model(PERMITS("2900 create 1 8 task\n2900 unlock 8 4\n"), false);
	assert_null(strstr(read_slow(model, 7, &document), "given back"));
	thrum__document_finish(&document);
	thrum__model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_waited_long),
		cmocka_unit_test(a_task_among_others),
		cmocka_unit_test(a_task_without_others),
		cmocka_unit_test(a_task_that_waits_for_ever),
		cmocka_unit_test(ways_are_as_exact_as_the_clocks),
		cmocka_unit_test(names_of_those_awaited),
		cmocka_unit_test(the_one_awaited_longest),
		cmocka_unit_test(a_signal_that_came_before_the_wait),
		cmocka_unit_test(permits_that_are_never_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
