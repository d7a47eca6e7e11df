/* SPDX-License-Identifier: ISC */
/* Timers, events and sources that are not started again, or too often: each story has twins in which that is
 * no fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define ANYTHING UINT64_MAX

/* Main's thread runs a loop, and 2 is the task of a client, which no mark says to end. */
static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell("0 create 1 2 task\n0 label 2 \"mixer\n");
}

/* Expects one finding of a certainty that begins with a step, or none: then the kind is -1. */
static void expect_as(int certainty, int kind, uint64_t task, uint64_t other, uint32_t more)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	model = story_model(story_told(), false);
	model->end = 1500000000;
	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	assert_int_equal(findings.count, kind >= 0);
	if (kind >= 0) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.findings[0].class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(findings.findings[0].certainty, certainty);
		assert_int_equal(step->kind, kind);
		assert_int_equal(step->task, story_task(model, task));
		if (other != ANYTHING)
			assert_int_equal(step->other, story_task(model, other));
		assert_int_equal(step->more, more);
	}
	story_free(model, &findings);
}

static void expect(int kind, uint64_t task, uint64_t other, uint32_t more)
{
	expect_as(THRUM__POSSIBLE, kind, task, other, more);
}

/* ---- Sources ----------------------------------------------------------------------------------- */

/* The mixer waits for the condition 3 so often, each time for a source that `maker` has made, and that gives
 * so many signals. */
static void tell_signals(int rounds, int maker, int signals)
{
	begin();
	story_tell("1" MS "create 1 3 condition\n1" MS "label 3 \"answered\n");
	for (int i = 0; i < rounds; i++) {
		int at = 10 * (i + 1);

		story_tell("%d" MS "create %d %d handle =7\n%d" MS "label %d \"idle drain\n", at,
			maker, 10 + i, at, 10 + i);
		story_tell("%d" MS "wait 2 3\n%d" MS "switch %d\n", at, at + 1, 10 + i);
		for (int signal = 0; signal < signals; signal++)
			story_tell("%d" MS "signal %d 3 =1\n", at + 1, 10 + i);
		story_tell("%d" MS "read 2 3\n", at + 2);
		story_tell("%d" MS "switch 1\n%d" MS "resolve 1 %d\n", at + 2, at + 2, 10 + i);
	}
	story_tell("100" MS "wait 2 3\n");
}

static void tell_rounds(int rounds, int maker)
{
	tell_signals(rounds, maker, 1);
}

static void a_source_is_not_made_again(void **state)
{
	tell_rounds(3, 2);
	expect(THRUM__STEP_NOT_AGAIN, 12, 3, 0);
	tell_signals(3, 2, 2); /* as for two jobs */
	expect(THRUM__STEP_NOT_AGAIN, 12, 3, 0);
	tell_rounds(2, 2); /* too seldom to be a habit */
	expect(-1, 0, 0, 0);
	tell_signals(2, 2, 2);
	expect(-1, 0, 0, 0);
	tell_rounds(3, 1); /* the waiter doesn't make them */
	expect(-1, 0, 0, 0);
	/* Another one waits there, too, and made the last of them. */
	tell_rounds(3, 2);
	story_take_back();
	story_tell("90" MS "create 1 9 task\n90" MS "label 9 \"mixer\n");
	story_tell("91" MS "create 9 30 handle =7\n91" MS "label 30 \"idle drain\n91" MS
		   "switch 30\n91" MS "signal 30 3 =1\n92" MS "switch 1\n92" MS "resolve 1 30\n");
	story_tell("95" MS "wait 9 3\n100" MS "wait 2 3\n");
	expect(THRUM__STEP_NOT_AGAIN, 30, 3, 0);
	tell_rounds(3, 2); /* another one is there */
	story_tell("101" MS "create 1 20 handle =7\n101" MS "label 20 \"idle drain\n");
	expect(-1, 0, 0, 0);
}

/* ---- Events with a time limit ------------------------------------------------------------------- */

/* The event has a turn, and signals the stream 3. */
static void tell_turn(int at, int event, const char *text)
{
	story_tell("%d" MS "due %d =20000000\n%d" MS "switch %d\n", at, event, at + 9, event);
	story_tell("%d" MS "tag %d \"%s\n%d" MS "signal %d 3 =1\n%d" MS "switch 1\n", at + 9, event,
		text, at + 9, event, at + 9);
}

