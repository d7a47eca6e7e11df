/* SPDX-License-Identifier: ISC */
/* Locks with several holders, and the cycles and findings that they take part in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/graph.h"
#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define END "900" MS "log 1 \"end\n"
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n"
/* Fibers 10 to 14, the locks 2 and 3, and the semaphore 4. */
#define FIBERS \
	MAIN "1" MS "create 1 2 lock\n" \
	     "1" MS "create 1 3 lock\n" \
	     "1" MS "create 1 4 semaphore\n" \
	     "1" MS "create 1 10 fiber\n" \
	     "1" MS "create 1 11 fiber\n" \
	     "1" MS "create 1 12 fiber\n" \
	     "1" MS "create 1 13 fiber\n" \
	     "1" MS "create 1 14 fiber\n"

/* The findings of a story. */
static struct thrum__findings find(const char *lines, struct thrum__model **model)
{
	struct thrum__findings findings;

	*model = story_model(lines, false);
	assert_int_equal(thrum__why_make(*model, &findings), 0);
	return findings;
}

static void expect_none(const char *lines)
{
	struct thrum__model *model;
	struct thrum__findings findings = find(lines, &model);

	assert_int_equal(findings.count, 0);
	story_free(model, &findings);
}

/* Expects one deadlock of so many tasks, and returns its certainty. */
static int deadlock_of(const char *lines, uint32_t count)
{
	struct thrum__model *model;
	struct thrum__findings findings = find(lines, &model);
	int certainty = -1;

	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].class, THRUM__FINDING_DEADLOCK);
	assert_int_equal(findings.findings[0].count, count);
	certainty = findings.findings[0].certainty;
	story_free(model, &findings);
	return certainty;
}

/* Expects that these tasks hold a lock, the oldest first. They end with 0. */
static void expect_holders(const char *lines, uint64_t id, const uint64_t *ids)
{
	struct thrum__analyse_hold holds[THRUM__HOLDS_MAX];
	struct thrum__model *model = story_model(lines, false);
	struct thrum__analyse_lock made, look;
	uint32_t count = 0;

	assert_int_equal(thrum__analyse_lock_make(model, story_task(model, id), &made), 0);
	thrum__analyse_lock_look(model, story_task(model, id), &look, holds);
	assert_int_equal(made.count, look.count);
	for (; ids[count]; count++) {
		assert_true(count < made.count);
		assert_int_equal(THRUM__TASK(model, made.holds[count].task, id), ids[count]);
		assert_int_equal(made.holds[count].task, look.holds[count].task);
	}
	assert_int_equal(made.count, count);
	thrum__analyse_lock_free(&made);
	thrum__model_destroy(model);
}

#define LOCK(ms, task, lock) #ms MS "lock " #task " " #lock "\n"
#define UNLOCK(ms, task, lock) #ms MS "unlock " #task " " #lock "\n"
#define WAIT(ms, task, on) #ms MS "wait " #task " " #on "\n"

static void holders_of_a_lock(void **state)
{
	static const uint64_t nobody[] = {0}, first[] = {10, 0}, both[] = {10, 11, 0};

	(void)state;
	expect_holders(FIBERS, 2, nobody);
	expect_holders(FIBERS LOCK(2, 10, 2) LOCK(3, 11, 2), 2, both);
	expect_holders(FIBERS LOCK(2, 10, 2) LOCK(3, 11, 2) UNLOCK(4, 11, 2), 2, first);
	expect_holders(FIBERS LOCK(2, 11, 2) LOCK(3, 10, 2) UNLOCK(4, 11, 2), 2, first);
	expect_holders(FIBERS LOCK(2, 10, 2) UNLOCK(4, 10, 2) UNLOCK(5, 10, 2), 2, nobody);
	/* The main task releases it for the fiber. */
	expect_holders(FIBERS LOCK(2, 10, 2) UNLOCK(4, 1, 2), 2, nobody);
	/* Another fiber gives a permit back: the oldest. */
	expect_holders(FIBERS LOCK(2, 11, 4) LOCK(3, 10, 4) UNLOCK(5, 12, 4), 4, first);
	expect_holders(FIBERS LOCK(2, 10, 4) LOCK(3, 11, 4) "5" MS
							    "resolve 11 11\n" UNLOCK(5, 1, 4),
		4, first);
	/* The holder that had ended is the likelier one. */
	expect_holders(FIBERS LOCK(2, 10, 4) LOCK(3, 11, 4) "4" MS
							    "resolve 11 11\n" UNLOCK(5, 1, 4),
		4, first);
}

