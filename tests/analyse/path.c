/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/slow/flame.h"
#include "story.h"

/* Shows a path as lines "FROM-TO DOING STACK [OTHER]", and checks that it has no holes. */
static void print_path(struct thrum__paths *paths, const struct thrum__path *path, char *to,
	size_t size)
{
	const struct thrum__model *model = paths->model;
	int64_t at = path->from;
	size_t used = 0;

	to[0] = '\0';
	for (uint32_t i = 0; i < path->count; i++) {
		const struct thrum__path_part *part = &path->parts[i];
		char stack[300] = "";

		assert_int_equal(part->from, at);
		assert_true(part->to > part->from);
		at = part->to;
		for (uint32_t f = part->frame; f != THRUM__NONE; f = paths->frames[f].parent) {
			char rest[300];
			size_t length;
			const char *name = thrum__slow_frame_name(paths, f, &length);

			if (paths->frames[f].doing != THRUM__DOING_RUNS)
				continue;
			strcpy(rest, stack);
			snprintf(stack, sizeof(stack), "%.*s%s%.250s", (int)length, name,
				*rest ? ";" : "", rest);
		}
		used += (size_t)snprintf(to + used, size - used, "%d-%d %s %s", (int)part->from,
			(int)part->to, thrum__slow_doing_name(part->doing), stack);
		if (part->other != THRUM__NONE)
			used += (size_t)snprintf(to + used, size - used, " %d",
				(int)THRUM__TASK(model, part->other, id));
		used += (size_t)snprintf(to + used, size - used, "\n");
	}
	if (path->count > 0)
		assert_int_equal(at, path->to);
}

static void check_path(const char *lines, bool is_mirage, uint64_t id, const char *expected)
{
	struct thrum__model *model = story_model(lines, is_mirage);
	struct thrum__paths paths;
	struct thrum__path path;
	char text[4000];

	/* Each lane is a process of its own, between which messages go. */
	for (uint32_t i = 0; i < model->lane_count; i++)
		model->lanes[i].process = i;
	assert_int_equal(thrum__slow_paths_init(&paths, model), 0);
	assert_int_equal(thrum__slow_path_make(&paths, story_task(model, id), &path), 0);
	print_path(&paths, &path, text, sizeof(text));
	assert_string_equal(text, expected);
	thrum__slow_path_free(&path);
	thrum__slow_paths_finish(&paths);
	thrum__model_destroy(model);
}

#define LANE \
	"0 create - 1 thread\n" \
	"0 switch 1\n"

static void waits_for_a_timer_then_for_its_lane(void **state)
{
	check_path(LANE "10 create 1 2 promise\n"
			"10 label 2 \"request 7\n"
			"10 create 1 4 promise\n"
			"10 label 4 \"hog\n"
			"10 switch 2\n"
			"15 create 2 3 timer\n"
			"20 wait 2 3\n"
			"20 switch 1\n"
			"100 resolve 1 3\n"
			"100 switch 4\n"
			"150 switch 2\n"
			"150 read 2 3\n"
			"160 resolve 2 2\n",
		false, 2,
		"10-20 runs request #\n"
		"20-100 waits request #;timer\n"
		"100-150 ready request # 4\n"
		"150-160 runs request #\n");
}

/* A task that never ran is its thread's own work, unless the thread works on several at once: some that began
 * before its end, as tasks that come later don't overlap with it. */
static void a_thread_does_one_task_at_a_time_itself(void **state)
{
	static const char *const later = "40 create 1 6 request\n"
					 "45 create 1 7 request\n"
					 "50 resolve 1 6\n"
					 "55 resolve 1 7\n";
	char story[1000];

	snprintf(story, sizeof story, "%s%s%s",
		LANE "2 create 1 3 request\n"
		     "8 resolve 1 3\n",
		"10 create 1 2 request\n"
		"10 label 2 \"call\n"
		"30 resolve 1 2\n",
		later);
	check_path(story, false, 2, "10-30 runs call\n");
	snprintf(story, sizeof story, "%s%s%s",
		LANE "2 create 1 3 request\n"
		     "18 resolve 1 3\n",
		"10 create 1 2 request\n"
		"10 label 2 \"call\n"
		"30 resolve 1 2\n",
		later);
	check_path(story, false, 2, "10-30 waits call\n");
}