/* Two events serve the mixer's stream; the last turn of each is told by these words. */
static void tell_events(const char *first, const char *second)
{
	begin();
	story_tell("1" MS "create 1 3 stream\n1" MS "label 3 \"socket\n");
	for (int event = 10; event < 12; event++)
		story_tell("1" MS "create 1 %d handle\n1" MS "label %d \"event on_answer\n", event,
			event);
	for (int i = 0; i < 3; i++) {
		story_tell("%d" MS "wait 2 3\n", 10 + 10 * i);
		tell_turn(10 + 10 * i, 10, "answer");
		story_tell("%d" MS "read 2 3\n", 19 + 10 * i);
	}
	story_tell("40" MS "wait 2 3\n");
	tell_turn(40, 10, first);
	story_tell("49" MS "read 2 3\n50" MS "wait 2 3\n");
	tell_turn(50, 11, second);
	story_tell("59" MS "read 2 3\n60" MS "wait 2 3\n");
}

static void all_events_had_a_time_out(void **state)
{
	tell_events("time-out", "time-out");
	expect(THRUM__STEP_NOT_AGAIN, 11, 3, 2);
	tell_events("time-out", "answer"); /* there one is left */
	expect(-1, 0, 0, 0);
	tell_events("time-out", "time-out");
	story_tell("70" MS "due 11 =9223372036854775807\n"); /* it was started without a limit */
	expect(-1, 0, 0, 0);
	tell_events("time-out", "time-out");
	story_tell("70" MS "switch 10\n70" MS "switch 1\n"); /* that one goes on by itself */
	expect(-1, 0, 0, 0);
}

/* ---- Timers for the case that no answer comes ------------------------------------------------------ */

/* A timer asks by the stream 4, on which the server 6 waits, and makes another one, 20 later, if that is
 * followed. */
static void tell_question(int at, int timer, bool is_followed)
{
	story_tell("%d" MS "switch %d\n", at, timer);
	story_tell("%d" MS "signal %d 4 =1\n%d" MS "read 6 4\n%d" MS "wait 6 4\n", at, timer, at,
		at);
	if (is_followed)
		story_tell("%d" MS "create %d %d timer =8\n%d" MS "label %d \"timer on_retry\n", at,
			timer, timer + 20, at, timer + 20);
	story_tell("%d" MS "switch 1\n%d" MS "resolve 1 %d\n", at, at, timer);
}

/* The watch 5 gets an answer, ends what was made for the case that none comes, and signals the condition. */
static void tell_answer(int at, int retry)
{
	story_tell("%d" MS "switch 5\n", at);
	if (retry)
		story_tell("%d" MS "resolve 5 %d\n", at, retry);
	story_tell("%d" MS "signal 5 3 =1\n%d" MS "read 2 3\n%d" MS "wait 2 3\n", at, at, at);
	story_tell("%d" MS "switch 1\n", at);
}

/* The mixer waits for the condition 3, which the watch signals after each answer to a timer, of which so many
 * get none. Then the last one's own timer asks again; it makes one, or not. */
static void tell_questions(int rounds, int unmade, bool asks_again, bool is_followed)
{
	begin();
	story_tell("1" MS "create 1 3 condition\n1" MS "label 3 \"renewed\n");
	story_tell("1" MS "create 1 4 stream\n1" MS "label 4 \"socket\n");
	story_tell("1" MS "create 1 5 handle\n1" MS "label 5 \"watch on_answer\n");
	story_tell("1" MS "create 1 6 task\n1" MS "label 6 \"server\n1" MS "wait 6 4\n1" MS
		   "wait 2 3\n");
	for (int i = 0; i < rounds; i++) {
		int at = 10 * (i + 1), timer = 10 + i;

		story_tell("%d" MS "create 1 %d timer =7\n%d" MS "label %d \"timer on_due\n", at,
			timer, at, timer);
		tell_question(at + 1, timer, i != unmade);
		if (i + 1 < rounds)
			tell_answer(at + 2, i == unmade ? 0 : timer + 20);
	}
	if (asks_again)
		tell_question(10 * (rounds + 1), 29 + rounds, is_followed);
}

static void nobody_asks_again(void **state)
{
	tell_questions(4, -1, true, false);
	expect(THRUM__STEP_NOT_AGAIN, 33, 3, 0);
	tell_questions(3, -1, true, false);
	expect(THRUM__STEP_NOT_AGAIN, 32, 3, 0);
	tell_questions(2, -1, true, false); /* too seldom answered to be a habit */
	expect(-1, 0, 0, 0);
	tell_questions(4, 1, true, false); /* one asked before without another one */
	expect(-1, 0, 0, 0);
	tell_questions(4, -1, true, true); /* it will ask again */
	expect(-1, 0, 0, 0);
	tell_questions(4, -1, false, false); /* so will this one */
	expect(-1, 0, 0, 0);
}

/* ---- The last timer ------------------------------------------------------------------------------ */