/* One that waits for a mutex tells of a thread that has it and hasn't noted that, so it tells of no release,
 * either. A read lock has several holders. */
static void a_hold_that_was_not_noted_ends(void **state)
{
#define UNNOTED(label) \
	FIBERS "1" MS "label 2 \"" label "\n1" MS "create 1 40 thread\n1" MS \
	       "create 1 41 thread\n2" MS "lock 40 2\n"
	static const uint64_t nobody[] = {0}, first[] = {40, 0}, second[] = {41, 0},
			      both[] = {40, 41, 0};

	(void)state;
	expect_holders(UNNOTED("mutex m"), 2, first);
	expect_holders(UNNOTED("mutex m") "3" MS "lock 41 2 =7\n", 2, second);
	expect_holders(UNNOTED("mutex m") "3" MS "lock 41 2 =7\n" UNLOCK(4, 41, 2), 2, nobody);
	expect_holders(UNNOTED("rwlock m") "3" MS "lock 41 2 =7\n", 2, both);
	/* Where it is known where it took it, its release would be told. */
	expect_holders(UNNOTED("mutex m") UNLOCK(3, 40, 2) "4" MS "lock 40 2 =7\n4" MS
							   "lock 41 2 =7\n",
		2, both);
#undef UNNOTED
}

static void a_lock_passes_on(void **state)
{
	static const uint64_t heir[] = {11, 0}, reader[] = {12, 0}, ended[] = {10, 0};

	(void)state;
	expect_holders(FIBERS LOCK(2, 10, 2) "3" MS "become 10 11\n", 2, heir);
	/* Task 20 waited for the lock and does nothing else, so its reader has the lock. */
	expect_holders(FIBERS "2" MS "create 1 20 wait\n" LOCK(3, 20, 2) "3" MS "resolve 1 20\n"
									 "4" MS "read 12 20\n",
		2, reader);
	/* A fiber does not pass its lock on to those who join it. */
	expect_holders(FIBERS LOCK(2, 10, 2) "3" MS "resolve 10 10\n"
					     "4" MS "read 12 10\n",
		2, ended);
}

/* A task that did more than to wait for the lock may not have passed it on, whoever reads its result. */
static void a_lock_that_may_be_passed_on(void **state)
{
#define PASSED(did) \
	FIBERS "1" MS "create 1 20 promise\n" \
	       "1" MS "create 1 21 promise\n" LOCK(2, 20, 2) did \
		"3" MS "resolve 1 20\n" \
		"4" MS "read 21 20\n" \
		"5" MS "resolve 1 21\n" \
		"6" MS "read 12 21\n" LOCK(6, 11, 3) WAIT(7, 12, 3) WAIT(8, 11, 2) END
	(void)state;
	assert_int_equal(deadlock_of(PASSED(""), 2), THRUM__CERTAIN);
	assert_int_equal(deadlock_of(PASSED(WAIT(2, 20, 13)), 2), THRUM__LIKELY);
}

/* A look at a lock reads its latest edges, and says so. */
static void a_look_at_a_lock_may_be_cut(void **state)
{
	for (int more = 0; more < 2; more++) {
		char lines[4000] = FIBERS, *to = lines + strlen(lines);
		struct thrum__analyse_hold holds[THRUM__HOLDS_MAX];
		struct thrum__analyse_lock made, look;
		struct thrum__model *model;

		(void)state;
		for (int i = 0; i < THRUM__HOLDS_MAX + more; i++)
			to += sprintf(to, LOCK(2, 10, 4));
		model = story_model(lines, false);
		thrum__analyse_lock_look(model, story_task(model, 4), &look, holds);
		assert_int_equal(look.count, THRUM__HOLDS_MAX);
		assert_int_equal(look.is_cut, more);
		assert_int_equal(thrum__analyse_lock_make(model, story_task(model, 4), &made), 0);
		assert_false(made.is_cut);
		thrum__analyse_lock_free(&made);
		thrum__model_destroy(model);
	}
}

