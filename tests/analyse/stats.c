/* SPDX-License-Identifier: ISC */
/* Statistics of small traces, compared with numbers computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/stats/stats.h"
#include "story.h"

struct case_of {
	struct thrum__model *model;
	struct thrum__stats stats;
};

static struct case_of begin(const char *lines, bool is_mirage, bool simplify, uint32_t longest)
{
	struct case_of c = {.model = story_model(lines, is_mirage)};

	assert_int_equal(thrum__stats_make(c.model, simplify, longest, &c.stats), 0);
	return c;
}

static void end(struct case_of *c)
{
	thrum__stats_free(&c->stats);
	thrum__model_destroy(c->model);
}

static int64_t measure(const struct case_of *c, int what, uint64_t id)
{
	return c->stats.measure[what][story_task(c->model, id)];
}

/* Returns the tally of a label and a kind; fails the test if there is none. */
static const struct thrum__tally *tally(const struct case_of *c, const char *label,
	const char *kind)
{
	const struct thrum__tallies *tallies = &c->stats.by[THRUM__BY_LABEL];

	for (uint32_t i = 0; i < tallies->count; i++) {
		size_t size;
		const char *text = thrum__base_keys_text(&tallies->keys, i, &size);

		if (size == strlen(label) && memcmp(text, label, size) == 0 &&
			strcmp(thrum__stats_task_kind(c->model, tallies->tallies[i].sample),
				kind) == 0)
			return &tallies->tallies[i];
	}
	fail_msg("no tally \"%s\" of kind %s", label, kind);
	return NULL;
}

static const struct thrum__lane_use *use(const struct case_of *c, uint32_t lane, int kind,
	const char *text)
{
	for (uint32_t i = 0; i < c->stats.use_count; i++) {
		const struct thrum__lane_use *found = &c->stats.uses[i];
		size_t size;
		const char *reason = thrum__base_keys_text(&c->stats.use_keys, i, &size);

		if (found->lane == lane && found->kind == kind && size == strlen(text) &&
			memcmp(reason, text, size) == 0)
			return found;
	}
	fail_msg("lane %u has no use %s \"%s\"", lane, thrum__stats_lane_use_name(kind), text);
	return NULL;
}

#define LOOP \
	"0 create - 1 thread\n" \
	"0 switch 1\n"

static void life_running_waiting(void **state)
{
	struct case_of c = begin(LOOP "10 create 1 2 request\n"
				      "10 label 2 \"GET /7\n"
				      "20 switch 2\n"
				      "50 switch 1\n"
				      "80 switch 2\n"
				      "90 resolve 2 2\n" /* goes on running for 10 more */
				      "100 switch 1\n"
				      "110 create 1 3 timer\n"
				      "200 log 1 \"end\n",
		false, true, 10);
	const struct thrum__tally *request = tally(&c, "GET /#", "request");

	assert_int_equal(measure(&c, THRUM__MEASURE_LIFE, 2), 80);
	assert_int_equal(measure(&c, THRUM__MEASURE_RUNNING, 2), 30 + 20);
	assert_int_equal(measure(&c, THRUM__MEASURE_WAITING, 2), 80 - 30 - 10);
	/* A pending task has a running time but no life. */
	assert_int_equal(measure(&c, THRUM__MEASURE_LIFE, 3), -1);
	assert_int_equal(measure(&c, THRUM__MEASURE_RUNNING, 3), 0);
	assert_int_equal(measure(&c, THRUM__MEASURE_WAITING, 3), -1);
	/* The lane's own task is left out. */
	assert_int_equal(measure(&c, THRUM__MEASURE_RUNNING, 1), -1);
	assert_int_equal(c.stats.by[THRUM__BY_KIND].count, 2);

	assert_int_equal(request->tasks, 1);
	assert_int_equal(request->state[THRUM__STATE_RESOLVED], 1);
	assert_int_equal(request->spread[THRUM__MEASURE_RUNNING].total, 50);
	assert_int_equal(tally(&c, "", "timer")->state[THRUM__STATE_PENDING], 1);
	assert_int_equal(tally(&c, "", "timer")->spread[THRUM__MEASURE_LIFE].count, 0);
	end(&c);
}

