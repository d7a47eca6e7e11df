/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/diff/diff.h"
#include "story.h"

struct pair {
	struct thrum__model *good, *bad;
	struct thrum__comparison comparison;
};

static void compare(struct pair *pair, const char *good, const char *bad, bool is_mirage)
{
	pair->good = story_model(good, is_mirage);
	pair->bad = story_model(bad, is_mirage);
	assert_int_equal(thrum__diff_make(pair->good, pair->bad, &pair->comparison), 0);
}

static void finish(struct pair *pair)
{
	thrum__diff_free(&pair->comparison);
	thrum__model_destroy(pair->good);
	thrum__model_destroy(pair->bad);
}

/* Shows the kinds of all differences and their labels, as "order b, missing c". */
static void check(const char *good, const char *bad, bool is_mirage, const char *expected)
{
	char text[2000] = "";
	struct pair pair;

	compare(&pair, good, bad, is_mirage);
	for (uint32_t i = 0; i < pair.comparison.count; i++) {
		const struct thrum__difference *difference = &pair.comparison.differences[i];
		size_t size, used = strlen(text);
		const char *name = thrum__diff_group_name(&pair.comparison, difference->group,
			&size);

		snprintf(text + used, sizeof(text) - used, "%s%s %.*s", used ? ", " : "",
			thrum__diff_name(difference->kind), (int)size, name);
	}
	assert_string_equal(text, expected);
	finish(&pair);
}

#define START \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"10 create 1 2 condition\n" \
	"10 label 2 \"reply 1\n"

static const char waits_first[] = START "20 create 1 3 promise\n"
					"20 label 3 \"asker\n"
					"30 wait 3 2\n"
					"50 signal 1 2 =1\n"
					"51 read 3 2\n"
					"60 resolve 3 3\n"
					"300 log 1 \"end\n";
static const char signals_first[] = START "20 signal 1 2 =0\n"
					  "30 create 1 3 promise\n"
					  "30 label 3 \"asker\n"
					  "40 wait 3 2\n"
					  "300 log 1 \"end\n";

static void a_signal_precedes_the_wait(void **state)
{
	const struct thrum__difference *first;
	struct pair pair;

	check(waits_first, signals_first, false, "signal before wait reply #, never ends asker");
	compare(&pair, waits_first, signals_first, false);
	first = &pair.comparison.differences[pair.comparison.first];
	assert_int_equal(first->kind, THRUM__DIFFERENCE_SIGNAL_FIRST);
	assert_int_equal(first->side[THRUM__GOOD].first, 50);
	assert_int_equal(first->side[THRUM__GOOD].second, 30);
	assert_int_equal(first->side[THRUM__BAD].first, 20);
	assert_int_equal(first->side[THRUM__BAD].second, 40);
	assert_int_equal(first->side[THRUM__BAD].by[1], story_task(pair.bad, 3));
	finish(&pair);
}

static void mirage_waits_look_like_signals(void **state)
{
	check("0 switch 0\n"
	      "10 create 0 1 condition\n"
	      "10 label 1 \"reply\n"
	      "15 create 0 9 bind\n"
	      "20 signal 9 1\n"
	      "21 create 1 2 task\n"
	      "22 switch 0\n"
	      "40 signal 0 1\n"
	      "41 resolve 1 2\n",
		"0 switch 0\n"
		"10 create 0 1 condition\n"
		"10 label 1 \"reply\n"
		"15 create 0 9 bind\n"
		"20 signal 0 1\n"
		"22 switch 0\n"
		"40 signal 9 1\n"
		"41 create 1 2 task\n"
		"42 switch 0\n",
		true, "signal before wait reply");
}

static void nobody_signals(void **state)
{
	check(waits_first,
		START "20 create 1 3 promise\n"
		      "20 label 3 \"asker\n"
		      "30 wait 3 2\n"
		      "300 log 1 \"end\n",
		false, "no signal reply #, never ends asker");
}

static void the_same_is_no_difference(void **state)
{
	check(waits_first, waits_first, false, "");
	check(signals_first, signals_first, false, "");
	check("", "", false, "");
	check("0 create - 1 thread\n", "", false, "");
}

/* Recordings with other ids, times and orders of lanes, and with labels that differ in numbers. */
static void ids_and_times_are_no_difference(void **state)
{
	check(waits_first,
		"1000 create - 7 thread\n"
		"1000 switch 7\n"
		"1010 create 7 40 condition\n"
		"1010 label 40 \"reply 77\n"
		"1020 create 7 30 promise\n"
		"1020 label 30 \"asker\n"
		"1030 wait 30 40\n"
		"1050 signal 7 40 =1\n"
		"1051 read 30 40\n"
		"1063 resolve 30 30\n",
		false, "");
}

#define OPEN_THEN_USE \
	"0 create - 1 thread\n" \
	"0 create 1 2 task\n" \
	"0 label 2 \"main\n" \
	"5 create 2 3 request\n" \
	"5 label 3 \"open\n" \
	"6 wait 2 3\n"