/* The kernel woke the blocked thread of a task for another thread: the path goes on with the task that ran
 * there, but not with one of an unknown thread. Page faults and interrupts are parts of their own. */
static void blocked_threads_wait_for_their_wakers(void **state)
{
	check_path(LANE "0 @1 create - 9 thread\n"
			"0 @1 switch 9\n"
			"10 create 1 2 task\n"
			"10 label 2 \"asks\n"
			"10 switch 2\n"
			"20 off-cpu =30 \"blocked\n"
			"25 @1 create 9 3 task\n"
			"25 @1 label 3 \"answers\n"
			"26 @1 switch 3\n"
			"30 @1 off-cpu =4 \"page fault\n"
			"50 off-cpu - 9 =5 \"woken\n"
			"55 @1 resolve 3 3\n"
			"55 @1 switch 9\n"
			"60 off-cpu =7 \"blocked\n"
			"67 off-cpu =1 \"woken by another program\n"
			"70 off-cpu =2 \"blocked in a page fault\n"
			"75 off-cpu =5 \"interrupted\n"
			"90 resolve 2 2\n",
		false, 2,
		"10-20 runs asks\n"
		"20-26 waits asks;answers\n"
		"26-30 runs asks;answers\n"
		"30-34 faults asks;answers\n"
		"34-50 runs asks;answers\n"
		"50-55 preempted asks 9\n"
		"55-60 runs asks\n"
		"60-67 blocked asks\n"
		"67-68 preempted asks\n"
		"68-70 runs asks\n"
		"70-72 faults asks\n"
		"72-75 runs asks\n"
		"75-80 interrupted asks\n"
		"80-90 runs asks\n");
	/* The task that woke it need not run on. */
	check_path(LANE "0 @1 create - 9 thread\n"
			"0 @1 switch 9\n"
			"10 create 1 2 task\n"
			"10 label 2 \"asks\n"
			"10 switch 2\n"
			"20 off-cpu =30 \"blocked\n"
			"25 @1 create 9 3 task\n"
			"25 @1 label 3 \"answers\n"
			"26 @1 switch 3\n"
			"50 off-cpu - 9 =5 \"woken\n"
			"50 @1 resolve 3 3\n"
			"50 @1 switch 9\n"
			"90 resolve 2 2\n",
		false, 2,
		"10-20 runs asks\n"
		"20-26 waits asks;answers\n"
		"26-50 runs asks;answers\n"
		"50-55 preempted asks 9\n"
		"55-90 runs asks\n");
}

/* A request waits for an answer. No task stands for that, but its message is followed: over the network,
 * to where another request was served first, and back. */
static void messages_lead_to_other_processes(void **state)
{
	check_path(LANE "0 @1 create - 9 thread\n"
			"0 @1 switch 9\n"
			"1 @1 suspend \"wait for work\n"
			"10 create 1 2 request\n"
			"10 label 2 \"GET 1\n"
			"10 switch 2\n"
			"20 link-send 2 \"key\n"
			"20 switch 1\n"
			"21 suspend \"wait for work\n"
			"30 @1 resume\n"
			"30 @1 create 9 5 request\n"
			"30 @1 label 5 \"serve 0\n"
			"30 @1 switch 5\n"
			"60 @1 resolve 5 5\n"
			"60 @1 create 9 3 request\n"
			"60 @1 label 3 \"serve 1\n"
			"60 @1 switch 3\n"
			"65 @1 link-receive 3 \"key\n"
			"100 @1 resolve 3 3\n"
			"100 @1 switch 9\n"
			"119 resume\n"
			"120 resolve 1 2\n",
		false, 2,
		"10-20 runs GET #\n"
		"20-30 network GET #\n"
		"30-60 queued GET #;serve # 5\n"
		"60-100 runs GET #;serve #\n"
		"100-120 network GET #\n");
}