static void percentiles(void **state)
{
	static const struct {
		int tasks;
		int64_t p50, p90, p99, mean;
	} cases[] = {{1, 1, 1, 1, 1}, {2, 1, 2, 2, 1}, {3, 2, 3, 3, 2}, {10, 5, 9, 10, 5},
		{100, 50, 90, 99, 50}, {101, 51, 91, 100, 51}, {200, 100, 180, 198, 100}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char lines[20000];
		size_t at = (size_t)snprintf(lines, sizeof(lines), LOOP);
		const struct thrum__spread *life;
		struct case_of c;

		/* Lives of 1 … n ns, the longest first. */
		for (int task = cases[i].tasks; task >= 1; task--)
			at += (size_t)snprintf(lines + at, sizeof(lines) - at,
				"%d create 1 %d promise\n%d label %d \"n%d\n", 1000 - task,
				task + 1, 1000 - task, task + 1, task);
		for (int task = 1; task <= cases[i].tasks; task++)
			at += (size_t)snprintf(lines + at, sizeof(lines) - at,
				"1000 resolve 1 %d\n", task + 1);
		c = begin(lines, false, true, 0);
		life = &tally(&c, "n#", "promise")->spread[THRUM__MEASURE_LIFE];
		assert_int_equal(life->count, cases[i].tasks);
		assert_int_equal(life->min, 1);
		assert_int_equal(life->max, cases[i].tasks);
		assert_int_equal(life->p50, cases[i].p50);
		assert_int_equal(life->p90, cases[i].p90);
		assert_int_equal(life->p99, cases[i].p99);
		assert_int_equal(life->total, cases[i].tasks * (cases[i].tasks + 1) / 2);
		assert_int_equal(life->mean, cases[i].mean);
		assert_int_equal(c.stats.longest_count, 0);
		end(&c);
	}
}

static void groups(void **state)
{
	struct case_of c = begin(LOOP "1 create 1 2 promise\n1 label 2 \"port-1\n"
				      "2 create 1 3 promise\n2 label 3 \"port-22\n"
				      "3 create 1 4 timer\n3 label 4 \"port-3\n"
				      "4 create 1 5 promise\n"
				      "5 create 1 6 promise\n5 label 6 \"old\n5 label 6 \"port-0\n"
				      "6 fail 1 2 \"no\n"
				      "7 cancel 1 3\n"
				      "8 become 6 5\n"
				      "8 should-resolve 4\n"
				      "9 resolve 1 99\n",
		false, true, 0);
	const struct thrum__tally *promises = tally(&c, "port-#", "promise");

	assert_int_equal(promises->tasks, 3);
	assert_int_equal(promises->state[THRUM__STATE_FAILED], 1);
	assert_int_equal(promises->state[THRUM__STATE_CANCELLED], 1);
	assert_int_equal(promises->state[THRUM__STATE_BECAME], 1);
	assert_int_equal(promises->state[THRUM__STATE_RESOLVED], 0);
	assert_int_equal(promises->stuck, 0);
	assert_int_equal(promises->spread[THRUM__MEASURE_LIFE].count, 3);
	assert_int_equal(promises->spread[THRUM__MEASURE_LIFE].min, 3);
	assert_int_equal(promises->spread[THRUM__MEASURE_LIFE].max, 5);
	assert_int_equal(tally(&c, "port-#", "timer")->stuck, 1);
	assert_int_equal(tally(&c, "", "promise")->tasks, 1);
	/* A preexisting task is counted, but its life is unknown. */
	assert_int_equal(tally(&c, "", "preexisting")->state[THRUM__STATE_RESOLVED], 1);
	assert_int_equal(tally(&c, "", "preexisting")->spread[THRUM__MEASURE_LIFE].count, 0);
	assert_int_equal(c.stats.by[THRUM__BY_KIND].count, 3);
	assert_int_equal(c.stats.by[THRUM__BY_KIND].tallies[0].tasks, 4);
	assert_int_equal(c.stats.by[THRUM__BY_SITE].count, 0);
	end(&c);
}