/* Events that aren't recorded are missing as lost ones are: they may have ended a wait. */
static void unrecorded_parts_leave_doubt(void **state)
{
#define CIRCLE LOCK(2, 10, 2) LOCK(2, 11, 3) WAIT(3, 10, 3) WAIT(4, 11, 2)
	static const char *const stretches[] = {
		FIBERS CIRCLE "5" MS "category =0 \"life\n"
			      "6" MS "category =1 \"life\n" END,
		FIBERS CIRCLE "5" MS "category =1 \"wait\n"
			      "6" MS "category =2 \"wait\n" END,
		FIBERS CIRCLE "5" MS "category =2 \"switch\n"
			      "6" MS "category =3 \"switch\n" END,
	};

	(void)state;
	assert_int_equal(deadlock_of(FIBERS CIRCLE END, 2), THRUM__CERTAIN);
	for (int i = 0; i < 3; i++)
		assert_int_equal(deadlock_of(stretches[i], 2), THRUM__POSSIBLE);
}

/* Two tasks take permits for tasks that read their results. One of these gives its permit back, after the
 * other one has ended: that one still has its own. */
static void a_permit_is_given_back_by_a_reader(void **state)
{
	static const uint64_t other[] = {21, 0};

	(void)state;
	expect_holders(FIBERS "1" MS "create 1 20 promise\n"
			      "1" MS "create 1 21 promise\n"
			      "1" MS "create 1 30 promise\n" LOCK(2, 21, 4)
				      LOCK(3, 20, 4) "4" MS "resolve 1 21\n"
						     "5" MS "resolve 1 20\n"
						     "5" MS "read 30 20\n" UNLOCK(6, 30, 4),
		4, other);
}

/* Fiber 10 takes permits just before it creates the task that shall give it back. */
static void a_permit_may_be_for_a_child(void **state)
{
#define CHILD(ms, child) LOCK(ms, 10, 4) #ms MS "create 10 " #child " task\n"
	static const uint64_t second[] = {21, 0}, first[] = {10, 0}, nobody[] = {0};

	(void)state;
	/* The first child gives its own back, so the second has the other one, though it has ended. */
	expect_holders(FIBERS CHILD(2, 20) CHILD(3, 21) UNLOCK(4, 20, 4) "5" MS "resolve 21 21\n",
		4, second);
	expect_holders(FIBERS CHILD(2, 20) CHILD(3, 21) UNLOCK(4, 21, 4) UNLOCK(5, 20, 4), 4,
		nobody);
	/* A timer gives nothing back. */
	expect_holders(FIBERS CHILD(2, 20) LOCK(3, 10, 4) "3" MS "create 10 22 timer\n3" MS
							  "create 10 21 task\n" UNLOCK(4, 20,
								  4) "5" MS "resolve 21 21\n",
		4, second);
	/* A request gives nothing back, if the one that waits for it does. */
	expect_holders(FIBERS LOCK(2, 10, 4) "2" MS "create 10 22 request\n2" MS
					     "create 10 20 task\n2" MS "wait 20 22\n" LOCK(3, 10,
						     4) "3" MS "create 10 23 request\n3" MS
							"create 10 21 task\n3" MS
							"wait 21 23\n" UNLOCK(4, 20,
								4) "5" MS "resolve 21 21\n",
		4, second);
	/* One that waits for a permit itself was not given this one. */
	expect_holders(FIBERS CHILD(2, 20) UNLOCK(4, 20, 4) LOCK(5, 10, 4) "5" MS
									   "create 10 21 task\n"
									   "5" MS "wait 21 4\n",
		4, first);
	/* Nothing tells so: no child gave one back, or it was created long after. */
	expect_holders(FIBERS CHILD(2, 20) "5" MS "resolve 20 20\n", 4, first);
	expect_holders(FIBERS CHILD(2, 20) UNLOCK(4, 20, 4) LOCK(5, 10, 4) "30" MS
									   "create 10 21 task\n",
		4, first);
}

/* Fibers take permits and make two promises each. The second promise gives the permit back, or one
 * that it made. That of fiber 11 fails instead. */
