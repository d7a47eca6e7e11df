/* SPDX-License-Identifier: ISC */
/* Requests of a loop that end and begin nothing, though their like did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define END 2000     /* ms */
#define FILES 9
#define DROPPED 4 /* the file whose callback begins nothing */
#define OPEN 10   /* the first request that opens a file */

/* The loop of thread 1 waits for work until the end; the timer 2 has turns meanwhile, if it has a period. */
static void rest(int from, int period)
{
	for (int time = from; period && time < END; time += period) {
		story_tell("%d" MS "suspend \"wait for work\n%d" MS "resume \"wait for work\n",
			time, time + period - 1);
		story_tell("%d" MS "switch 2\n%d" MS "due 2 =%d" MS "\n%d" MS "switch 1\n",
			time + period - 1, time + period - 1, period, time + period - 1);
	}
	story_tell("%d" MS "suspend \"wait for work\n", period ? END : from);
}

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 timer\n"
		   "0 label 2 \"timer wheel\n0 create 1 3 condition\n0 @1 create - 9 thread\n"
		   "0 @1 suspend \"blocked by the outside\n0 switch 2\n0 switch 1\n");
}

/* Files are opened at one place, and each that is open is read. One can't be opened. `instead` is what its
 * callback does. */
static void tell_files(const char *end, const char *instead, int dropped)
{
	begin();
	for (int i = 0; i < FILES; i++)
		story_tell("1" MS "create 1 %d =7 request\n1" MS "label %d \"open file %d\n",
			OPEN + i, OPEN + i, i);
	for (int i = 0; i < FILES; i++) {
		int task = OPEN + i, time = 2 + i;

		story_tell("%d" MS "switch %d\n", time, task);
		if (i == dropped)
			story_tell("%s", instead);
		else
			story_tell("%d" MS "create %d %d =8 request\n%d" MS "label %d \"read\n",
				time, task, task + 20, time, task + 20);
		story_tell("%d" MS "%s %d %d\n%d" MS "read 1 %d\n%d" MS "switch 1\n", time,
			i == dropped ? end : "resolve", task, task, time, task, time);
	}
	for (int i = 0; i < FILES; i++)
		if (i != dropped)
			story_tell("1%d" MS "switch %d\n1%d" MS "resolve %d %d\n1%d" MS
				   "switch 1\n",
				i, OPEN + 20 + i, i, OPEN + 20 + i, OPEN + 20 + i, i);
}

/* Makes the findings. Expects that this request is told first, or nothing. */
static void expect(int ending, int code, uint64_t told, uint64_t like, bool is_failed)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->ending = (uint8_t)ending;
	model->ending_code = code;
	model->end = model->end > END * 1000000LL ? model->end : END * 1000000LL;
	story_find(model, &findings);
	assert_int_equal(findings.count, told != 0);
	if (told) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.findings[0].class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(findings.findings[0].task, story_task(model, 1));
		assert_int_equal(step[0].kind, THRUM__STEP_BEGINS_NOTHING);
		assert_int_equal(step[0].task, story_task(model, told));
		assert_int_equal(step[0].other, story_task(model, like));
		assert_int_equal(step[0].more, is_failed);
	}
	story_free(model, &findings);
}

#define KILLED THRUM_ENDING_KILLED, 9

static void one_of_many_begins_nothing(void **state)
{
	(void)state;
	tell_files("fail", "", DROPPED);
	rest(20, 40);
	expect(KILLED, OPEN + DROPPED, OPEN + FILES - 1, true);
	tell_files("fail", "", DROPPED);
	rest(20, 0);
	expect(KILLED, OPEN + DROPPED, OPEN + FILES - 1, true);
	tell_files("resolve", "", DROPPED);
	rest(20, 0);
	expect(KILLED, OPEN + DROPPED, OPEN + FILES - 1, false);
}