static void stuck_chain_counts_once(void **state)
{
	struct case_of c = begin(LOOP "1 create 1 2 bind\n"
				      "1 should-resolve 2\n"
				      "2 create 1 3 task\n"
				      "3 become 2 3\n"
				      "9 log 1 \"end\n",
		false, true, 0);

	assert_int_equal(tally(&c, "", "bind")->stuck, 0);
	assert_int_equal(tally(&c, "", "task")->stuck, 1);
	end(&c);
}

/* A bind that begins with a read starts at that read. */
#define BIND \
	"0 create 0 1 task\n" \
	"10 create 0 2 bind\n" \
	"60 resolve 0 1\n" \
	"70 read 2 1\n" \
	"90 resolve 2 2\n" \
	"100 switch 0\n"

static void simplified_lives(void **state)
{
	struct case_of c = begin(BIND, true, true, 0);

	assert_int_equal(measure(&c, THRUM__MEASURE_LIFE, 2), 20);
	assert_int_equal(measure(&c, THRUM__MEASURE_WAITING, 2), 0);
	end(&c);
	c = begin(BIND, true, false, 0);
	assert_int_equal(measure(&c, THRUM__MEASURE_LIFE, 2), 80);
	assert_int_equal(measure(&c, THRUM__MEASURE_WAITING, 2), 60);
	assert_int_equal(measure(&c, THRUM__MEASURE_RUNNING, 2), 20);
	end(&c);
}

static void lanes(void **state)
{
	struct case_of c = begin(LOOP "5 create 1 2 task\n"
				      "10 switch 2\n"
				      "40 suspend \"epoll\n"
				      "60 resume \"epoll\n" /* 2 again */
				      "70 switch 1\n"
				      "80 suspend \"epoll\n"
				      "85 resume \"epoll\n"
				      "90 suspend \"page fault\n"
				      "91 resume \"page fault\n"
				      "92 span-begin \"gc\n"
				      "94 span-begin \"mark\n"
				      "97 span-end \"mark\n"
				      "98 span-end \"gc\n"
				      "100 log 1 \"end\n",
		false, true, 10);

	assert_int_equal(use(&c, 0, THRUM__LANE_RUNNING, "")->total, 30 + 10);
	assert_int_equal(use(&c, 0, THRUM__LANE_RUNNING, "")->count, 2);
	assert_int_equal(use(&c, 0, THRUM__LANE_RUNNING, "")->max, 30);
	assert_int_equal(use(&c, 0, THRUM__LANE_OWN, "")->total, 10 + 10 + 5 + 9);
	assert_int_equal(use(&c, 0, THRUM__LANE_SUSPENDED, "epoll")->total, 25);
	assert_int_equal(use(&c, 0, THRUM__LANE_SUSPENDED, "epoll")->count, 2);
	assert_int_equal(use(&c, 0, THRUM__LANE_SUSPENDED, "epoll")->max, 20);
	assert_int_equal(use(&c, 0, THRUM__LANE_SUSPENDED, "page fault")->total, 1);
	assert_int_equal(use(&c, 0, THRUM__LANE_SPAN, "gc")->total, 6);
	assert_int_equal(use(&c, 0, THRUM__LANE_SPAN, "mark")->total, 3);
	assert_int_equal(thrum__stats_lane_share(&c.stats, use(&c, 0, THRUM__LANE_RUNNING, "")),
		40000);
	end(&c);
}

static void longest_runs(void **state)
{
	struct case_of c = begin(LOOP "1 create 1 2 task\n"
				      "1 create 1 3 task\n"
				      "10 switch 2\n"
				      "15 switch 3\n"
				      "35 switch 2\n"
				      "42 switch 3\n"
				      "47 switch 1\n" /* the longest of all, but the lane's */
				      "100 switch 3\n"
				      "112 log 3 \"still running\n",
		false, true, 3);
	static const int64_t starts[] = {15, 100, 35}, lengths[] = {20, 12, 7};

	assert_int_equal(c.stats.longest_count, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(THRUM__RUN(c.model, c.stats.longest[i], start), starts[i]);
		assert_int_equal(thrum__stats_run_length(c.model, c.stats.longest[i]), lengths[i]);
	}
	end(&c);
	/* If runs are equally long, the earlier ones are kept. */
	c = begin(LOOP "1 create 1 2 task\n1 create 1 3 task\n"
		       "10 switch 2\n15 switch 3\n20 switch 2\n25 switch 3\n30 switch 1\n",
		false, true, 2);
	assert_int_equal(c.stats.longest_count, 2);
	assert_int_equal(THRUM__RUN(c.model, c.stats.longest[0], start), 10);
	assert_int_equal(THRUM__RUN(c.model, c.stats.longest[1], start), 15);
	end(&c);
}