/* A thread looks again whenever it is woken for nothing: its wait began with the first look. */
static void looks_again_and_again(void **state)
{
	check_path(LANE "5 create 1 9 task\n"
			"5 label 9 \"rehash\n"
			"10 @1 create - 2 request\n"
			"10 @1 label 2 \"fetch\n"
			"10 @1 switch 2\n"
			"12 @1 create 2 3 task\n"
			"12 @1 label 3 \"verify\n"
			"20 @1 wait 2 3\n"
			"20 @1 suspend \"wait for work\n"
			"21 switch 9\n"
			"60 @1 resume\n"
			"61 @1 wait 2 3\n"
			"61 @1 suspend \"wait for work\n"
			"90 switch 3\n"
			"95 @1 resume\n"
			"96 @1 wait 2 3\n"
			"96 @1 suspend \"wait for work\n"
			"110 resolve 3 3\n"
			"110 switch 1\n"
			"112 @1 resume\n"
			"112 @1 read 2 3\n"
			"120 @1 resolve 2 2\n",
		false, 2,
		"10-20 runs fetch\n"
		"20-21 waits fetch;verify\n"
		"21-90 queued fetch;verify 9\n"
		"90-110 runs fetch;verify\n"
		"110-112 waits fetch\n"
		"112-120 runs fetch\n");
	/* It works between two looks. */
	check_path(LANE "10 create 1 2 request\n"
			"10 label 2 \"fetch\n"
			"10 create 1 3 request\n"
			"10 label 3 \"disk\n"
			"20 wait 2 3\n"
			"20 switch 2\n"
			"60 wait 2 3\n"
			"60 switch 1\n"
			"90 resolve 1 3\n"
			"90 switch 2\n"
			"95 resolve 2 2\n",
		false, 2,
		"10-20 waits fetch\n"
		"20-60 runs fetch\n"
		"60-90 waits fetch;disk\n"
		"90-95 runs fetch\n");
}

/* While its lane has nothing to do, a task can't be ready. */
static void an_idle_lane_keeps_nobody(void **state)
{
	check_path(LANE "0 create 1 2 task\n"
			"0 label 2 \"answer\n"
			"0 create 1 4 task\n"
			"0 label 4 \"other\n"
			"0 switch 2\n"
			"0 create 2 3 timer\n"
			"1000 wait 2 3\n"
			"1000 switch 1\n"
			"2000 resolve 1 3\n"
			"2000 switch 4\n"
			"60000000 switch 1\n"
			"60000000 suspend \"wait for work\n"
			"62000000 resume\n"
			"62000000 switch 4\n"
			"80000000 switch 2\n"
			"90000000 resolve 2 2\n",
		false, 2,
		"0-1000 runs answer\n"
		"1000-2000 waits answer;timer\n"
		"2000-60000000 meanwhile answer 4\n"
		"60000000-62000000 waits answer\n"
		"62000000-80000000 ready answer 4\n"
		"80000000-90000000 runs answer\n");
}

static void waits_for_who_holds_a_lock(void **state)
{
	check_path(LANE "10 create 1 2 lock\n"
			"10 label 2 \"database\n"
			"10 create 1 3 task\n"
			"10 label 3 \"writer\n"
			"11 create 3 5 request\n"
			"11 label 5 \"disk\n"
			"12 lock 3 2\n"
			"15 wait 3 5\n"
			"20 create 1 4 task\n"
			"20 label 4 \"reader\n"
			"20 wait 4 2\n"
			"90 resolve 1 5\n"
			"90 switch 3\n"
			"95 unlock 3 2\n"
			"95 switch 4\n"
			"95 lock 4 2\n"
			"99 resolve 4 4\n",
		false, 4,
		"20-90 waits reader;database;writer;disk\n"
		"90-95 runs reader;database;writer\n"
		"95-99 runs reader\n");
}

/* A mutex of promises: an unlabelled promise waits for it and takes it, one that read that promise goes
 * on, and what it becomes gives the mutex back. The first one took it before, for a second. */
static void waits_for_who_goes_on_with_a_lock(void **state)
{
	check_path(LANE "10 create 1 2 lock\n"
			"10 label 2 \"database\n"
			"10 create 1 3 async\n"
			"10 label 3 \"query 1\n"
			"11 lock 3 2\n"
			"11 create 3 4 timer\n"
			"11 label 4 \"sleep\n"
			"11 create 3 5 try\n"
			"11 wait 5 4\n"
			"12 create 1 6 async\n"
			"12 label 6 \"query 2\n"
			"12 create 6 7 wait\n"
			"12 wait 7 2\n"
			"12 create 6 8 bind\n"
			"12 wait 8 7\n"
			"20 create 1 9 task\n"
			"20 label 9 \"reader\n"
			"20 wait 9 2\n"
			"80 resolve 1 4\n"
			"80 switch 5\n"
			"80 read 5 4\n"
			"80 unlock 5 2\n"
			"80 lock 7 2\n"
			"80 resolve 5 7\n"
			"80 resolve 5 5\n"
			"80 switch 8\n"
			"80 read 8 7\n"
			"80 create 8 10 try\n"
			"80 create 8 11 timer\n"
			"80 label 11 \"sleep\n"
			"80 wait 10 11\n"
			"80 become 8 10\n"
			"80 switch 1\n"
			"95 resolve 1 11\n"
			"95 switch 10\n"
			"95 read 10 11\n"
			"95 unlock 10 2\n"
			"95 lock 9 2\n"
			"95 resolve 10 10\n"
			"95 switch 9\n"
			"99 resolve 9 9\n",
		false, 9,
		"20-80 waits reader;database;query #;sleep\n"
		"80-95 waits reader;database;query #;sleep\n"
		"95-99 runs reader\n");
}