static void what_ends_well_is_none(void **state)
{
	(void)state;
	/* All files are read; or the program was stopped, or ended. */
	tell_files("resolve", "", -1);
	rest(20, 40);
	expect(KILLED, 0, 0, false);
	tell_files("fail", "", DROPPED);
	rest(20, 40);
	expect(THRUM_ENDING_KILLED, 15, 0, 0, false);
	tell_files("fail", "", DROPPED);
	rest(20, 40);
	expect(THRUM_ENDING_EXITED, 0, 0, 0, false);
	/* The callback arms a timer, or wakes another thread; or the request is the last of a series. */
	tell_files("fail", "6" MS "due 2 =5000000\n", DROPPED);
	rest(20, 40);
	expect(KILLED, 0, 0, false);
	tell_files("fail", "6" MS "signal 14 3 =0\n", DROPPED);
	rest(20, 40);
	expect(KILLED, 0, 0, false);
	tell_files("fail", "", FILES - 1);
	rest(20, 40);
	expect(KILLED, 0, 0, false);
}

static void what_goes_on_is_none(void **state)
{
	(void)state;
	/* One of the files has nothing to read, and a timer does its rounds. */
	tell_files("resolve", "", DROPPED);
	rest(20, 40);
	expect(KILLED, 0, 0, false);
	/* One is missing, and a timer comes now and then, as in a program that is idle. */
	tell_files("fail", "", DROPPED);
	rest(20, 500);
	expect(KILLED, 0, 0, false);
	/* Another file is missing, too, and the program does without it in the same way. */
	tell_files("fail",
		"6" MS "switch 1\n6" MS "create 1 50 =7 request\n6" MS "label 50 \"open file\n6" MS
		"switch 50\n6" MS "fail 50 50\n6" MS "read 1 50\n6" MS "switch 14\n",
		DROPPED);
	rest(20, 40);
	expect(KILLED, 0, 0, false);
	/* A client may come yet. */
	tell_files("fail", "", DROPPED);
	story_tell("19" MS "create 1 8 handle\n19" MS "label 8 \"listen on_client\n");
	rest(20, 40);
	expect(KILLED, 0, 0, false);
	/* A request was made and ended just now. */
	tell_files("fail", "", DROPPED);
	rest(20, 40);
	story_tell("2001" MS "resume \"wait for work\n2001" MS "create 1 7 request\n2001" MS
		   "switch 7\n2002" MS "resolve 7 7\n2002" MS "switch 1\n2003" MS
		   "suspend \"wait for work\n");
	expect(KILLED, 0, 0, false);
}

/* ---- Made anew --------------------------------------------------------------------------------- */

/* A request that connects: its callback writes, or does what is given. */
static void tell_connect(int task, int time, const char *to, const char *instead)
{
	story_tell("%d" MS "create 1 %d =%d request\n%d" MS "label %d \"connect %s\n", time, task,
		task, time, task, to);
	story_tell("%d" MS "switch %d\n", time + 1, task);
	if (*instead)
		story_tell("%s", instead);
	else
		story_tell("%d" MS "create %d %d =5 request\n%d" MS "label %d \"write\n", time + 1,
			task, task + 20, time + 1, task + 20);
	story_tell("%d" MS "resolve %d %d\n%d" MS "read 1 %d\n%d" MS "switch 1\n", time + 1, task,
		task, time + 1, task, time + 1);
	if (!*instead)
		story_tell("%d" MS "switch %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n", time + 2,
			task + 20, time + 2, task + 20, task + 20, time + 2);
}

/* The other side accepts a connection, and waits for what comes from it. */
static void tell_heard(void)
{
	story_tell(
		"22" MS "@1 resume \"blocked by the outside\n22" MS "@1 create 9 7 request\n22" MS
		"label 7 \"accept from socket 3\n22" MS "@1 resolve 9 7\n22" MS "@1 read 9 7\n22" MS
		"@1 create 9 5 handle\n22" MS "label 5 \"read from socket 4\n22" MS
		"@1 wait 9 5\n22" MS "@1 suspend \"blocked by the outside\n");
}

static bool is_heard = true;

static void tell_twice(const char *to, const char *instead)
{
	begin();
	tell_connect(11, 1, "10.0.0.1:80, then on_connect", "");
	tell_connect(12, 20, to, instead);
	story_tell("22" MS "create 1 6 handle\n22" MS "label 6 \"read on_read\n");
	if (is_heard)
		tell_heard();
	for (int i = 0; i < 8; i++)
		story_tell("23" MS "create 1 %d timer\n23" MS "resolve 1 %d\n", 60 + i, 60 + i);
}