static void counters(void **state)
{
	struct case_of c = begin(LOOP "1000000000 counter 1 =10 \"net/bytes\n"
				      "2000000000 counter 1 =-5 \"net/errors\n"
				      "3000000000 counter 1 =17 \"net/bytes\n"
				      "5000000000 counter 1 =15 \"net/bytes\n"
				      "5000000000 counter 1 =-9223372036854775808 \"wide\n"
				      "5000000001 counter 1 =9223372036854775807 \"wide\n",
		false, true, 0);
	const struct thrum__counter *counter = c.model->counters;
	int64_t rate = 0;

	assert_int_equal(c.model->counter_count, 3);
	assert_true(thrum__stats_counter_rate(&counter[0], &rate));
	assert_int_equal(rate, 1250); /* 5 in 4 s */
	assert_false(thrum__stats_counter_rate(&counter[1], &rate));
	assert_true(thrum__stats_counter_rate(&counter[2], &rate));
	assert_int_equal(rate, INT64_MAX);
	end(&c);
}

/* A part of the time: the tasks that lived then with their whole lives; of the rest what lies in it. */
static void between(void **state)
{
	struct thrum__model *model = story_model(LOOP "1000 create 1 2 request\n"
						      "1000 label 2 \"early\n"
						      "1000 counter 1 =1 \"n\n"
						      "2000 resolve 1 2\n"
						      "3000 create 1 3 request\n"
						      "3000 label 3 \"middle\n"
						      "4000 switch 3\n"
						      "5000 counter 3 =7 \"n\n"
						      "6000 counter 3 =5 \"n\n"
						      "8000 switch 1\n"
						      "9000 resolve 1 3\n"
						      "9500 create 1 4 request\n"
						      "9500 label 4 \"late\n"
						      "10000 counter 1 =100 \"n\n",
		false);
	struct case_of c = {.model = model};

	assert_int_equal(thrum__stats_make_between(model, true, 5, 4500, 6500, &c.stats), 0);
	assert_int_equal(c.stats.by[THRUM__BY_LABEL].count, 1);
	assert_int_equal(tally(&c, "middle", "request")->spread[THRUM__MEASURE_LIFE].max, 6000);
	assert_int_equal(tally(&c, "middle", "request")->spread[THRUM__MEASURE_RUNNING].max, 4000);
	assert_int_equal(use(&c, 0, THRUM__LANE_RUNNING, "")->total, 2000);
	assert_int_equal(thrum__stats_lane_share(&c.stats, use(&c, 0, THRUM__LANE_RUNNING, "")),
		100000);
	assert_int_equal(c.stats.longest_count, 1);
	struct thrum__counter_numbers n = thrum__stats_counter(&c.stats, 0);

	assert_int_equal(n.count, 2);
	assert_int_equal(n.min, 5);
	assert_int_equal(n.max, 7);
	assert_int_equal(n.last, 5);
	assert_true(n.has_rate);
	assert_int_equal(n.rate, -2000000000); /* -2 in 1 µs */
	thrum__stats_free(&c.stats);

	assert_int_equal(thrum__stats_make_between(model, true, 5, 20000, 30000, &c.stats), 0);
	assert_int_equal(c.stats.by[THRUM__BY_LABEL].count, 1);
	assert_int_equal(tally(&c, "late", "request")->tasks, 1); /* it still lives */
	assert_int_equal(thrum__stats_counter(&c.stats, 0).count, 0);
	end(&c);
}