static void what_read_a_result_comes_after_it(void **state)
{
	check(OPEN_THEN_USE "20 resolve 1 3\n"
			    "21 read 2 3\n"
			    "25 create 2 4 request\n"
			    "25 label 4 \"use\n"
			    "30 resolve 1 4\n"
			    "31 resolve 1 2\n",
		OPEN_THEN_USE "8 create 2 4 request\n"
			      "8 label 4 \"use\n"
			      "20 resolve 1 3\n"
			      "21 read 2 3\n"
			      "30 resolve 1 4\n"
			      "31 resolve 1 2\n",
		false, "order use");
	/* It may begin when the other ends. */
	check(OPEN_THEN_USE "20 resolve 1 3\n"
			    "21 read 2 3\n"
			    "25 create 2 4 request\n"
			    "25 label 4 \"use\n"
			    "30 resolve 1 4\n"
			    "31 resolve 1 2\n",
		OPEN_THEN_USE "20 resolve 1 3\n"
			      "20 create 2 4 request\n"
			      "20 label 4 \"use\n"
			      "30 resolve 1 4\n"
			      "31 resolve 1 2\n",
		false, "");
}

static void what_follows_by_chance_is_no_order(void **state)
{
	check(OPEN_THEN_USE "20 resolve 1 3\n"
			    "25 create 2 4 request\n"
			    "25 label 4 \"other\n"
			    "30 resolve 1 4\n"
			    "31 resolve 1 2\n",
		OPEN_THEN_USE "8 create 2 4 request\n"
			      "8 label 4 \"other\n"
			      "20 resolve 1 3\n"
			      "30 resolve 1 4\n"
			      "31 resolve 1 2\n",
		false, "");
}

static void failures_and_what_is_missing(void **state)
{
	check(OPEN_THEN_USE "20 resolve 1 3\n"
			    "25 create 2 4 request\n"
			    "25 label 4 \"use\n"
			    "30 resolve 1 4\n"
			    "31 resolve 1 2\n",
		OPEN_THEN_USE "20 fail 1 3 \"no such file\n"
			      "25 create 2 4 task\n"
			      "25 label 4 \"complain\n"
			      "30 resolve 1 4\n"
			      "31 resolve 1 2\n",
		false, "fails open, missing use, added complain");
}

static void what_lies_beyond_the_others_end_is_left_out(void **state)
{
	check("0 create - 1 thread\n"
	      "5 create 1 2 task\n"
	      "5 label 2 \"early\n"
	      "9 resolve 1 2\n",
		"0 create - 1 thread\n"
		"5 create 1 2 task\n"
		"5 label 2 \"early\n"
		"9 resolve 1 2\n"
		"50 create 1 3 task\n"
		"50 label 3 \"late\n",
		false, "");
}

/* ---- Times --------------------------------------------------------------------------------- */

static void many(unsigned count, unsigned length, unsigned step, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n");

	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(to + used, size - used,
			"%u create 1 %u task\n%u label %u \"GET %u\n%u resolve 1 %u\n", i * 1000,
			i + 2, i * 1000, i + 2, i, i * 1000 + length + i % 10 * step, i + 2);
}

static void slower_is_said_of_many_only(void **state)
{
	static char good[9000], bad[9000];

	many(60, 100, 10, good, sizeof(good));
	many(60, 200, 10, bad, sizeof(bad));
	check(good, bad, false, "slower GET #");
	check(bad, good, false, "faster GET #");
	check(good, good, false, "");
	many(4, 100, 10, good, sizeof(good));
	many(4, 200, 10, bad, sizeof(bad));
	check(good, bad, false, "");
}

/* Ten tasks run one after the other for 1 ms, the fifth for as long as told; a line is added behind the
 * beginning of its run. */
static void outlier(unsigned ms, const char *line, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n");
	unsigned now = 1;

	for (unsigned i = 0; i < 10; i++) {
		unsigned task = i + 2, length = i == 4 ? ms : 1;

		used += (size_t)snprintf(to + used, size - used,
			"%u000000 create 1 %u task\n%u000000 label %u \"GET %u\n"
			"%u000000 switch %u\n",
			now, task, now, task, i, now, task);
		if (i == 4)
			used += (size_t)snprintf(to + used, size - used, "%s\n", line);
		now += length;
		used += (size_t)snprintf(to + used, size - used,
			"%u000000 resolve %u %u\n%u000000 switch 1\n", now, task, task, now);
	}
}

/* Only a thread that has a processor all the time runs for as long as its program tells it to. */
static void a_busy_machine_is_no_difference(void **state)
{
	static char good[2000], bad[2000];

	outlier(1, "", good, sizeof good);
	outlier(40, "", bad, sizeof bad);
	check(good, bad, false, "");
	outlier(400, "5000100 off-cpu =390000000 \"preempted", bad, sizeof bad);
	check(good, bad, false, "");
	outlier(400, "", bad, sizeof bad);
	check(good, bad, false, "slower GET #");
	outlier(40, "5000100 off-cpu =100 \"preempted", bad, sizeof bad);
	check(good, bad, false, "slower GET #");
	outlier(40, "5000100 switch 1", bad, sizeof bad);
	check(good, bad, false, "slower GET #");
}