/* Four clients get their answers at once, and the last one none. The timer 5 runs once, at a time. */
static void tell_clients(int at)
{
	begin();
	story_tell("0 create 1 5 timer\n0 label 5 \"timer on_idle\n");
	for (int i = 0; i < 5; i++) {
		int client = 10 + 2 * i, handle = client + 1, from = 10 * i + 1;

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"client %d\n", from, client,
			from, client, i);
		story_tell("%d" MS "create 1 %d handle\n%d" MS "label %d \"receive\n", from, handle,
			from, handle);
		story_tell("%d" MS "wait %d %d\n", from, client, handle);
		if (i < 4)
			story_tell("%d" MS "resolve 1 %d\n%d" MS "resolve 1 %d\n", from + 1, handle,
				from + 1, client);
		if (from < at && at < from + 10)
			story_tell("%d" MS "due 5 =1000000\n%d" MS "switch 5\n%d" MS "switch 1\n",
				at - 1, at, at);
	}
}

static void the_last_timer_is_not_started_again(void **state)
{
	tell_clients(45);
	expect(THRUM__STEP_NOT_AGAIN, 5, 19, 0);
	tell_clients(45);
	story_tell("47" MS "due 5 =60000000000\n"); /* it was */
	expect(-1, 0, 0, 0);
	tell_clients(45);
	story_tell("400" MS "log 1 \"tick\n"); /* more happens */
	expect(-1, 0, 0, 0);
	tell_clients(35); /* before the wait */
	expect(-1, 0, 0, 0);
}

/* ---- The only timer ------------------------------------------------------------------------------ */

/* The loop's timer 5 runs twice. Data isn't read, for a reason. */
static void tell_unread(const char *reason)
{
	begin();
	story_tell("0 create 1 5 timer\n0 label 5 \"timer on_refill\n");
	for (int at = 20; at < 60; at += 20)
		story_tell("%d" MS "due 5 =15000000\n%d" MS "switch 5\n%d" MS "switch 1\n", at - 15,
			at, at);
	story_tell("60" MS "create 1 6 task\n60" MS "label 6 \"unread data of socket 7, %s\n",
		reason);
	story_tell("60" MS "wait 2 6\n60" MS "should-resolve 6\n");
}

static void the_only_timer_is_not_started_again(void **state)
{
	static const char disabled[] = "left since bufferevent_disable in on_piece";

	tell_unread(disabled);
	expect_as(THRUM__LIKELY, THRUM__STEP_NOT_AGAIN, 5, 6, 0);
	tell_unread("left by the removed event on_piece"); /* that isn't meant to go on */
	expect_as(THRUM__LIKELY, THRUM__STEP_NEVER_RESOLVED, 6, ANYTHING, 0);
	tell_unread(disabled);
	story_tell("70" MS "due 5 =9000000000\n"); /* it was started */
	expect_as(THRUM__LIKELY, THRUM__STEP_NEVER_RESOLVED, 6, ANYTHING, 0);
	tell_unread(disabled);
	story_tell(
		"70" MS "create 1 8 timer\n70" MS "due 8 =9000000000\n"); /* another one may come */
	expect_as(THRUM__LIKELY, THRUM__STEP_NEVER_RESOLVED, 6, ANYTHING, 0);
	tell_unread(disabled);
	story_tell("70" MS "create 1 8 timer\n70" MS "switch 8\n70" MS "switch 1\n70" MS
		   "resolve 1 8\n"); /* or it was another one's task */
	expect_as(THRUM__LIKELY, THRUM__STEP_NEVER_RESOLVED, 6, ANYTHING, 0);
}

/* ---- Timers that are put off --------------------------------------------------------------------- */

/* The mixer waits for a condition that nobody signals. `first` sets the timer 5, which is set anew by 6 each
 * 15 ms; after so many times, another task does so. */
static void tell_saves_after(int first, int other, const char *between)
{
	begin();
	story_tell("0 create 1 3 condition\n0 label 3 \"saved\n1" MS "wait 2 3\n");
	story_tell("1" MS "create 1 5 timer\n1" MS "label 5 \"timer on_save\n");
	story_tell("1" MS "create 1 6 timer\n1" MS "label 6 \"timer on_blink\n");
	story_tell("1" MS "create 1 7 timer\n1" MS "label 7 \"timer on_key\n");
	story_tell("2" MS "switch %d\n2" MS "due 5 =20000000\n3" MS "switch 1\n", first);
	for (int i = 0; i < 60; i++)
		story_tell("%d" MS "switch %d\n%d" MS "due 5 =20000000\n%d" MS "switch 1\n%s",
			15 * i + 5, i < other ? 6 : 7, 15 * i + 5, 15 * i + 6,
			i == 50 ? between : "");
}

static void tell_saves(int other, const char *between)
{
	tell_saves_after(7, other, between);
}