static void a_permit_is_for_what_others_gave_back(void **state)
{
#define PAIR(ms, fiber, first, second) \
	LOCK(ms, fiber, 4) \
#ms MS "create " #fiber " " #first " promise =6\n" #ms MS "create " #fiber " " #second \
	       " promise =7\n"
	static const uint64_t failed[] = {23, 0}, first[] = {22, 0};

	(void)state;
	expect_holders(FIBERS PAIR(2, 10, 20, 21) PAIR(3, 11, 22, 23)
			       UNLOCK(4, 21, 4) "5" MS "fail 23 23\n",
		4, failed);
	expect_holders(FIBERS PAIR(2, 10, 20, 21) PAIR(3, 11, 22,
			       23) "3" MS "create 21 24 promise\n" UNLOCK(4, 24, 4) "5" MS
										    "fail 23 23\n",
		4, failed);
	/* The first one gives it back. */
	expect_holders(FIBERS PAIR(2, 10, 20, 21) PAIR(3, 11, 22, 23)
			       UNLOCK(4, 20, 4) "5" MS "fail 23 23\n",
		4, first);
}

/* A promise takes a permit, does something and ends; fiber 12 reads its result. Fiber 11 gives back its own
 * permit, or main does so for it. */
static void who_has_a_name_keeps_its_permit(void **state)
{
#define ENDS(label, giver) \
	FIBERS LOCK(2, 11, 4) "2" MS "create 1 20 promise\n" label LOCK(2, 20, 4) \
		UNLOCK(3, giver, 4) "4" MS "signal 20 3 =0\n" \
				    "5" MS "resolve 1 20\n" \
				    "6" MS "read 12 20\n"
#define NAME "2" MS "label 20 \"upload\n"
	static const uint64_t promise[] = {20, 0}, reader[] = {12, 0};

	(void)state;
	expect_holders(ENDS(NAME, 11), 4, promise);
	expect_holders(ENDS(NAME, 1), 4, reader);
}

/* Fiber 11 gives back the permit of a task whose result it read. Task 21 has a name, and keeps its permit,
 * unless the other one has a name, too. */
static void who_has_a_name_keeps_what_others_pass_on(void **state)
{
#define PASSES(label) \
	FIBERS "1" MS "create 1 20 bind\n" label LOCK(2, 20, \
		4) "3" MS "signal 20 3 =0\n" \
		   "4" MS "resolve 1 20\n" \
		   "4" MS "read 11 20\n" UNLOCK(5, 11, 4) "6" MS "create 1 21 bind\n" \
							  "6" MS "label 21 \"upload\n" LOCK(7, 21, \
								  4) "8" MS "signal 21 3 =0\n" \
								     "8" MS "resolve 1 21\n" \
								     "9" MS "read 12 21\n"
	static const uint64_t task[] = {21, 0}, reader[] = {12, 0};

	(void)state;
	expect_holders(PASSES(""), 4, task);
	expect_holders(PASSES("1" MS "label 20 \"order\n"), 4, reader);
#undef PASSES
}

/* Fiber 10 reads under a lock and wants it for writing. Fiber 11 waits to write, while others read. */
static void a_writer_waits_behind_an_upgrade(void **state)
{
	static const char head[] = FIBERS "1" MS "label 2 \"rwlock r\n" LOCK(2, 10, 2)
		WAIT(3, 10, 2) WAIT(4, 11, 2);
	char lines[16384];
	size_t used = (size_t)snprintf(lines, sizeof lines, "%s", head);
	struct thrum__findings findings;
	struct thrum__model *model;

	(void)state;
	for (int i = 0; i < 80; i++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"%d" MS "lock 12 2\n%d" MS "unlock 12 2\n", 5 + i, 5 + i);
	snprintf(lines + used, sizeof lines - used, "%s", END);
	findings = find(lines, &model);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].class, THRUM__FINDING_DEADLOCK);
	story_free(model, &findings);
	/* Another task has released the lock that was taken for it: nobody knows who has it. */
	findings = find(FIBERS "1" MS "label 2 \"rwlock r\n" LOCK(2, 12, 2) LOCK(2, 10, 2)
				UNLOCK(3, 13, 2) WAIT(4, 10, 2) END,
		&model);
	assert_int_equal(findings.count, 0);
	story_free(model, &findings);
}