static void ranks(void **state)
{
	int64_t low[40], high[40], same[40];
	unsigned longer;

	for (int i = 0; i < 40; i++) {
		low[i] = i;
		high[i] = i + 20;
		same[i] = 7;
	}
	assert_int_equal(thrum__diff_rank_test(low, 40, high, 40, &longer), 1);
	assert_int_equal(longer, 88); /* 190 of 1,600 pairs are less, 20 ties count half */
	assert_int_equal(thrum__diff_rank_test(high, 40, low, 40, &longer), -1);
	assert_int_equal(longer, 13);
	assert_int_equal(thrum__diff_rank_test(low, 40, low, 40, &longer), 0);
	assert_int_equal(longer, 50);
	assert_int_equal(thrum__diff_rank_test(same, 40, same, 40, &longer), 0);
	assert_int_equal(thrum__diff_rank_test(low, 3, high + 30, 3, &longer), 0);
	assert_int_equal(thrum__diff_rank_test(low, 0, high, 3, &longer), 0);
}

/* ---- Counts -------------------------------------------------------------------------------- */

#define PAGE \
	"0 create - 1 thread\n" \
	"10 create 1 2 task\n" \
	"10 label 2 \"page\n"
#define PART(id, from, to) \
#from " create 2 " #id " request\n" #from " label " #id " \"part\n" #to " resolve 1 " #id \
	      "\n"

static const char one_part[] = PAGE PART(3, 20, 40) "200 resolve 1 2\n";
static const char parts_in_turn[] = PAGE PART(3, 20, 40) PART(4, 40, 60) PART(5, 60, 80)
	PART(6, 80, 100) "200 resolve 1 2\n";
static const char parts_at_once[] = PAGE "20 create 2 3 request\n20 label 3 \"part\n"
					 "20 create 2 4 request\n20 label 4 \"part\n"
					 "20 create 2 5 request\n20 label 5 \"part\n"
					 "20 create 2 6 request\n20 label 6 \"part\n"
					 "40 resolve 1 3\n40 resolve 1 4\n40 resolve 1 5\n"
					 "40 resolve 1 6\n200 resolve 1 2\n";

/* Three files, each compiled once, or once and again. */
#define FILE_OF(id, name) "10 create 1 " #id " task\n10 label " #id " \"" name "\n"
#define RUN_OF(id, file) \
	"20 create " #file " " #id " task\n20 label " #id " \"run\n40 resolve 1 " #id "\n"
#define FILES "0 create - 1 thread\n" FILE_OF(2, "json") FILE_OF(3, "hash") FILE_OF(4, "list")
#define RUNS RUN_OF(5, 2) RUN_OF(6, 3) RUN_OF(7, 4)
static const char run_once[] = FILES RUNS;
static const char run_again[] = FILES RUNS RUN_OF(8, 2) RUN_OF(9, 3) RUN_OF(10, 4);

static void many_times_as_many(void **state)
{
	check(run_once, run_again, false, "more run");
	check(run_again, run_once, false, "less run");
	check(one_part, parts_in_turn, false, "more part");
	check(parts_in_turn, one_part, false, "less part");
}

/* Pages, each of which asks a name server if it isn't a map of what is known; `asks` says how many do. */
static void tell_pages(int asks, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n0 switch 1\n");

	for (int i = 0; i < 20; i++) {
		int ms = 10 * i, page = 100 + i, query = 200 + i;

		used += (size_t)snprintf(to + used, size - used,
			"%d create 1 %d %s\n%d label %d \"page %d\n", ms, page,
			i < asks ? "bind" : "map", ms, page, i);
		if (i < asks)
			used += (size_t)snprintf(to + used, size - used,
				"%d create %d %d timer\n%d label %d \"sleep %d ms\n%d label %d \"dns "
				"query\n%d resolve 1 %d\n",
				ms, page, query, ms, query, i, ms, query, ms + 4, query);
		used += (size_t)snprintf(to + used, size - used, "%d resolve 1 %d\n", ms + 5, page);
	}
}

static void binds_and_maps_are_alike(void **state)
{
	char good[8000], bad[8000];

	tell_pages(4, good, sizeof(good));
	tell_pages(20, bad, sizeof(bad));
	check(good, bad, false, "more dns query");
	check(good, good, false, "");
}

/* A semaphore's permit is a try, or a bind of one that waits for it. */
static void binds_and_tries_are_alike(void **state)
{
	check("0 create - 1 thread\n0 switch 1\n5 create 1 2 try\n5 label 2 \"load\n9 resolve 1 2\n",
		"0 create - 1 thread\n0 switch 1\n5 create 1 2 bind\n5 label 2 \"load\n9 resolve 1 2\n",
		false, "");
}

#define FILE_STORY(name) \
	"0 create - 1 thread\n0 switch 1\n5 create 1 2 request\n5 label 2 \"file open " name "\n" \
	"9 resolve 1 2\n20 resolve 1 1\n"

