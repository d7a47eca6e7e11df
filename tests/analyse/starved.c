/* SPDX-License-Identifier: ISC */
/* Tasks that are ready while others have the lane, for each way to know it, with healthy twins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n"
#define TASKS \
	MAIN "1" MS "create 1 2 fiber\n" \
	     "1" MS "create 1 3 fiber\n"

/* Expects one finding, of class STARVED. */
static struct thrum__finding expect(const char *lines)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__finding first;
	struct thrum__findings findings;

	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	first = findings.findings[0];
	assert_int_equal(first.class, THRUM__FINDING_STARVED);
	story_free(model, &findings);
	return first;
}

static void expect_none(const char *lines)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;

	story_find(model, &findings);
	assert_int_equal(findings.count, 0);
	story_free(model, &findings);
}

/* Expects no finding of class STARVED. */
static void expect_others(const char *lines)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;

	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		assert_int_not_equal(findings.findings[i].class, THRUM__FINDING_STARVED);
	story_free(model, &findings);
}

static void until_the_end(void **state)
{
	struct thrum__finding finding = expect(TASKS "2" MS "switch 2\n"
						     "3" MS "ready 2 3\n"
						     "900" MS "log 2 \"busy\n");

	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
	assert_int_equal(finding.step_count, 2);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_HOGS);
	assert_int_equal(finding.steps[0].time, 2000000);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_READY);
	assert_int_equal(finding.steps[1].time, 3000000);
	/* A task that makes itself ready, while it runs, also at the very end of its run. */
	expect_none(TASKS "2" MS "switch 3\n"
			  "3" MS "ready 3 3\n"
			  "3" MS "switch 2\n"
			  "900" MS "log 2 \"busy\n");
	/* Nobody is ready. */
	expect_none(TASKS "2" MS "switch 2\n"
			  "900" MS "log 2 \"busy\n");
	/* The other task ran since, or runs on another lane. */
	expect_none(TASKS "1" MS "ready 1 3\n"
			  "2" MS "switch 3\n"
			  "3" MS "switch 2\n"
			  "900" MS "log 2 \"busy\n");
	expect_none(TASKS "1" MS "@1 create - 9 thread\n"
			  "1" MS "@1 switch 9\n"
			  "2" MS "switch 2\n"
			  "3" MS "ready 2 3\n"
			  "4" MS "@1 switch 3\n"
			  "900" MS "log 2 \"busy\n");
}

static void before_a_late_run(void **state)
{
	struct thrum__finding finding = expect(TASKS "2" MS "switch 2\n"
						     "3" MS "ready 2 3\n"
						     "300" MS "switch 3\n"
						     "301" MS "resolve 3 3\n"
						     "301" MS "switch 1\n"
						     "900" MS "log 1 \"end\n");

	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
	assert_int_equal(finding.steps[2].kind, THRUM__STEP_RUNS_LATE);
	assert_int_equal(finding.steps[2].time, 300000000);
	/* On a busy machine a task may seem to run so long. */
	expect_none(TASKS "2" MS "switch 2\n"
			  "3" MS "ready 2 3\n"
			  "240" MS "switch 3\n"
			  "241" MS "resolve 3 3\n"
			  "241" MS "switch 1\n"
			  "900" MS "log 1 \"end\n");
	/* The lane's own task may run while the program waits for work. */
	expect_none(TASKS "3" MS "ready 1 3\n"
			  "300" MS "switch 3\n"
			  "301" MS "resolve 3 3\n"
			  "301" MS "switch 1\n"
			  "900" MS "log 1 \"end\n");
}

static void by_the_lane_itself(void **state)
{
#define WORKS(ran, ended) \
	"2" MS "suspend =0 \"wait for work\n" \
	"3" MS "resume\n" \
	"3" MS "ready 1 3\n" ran "switch 3\n" ended "resolve 3 3\n" ended "switch 1\n" \
	"1900" MS "log 1 \"end\n"
	struct thrum__finding finding = expect(
		TASKS "1" MS "switch 2\n1" MS "switch 1\n" WORKS("1300" MS, "1301" MS));

	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
	expect_none(TASKS "1" MS "switch 2\n1" MS "switch 1\n" WORKS("300" MS, "301" MS));
	/* No task has run yet: it gets started. */
	expect_none(TASKS WORKS("1300" MS, "1301" MS));
#undef WORKS
}

/* Two tasks take turns, each 10 ms; each is ready before its turn. A third is ready at 5 ms. With
 * `fair` it has its turn at 500 ms, and is ready no more. */