static void an_ended_holder_is_the_cause(void **state)
{
	struct thrum__model *model;
	struct thrum__findings findings = find(FIBERS "1" MS "should-resolve 11\n" LOCK(2, 10, 2)
						       WAIT(3, 11, 2) "4" MS "resolve 10 10\n" END,
		&model);

	(void)state;
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_STILL_HOLDS);
	assert_int_equal(findings.findings[0].steps[0].task, story_task(model, 10));
	assert_int_equal(findings.findings[0].steps[0].time, 4000000);
	story_free(model, &findings);
}

/* The fiber 10 ends with the lock, and its join waits for another fiber that wants the lock. */
static void a_join_of_an_ended_holder_is_in_no_cycle(void **state)
{
	struct thrum__model *model;
	struct thrum__findings findings = find(FIBERS
		"1" MS "create 1 20 join\n"
		"1" MS "should-resolve 20\n" WAIT(1, 20, 10) WAIT(1, 20, 11) LOCK(2, 10, 2)
			WAIT(3, 11, 2) "4" MS "resolve 10 10\n"
				       "4" MS "read 20 10\n" END,
		&model);

	(void)state;
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_STILL_HOLDS);
	story_free(model, &findings);
}

static void an_ended_holder_is_told_first(void **state)
{
	struct thrum__model *model;
	struct thrum__findings findings = find(FIBERS
		"1" MS "should-resolve 14\n" LOCK(2, 10, 2)
			LOCK(3, 11, 2) "4" MS "resolve 11 11\n" WAIT(5, 14, 2) END,
		&model);

	(void)state;
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_STILL_HOLDS);
	assert_int_equal(findings.findings[0].steps[1].kind, THRUM__STEP_HOLDS);
	assert_int_equal(findings.findings[0].steps[1].task, story_task(model, 10));
	story_free(model, &findings);
}

static void all_holders_are_told(void **state)
{
	struct thrum__model *model;
	struct thrum__findings findings = find(FIBERS "1" MS "should-resolve 14\n" LOCK(2, 10, 2)
						       LOCK(2, 11, 2) LOCK(2, 12, 2) LOCK(2, 13, 2)
							       LOCK(2, 1, 2) WAIT(3, 14, 2) END,
		&model);
	const struct thrum__finding *finding = findings.findings;
	uint32_t holders = 0, more = 0;

	(void)state;
	assert_int_equal(findings.count, 1);
	for (unsigned i = 0; i < finding->step_count; i++) {
		holders += finding->steps[i].kind == THRUM__STEP_HOLDS;
		more += finding->steps[i].more;
	}
	assert_int_equal(holders, 3);
	assert_int_equal(more, 2);
	story_free(model, &findings);
}

/* Returns how many steps of the only finding have a kind, and adds up what else they count. */
static uint32_t steps_of(const char *lines, int kind, uint32_t *more)
{
	struct thrum__model *model;
	struct thrum__findings findings = find(lines, &model);
	uint32_t count = 0;

	assert_int_equal(findings.count, 1);
	*more = 0;
	for (unsigned i = 0; i < findings.findings->step_count; i++) {
		const struct thrum__step *step = &findings.findings->steps[i];

		count += step->kind == kind;
		*more += step->kind == kind ? step->more : 0;
	}
	story_free(model, &findings);
	return count;
}

#define NAMED \
	FIBERS "1" MS "label 10 \"a\n" \
	       "1" MS "label 11 \"b\n" \
	       "1" MS "label 12 \"c\n" \
	       "1" MS "label 14 \"victim\n" \
	       "1" MS "should-resolve 14\n" \
	       "1" MS "create 1 20 timer\n" \
	       "1" MS "due 20 =90000000000\n"