/* The names of temporary files have a part that differs in each run. */
static void temporary_names_are_alike(void **state)
{
	check(FILE_STORY("/tmp/queue-OjeQLt/orders-1"), FILE_STORY("/tmp/queue-pL12us/orders-1"),
		false, "");
	check(FILE_STORY("auditBPt0O3 (deleted)"), FILE_STORY("auditxGAwpB (deleted)"), false, "");
	check(FILE_STORY("/tmp/orders"), FILE_STORY("/tmp/queues"), false,
		"missing file open /tmp/orders, added file open /tmp/queues");
	check(FILE_STORY("/srv/OjeQLt"), FILE_STORY("/srv/pL12us"), false,
		"missing file open /srv/OjeQLt, added file open /srv/pL#us");
}

static void one_after_the_other(void **state)
{
	check(parts_at_once, parts_in_turn, false, "sequential part");
	check(parts_in_turn, parts_at_once, false, "parallel part");
}

#define WITH_LOCK PAGE "10 create 1 3 lock\n10 label 3 \"log\n20 lock 1 3\n30 unlock 1 3\n"

static void a_group_is_used_in_one_only(void **state)
{
	check(WITH_LOCK "90 resolve 1 2\n",
		WITH_LOCK "40 lock 2 3\n50 unlock 2 3\n90 resolve 1 2\n", false, "uses page");
	check(WITH_LOCK "40 lock 2 3\n50 unlock 2 3\n90 resolve 1 2\n",
		WITH_LOCK "90 resolve 1 2\n", false, "unused page");
}

/* Times in ms, as differences of a few tasks count only from 10 ms on. */
static void a_slower_cause_comes_before_its_victims(void **state)
{
	static const char good[] = PAGE "20 create 2 3 request\n20 label 3 \"disk\n20 wait 2 3\n"
					"2000000 resolve 1 3\n2000000 resolve 1 2\n";
	static const char bad[] = PAGE "20 create 2 3 request\n20 label 3 \"disk\n20 wait 2 3\n"
				       "80000000 resolve 1 3\n80000000 resolve 1 2\n";
	struct pair pair;
	const struct thrum__difference *main;
	size_t size;

	check(good, bad, false, "slower page, slower disk");
	check(bad, good, false, "");
	compare(&pair, good, bad, false);
	main = &pair.comparison.differences[pair.comparison.first];
	assert_memory_equal(thrum__diff_group_name(&pair.comparison, main->group, &size), "disk",
		4);
	assert_true(main->explains > 90);
	assert_int_equal(main->by_doing, THRUM__DOING_WAITS);
	finish(&pair);
}

/* ---- Random stories ------------------------------------------------------------------------ */

#define BACKUP \
	"0 create - 1 thread\n" \
	"0 create 1 2 task\n" \
	"0 label 2 \"backup\n" \
	"5 create 2 3 handle\n" \
	"5 label 3 \"file\n"

/* A handle should be closed by its creator's end, if GOOD's are. */
static void a_handle_is_left_open(void **state)
{
	check(BACKUP "20 resolve 2 3\n"
		     "30 resolve 1 2\n",
		BACKUP "30 resolve 1 2\n"
		       "60 log 1 \"end\n",
		false, "never ends file");
	/* A pool keeps it. */
	check(BACKUP "20 resolve 1 2\n"
		     "21 resolve 1 3\n",
		BACKUP "20 resolve 1 2\n"
		       "60 log 1 \"end\n",
		false, "");
	/* The creator still needs it. */
	check(BACKUP "20 resolve 2 3\n"
		     "30 resolve 1 2\n",
		BACKUP "38 log 1 \"end\n", false, "");
}

#define LOAD_ONE \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"1 create 1 2 task\n" \
	"1 label 2 \"load 1\n"
#define LOAD_TWO \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"1 create 1 2 task\n" \
	"1 label 2 \"load 1\n" \
	"2 create 1 3 task\n" \
	"2 label 3 \"load 2\n" \
	"3 create 1 4 join\n" \
	"3 label 4 \"both\n" \
	"4 wait 4 2\n"

/* Writes two rounds, of which each loads something and makes an index: of what it has loaded, or before. */
static void tell_rounds(char *to, size_t size, bool too_early)
{
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n0 switch 1\n");

	for (int i = 0; i < 2; i++) {
		int t = 100 * i, id = 10 * (i + 1);

		used += (size_t)snprintf(to + used, size - used,
			"%d create 1 %d task\n%d label %d \"round %d\n"
			"%d create %d %d task\n%d label %d \"load\n%d wait %d %d\n",
			t + 1, id, t + 1, id, i, t + 2, id, id + 1, t + 2, id + 1, t + 3, id,
			id + 1);
		if (!too_early)
			used += (size_t)snprintf(to + used, size - used,
				"%d resolve 1 %d\n%d read %d %d\n", t + 20, id + 1, t + 21, id,
				id + 1);
		used += (size_t)snprintf(to + used, size - used,
			"%d create %d %d task\n%d label %d \"index\n%d resolve 1 %d\n", t + 30, id,
			id + 2, t + 30, id + 2, t + 40, id + 2);
		if (too_early)
			used += (size_t)snprintf(to + used, size - used,
				"%d resolve 1 %d\n%d read %d %d\n", t + 45, id + 1, t + 46, id,
				id + 1);
		used += (size_t)snprintf(to + used, size - used, "%d resolve 1 %d\n", t + 50, id);
	}
}