static void tell_turns(char *story, size_t size, int fair)
{
	size_t used = (size_t)snprintf(story, size,
		TASKS "1" MS "create 1 4 fiber\n1" MS "label 2 \"urgent 1\n1" MS
		      "label 3 \"urgent 2\n5" MS "ready 1 4\n");

	for (int i = 1; i < 200; i++) {
		int task = 2 + i % 2;

		used += (size_t)snprintf(story + used, size - used,
			"%d" MS "ready 1 %d\n%d" MS "switch %d\n", 10 * i - 1, task, 10 * i, task);
		if (i == 1 && fair)
			used += (size_t)snprintf(story + used, size - used,
				"15" MS "switch 4\n16" MS "wait 4 2\n");
	}
	snprintf(story + used, size - used, "2000" MS "switch 1\n");
}

static void by_tasks_that_were_ready_later(void **state)
{
	char story[16384];
	struct thrum__finding finding;

	tell_turns(story, sizeof story, 0);
	finding = expect(story);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_OVERTAKES);
	assert_int_equal(finding.steps[1].time, 5000000);
	tell_turns(story, sizeof story, 1);
	expect_none(story);
}

/* On a busy machine one run of 2 takes far longer than the one before, which took that many ms. */
#define STRETCHED(ms, end) \
	TASKS "10" MS "switch 2\n" #ms MS "switch 1\n100" MS "switch 2\n101" MS "ready 2 3\n" end

static void one_long_turn(void **state)
{
	(void)state;
	/* Until the end. */
	expect_none(STRETCHED(60, "500" MS "log 2 \"busy\n"));
	assert_int_equal(expect(STRETCHED(20, "500" MS "log 2 \"busy\n")).certainty, THRUM__LIKELY);
	assert_int_equal(expect(STRETCHED(60, "1900" MS "log 2 \"busy\n")).certainty,
		THRUM__LIKELY);
	/* That ended: a program that somebody kills went on, one that ends by itself may do so for that. */
	story_begin();
	story_tell("%s",
		TASKS "10" MS "switch 2\n11" MS "ready 2 3\n500" MS "switch 3\n501" MS
		      "switch 1\n");
	assert_int_equal(story_findings_if_killed(600), 0);
	expect(TASKS "10" MS "switch 2\n11" MS "ready 2 3\n500" MS "switch 3\n501" MS "switch 1\n");
	expect_none(STRETCHED(20, "500" MS "switch 3\n501" MS "switch 1\n"));
	expect(STRETCHED(60, "1500" MS "switch 3\n1501" MS "switch 1\n"));
}

#define JOB(id, ms, text) #ms MS "create 1 " #id " task\n" #ms MS "label " #id " \"job " text "\n"
#define SOON(id, ms) JOB(id, ms, #id) #ms MS "switch " #id "\n" #ms MS "resolve " #id " " #id "\n"

static void never_started(void **state)
{
	struct thrum__finding finding = expect(TASKS SOON(11, 2) SOON(12, 3)
			SOON(13, 4) "5" MS "switch 2"
				    "\n" JOB(14, 6, "14") "1900" MS "log 2 \"busy\n");

	assert_int_equal(finding.steps[1].kind, THRUM__STEP_READY);
	assert_int_equal(finding.steps[1].time, 6000000);
	/* Its peers don't run either. */
	expect_none(TASKS "5" MS "switch 2\n" JOB(14, 6, "14") "1900" MS "log 2 \"busy\n");
}

#define QUERY \
	TASKS "2" MS "create 1 4 request\n2" MS "label 4 \"query 1\n4" MS "resolve 1 4\n5" MS \
	      "create 1 5 request\n5" MS "label 5 \"query 2\n"

static void no_time_for_an_answer(void **state)
{
	struct thrum__finding finding = expect(QUERY "6" MS "wait 3 5\n"
						     "7" MS "switch 2\n"
						     "1900" MS "log 2 \"busy\n");

	assert_int_equal(finding.steps[1].kind, THRUM__STEP_UNANSWERED);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
	/* Nobody waits for it. */
	expect_none(QUERY "7" MS "switch 2\n"
			  "1900" MS "log 2 \"busy\n");
}