static void a_new_connection_is_left_unused(void **state)
{
	(void)state;
	tell_twice("10.0.0.1:80, then on_again", "21" MS "label 9 \"nobody\n");
	rest(30, 0);
	expect(KILLED, 12, 11, false);
	/* It is used, leads elsewhere, or something goes on. */
	tell_twice("10.0.0.1:80, then on_again", "");
	rest(30, 0);
	expect(KILLED, 0, 0, false);
	tell_twice("10.0.0.2:80, then on_again", "21" MS "label 9 \"nobody\n");
	rest(30, 0);
	expect(KILLED, 0, 0, false);
	tell_twice("10.0.0.1:80, then on_again", "21" MS "label 9 \"nobody\n");
	rest(30, 40);
	expect(KILLED, 0, 0, false);
	tell_twice("10.0.0.1:80, then on_again", "21" MS "label 9 \"nobody\n");
	story_tell("29" MS "create 1 8 handle\n29" MS "label 8 \"listen on_client\n");
	rest(30, 0);
	expect(KILLED, 0, 0, false);
	/* The other side isn't known: it may send something by itself. */
	is_heard = false;
	tell_twice("10.0.0.1:80, then on_again", "21" MS "label 9 \"nobody\n");
	rest(30, 0);
	expect(KILLED, 0, 0, false);
	is_heard = true;
}

/* ---- Not sent again ---------------------------------------------------------------------------- */

#define CLIENT 40 /* the thread that asks */

/* The client makes the loop's handle ready, and waits for the condition that the connection's handle 31
 * signals as an answer comes. */
static void tell_ask(int time, bool asks, bool is_answered)
{
	if (asks)
		story_tell("%d" MS "@2 ready 40 30\n%d" MS "switch 30\n%d" MS "switch 1\n", time,
			time, time);
	story_tell("%d" MS "@2 wait 40 3 =7\n%d" MS "@2 suspend \"blocked\n", time, time);
	if (is_answered)
		story_tell("%d" MS "switch 31\n%d" MS "signal 31 3 =1\n%d" MS "switch 1\n%d" MS
			   "@2 resume\n%d" MS "@2 read 40 3\n",
			time + 1, time + 1, time + 1, time + 1, time + 1);
}

struct resend {
	bool is_sent, is_idle, is_later, is_open;
	bool is_other; /* another one sends the question, and none as it connects */
	bool is_unsent;
	bool is_first; /* there was no connection before */
	bool is_busy;  /* the other one does much more after that */
};

static void tell_resend(const struct resend *resend)
{
	begin();
	story_tell("0 create 1 30 handle\n0 label 30 \"async ask\n0 create 1 31 handle\n"
		   "0 label 31 \"read on_data\n0 @2 create - 40 thread\n0 @2 switch 40\n");
	if (!resend->is_first)
		tell_connect(11, 1, "10.0.0.1:80, then on_connect",
			resend->is_other ? "2" MS "label 9 \"nobody\n"
					 : "2" MS "link-send 11 \"first\n2" MS
					   "@1 link-receive 9 \"first\n");
	for (int i = 0; i < 5; i++)
		tell_ask(3 + 2 * i, !resend->is_idle, true);
	if (!resend->is_later)
		tell_ask(15, !resend->is_idle, false);
	if (resend->is_other && !resend->is_unsent)
		story_tell("15" MS "switch 30\n15" MS "link-send 30 \"asked\n15" MS
			   "switch 1\n15" MS "@1 link-receive 9 \"asked\n");
	for (int i = 0; resend->is_busy && i < 100; i++)
		story_tell("15" MS "switch 30\n15" MS "ready 30 31\n15" MS "switch 1\n");
	story_tell("16" MS "switch 31\n%s16" MS "switch 1\n",
		resend->is_open ? "" : "16" MS "resolve 31 31\n");
	if (resend->is_later)
		tell_ask(17, true, false);
	tell_connect(12, 20, "10.0.0.1:80, then on_connect",
		resend->is_sent ? "21" MS "link-send 12 \"second\n22" MS
				  "@1 link-receive 9 \"second\n"
				: "21" MS "label 9 \"nobody\n");
	story_tell("22" MS "create 1 6 handle\n22" MS "label 6 \"read on_data\n");
	tell_heard();
	for (int i = 0; i < 8; i++)
		story_tell("23" MS "create 1 %d timer\n23" MS "resolve 1 %d\n", 60 + i, 60 + i);
	rest(30, 0);
}