static void the_example_is_the_first_that_overlaps(void **state)
{
	const struct thrum__difference *first;
	char good[4000], bad[4000];
	struct pair pair;

	(void)state;
	tell_rounds(good, sizeof good, false);
	tell_rounds(bad, sizeof bad, true);
	check(good, bad, false, "order index");
	compare(&pair, good, bad, false);
	first = &pair.comparison.differences[pair.comparison.first];
	assert_int_equal(first->kind, THRUM__DIFFERENCE_ENDS_LATER);
	assert_int_equal(first->side[THRUM__BAD].count, 2);
	assert_int_equal(first->side[THRUM__BAD].task, story_task(pair.bad, 12));
	finish(&pair);
}

/* A condition comes between the steps, and is none itself. */
static void objects_are_no_steps(void **state)
{
#define LOADED \
	LOAD_ONE "3 create 1 8 condition\n" \
		 "3 label 8 \"loaded\n"
#define INDEX \
	"25 create 1 5 task\n" \
	"25 label 5 \"index\n" \
	"30 resolve 1 5\n"
	(void)state;
	check(LOADED "20 resolve 1 2\n21 read 1 2\n" INDEX, LOADED INDEX "35 resolve 1 2\n", false,
		"order index");
}

/* Nobody had to wait for the lock in GOOD, and in BAD so long. */
static void check_lock(int ms, const char *expected)
{
	char bad[1000];

	snprintf(bad, sizeof bad,
		LOAD_ONE "5 create 1 7 lock\n5 label 7 \"mutex table\n5 wait 1 7\n"
			 "%d000000 lock 1 7\n50000000 resolve 1 2\n",
		ms);
	check(LOAD_ONE "50000000 resolve 1 2\n", bad, false, expected);
	check(bad, LOAD_ONE "50000000 resolve 1 2\n", false, "");
}

static void a_lock_may_be_unknown(void **state)
{
	(void)state;
	check_lock(5, "");
	check_lock(40, "added mutex table");
}

/* Six tasks draw, and tell those that wait for three of the drawings; one may be cancelled. */
static void tell_drawings(char *to, size_t size, int cancelled)
{
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n0 switch 1\n");

	for (int i = 0; i < 6; i++) {
		int t = 100 * i, id = 10 * (i + 1);

		used += (size_t)snprintf(to + used, size - used,
			"%d create 1 %d condition\n%d label %d \"drawn %d\n"
			"%d create 1 %d task\n%d label %d \"draw %d\n",
			t, id, t, id, i, t, id + 1, t, id + 1, i);
		if (i >= 3)
			used += (size_t)snprintf(to + used, size - used, "%d wait 1 %d\n", t, id);
		if (i != cancelled)
			used += (size_t)snprintf(to + used, size - used,
				"%d signal %d %d =1\n%d read 1 %d\n", t + 8, id + 1, id, t + 8, id);
		used += (size_t)snprintf(to + used, size - used, "%d %s 1 %d\n", t + 9,
			i == cancelled ? "cancel" : "resolve", id + 1);
	}
	snprintf(to + used, size - used, "900 log 1 \"end\n");
}

static void who_should_have_signalled_is_cancelled(void **state)
{
	char good[4000], bad[4000];
	struct pair pair;

	(void)state;
	tell_drawings(good, sizeof good, -1);
	tell_drawings(bad, sizeof bad, 4);
	check(good, bad, false, "no signal drawn #, cancelled draw #");
	compare(&pair, good, bad, false);
	assert_int_equal(pair.comparison.differences[pair.comparison.first].kind,
		THRUM__DIFFERENCE_CANCELLED);
	finish(&pair);
}

/* The creator waits for a join of several, and then goes on. */
/* Eight batches are sent one after the other, each for 250 µs. The last ones are cancelled at `end`. */
static void send_batches(char *to, size_t size, int cancelled, int end)
{
	int used = snprintf(to, size, START);

	for (int i = 0; i < 8; i++) {
		int id = 10 + i, begin = 100 + 100 * i;
		bool is_cut = i >= 8 - cancelled;

		used += snprintf(to + used, size - (size_t)used,
			"%d create 1 %d promise\n%d label %d \"batch %d\n%d %s 1 %d\n", begin, id,
			begin, id, i, is_cut ? end : begin + 250, is_cut ? "cancel" : "resolve",
			id);
	}
	snprintf(to + used, size - (size_t)used, "2000 log 1 \"end\n");
}

static void what_is_cut_off_is_no_chance(void **state)
{
	char good[2000], bad[2000];

	(void)state;
	send_batches(good, sizeof good, 0, 0);
	send_batches(bad, sizeof bad, 2, 860);
	check(good, bad, false, "cancelled batch #");
	/* These may have lost a race: another one went on. */
	send_batches(bad, sizeof bad, 2, 849);
	check(good, bad, false, "");
	send_batches(bad, sizeof bad, 1, 860);
	check(good, bad, false, "");
}