/* A task that waits behind one that is ready is part of the finding. */
static void behind_a_ready_task(void **state)
{
	struct thrum__finding finding = expect(TASKS "1" MS "create 1 4 promise\n"
						     "1" MS "should-resolve 4\n"
						     "1" MS "wait 4 3\n"
						     "2" MS "switch 2\n"
						     "3" MS "ready 2 3\n"
						     "900" MS "log 2 \"busy\n");

	assert_int_equal(finding.step_count, 3);
	assert_int_equal(finding.steps[0].task, finding.task);
}

/* Two fibers take turns. Then one of them keeps the lane. */
#define TURNS(from) from "1" MS "switch 2\n" from "3" MS "switch 3\n" from "5" MS "switch 1\n"
#define MARKED_TURNS IN_TURNS "5" MS "should-resolve 3\n"
#define IN_TURNS TASKS TURNS("1") TURNS("2") TURNS("3") TURNS("4")

static void no_more_turns(void **state)
{
	struct thrum__finding finding = expect(MARKED_TURNS "50" MS "switch 2\n"
							    "2000" MS "log 2 \"busy\n");

	assert_int_equal(finding.steps[0].kind, THRUM__STEP_HOGS);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_NO_TURN);
	assert_int_equal(finding.steps[1].time, 50000000);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
	/* The other fiber may be idle. */
	expect_none(IN_TURNS "50" MS "switch 2\n2000" MS "log 2 \"busy\n");
	/* Runs were as long before, or the other fiber had ended, or was idle for long. */
	expect_others(MARKED_TURNS "50" MS "switch 2\n450" MS "switch 3\n451" MS "switch 2\n2000" MS
				   "log 2 \"busy\n");
	expect_others(
		MARKED_TURNS "49" MS "resolve 3 3\n50" MS "switch 2\n2000" MS "log 2 \"busy\n");
	expect_others(MARKED_TURNS "2000" MS "switch 2\n3500" MS "log 2 \"busy\n");
	/* The lane's own task may be the one that runs while the program is idle. */
	expect_others(MARKED_TURNS "2000" MS "log 1 \"idle\n");
	/* It waits since. */
	expect_others(MARKED_TURNS "50" MS "switch 2\n51" MS "create 2 4 request\n51" MS
				   "wait 2 4\n2000" MS "log 2 \"busy\n");
}

/* A fiber has turn after turn, while another waits for the one that has none: until the end, or the
 * lane rests between the turns. */
static void tell_keeping(char *lines, size_t room, const char *between)
{
	size_t size = (size_t)snprintf(lines, room,
		IN_TURNS "1" MS "label 3 \"low\n6" MS "create 1 9 task\n6" MS
			 "label 9 \"asker\n6" MS "wait 9 3\n");

	for (int i = 0; i < 50; i++)
		size += (size_t)snprintf(lines + size, room - size,
			"%d" MS "switch 2\n%d" MS "%s\n", 50 + 20 * i, 69 + 20 * i, between);
	assert_true(size < room);
}

static void turn_after_turn(void **state)
{
	static char lines[8192];
	struct thrum__finding finding;

	tell_keeping(lines, sizeof lines, "switch 1");
	finding = expect(lines);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_HOGS);
	assert_int_equal(finding.steps[0].time, 50000000);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_NO_TURN);
	tell_keeping(lines, sizeof lines, "switch 9");
	expect_others(lines);
}

/* A task is ready; another has turn after turn, after a third that ended. With `end` the second ends,
 * too. */
static void tell_endless(char *lines, size_t room, unsigned third, const char *end)
{
	size_t size = (size_t)snprintf(lines, room,
		TASKS "1" MS "create 1 4 fiber\n1" MS "ready 1 3\n1" MS "ready 1 2\n"
		      "2" MS "switch 4\n%u" MS "resolve 4 4\n",
		third);

	for (unsigned i = 0; i < 20; i++)
		size += (size_t)snprintf(lines + size, room - size,
			"%u" MS "switch 2\n%u" MS "switch 1\n%u" MS "ready 1 2\n",
			third + 10 + 20 * i, third + 29 + 20 * i, third + 29 + 20 * i);
	snprintf(lines + size, room - size, "%s", end);
}

static void without_an_end(void **state)
{
	static char lines[8192];
	struct thrum__finding finding;

	tell_endless(lines, sizeof lines, 10, "");
	finding = expect(lines);
	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_HOGS);
	assert_int_equal(finding.steps[0].task, 1); /* the row of 2 */
	/* Others had their turns, too; or it got done. */
	tell_endless(lines, sizeof lines, 50, "");
	expect_others(lines);
	tell_endless(lines, sizeof lines, 10, "500" MS "resolve 2 2\n");
	expect_others(lines);
}