static void waits_for_who_signals_a_condition(void **state)
{
	check_path(LANE "10 create 1 2 condition\n"
			"10 label 2 \"not empty\n"
			"10 create 1 3 task\n"
			"10 label 3 \"consumer\n"
			"12 create 1 4 task\n"
			"12 label 4 \"producer\n"
			"15 wait 3 2\n"
			"40 switch 4\n"
			"60 signal 4 2 =1\n"
			"61 switch 3\n"
			"61 read 3 2\n"
			"70 resolve 3 3\n",
		false, 3,
		"10-15 waits consumer\n"
		"15-40 waits consumer;not empty;producer\n"
		"40-60 runs consumer;not empty;producer\n"
		"60-61 ready consumer 4\n"
		"61-70 runs consumer\n");
}

/* The task that signals begins late: its thread waited for a timer before. Or it did something else, of which
 * nothing is known. */
static void what_comes_before_the_signaller_is_its_threads_wait(void **state)
{
	static const char story[] = LANE "0 @1 create - 10 thread\n"
					 "0 @1 label 10 \"flusher\n"
					 "0 @1 switch 10\n"
					 "5 create 1 2 condition\n"
					 "5 label 2 \"room\n"
					 "6 @1 create 10 11 timer\n"
					 "6 @1 label 11 \"nap\n"
					 "%s"
					 "10 create 1 3 task\n"
					 "10 label 3 \"put\n"
					 "15 wait 3 2\n"
					 "80 @1 resolve 10 11\n"
					 "81 @1 create 10 12 task\n"
					 "81 @1 label 12 \"flush\n"
					 "82 @1 switch 12\n"
					 "90 @1 signal 12 2 =1\n"
					 "91 switch 3\n"
					 "91 read 3 2\n"
					 "95 resolve 3 3\n";
	char lines[1000];

	snprintf(lines, sizeof lines, story, "7 @1 wait 10 11\n");
	check_path(lines, false, 3,
		"10-15 waits put\n"
		"15-80 waits put;room;flush;flusher;nap\n"
		"80-81 runs put;room;flush;flusher\n"
		"81-82 waits put;room;flush\n"
		"82-90 runs put;room;flush\n"
		"90-91 ready put 1\n"
		"91-95 runs put\n");
	snprintf(lines, sizeof lines, story, "");
	check_path(lines, false, 3,
		"10-15 waits put\n"
		"15-82 waits put;room;flush\n"
		"82-90 runs put;room;flush\n"
		"90-91 ready put 1\n"
		"91-95 runs put\n");
}

static void a_chain_is_one(void **state)
{
	check_path(LANE "10 create 1 2 bind\n"
			"10 label 2 \"GET 1\n"
			"10 switch 2\n"
			"20 create 2 3 bind\n"
			"21 create 2 4 timer\n"
			"22 wait 3 4\n"
			"30 become 2 3\n"
			"30 switch 1\n"
			"80 resolve 1 4\n"
			"80 switch 3\n"
			"80 read 3 4\n"
			"90 resolve 3 3\n",
		false, 2,
		"10-30 runs GET #\n"
		"30-80 waits GET #;timer\n"
		"80-90 runs GET #\n");
}