static void a_join_has_the_results(void **state)
{
	const char *good = LOAD_TWO "5 wait 4 3\n"
				    "6 wait 1 4\n"
				    "10 resolve 2 2\n"
				    "20 resolve 3 3\n"
				    "21 resolve 1 4\n"
				    "21 read 1 4\n"
				    "25 create 1 5 task\n"
				    "25 label 5 \"index\n"
				    "30 resolve 1 5\n";
	struct pair pair;

	check(good, good, false, "");
	check(good,
		LOAD_TWO "6 wait 1 4\n"
			 "10 resolve 2 2\n"
			 "11 resolve 1 4\n"
			 "11 read 1 4\n"
			 "15 create 1 5 task\n"
			 "15 label 5 \"index\n"
			 "18 resolve 1 5\n"
			 "20 resolve 3 3\n"
			 "30 log 1 \"end\n",
		false, "order index");
	/* That is why there is a task that GOOD hasn't. */
	compare(&pair, good,
		LOAD_TWO "6 wait 1 4\n"
			 "10 resolve 2 2\n"
			 "11 resolve 1 4\n"
			 "11 read 1 4\n"
			 "15 create 1 5 task\n"
			 "15 label 5 \"index\n"
			 "18 resolve 1 5\n"
			 "20 resolve 3 3\n"
			 "22 create 1 6 task\n"
			 "22 label 6 \"full scan\n"
			 "28 resolve 1 6\n",
		false);
	assert_int_equal(pair.comparison.count, 2);
	assert_int_equal(pair.comparison.differences[pair.comparison.first].kind,
		THRUM__DIFFERENCE_ENDS_LATER);
	finish(&pair);
}

/* Writes the tasks of items 1 … 4, each a task of the first and of the second name, and a check. For
 * item `swapped` the first two come in the other order, and item `failed` fails. */
static void item_story(int swapped, int failed, char *to, size_t size)
{
	int time = 0, id = 2;
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n0 switch 1\n");

	for (int item = 1; item <= 4; item++)
		for (int step = 0; step < 3; step++, id++, time += 10) {
			const char *const names[] = {"store", "invalidate", "check"};
			int name = item == swapped && step < 2 ? !step : step;

			used += (size_t)snprintf(to + used, size - used,
				"%d create 1 %d task\n%d label %d \"%s row %d\n%d %s 1 %d\n", time,
				id, time, id, names[name], item, time + 9,
				step == 2 && item == failed ? "fail" : "resolve", id);
		}
}

static void the_order_of_an_item_that_fails(void **state)
{
	char good[2000], bad[2000];
	struct pair pair;

	item_story(0, 0, good, sizeof(good));
	item_story(3, 3, bad, sizeof(bad));
	check(good, bad, false, "order invalidate row #, fails check row #");
	compare(&pair, good, bad, false);
	assert_int_equal(pair.comparison.first, 0);
	assert_int_equal(pair.comparison.differences[0].side[THRUM__BAD].count, 1);
	assert_int_equal(pair.comparison.differences[0].side[THRUM__BAD].of, 4);
	assert_int_equal(pair.comparison.differences[0].side[THRUM__GOOD].of, 4);
	assert_int_equal(pair.comparison.differences[0].side[THRUM__BAD].task,
		story_task(pair.bad, 8));
	finish(&pair);
	/* Another item fails; or none does; or GOOD had it in another order, too. */
	item_story(2, 3, bad, sizeof(bad));
	check(good, bad, false, "fails check row #");
	item_story(3, 0, bad, sizeof(bad));
	check(good, bad, false, "");
	item_story(1, 0, good, sizeof(good));
	item_story(3, 3, bad, sizeof(bad));
	check(good, bad, false, "fails check row #");
}

/* The step belongs to the item, whoever created it. */
/* Tells of twenty packages: each is checked and published, but for the last `left_out`. All ends at `end`. */
static void tell_packages(int left_out, int end, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n0 switch 1\n");

	for (int i = 0; i < 20; i++)
		used += (size_t)snprintf(to + used, size - used,
			"%d create 1 %d task\n%d label %d \"check %d\n%d resolve %d %d\n", 10 + i,
			10 + i, 10 + i, 10 + i, i, 40 + i, 10 + i, 10 + i);
	for (int i = 0; i < 20 - left_out; i++)
		used += (size_t)snprintf(to + used, size - used,
			"%d create 1 %d task\n%d label %d \"publish %d\n%d resolve %d %d\n", 80 + i,
			40 + i, 80 + i, 40 + i, i, 100 + i, 40 + i, 40 + i);
	snprintf(to + used, size - used, "%d log 1 \"end\n", end);
}

static void a_step_is_left_out_of_some_items(void **state)
{
	char good[8000], bad[8000];

	(void)state;
	tell_packages(0, 500, good, sizeof(good));
	tell_packages(6, 500, bad, sizeof(bad));
	check(good, bad, false, "missing publish #");
	/* The first run has more; or chance may leave out two; or the time was too short. */
	check(bad, good, false, "");
	tell_packages(2, 500, bad, sizeof(bad));
	check(good, bad, false, "");
	tell_packages(6, 120, bad, sizeof(bad));
	check(good, bad, false, "");
}