static bool is_told(const struct resend *resend)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool found = false;

	tell_resend(resend);
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = 9;
	model->end = END * 1000000LL;
	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++) {
			const struct thrum__step *step = &findings.findings[i].steps[k];

			if (step->kind != THRUM__STEP_BEGINS_NOTHING)
				continue;
			assert_int_equal(findings.findings[i].task, story_task(model, CLIENT));
			assert_int_equal(findings.findings[i].certainty, THRUM__POSSIBLE);
			assert_int_equal(step->task, story_task(model, 12));
			assert_int_equal(step->other,
				story_task(model, resend->is_other ? 30 : 11));
			assert_int_equal(step->more, resend->is_other ? 3 : 2);
			found = true;
		}
	story_free(model, &findings);
	return found;
}

static void a_question_is_not_sent_again(void **state)
{
	(void)state;
	assert_true(is_told(&(struct resend){.is_sent = false}));
	assert_true(is_told(&(struct resend){.is_other = true}));
	/* It is sent again, was asked after the close, or the connection is still open. */
	assert_false(is_told(&(struct resend){.is_sent = true}));
	assert_false(is_told(&(struct resend){.is_later = true}));
	assert_false(is_told(&(struct resend){.is_open = true}));
	assert_false(is_told(&(struct resend){.is_other = true, .is_sent = true}));
	assert_false(is_told(&(struct resend){.is_other = true, .is_open = true}));
	assert_false(is_told(&(struct resend){.is_other = true, .is_first = true}));
	/* It was sent long before the last that the other one did. */
	assert_true(is_told(&(struct resend){.is_other = true, .is_busy = true}));
	/* The question wasn't sent at all. */
	assert_false(is_told(&(struct resend){.is_other = true, .is_unsent = true}));
	/* The thread asks for nothing: it waits for work. */
	assert_false(is_told(&(struct resend){.is_idle = true}));
}

/* ---- Children ---------------------------------------------------------------------------------- */

/* The thread looks for a child, and finds none. */
static void tell_child(const char *label)
{
	begin();
	for (int i = 0; i < 12; i++)
		story_tell("%d" MS "create 1 %d request\n%d" MS "resolve %d %d\n%d" MS
			   "read 1 %d\n",
			i, 40 + i, i, 40 + i, 40 + i, i, 40 + i);
	story_tell("13" MS "create 1 11 =4 request\n13" MS "label 11 \"%s\n13" MS
		   "fail 1 11 \"ECHILD\n13" MS "read 1 11\n",
		label);
}

static void a_child_was_taken(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	(void)state;
	tell_child("end of process 7, taken by run_hook");
	rest(20, 0);
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = 9;
	model->end = END * 1000000LL;
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
	assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_FAILED_MEANWHILE);
	assert_int_equal(findings.findings[0].steps[0].task, story_task(model, 11));
	assert_int_equal(findings.findings[0].steps[1].task, story_task(model, 1));
	story_free(model, &findings);
	/* The program was asked to end, goes on, or another request failed. */
	tell_child("end of process 7, taken by run_hook");
	rest(20, 0);
	expect(THRUM_ENDING_KILLED, 15, 0, 0, false);
	tell_child("end of process 7, taken by run_hook");
	rest(20, 40);
	expect(KILLED, 0, 0, false);
	tell_child("process 7");
	rest(20, 0);
	expect(KILLED, 0, 0, false);
	/* A server that rests, or a timer that comes seldom: a handler took the child, and told of it. */
	tell_child("end of process 7, taken by on_sigchld");
	story_tell("19" MS "create 1 8 handle\n19" MS "label 8 \"listen on_client\n");
	rest(20, 0);
	expect(KILLED, 0, 0, false);
	tell_child("end of process 7, taken by on_sigchld");
	story_tell("19" MS "due 2 =60000" MS "\n");
	rest(20, 0);
	expect(KILLED, 0, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_many_begins_nothing),
		cmocka_unit_test(what_ends_well_is_none),
		cmocka_unit_test(what_goes_on_is_none),
		cmocka_unit_test(a_new_connection_is_left_unused),
		cmocka_unit_test(a_question_is_not_sent_again),
		cmocka_unit_test(a_child_was_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