/* A timer that repeats is due once, and then runs in turns that another task leaves it. */
static void not_a_timer_that_repeats(void **state)
{
	static char lines[8192];
	size_t size = (size_t)snprintf(lines, sizeof lines,
		TASKS "1" MS "create 1 4 timer\n1" MS "due 4 =5000000\n2" MS "switch 2\n");

	(void)state;
	for (unsigned i = 1; i < 90; i++)
		size += (size_t)snprintf(lines + size, sizeof lines - size,
			"%u" MS "switch 4\n%u" MS "switch 2\n", 10 * i, 10 * i + 1);
	expect_others(lines);
	/* It never ran. */
	expect(TASKS "1" MS "create 1 4 timer\n1" MS "due 4 =5000000\n2" MS "switch 2\n900" MS
		     "log 2 \"busy\n");
}

/* A loop runs a handle again and again, and never comes to a timer that is due. */
static void by_one_that_comes_again(void **state)
{
	static char lines[16384];
	size_t size = (size_t)snprintf(lines, sizeof lines,
		TASKS "1" MS "create 1 4 timer\n1" MS "switch 4\n1" MS "switch 1\n"
		      "2" MS "suspend =0 \"wait for work\n3" MS "resume\n"
		      "3" MS "due 4 =1000000\n");
	struct thrum__finding finding;

	(void)state;
	for (unsigned i = 1; i < 200; i++)
		size += (size_t)snprintf(lines + size, sizeof lines - size,
			"%u" MS "switch 2\n%u100000 switch 1\n", 10 * i, 10 * i);
	finding = expect(lines);
	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
	assert_int_equal(finding.task, finding.steps[0].task);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_RUNS_MEANWHILE);
	assert_int_equal(finding.steps[0].more, 199);
}

/* Main's task makes tile 10 and the music ready, 5. Another thread runs tile after tile, each of which
 * makes the next one ready; `other` runs before. */
static void tell_tiles(char *lines, size_t room, const char *other)
{
	size_t size = (size_t)snprintf(lines, room,
		MAIN "0 suspend \"wait for work\n0 @1 create - 9 thread\n0 @1 switch 9\n"
		     "0 @1 suspend \"wait for work\n0 @1 resume\n"
		     "1" MS "create 1 10 task\n1" MS "label 10 \"tile 0\n1" MS "ready 1 10\n1" MS
		     "create 1 5 task\n1" MS "label 5 \"music\n1" MS "ready 1 5\n%s",
		other);

	for (int i = 0; i < 15; i++)
		size += (size_t)snprintf(lines + size, room - size,
			"%d" MS "@1 switch %d\n%d" MS "@1 create %d %d task\n%d" MS
			"@1 label %d \"tile %d\n%d" MS "@1 ready %d %d\n%d" MS
			"@1 resolve %d %d\n%d" MS "@1 switch 9\n",
			100 * i + 3, 10 + i, 100 * i + 102, 10 + i, 11 + i, 100 * i + 102, 11 + i,
			i + 1, 100 * i + 102, 10 + i, 11 + i, 100 * i + 102, 10 + i, 10 + i,
			100 * i + 102);
}

static void by_those_that_its_maker_began(void **state)
{
	static char lines[16384];
	struct thrum__finding finding;

	(void)state;
	tell_tiles(lines, sizeof lines, "");
	finding = expect(lines);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_OVERTAKES);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_READY);
	/* Others that main began run elsewhere: so music may, too. */
	tell_tiles(lines, sizeof lines,
		"2" MS "create 1 6 task\n2" MS "ready 1 6\n2" MS "@2 create - 8 thread\n2" MS
		"@2 switch 6\n3" MS "@2 resolve 6 6\n3" MS "@2 switch 8\n");
	expect_others(lines);
	/* Another thread may be there for the music, and still logs in at a server. */
	tell_tiles(lines, sizeof lines,
		"2" MS "@2 create - 8 thread\n2" MS "@2 switch 8\n2" MS
		"@2 suspend \"blocked by the outside\n");
	expect_others(lines);
}