/* Uploads `pictures` pictures, each in a task that publishes its picture: when it is done, but for the
 * picture `early`, which is published at once, by the upload or the cache. */
static void tell_pictures(int pictures, int early, bool by_cache, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"cache\n");

	for (int i = 1; i <= pictures; i++) {
		int time = 100 * i, upload = 10 * i, publish = 10 * i + 1;
		bool is_early = i == early;

		used += (size_t)snprintf(to + used, size - used,
			"%d create 1 %d task\n%d label %d \"upload %d\n", time, upload, time,
			upload, i);
		if (!is_early)
			used += (size_t)snprintf(to + used, size - used, "%d resolve %d %d\n",
				time + 40, upload, upload);
		used += (size_t)snprintf(to + used, size - used,
			"%d create %d %d task\n%d label %d \"publish %d\n%d resolve %d %d\n",
			time + (is_early ? 10 : 41), is_early && by_cache ? 2 : upload, publish,
			time + (is_early ? 10 : 41), publish, i, time + 50, publish, publish);
		if (is_early)
			used += (size_t)snprintf(to + used, size - used, "%d resolve %d %d\n",
				time + 60, upload, upload);
	}
}

static void a_step_no_longer_waits_for_its_cause(void **state)
{
	char good[4000], bad[4000];

	(void)state;
	tell_pictures(10, 0, false, good, sizeof good);
	tell_pictures(10, 3, false, bad, sizeof bad);
	check(good, bad, false, "order publish #");
	/* Another task publishes it: it came another way. */
	tell_pictures(10, 3, true, bad, sizeof bad);
	check(good, bad, false, "");
	/* In GOOD it is once so, too; or GOOD has too few. */
	tell_pictures(10, 3, false, bad, sizeof bad);
	tell_pictures(10, 5, false, good, sizeof good);
	check(good, bad, false, "");
	tell_pictures(2, 0, false, good, sizeof good);
	tell_pictures(2, 1, false, bad, sizeof bad);
	check(good, bad, false, "");
}

static void an_item_belongs_to_others(void **state)
{
	char good[2000], bad[2000];
	char *creator;

	(void)state;
	item_story(0, 0, good, sizeof(good));
	item_story(3, 3, bad, sizeof(bad));
	creator = strstr(bad, "60 create 1 8 ");
	assert_non_null(creator);
	creator[10] = '7'; /* below "check row 2" */
	check(good, bad, false, "order invalidate row #, fails check row #");
}

/* A page is rendered while a fetch goes on, which ends at a time; then a further task may come. */
static void page_story(const char *fetched, const char *rest, char *to, size_t size)
{
	snprintf(to, size,
		"0 create - 1 thread\n"
		"0 switch 1\n"
		"0 create 1 2 task\n"
		"0 label 2 \"fetch\n"
		"0 create 1 3 task\n"
		"0 label 3 \"render\n"
		"%s%s",
		fetched, rest);
}

static void a_step_comes_too_soon(void **state)
{
#define ADDS "60 create 3 6 task\n60 label 6 \"reload\n90 resolve 1 6\n91 resolve 1 3\n"
#define OTHER "1 create 1 8 task\n1 label 8 \"log\n"
	static const char late[] = "80 resolve 1 3\n130 resolve 1 2\n130 log 1 \"end\n";
	static const char late_both[] = OTHER "80 resolve 1 3\n130 resolve 1 2\n131 resolve 1 8\n";
	char good[1000], bad[1000];

	(void)state;
	page_story("", late, good, sizeof(good));
	page_story("40 resolve 1 2\n", ADDS, bad, sizeof(bad));
	check(good, bad, false, "too soon fetch, added reload");
	page_story("40 resolve 1 2\n", "60 fail 1 3\n", bad, sizeof(bad));
	check(good, bad, false, "too soon fetch, fails render");
	/* Nothing goes wrong; or it did before; or all took longer. */
	page_story("40 resolve 1 2\n", "80 resolve 1 3\n", bad, sizeof(bad));
	check(good, bad, false, "");
	page_story("", "40 fail 1 3\n45 resolve 1 2\n", bad, sizeof(bad));
	check(good, bad, false, "fails render");
	page_story("", "120 resolve 1 2\n125 fail 1 3\n", bad, sizeof(bad));
	check(good, bad, false, "fails render");
	/* It came before the page in GOOD, too; or two came sooner. */
	page_story("70 resolve 1 2\n", "80 resolve 1 3\n", good, sizeof(good));
	page_story("40 resolve 1 2\n", ADDS, bad, sizeof(bad));
	check(good, bad, false, "added reload");
	page_story("", late_both, good, sizeof(good));
	page_story(OTHER "40 resolve 1 2\n41 resolve 1 8\n", ADDS, bad, sizeof(bad));
	check(good, bad, false, "added reload");
}

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static void random_story(unsigned seed, char *to, size_t size)
{
	static const char *const verbs[] = {"wait", "read", "resolve", "become", "signal", "fail",
		"cancel"};
	size_t used = (size_t)snprintf(to, size, "0 create - 1 thread\n");
	unsigned tasks = 1;

	for (unsigned time = 1; time < 100; time++) {
		unsigned a = next_random(&seed) % tasks + 1, b = next_random(&seed) % tasks + 1;
		unsigned what = next_random(&seed) % 12;

		if (what >= 9 || tasks < 4)
			used += (size_t)snprintf(to + used, size - used, "%u create %u %u %s\n",
				time, a, ++tasks, what & 1 ? "condition" : "promise");
		else if (what >= 7)
			used += (size_t)snprintf(to + used, size - used, "%u label %u \"l%c\n",
				time, a, 'a' + (char)(b % 5));
		else
			used += (size_t)snprintf(to + used, size - used, "%u %s %u %u\n", time,
				verbs[what], a, b);
	}
}