static void histogram(void **state)
{
	static const int64_t bounds[] = {0, 1, 2, 5, 10, 20, 50, 100};
	struct thrum__histogram h;
	struct case_of c = begin(LOOP "10 create 1 2 task\n10 create 1 3 task\n10 create 1 4 task\n"
				      "10 create 1 5 timer\n10 label 5 \"x\n"
				      "10 resolve 1 2\n15 resolve 1 3\n19 resolve 1 4\n"
				      "500 resolve 1 5\n",
		false, true, 0);
	bool wanted[] = {true, false};

	for (unsigned i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		assert_int_equal(thrum__stats_histogram_bound(i), bounds[i]);
	assert_int_equal(thrum__stats_histogram_bound(THRUM__HISTOGRAM_COLUMNS - 1),
		5000000000000000000);
	assert_int_equal(thrum__stats_histogram_bound(THRUM__HISTOGRAM_COLUMNS), INT64_MAX);
	thrum__stats_histogram_make(&c.stats, wanted, THRUM__MEASURE_LIFE, &h);
	assert_int_equal(h.first, 0);
	assert_int_equal(h.last, 3);
	assert_int_equal(h.count[0], 1);
	assert_int_equal(h.count[3], 2);
	wanted[0] = false;
	thrum__stats_histogram_make(&c.stats, wanted, THRUM__MEASURE_LIFE, &h);
	assert_true(h.first > h.last);
	end(&c);
}

/* Statistics that are made in steps are the same, and can be ended between any two. */
static void steps(void **state)
{
	struct case_of c = begin(LOOP "10 create 1 2 task\n20 switch 2\n50 switch 1\n"
				      "60 resolve 1 2\n",
		false, true, 10);
	struct thrum__stats made;
	int all = 1, more = 1;

	thrum__stats_begin(&made, c.model, true, 10);
	while ((more = thrum__stats_go_on(&made)) == 1)
		all++;
	assert_int_equal(more, 0);
	assert_int_equal(thrum__stats_go_on(&made), 0);
	assert_true(all > 1);
	assert_int_equal(made.by[THRUM__BY_KIND].count, c.stats.by[THRUM__BY_KIND].count);
	assert_memory_equal(made.by[THRUM__BY_KIND].tallies, c.stats.by[THRUM__BY_KIND].tallies,
		made.by[THRUM__BY_KIND].count * sizeof(*made.by[THRUM__BY_KIND].tallies));
	assert_int_equal(made.use_count, c.stats.use_count);
	assert_int_equal(made.longest_count, c.stats.longest_count);
	thrum__stats_free(&made);
	for (int until = 0; until < all; until++) {
		thrum__stats_begin(&made, c.model, true, 10);
		for (int i = 0; i < until; i++)
			assert_int_equal(thrum__stats_go_on(&made), 1);
		thrum__stats_free(&made);
	}
	end(&c);
}

static void nothing(void **state)
{
	struct case_of c = begin("", false, true, 10);

	assert_int_equal(c.stats.task_count, 0);
	assert_int_equal(c.stats.use_count, 0);
	assert_int_equal(c.stats.longest_count, 0);
	for (int by = 0; by < THRUM__TALLIES; by++)
		assert_int_equal(c.stats.by[by].count, 0);
	end(&c);
}

/* The least and the greatest times. */
static void extreme_times(void **state)
{
	struct case_of c = begin("-9223372036854775808 create - 1 thread\n"
				 "-9223372036854775808 switch 1\n"
				 "-9223372036854775807 create 1 2 task\n"
				 "-9223372036854775807 create 1 3 task\n"
				 "-9223372036854775806 switch 2\n"
				 "9223372036854775806 resolve 1 2\n"
				 "9223372036854775806 resolve 1 3\n"
				 "9223372036854775806 switch 3\n"
				 "-5 switch 2\n"
				 "-9223372036854775808 switch 1\n",
		false, true, 10);
	const struct thrum__spread *life = &tally(&c, "", "task")->spread[THRUM__MEASURE_LIFE];

	assert_true(life->max >= INT64_MAX - 1);
	assert_int_equal(life->total, INT64_MAX);
	for (int what = 0; what < THRUM__MEASURE_COUNT; what++)
		for (uint32_t task = 0; task < c.stats.task_count; task++)
			assert_true(c.stats.measure[what][task] >= -1);
	end(&c);
}

static void runs_divide_by_the_cpu(void **state)
{
	struct case_of c = begin("0 create - 1 thread\n"
				 "0 @1 create - 4 thread\n"
				 "1 create 1 2 task\n"
				 "1 label 2 \"job\n"
				 "5 off-cpu =10 \"preempted\n"
				 "10 switch 2\n"
				 "20 off-cpu =10 \"blocked\n"
				 "30 off-cpu =4 \"woken\n"
				 "30 @1 off-cpu =9 \"blocked\n"
				 "40 off-cpu =6 \"unknown\n"
				 "46 off-cpu =1 \"page fault\n"
				 "47 off-cpu =2 \"blocked in a page fault\n"
				 "49 off-cpu =3 \"interrupted\n"
				 "60 resolve 2 2\n"
				 "60 switch 1\n"
				 "70 create 1 3 task\n"
				 "70 @1 create 4 5 task\n",
		false, true, 0);
	const struct thrum__tally *job = tally(&c, "job", "task");
	const struct thrum__lane_use *on;

	(void)state;
	assert_true(job->has_cpu);
	assert_int_equal(job->on_cpu, 25 - 6);
	assert_int_equal(job->ready, 5 + 4);
	assert_int_equal(job->blocked, 10 + 2);
	assert_false(tally(&c, "", "task")->has_cpu);
	on = use(&c, 0, THRUM__LANE_ON_CPU, "");
	assert_int_equal(on->count, 4);
	assert_int_equal(on->total, 5 + 5 + 6 + 18);
	assert_int_equal(on->max, 18);
	assert_int_equal(use(&c, 0, THRUM__LANE_OFF_CPU, "preempted")->total, 10);
	assert_int_equal(use(&c, 0, THRUM__LANE_OFF_CPU, "woken")->total, 4);
	assert_int_equal(use(&c, 0, THRUM__LANE_OFF_CPU, "unknown")->total, 6);
	assert_int_equal(use(&c, 1, THRUM__LANE_OFF_CPU, "blocked")->total, 9);
	assert_int_equal(use(&c, 1, THRUM__LANE_ON_CPU, "")->total, 30 + 31);
	end(&c);
}

/* As in a damaged recording. */
static void times_off_the_processor_that_overlap(void **state)
{
	struct case_of c = begin("0 create - 1 thread\n"
				 "0 switch 1\n"
				 "10 off-cpu =50 \"blocked\n"
				 "20 off-cpu =4 \"woken\n"
				 "90 create 1 2 task\n",
		false, true, 0);
	const struct thrum__lane_use *on = use(&c, 0, THRUM__LANE_ON_CPU, "");

	(void)state;
	assert_int_equal(on->count, 2);
	assert_int_equal(on->total, 10 + 30);
	end(&c);
}

/* It ran for longer than it lived, but it waited for no time. */
static void a_task_on_two_lanes(void **state)
{
	struct case_of c = begin("0 create - 1 thread\n"
				 "0 @1 create - 2 thread\n"
				 "10 create 1 3 task\n"
				 "10 switch 3\n"
				 "20 @1 switch 3\n"
				 "60 switch 1\n"
				 "60 @1 switch 2\n"
				 "70 resolve 1 3\n",
		false, false, 0);

	assert_int_equal(measure(&c, THRUM__MEASURE_LIFE, 3), 60);
	assert_int_equal(measure(&c, THRUM__MEASURE_RUNNING, 3), 90);
	assert_int_equal(measure(&c, THRUM__MEASURE_WAITING, 3), 0);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_off_the_processor_that_overlap),
		cmocka_unit_test(a_task_on_two_lanes),
		cmocka_unit_test(life_running_waiting),
		cmocka_unit_test(percentiles),
		cmocka_unit_test(groups),
		cmocka_unit_test(stuck_chain_counts_once),
		cmocka_unit_test(simplified_lives),
		cmocka_unit_test(lanes),
		cmocka_unit_test(longest_runs),
		cmocka_unit_test(counters),
		cmocka_unit_test(between),
		cmocka_unit_test(histogram),
		cmocka_unit_test(steps),
		cmocka_unit_test(nothing),
		cmocka_unit_test(extreme_times),
		cmocka_unit_test(runs_divide_by_the_cpu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