/* The event by which the lock was taken is lost. */
static void who_may_hold_a_lock(void **state)
{
	uint32_t more;

	(void)state;
	assert_int_equal(steps_of(NAMED "4" MS "lost =3 \"full\n" WAIT(5, 10, 20) WAIT(6, 14, 2)
					  END,
				 THRUM__STEP_MAY_HOLD, &more),
		1);
	assert_int_equal(more, 0);
	/* One of them wants it, too; the others are told and counted. */
	assert_int_equal(steps_of(NAMED "1" MS "label 13 \"d\n"
					"4" MS "lost =3 \"full\n" WAIT(5, 10, 20) WAIT(5, 11, 20)
						WAIT(5, 12, 20) WAIT(5, 13, 2) WAIT(6, 14, 2) END,
				 THRUM__STEP_MAY_HOLD, &more),
		2);
	assert_int_equal(more, 1);
	/* One that came later took nothing while events were lost. */
	assert_int_equal(steps_of(NAMED "4" MS "lost =3 \"full\n"
					"5" MS "create 1 30 fiber\n"
					"5" MS "label 30 \"e\n"
					"5500000 wait 30 20\n" WAIT(6, 14, 2) END,
				 THRUM__STEP_MAY_HOLD, &more),
		0);
	/* One that waits since its creation had no time to take it, unlike one that began to wait later. */
	for (int is_late = 0; is_late < 2; is_late++)
		assert_int_equal(steps_of(is_late ? NAMED "3" MS "create 1 30 fiber\n"
							  "3" MS "label 30 \"e\n"
							  "3001000 wait 30 20\n"
							  "4" MS "lost =3 \"full\n" WAIT(6, 14, 2)
								  END
						  : NAMED "3" MS "create 1 30 fiber\n"
							  "3" MS "label 30 \"e\n"
							  "3000200 wait 30 20\n"
							  "4" MS "lost =3 \"full\n" WAIT(6, 14, 2)
								  END,
					 THRUM__STEP_MAY_HOLD, &more),
			(uint32_t)is_late);
}

/* A task that holds several permits is told once. */
static void a_holder_of_several_permits(void **state)
{
	uint32_t more;

	(void)state;
	assert_int_equal(steps_of(NAMED LOCK(2, 10, 4) LOCK(3, 10, 4) LOCK(3, 11, 4) WAIT(5, 14, 4)
					  WAIT(5, 10, 20) END,
				 THRUM__STEP_HOLDS, &more),
		2);
	assert_int_equal(more, 0);
}

/* Tells how others take lock 2 again and again from a time on, in which fiber 10 waits for it since 3 ms
 * and has lock 3; then fiber 11 takes it and waits for 3. */
static const char *tell_busy(int from)
{
	static char story[20000];
	size_t used = (size_t)snprintf(story, sizeof story, "%s", FIBERS LOCK(1, 10, 3));

	for (int i = 0; i < 64 && from < 3; i++)
		used += (size_t)snprintf(story + used, sizeof story - used,
			"%d" MS "lock 12 2\n%d" MS "unlock 12 2\n", from, from);
	used += (size_t)snprintf(story + used, sizeof story - used, WAIT(3, 10, 2));
	for (int i = 0; i < 64 && from > 3; i++)
		used += (size_t)snprintf(story + used, sizeof story - used,
			"%d" MS "lock 12 2\n%d" MS "unlock 12 2\n", from, from);
	snprintf(story + used, sizeof story - used, LOCK(9, 11, 2) WAIT(10, 11, 3) END);
	return story;
}

static void a_lock_that_goes_to_others_is_not_held(void **state)
{
	(void)state;
	expect_none(tell_busy(4));
	/* They took it before the wait. */
	assert_int_equal(deadlock_of(tell_busy(2), 2), THRUM__CERTAIN);
}

static void a_stranger_leaves_doubt(void **state)
{
	(void)state;
	assert_int_equal(deadlock_of(FIBERS LOCK(1, 12, 2) UNLOCK(1, 13, 2) LOCK(2, 10, 2)
					     LOCK(2, 11, 3) WAIT(3, 10, 3) WAIT(4, 11, 2) END,
				 2),
		THRUM__LIKELY);
}

static void an_upgrade_waits_for_the_other_readers(void **state)
{
	(void)state;
	/* Another reader is about to finish. */
	expect_none(FIBERS LOCK(2, 10, 2) LOCK(2, 11, 2) WAIT(3, 10, 2) END);
	/* It has just finished. */
	expect_none(FIBERS LOCK(2, 10, 2) LOCK(2, 11, 2) WAIT(3, 10, 2) UNLOCK(899, 11, 2) END);
	/* It finished, and the first still doesn't get the lock. */
	assert_int_equal(deadlock_of(FIBERS LOCK(2, 10, 2) LOCK(2, 11, 2) WAIT(3, 10, 2)
					     UNLOCK(4, 11, 2) END,
				 1),
		THRUM__LIKELY);
	/* Both wait for each other to leave. */
	assert_int_equal(deadlock_of(FIBERS LOCK(2, 10, 2) LOCK(2, 11, 2) WAIT(3, 10, 2)
					     WAIT(4, 11, 2) END,
				 1),
		THRUM__CERTAIN);
	/* It has the lock alone and waits for it. */
	assert_int_equal(deadlock_of(FIBERS LOCK(2, 10, 2) WAIT(3, 10, 2) END, 1), THRUM__CERTAIN);
}