/* A source sleeps in each of its turns, while the handle 5, of a name, is ready for so many turns. */
static void tell_source(char *lines, size_t room, const char *name, unsigned turns)
{
	size_t size = (size_t)snprintf(lines, room,
		MAIN "1" MS "create 1 4 handle\n1" MS "label 4 \"idle redraw\n1" MS
		     "create 1 5 handle\n"
		     "1" MS "label 5 \"%s\n2" MS "suspend \"wait for work\n3" MS "resume\n3" MS
		     "ready 1 5\n",
		name);

	for (unsigned i = 1; i < turns; i++)
		size += (size_t)snprintf(lines + size, room - size,
			"%u" MS "switch 4\n%u" MS "suspend \"blocked for a time\n%u" MS
			"resume\n%u" MS "switch 1\n",
			10 * i, 10 * i, 10 * i + 9, 10 * i + 9);
}

static void by_a_source_of_higher_priority(void **state)
{
	static char lines[16384];
	struct thrum__finding finding;

	(void)state;
	tell_source(lines, sizeof lines, "idle on done", 120);
	finding = expect(lines);
	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_RUNS_MEANWHILE);
	assert_int_equal(finding.steps[0].more, 119);
	/* Nobody knows whether the loop would run it if it only came to that. */
	tell_source(lines, sizeof lines, "async on done", 120);
	expect_others(lines);
	/* It may come to that soon. */
	tell_source(lines, sizeof lines, "idle on done", 90);
	expect_others(lines);
}

/* A loop counts from the time that it read last: so a timer may come a little sooner than it is due. */
static void not_a_timer_that_came(void **state)
{
	(void)state;
	expect_others(TASKS "1" MS "create 1 4 timer\n1" MS "due 4 =5000000\n4600000 switch 4\n"
			    "4700000 switch 2\n900" MS "log 2 \"busy\n");
	/* It came before it was set. */
	expect(TASKS "1" MS "create 1 4 timer\n1" MS "switch 4\n2" MS "due 4 =5000000\n2" MS
		     "switch 2\n900" MS "log 2 \"busy\n");
}

/* A worker runs one job after the other. */
static void not_behind_its_like(void **state)
{
	(void)state;
	for (int is_other = 0; is_other < 2; is_other++) {
		char lines[512];

		snprintf(lines, sizeof lines,
			TASKS "1" MS "label 2 \"bake 1\n1" MS "label 3 \"%s\n1" MS "ready 1 2\n1" MS
			      "ready 1 3\n2" MS "switch 2\n300" MS "resolve 2 2\n300" MS
			      "switch 3\n301" MS "resolve 3 3\n301" MS "switch 1\n900" MS
			      "log 1 \"end\n",
			is_other ? "cull" : "bake 2");
		if (is_other)
			expect(lines);
		else
			expect_none(lines);
	}
}

/* A pool of one thread runs two jobs; each so long, in ms. */
static const char *tell_jobs(char *story, size_t size, int first, int last)
{
	snprintf(story, size,
		"0 create - 1 thread\n0 label 1 \"pool\n0 switch 1\n"
		"1" MS "create 1 2 task =7\n1" MS "label 2 \"job pack\n"
		"1" MS "create 1 3 task =7\n1" MS "label 3 \"job pack\n"
		"1" MS "should-resolve 3\n1" MS "ready 1 2\n1" MS "ready 1 3\n2" MS "switch 2\n"
		"%d" MS "resolve 2 2\n%d" MS "switch 3\n%d" MS "resolve 3 3\n%d" MS
		"switch 1\n%d" MS "log 1 \"done\n",
		first, first, first + last, first + last, first + last + 500);
	return story;
}

static void not_in_a_pool_of_long_jobs(void **state)
{
	char story[1000];

	(void)state;
	expect(tell_jobs(story, sizeof story, 2000, 1));
	expect_none(tell_jobs(story, sizeof story, 2000, 1900));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(until_the_end),
		cmocka_unit_test(before_a_late_run),
		cmocka_unit_test(one_long_turn),
		cmocka_unit_test(by_the_lane_itself),
		cmocka_unit_test(by_tasks_that_were_ready_later),
		cmocka_unit_test(never_started),
		cmocka_unit_test(no_time_for_an_answer),
		cmocka_unit_test(behind_a_ready_task),
		cmocka_unit_test(no_more_turns),
		cmocka_unit_test(turn_after_turn),
		cmocka_unit_test(without_an_end),
		cmocka_unit_test(not_a_timer_that_repeats),
		cmocka_unit_test(by_one_that_comes_again),
		cmocka_unit_test(by_those_that_its_maker_began),
		cmocka_unit_test(by_a_source_of_higher_priority),
		cmocka_unit_test(not_a_timer_that_came),
		cmocka_unit_test(not_behind_its_like),
		cmocka_unit_test(not_in_a_pool_of_long_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