static void a_timer_puts_another_one_off(void **state)
{
	tell_saves(60, "");
	expect(THRUM__STEP_PUT_OFF, 5, 6, 0);
	tell_saves(50, ""); /* something else happens, too */
	expect(-1, 0, 0, 0);
	tell_saves(60, "770" MS "switch 5\n770" MS "switch 1\n"); /* it came */
	expect(-1, 0, 0, 0);
	tell_saves(60,
		"765" MS "due 5 =9223372036854775807\n"); /* it was stopped: so it may end calls */
	expect(-1, 0, 0, 0);
	tell_saves(60, "");
	story_tell("900" MS "signal 1 3 =0\n"); /* somebody signals the condition */
	expect(-1, 0, 0, 0);
	/* Only the other timer ever set it: it is there to tell that this one comes no more. */
	tell_saves_after(6, 60, "");
	expect(-1, 0, 0, 0);
	tell_saves_after(1, 60, ""); /* or the main thread did so at first */
	expect(-1, 0, 0, 0);
}

/* The mixer asks by the stream 3. The handle 7 receives that, or the timer 6 does, and sets the timer 5. Then
 * the timer 6 puts it off. */
static void tell_late_answer(int receiver)
{
	begin();
	story_tell(
		"0 create 1 3 stream\n0 label 3 \"socket\n0 create 1 7 handle\n0 label 7 \"on_input\n");
	story_tell("1" MS "create 1 5 timer\n1" MS "label 5 \"timer on_flush\n");
	story_tell("1" MS "create 1 6 timer\n1" MS "label 6 \"timer on_blink\n");
	story_tell("2" MS "link-send 2 \"question\n2" MS "wait 2 3\n3" MS "switch %d\n3" MS
		   "link-receive %d \"question\n3" MS "due 5 =20000000\n4" MS "switch 1\n",
		receiver, receiver);
	for (int i = 0; i < 60; i++)
		story_tell("%d" MS "switch 6\n%d" MS "due 5 =20000000\n%d" MS "switch 1\n",
			15 * i + 5, 15 * i + 5, 15 * i + 6);
}

static void the_timer_of_an_answer_is_put_off(void **state)
{
	(void)state;
	tell_late_answer(7);
	expect(THRUM__STEP_PUT_OFF, 5, 6, 0);
	/* The question set no timer: this one is there for something else. */
	tell_late_answer(6);
	expect(-1, 0, 0, 0);
}

/* The timer 5 serves the mixer's wait for a stream. It may ask the handle 7, waits again, and two handles
 * named alike set the timer anew, each after 15 ms; once `between` happens. */
static void tell_debounce_after(const char *ask, const char *second, const char *between)
{
	begin();
	story_tell(
		"0 create 1 3 stream\n0 label 3 \"socket\n0 create 1 7 handle\n0 label 7 \"event on_key\n"
		"0 create 1 8 handle\n0 label 8 \"%s\n1" MS "create 1 5 timer\n1" MS
		"label 5 \"timer on_save\n1" MS "due 5 =20000000\n1" MS "wait 2 3\n"
		"21" MS "switch 5\n21" MS "signal 5 3 =1\n21" MS "read 2 3\n22" MS "switch 1\n22" MS
		"%s\n23" MS "wait 2 3\n",
		second, ask);
	for (int i = 2; i < 60; i++)
		story_tell("%d" MS "switch %d\n%d" MS "due 5 =20000000\n%d" MS "switch 1\n%s",
			15 * i, 7 + i % 2, 15 * i, 15 * i + 1, i == 50 ? between : "");
}

static void tell_debounce(const char *second, const char *between)
{
	tell_debounce_after("ready 2 7", second, between);
}

static void the_timer_that_serves_is_put_off(void **state)
{
	(void)state;
	tell_debounce("event on_key", "");
	expect(THRUM__STEP_PUT_OFF, 5, 8, 0);
	/* The mixer asks for nothing: it waits until no key comes any more. */
	tell_debounce_after("switch 1", "event on_key", "");
	expect(-1, 0, 0, 0);
	/* Things of another sort happen. */
	tell_debounce("event on_click", "");
	expect(-1, 0, 0, 0);
	/* It came in between. */
	tell_debounce("event on_key", "752" MS "switch 5\n752" MS "switch 1\n");
	expect(-1, 0, 0, 0);
	/* Another one serves the stream, too. */
	tell_debounce("event on_key",
		"752" MS "switch 7\n752" MS "signal 7 3 =0\n752" MS "switch 1\n");
	expect(-1, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_is_not_made_again),
		cmocka_unit_test(all_events_had_a_time_out),
		cmocka_unit_test(nobody_asks_again),
		cmocka_unit_test(the_last_timer_is_not_started_again),
		cmocka_unit_test(the_only_timer_is_not_started_again),
		cmocka_unit_test(a_timer_puts_another_one_off),
		cmocka_unit_test(the_timer_of_an_answer_is_put_off),
		cmocka_unit_test(the_timer_that_serves_is_put_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