/* The thread 40 waits for a lock; then it is told, by itself or by main, that the thread has it. */
static void another_thread_tells_of_a_holder(void **state)
{
#define THREAD \
	FIBERS "1" MS "@1 create - 40 thread\n" \
	       "1" MS "@1 switch 40\n" \
	       "3" MS "@1 wait 40 2\n"
	(void)state;
	expect_none(THREAD "5" MS "@1 lock 40 2\n" END);
	/* It had it before, and waits for it once more. */
	assert_int_equal(deadlock_of(THREAD LOCK(5, 40, 2) END, 1), THRUM__CERTAIN);
}

/* A semaphore's permits are enough for one more if any holder leaves. */
static void a_semaphore_needs_one_holder(void **state)
{
#define USED LOCK(2, 10, 4) UNLOCK(3, 10, 4)
	(void)state;
	expect_none(FIBERS USED LOCK(4, 10, 4) LOCK(4, 11, 4) LOCK(4, 12, 2) WAIT(5, 10, 2)
			WAIT(5, 12, 4) END);
	assert_int_equal(deadlock_of(FIBERS USED LOCK(4, 10, 4) LOCK(4, 11, 4) LOCK(4, 12, 2)
					     WAIT(5, 10, 2) WAIT(5, 11, 2) WAIT(5, 12, 4) END,
				 2),
		THRUM__CERTAIN);
	/* Anybody may release a semaphore that was never released by its holder. */
	assert_int_equal(deadlock_of(FIBERS LOCK(4, 10, 4) LOCK(4, 11, 4) LOCK(4, 12, 2)
					     WAIT(5, 10, 2) WAIT(5, 11, 2) WAIT(5, 12, 4) END,
				 2),
		THRUM__LIKELY);
}

/* A writer needs all readers to leave, if it is one. */
static void a_lock_may_need_all_holders(void **state)
{
	(void)state;
	assert_int_equal(deadlock_of(FIBERS LOCK(4, 10, 2) LOCK(4, 11, 2) LOCK(4, 12, 3)
					     WAIT(5, 10, 3) WAIT(5, 12, 2) END,
				 2),
		THRUM__LIKELY);
}

static void a_choice_is_blocked_if_all_its_waits_are(void **state)
{
#define CHOICE FIBERS "1" MS "create 1 20 choose\n" WAIT(2, 20, 10) WAIT(2, 20, 11) WAIT(3, 10, 20)
	(void)state;
	expect_none(CHOICE END);
	assert_int_equal(deadlock_of(CHOICE WAIT(3, 11, 20) END, 2), THRUM__CERTAIN);
}

/* A join that waits for many, the first of which is the cause. */
static void a_join_of_many_keeps_its_first_wait(void **state)
{
	char lines[20000] = FIBERS "1" MS "create 1 20 join\n"
				   "1" MS "should-resolve 20\n" WAIT(2, 20, 10) LOCK(2, 11, 2)
					   WAIT(3, 10, 2),
	     *to = lines;
	struct thrum__model *model;
	struct thrum__findings findings;

	(void)state;
	while (*to)
		to++;
	for (int i = 0; i < 200; i++)
		to += sprintf(to, "4" MS "create 1 %d promise\n4" MS "wait 20 %d\n", 100 + i,
			100 + i);
	sprintf(to, "5" MS "resolve 11 11\n" END);
	findings = find(lines, &model);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_STILL_HOLDS);
	assert_int_equal(findings.findings[0].steps[0].task, story_task(model, 11));
	story_free(model, &findings);
}

/* Only a damaged or hostile recording says so. */
static void locks_hold_no_locks(void **state)
{
	(void)state;
	expect_none(FIBERS "2" MS "lock 2 3\n"
			   "2" MS "lock 3 2\n"
			   "3" MS "wait 10 2\n"
			   "3" MS "wait 11 3\n" END);
}