static void what_lost_a_race_is_not_what_was_waited_for(void **state)
{
	check_path(LANE "10 create 1 2 pick\n"
			"10 label 2 \"either\n"
			"10 create 1 3 timer\n"
			"10 label 3 \"timeout\n"
			"10 create 1 4 request\n"
			"10 label 4 \"answer\n"
			"10 wait 2 4\n"
			"10 wait 2 3\n"
			"50 resolve 1 4\n"
			"50 switch 2\n"
			"52 cancel 2 3\n"
			"60 resolve 2 2\n",
		false, 2,
		"10-50 waits either;answer\n"
		"50-60 runs either\n");
}

static void late_timers_show_who_hogs_the_lane(void **state)
{
	check_path(LANE "10 create 1 2 timer\n"
			"10 label 2 \"tick\n"
			"10 due 2 =30\n"
			"20 create 1 3 task\n"
			"20 label 3 \"hog\n"
			"30 switch 3\n"
			"90 switch 1\n"
			"91 resolve 1 2\n",
		false, 2,
		"10-40 waits tick\n"
		"40-90 late tick 3\n"
		"90-91 late tick 1\n");
}

/* A thread that sleeps wakes up late: it ran nothing meanwhile. */
static void a_sleeper_wakes_up_late(void **state)
{
	check_path(LANE "5 create 1 3 task\n"
			"5 label 3 \"nap\n"
			"10 switch 3\n"
			"10 create 3 2 timer\n"
			"10 label 2 \"sleep\n"
			"10 due 2 =30\n"
			"11 wait 3 2\n"
			"11 suspend \"blocked for a time\n"
			"90 resume\n"
			"91 resolve 3 2\n"
			"91 read 3 2\n"
			"95 resolve 3 3\n",
		false, 3,
		"5-10 queued nap 1\n"
		"10-11 runs nap\n"
		"11-90 waits nap;sleep\n"
		"90-91 late nap;sleep 3\n"
		"91-95 runs nap\n");
}

/* As in a damaged recording. */
static void a_timer_was_due_before_it_began(void **state)
{
	check_path(LANE "10 create 1 2 timer\n"
			"10 label 2 \"tick\n"
			"10 due 2 =-5\n"
			"40 resolve 1 2\n",
		false, 2, "10-40 waits tick\n");
}

static void mirage_waiters_follow_the_signal(void **state)
{
	check_path("0 switch 0\n"
		   "10 create 0 1 condition\n"
		   "10 label 1 \"reply\n"
		   "10 create 0 2 bind\n"
		   "10 label 2 \"asker\n"
		   "20 signal 2 1\n"
		   "21 create 1 3 task\n"
		   "22 switch 2\n"
		   "23 wait 2 3\n"
		   "25 create 0 4 bind\n"
		   "25 label 4 \"driver\n"
		   "30 switch -1\n"
		   "70 switch 4\n"
		   "80 signal 4 1\n"
		   "81 resolve 1 3\n"
		   "82 read 2 3\n"
		   "90 resolve 2 2\n",
		true, 2,
		"10-22 waits asker\n"
		"22-23 runs asker\n"
		"23-70 waits asker;task;driver\n"
		"70-80 runs asker;task;driver\n"
		"80-81 waits asker;task;driver\n"
		"81-82 ready asker 1\n"
		"82-90 runs asker\n");
}

static void cycles_end(void **state)
{
	check_path(LANE "10 create 1 2 promise\n"
			"10 create 1 3 promise\n"
			"20 wait 2 3\n"
			"30 wait 3 2\n"
			"50 resolve 2 3\n"
			"50 resolve 3 2\n",
		false, 2, "10-20 waits promise\n20-50 waits promise;promise\n");
}

/* ---- Random stories ------------------------------------------------------------------------ */

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static size_t random_story(unsigned seed, char *to, size_t size)
{
	static const char *const verbs[] = {"wait", "read", "resolve", "become", "signal", "lock",
		"unlock", "fail", "cancel"};
	static const char *const kinds[] = {"promise", "bind", "timer", "lock", "condition"};
	size_t used = (size_t)snprintf(to, size, LANE);
	unsigned tasks = 1;

	for (unsigned time = 1; time < 120; time++) {
		unsigned a = next_random(&seed) % tasks + 1, b = next_random(&seed) % tasks + 1;
		unsigned what = next_random(&seed) % 14;

		if (what >= 12 || tasks < 4) {
			tasks++;
			used += (size_t)snprintf(to + used, size - used, "%u create %u %u %s\n",
				time, a, tasks, kinds[next_random(&seed) % 5]);
		} else if (what >= 9)
			used += (size_t)snprintf(to + used, size - used, "%u switch %u\n", time, a);
		else
			used += (size_t)snprintf(to + used, size - used, "%u %s %u %u\n", time,
				verbs[what], a, b);
	}
	return used;
}