/* Timers of so many orders, whose labels are complete once their callback is set. Some time-outs come. */
static void tell_time_outs(char *to, size_t size, int orders, int come)
{
	int used = snprintf(to, size, "0 create - 1 thread\n0 switch 1\n");

	for (int i = 0; i < orders; i++)
		used += snprintf(to + used, size - (size_t)used,
			"%d create 1 %d timer\n%d label %d \"timeout\n%d label %d \"timeout on_late\n",
			i, 10 + i, i, 10 + i, i, 10 + i);
	used += snprintf(to + used, size - (size_t)used,
		"5 create 1 9 timer\n5 label 9 \"timeout\n5 label 9 \"timeout on_order\n"
		"6 switch 9\n7 switch 1\n7 resolve 1 9\n");
	for (int i = 0; i < come; i++)
		used += snprintf(to + used, size - (size_t)used, "%d switch %d\n%d switch 1\n",
			20 + i, 10 + i, 20 + i);
	for (int i = 0; i < orders; i++)
		used += snprintf(to + used, size - (size_t)used, "%d resolve 1 %d\n", 30 + i,
			10 + i);
	snprintf(to + used, size - (size_t)used, "300 log 1 \"end\n");
}

static void a_time_out_comes_in_bad_only(void **state)
{
	char good[1000], bad[1000];

	(void)state;
	tell_time_outs(good, sizeof(good), 3, 0);
	tell_time_outs(bad, sizeof(bad), 3, 1);
	check(good, bad, false, "runs timeout on_late");
	check(bad, good, false, "");
	/* Two are no habit. */
	tell_time_outs(good, sizeof(good), 2, 0);
	tell_time_outs(bad, sizeof(bad), 2, 1);
	check(good, bad, false, "");
}

static void any_two_compare(void **state)
{
	static char good[8000], bad[8000];

	for (unsigned seed = 1; seed <= 300; seed++) {
		struct pair pair;

		random_story(seed, good, sizeof(good));
		random_story(seed + 1000, bad, sizeof(bad));
		compare(&pair, good, bad, seed & 1);
		finish(&pair);
		compare(&pair, good, good, seed & 1);
		assert_int_equal(pair.comparison.count, 0);
		finish(&pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_precedes_the_wait),
		cmocka_unit_test(mirage_waits_look_like_signals),
		cmocka_unit_test(nobody_signals),
		cmocka_unit_test(the_same_is_no_difference),
		cmocka_unit_test(ids_and_times_are_no_difference),
		cmocka_unit_test(what_read_a_result_comes_after_it),
		cmocka_unit_test(what_follows_by_chance_is_no_order),
		cmocka_unit_test(failures_and_what_is_missing),
		cmocka_unit_test(what_lies_beyond_the_others_end_is_left_out),
		cmocka_unit_test(slower_is_said_of_many_only),
		cmocka_unit_test(a_busy_machine_is_no_difference),
		cmocka_unit_test(ranks),
		cmocka_unit_test(many_times_as_many),
		cmocka_unit_test(binds_and_maps_are_alike),
		cmocka_unit_test(binds_and_tries_are_alike),
		cmocka_unit_test(temporary_names_are_alike),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(a_group_is_used_in_one_only),
		cmocka_unit_test(a_slower_cause_comes_before_its_victims),
		cmocka_unit_test(a_handle_is_left_open),
		cmocka_unit_test(the_example_is_the_first_that_overlaps),
		cmocka_unit_test(objects_are_no_steps),
		cmocka_unit_test(a_lock_may_be_unknown),
		cmocka_unit_test(who_should_have_signalled_is_cancelled),
		cmocka_unit_test(what_is_cut_off_is_no_chance),
		cmocka_unit_test(a_join_has_the_results),
		cmocka_unit_test(the_order_of_an_item_that_fails),
		cmocka_unit_test(a_step_is_left_out_of_some_items),
		cmocka_unit_test(a_step_no_longer_waits_for_its_cause),
		cmocka_unit_test(an_item_belongs_to_others),
		cmocka_unit_test(a_step_comes_too_soon),
		cmocka_unit_test(a_time_out_comes_in_bad_only),
		cmocka_unit_test(any_two_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