/* A signal's handler ends its thread's sleep, and takes a lock that the thread has. */
static void a_sleep_that_was_left_ends_no_wait(void **state)
{
#define ASLEEP FIBERS "2" MS "lock 10 2\n3" MS "create 10 20 timer\n3" MS "wait 10 20\n"

	(void)state;
	assert_int_equal(deadlock_of(ASLEEP "4" MS "read 10 20\n4" MS "wait 10 2\n" END, 1),
		THRUM__CERTAIN);
	expect_none(ASLEEP "4" MS "wait 10 2\n" END);
#undef ASLEEP
}

/* A holder waits for a handle after another one held the lock from 3 ms until then; a task waits for the lock
 * from a time on. Returns the certainty, or -1 if there is no finding. */
static int kept_lock(int until, int from, const char *mark)
{
	char lines[800];
	struct thrum__model *model;
	struct thrum__findings findings;
	int certainty = -1;

	sprintf(lines,
		FIBERS "2" MS "create 1 20 handle\n2" MS "label 20 \"client\n3" MS
		       "lock 12 2\n%d" MS "unlock 12 2\n%d" MS "resolve 12 12\n%d" MS
		       "lock 10 2\n%d" MS "wait 10 20\n%d" MS "%s\n%d" MS "wait 11 2\n" END,
		until, until, until, until, from, mark, from);
	findings = find(lines, &model);
	assert_in_range(findings.count, 0, 1);
	if (findings.count > 0) {
		assert_int_equal(findings.findings[0].class, THRUM__FINDING_OUTSIDE);
		assert_int_equal(findings.findings[0].steps[0].task, story_task(model, 20));
		certainty = findings.findings[0].certainty;
	}
	story_free(model, &findings);
	return certainty;
}

static void a_lock_is_kept_while_its_holder_waits(void **state)
{
	(void)state;
	assert_int_equal(kept_lock(4, 30, "should-resolve 11"), THRUM__POSSIBLE);
	/* Nobody says that the waiter ends, it waits since lately, or another one held the lock long, too. */
	assert_int_equal(kept_lock(4, 30, "label 11 \"waiter"), -1);
	assert_int_equal(kept_lock(4, 500, "should-resolve 11"), -1);
	assert_int_equal(kept_lock(19, 30, "should-resolve 11"), THRUM__POSSIBLE);
	assert_int_equal(kept_lock(110, 130, "should-resolve 11"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holders_of_a_lock),
		cmocka_unit_test(a_hold_that_was_not_noted_ends),
		cmocka_unit_test(a_lock_passes_on),
		cmocka_unit_test(a_lock_that_may_be_passed_on),
		cmocka_unit_test(a_look_at_a_lock_may_be_cut),
		cmocka_unit_test(unrecorded_parts_leave_doubt),
		cmocka_unit_test(a_permit_is_given_back_by_a_reader),
		cmocka_unit_test(a_permit_may_be_for_a_child),
		cmocka_unit_test(a_permit_is_for_what_others_gave_back),
		cmocka_unit_test(who_has_a_name_keeps_its_permit),
		cmocka_unit_test(who_has_a_name_keeps_what_others_pass_on),
		cmocka_unit_test(a_writer_waits_behind_an_upgrade),
		cmocka_unit_test(an_ended_holder_is_the_cause),
		cmocka_unit_test(a_join_of_an_ended_holder_is_in_no_cycle),
		cmocka_unit_test(an_ended_holder_is_told_first),
		cmocka_unit_test(all_holders_are_told),
		cmocka_unit_test(a_lock_that_goes_to_others_is_not_held),
		cmocka_unit_test(a_stranger_leaves_doubt),
		cmocka_unit_test(who_may_hold_a_lock),
		cmocka_unit_test(a_holder_of_several_permits),
		cmocka_unit_test(an_upgrade_waits_for_the_other_readers),
		cmocka_unit_test(another_thread_tells_of_a_holder),
		cmocka_unit_test(a_semaphore_needs_one_holder),
		cmocka_unit_test(a_lock_may_need_all_holders),
		cmocka_unit_test(a_choice_is_blocked_if_all_its_waits_are),
		cmocka_unit_test(a_join_of_many_keeps_its_first_wait),
		cmocka_unit_test(a_lock_is_kept_while_its_holder_waits),
		cmocka_unit_test(locks_hold_no_locks),
		cmocka_unit_test(a_sleep_that_was_left_ends_no_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