static void any_path_is_without_holes(void **state)
{
	char lines[8000], text[40000];

	for (unsigned seed = 1; seed <= 500; seed++) {
		struct thrum__model *model;
		struct thrum__paths paths;

		assert_true(random_story(seed, lines, sizeof(lines)) < sizeof(lines));
		model = story_model(lines, seed & 1);
		assert_int_equal(thrum__slow_paths_init(&paths, model), 0);
		for (uint32_t task = 0; task < model->tasks.count; task++) {
			struct thrum__path path;

			assert_int_equal(thrum__slow_path_make(&paths, task, &path), 0);
			print_path(&paths, &path, text, sizeof(text));
			assert_true(path.count > 0 || path.from >= path.to);
			thrum__slow_path_free(&path);
		}
		thrum__slow_paths_finish(&paths);
		thrum__model_destroy(model);
	}
}

/* Makes a command at a place. */
static size_t make_command(char *to, size_t size, int time, int id)
{
	return (size_t)snprintf(to, size, "%d create 1 %d promise =1\n%d label %d \"%s\n", time, id,
		time, id, id == 25 ? "scan" : "get");
}

static size_t make_alone(char *to, size_t size, int time, int id)
{
	size_t used = make_command(to, size, time, id);

	return used + (size_t)snprintf(to + used, size - used, "%d resolve 9 %d\n", time + 4, id);
}

/* A reader, 9, ends commands. Five come alone; the sixth is long, and five stand behind it, and more, after
 * which five come alone. The last two of the first five may end out of their order. */
static const char *tell_line(bool is_ordered, int more)
{
	static char lines[40000];
	size_t size = sizeof lines;
	size_t used = (size_t)snprintf(lines, size, "%s", LANE "1 create 1 9 task\n");

	for (int i = 0; i < 5; i++)
		used += make_alone(lines + used, size - used, 10 + 20 * i, 20 + i);
	for (int i = 5; i < 11 + more; i++)
		used += make_command(lines + used, size - used, i < 11 ? 10 + 20 * i : 230, 20 + i);
	for (int i = 5; i < 11 + more; i++)
		used += (size_t)snprintf(lines + used, size - used, "%d resolve 9 %d\n",
			400 + 4 * i, is_ordered || i < 9 || i > 10 ? 20 + i : 39 - i);
	for (int i = 0; i < 5 && more > 0; i++)
		used += make_alone(lines + used, size - used, 2000 + 20 * i, 500 + i);
	return lines;
}

static void answers_come_in_order(void **state)
{
	check_path(tell_line(true, 0), false, 27,
		"150-420 queued get 25\n"
		"420-424 queued get 26\n"
		"424-428 waits get;task\n");
	check_path(tell_line(false, 0), false, 27, "150-428 waits get;task\n");
	/* So many come after it that its place in the line isn't known. */
	check_path(tell_line(true, 300), false, 27, "150-428 waits get;task\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_a_timer_then_for_its_lane),
		cmocka_unit_test(a_thread_does_one_task_at_a_time_itself),
		cmocka_unit_test(looks_again_and_again),
		cmocka_unit_test(an_idle_lane_keeps_nobody),
		cmocka_unit_test(waits_for_who_holds_a_lock),
		cmocka_unit_test(waits_for_who_goes_on_with_a_lock),
		cmocka_unit_test(waits_for_who_signals_a_condition),
		cmocka_unit_test(what_comes_before_the_signaller_is_its_threads_wait),
		cmocka_unit_test(a_chain_is_one),
		cmocka_unit_test(what_lost_a_race_is_not_what_was_waited_for),
		cmocka_unit_test(late_timers_show_who_hogs_the_lane),
		cmocka_unit_test(a_sleeper_wakes_up_late),
		cmocka_unit_test(a_timer_was_due_before_it_began),
		cmocka_unit_test(mirage_waiters_follow_the_signal),
		cmocka_unit_test(messages_lead_to_other_processes),
		cmocka_unit_test(blocked_threads_wait_for_their_wakers),
		cmocka_unit_test(answers_come_in_order),
		cmocka_unit_test(cycles_end),
		cmocka_unit_test(any_path_is_without_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
