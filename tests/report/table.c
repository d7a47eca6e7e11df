/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/chart.h"
#include "report/table/table.h"
#include "story.h"
#include "words/words.h"

static const char story[] = "0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
			    "1000 create 1 2 request\n1000 label 2 \"GET /9\n"
			    "2000 create 1 3 request\n2000 label 3 \"get /10\n"
			    "3000 create 1 -1 timer\n"
			    "3500 create 1 5 bind\n"
			    "4000 switch 2\n4500 wait 2 3\n5000 switch 1\n5200 log 2 \"half-way\n"
			    "6000 fail 1 2 \"connection reset\n"
			    "7000 switch 3\n1000000 resolve 1 3\n1000000 switch 1\n"
			    "1200000 counter 1 =5 \"net/open\n2200000 counter 1 =6 \"net/open\n"
			    "2200000 suspend \"epoll\n3000000 resume \"epoll\n"
			    "3100000 become 5 3\n";

struct case_of {
	struct thrum__model *model;
	struct thrum__stats stats;
	struct thrum__table table;
};

static void begin(struct case_of *c, const char *lines, int kind)
{
	c->model = story_model(lines, false);
	assert_int_equal(thrum__stats_make(c->model, true, 10, &c->stats), 0);
	assert_int_equal(thrum__table_init(&c->table, kind, &c->stats), 0);
}

static void end(struct case_of *c)
{
	thrum__table_finish(&c->table);
	thrum__stats_free(&c->stats);
	thrum__model_destroy(c->model);
}

static unsigned column_of(const struct case_of *c, const char *name)
{
	unsigned column = thrum__table_column(c->table.form, name, strlen(name));

	assert_true(column < c->table.form->count);
	return column;
}

/* Shows all rows of some columns, for programs or for people: "cell|cell/" for each row. */
static char *show(const struct case_of *c, const char *columns, bool words)
{
	static char text[10000];
	size_t at = 0;

	for (uint32_t row = 0; row < c->table.count; row++) {
		for (const char *name = columns; *name;) {
			size_t size = strcspn(name, " ");
			unsigned column = thrum__table_column(c->table.form, name, size);
			struct thrum__table_cell cell;

			assert_true(column < c->table.form->count);
			if (words) {
				thrum__table_words(&c->table, row, column, &cell);
			} else {
				thrum__table_cell(&c->table, row, column, &cell);
				if (!cell.is_empty)
					thrum__table_print(&c->table, &cell);
			}
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s%s",
				(int)cell.size, cell.text, name[size] ? "|" : "");
			name += size + (name[size] == ' ');
		}
		at += (size_t)snprintf(text + at, sizeof(text) - at, "/");
	}
	text[at] = '\0';
	return text;
}

static void tasks(void **state)
{
	struct case_of c;

	begin(&c, story, THRUM__TABLE_TASKS);

	assert_string_equal(show(&c, "task parent kind start end last state became", false),
		"1||thread|0||3000000|pending|/"
		"2|1|request|1000|6000|6000|failed|/"
		"3|1|request|2000|1000000|1000000|resolved|/"
		"18446744073709551615|1|timer|3000||3000|pending|/"
		"5|1|bind|3500|3100000|3100000|became|3/");
	assert_string_equal(show(&c, "label failure lane life running waiting site", false),
		"main||0||||/"
		"GET /9|connection reset|0|5000|1000|4000|/"
		"get /10||0|998000|993000|5000|/"
		"||0||0||/"
		"||0|3096500|0|3096500|/");
	assert_string_equal(show(&c, "task label start life", true),
		"1|main|0|/2|GET /9|1 µs|5 µs/3|get /10|2 µs|998 µs/"
		"18446744073709551615||3 µs|≥ 3.1 ms/5||4 µs|3.1 ms/");
	end(&c);
}

static void tasks_have_names(void **state)
{
	struct thrum__table_cell cell;
	struct case_of c;

	begin(&c, story, THRUM__TABLE_TASKS);
	assert_false(thrum__table_named(&c.table, 0, column_of(&c, "label"), &cell));
	assert_memory_equal(cell.text, "main", 4);
	assert_true(thrum__table_named(&c.table, 3, column_of(&c, "label"), &cell));
	assert_memory_equal(cell.text, "timer", 5);
	assert_false(thrum__table_named(&c.table, 3, column_of(&c, "site"), &cell));
	assert_int_equal(cell.size, 0);
	end(&c);
}

static void cards_tell_the_most_important(void **state)
{
	static const struct {
		uint64_t task;
		const char *words;
	} cards[] = {
		{1, "main\nruns when no other task does"},
		{2, "GET /9\nfailed after 5 µs\nconnection reset"},
		{3, "get /10\nresolved after 998 µs"},
		{6, "x\npending for 3.1 ms\nwaits for get /11"},
	};
	struct thrum__model *model = story_model("0 create - 1 thread\n0 label 1 \"main\n"
						 "1000 create 1 2 request\n1000 label 2 \"GET /9\n"
						 "2000 create 1 3 request\n2000 label 3 \"get /10\n"
						 "2000 create 1 4 request\n2000 label 4 \"get /11\n"
						 "3000 create 1 6 request\n3000 label 6 \"x\n"
						 "3500 wait 6 4\n6000 fail 1 2 \"connection reset\n"
						 "1000000 resolve 1 3\n3100000 switch 1\n",
		false);
	char words[200];

	for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
		thrum__words_card(model, story_task(model, cards[i].task), words, sizeof words);
		assert_string_equal(words, cards[i].words);
	}
	thrum__model_destroy(model);
}

static void sorts(void **state)
{
	struct case_of c;

	begin(&c, story, THRUM__TABLE_TASKS);

	/* Empty cells come last, in ascending and in descending order. A pending task's life is its age. */
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "life"), true), 0);
	assert_string_equal(show(&c, "task", false), "18446744073709551615/5/3/2/1/");
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "life"), false), 0);
	assert_string_equal(show(&c, "task", false), "2/3/5/18446744073709551615/1/");
	/* Upper and lower case are the same, also behind the first 8 letters. */
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "label"), false), 0);
	assert_string_equal(show(&c, "label", false), "get /10/GET /9/main///");
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "label"), true), 0);
	assert_string_equal(show(&c, "label", false), "main/GET /9/get /10///");
	/* Ids are unsigned here. */
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "task"), true), 0);
	assert_string_equal(show(&c, "task", false), "18446744073709551615/5/3/2/1/");
	/* Rows with equal cells keep their order. */
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "kind"), false), 0);
	assert_string_equal(show(&c, "task", false), "5/3/2/1/18446744073709551615/");
	end(&c);
}

static void long_texts_sort(void **state)
{
	struct case_of c;

	begin(&c,
		"0 create - 1 task\n0 label 1 \"request handler b\n"
		"0 create - 2 task\n0 label 2 \"Request Handler\n"
		"0 create - 3 task\n0 label 3 \"request handler a\n",
		THRUM__TABLE_TASKS);

	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "label"), false), 0);
	assert_string_equal(show(&c, "task", false), "2/3/1/");
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "label"), true), 0);
	assert_string_equal(show(&c, "task", false), "1/3/2/");
	end(&c);
}

static void searches(void **state)
{
	struct case_of c;

	begin(&c, story, THRUM__TABLE_TASKS);

	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "task"), true), 0);
	assert_int_equal(thrum__table_narrow(&c.table, NULL, "get /"), 0);
	assert_string_equal(show(&c, "task", false), "3/2/"); /* the order stays */
	assert_int_equal(thrum__table_narrow(&c.table, NULL, "RESET"), 0);
	assert_string_equal(show(&c, "task", false), "2/");
	assert_int_equal(thrum__table_narrow(&c.table, NULL, "5516"), 0);
	assert_string_equal(show(&c, "kind", false), "timer/");
	assert_int_equal(thrum__table_narrow(&c.table, NULL, "no such thing"), 0);
	assert_int_equal(c.table.count, 0);
	assert_int_equal(thrum__table_narrow(&c.table, NULL, ""), 0);
	assert_int_equal(c.table.count, 5);
	end(&c);
}

/* A word that looks like a condition and is none is searched for; the table tells why it finds nothing. */
static void searches_tell_their_faults(void **state)
{
	static const char *const faults[][2] = {
		{"Get state:Faild",
			"no state “faild”; there are pending, resolved, failed, cancelled, became "
			"and stuck"},
		{"lief>5ms",
			"no condition “lief>”; there are life>, life<, state:, label:, kind: and "
			"site:"},
		{"life>5x", "“life>5x” is no condition; life>50ms and life<1.5s are"},
		{"state:failed life>5ms", ""},
		{"http://x server.c:42 a: \"state:x", ""},
	};
	struct case_of c;

	begin(&c, story, THRUM__TABLE_TASKS);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		assert_int_equal(thrum__table_narrow(&c.table, NULL, faults[i][0]), 0);
		assert_string_equal(c.table.fault, faults[i][1]);
		assert_int_equal(c.table.count, 0);
	}
	assert_int_equal(thrum__table_narrow(&c.table, NULL, "state:failed"), 0);
	assert_string_equal(c.table.fault, "");
	end(&c);
}

/* In steps, the table has its old rows until the end; a search may be given up. */
static void searches_in_steps(void **state)
{
	struct thrum__table_narrowing *narrowing;
	struct case_of c;
	int steps = 0;

	begin(&c, story, THRUM__TABLE_TASKS);
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "task"), true), 0);
	narrowing = thrum__table_narrow_begin(&c.table, NULL, "get /");
	assert_non_null(narrowing);
	while (thrum__table_narrow_go_on(narrowing, 2)) {
		assert_int_equal(c.table.count, 5);
		steps++;
	}
	assert_int_equal(steps, 2);
	assert_int_equal(thrum__table_narrow_end(narrowing, true), 0);
	assert_string_equal(show(&c, "task", false), "3/2/");
	narrowing = thrum__table_narrow_begin(&c.table, NULL, "RESET");
	assert_non_null(narrowing);
	assert_true(thrum__table_narrow_go_on(narrowing, 1));
	assert_int_equal(thrum__table_narrow_end(narrowing, false), 0);
	assert_string_equal(show(&c, "task", false), "3/2/");
	/* Another order, while rows are left out, is that of all rows, too. */
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "task"), false), 0);
	assert_string_equal(show(&c, "task", false), "2/3/");
	assert_int_equal(thrum__table_narrow(&c.table, NULL, ""), 0);
	assert_int_equal(c.table.count, 5);
	assert_int_equal(thrum__table_narrow(&c.table, NULL, "get /"), 0);
	assert_string_equal(show(&c, "task", false), "2/3/");
	end(&c);
}

static void other_tables(void **state)
{
	struct case_of c;

	begin(&c, story, THRUM__TABLE_LABELS);

	assert_string_equal(show(&c, "label kind tasks failed resolved life-p50 running-total",
				    false),
		"get /#|request|1|0|1|998000|993000/GET /#|request|1|1|0|5000|1000/"
		"|timer|1|0|0||0/|bind|1|0|0|3096500|0/");
	end(&c);
	begin(&c, story, THRUM__TABLE_KINDS);
	assert_string_equal(show(&c, "kind tasks running-total life-min life-max", true),
		"request|2|994 µs|5 µs|998 µs/timer|1|0 ns||/bind|1|0 ns|3.1 ms|3.1 ms/");
	end(&c);
	begin(&c, story, THRUM__TABLE_COUNTERS);
	assert_string_equal(show(&c, "counter values last min max rate", false),
		"net/open|2|6|5|6|1000/");
	assert_string_equal(show(&c, "rate", true), "1,000/s/");
	end(&c);
	begin(&c, story, THRUM__TABLE_RUNS);
	assert_string_equal(show(&c, "task label kind lane start length thread", false),
		"3|get /10|request|0|7000|993000|main/2|GET /9|request|0|4000|1000|main/");
	assert_int_equal(thrum__table_task(&c.table, 0), story_task(c.model, 3));
	end(&c);
	begin(&c, story, THRUM__TABLE_SITES);
	assert_int_equal(c.table.count, 0);
	end(&c);
}

static void lanes(void **state)
{
	struct case_of c;

	begin(&c, story, THRUM__TABLE_LANES);

	assert_string_equal(show(&c, "lane name use reason count total share", false),
		"0|main|running||2|994000|32.065/0|main|own||4|1306000|42.129/"
		"0|main|suspended|epoll|1|800000|25.806/");
	assert_string_equal(show(&c, "total share lost", true),
		"994 µs|32.1 %|/1.31 ms|42.1 %|/800 µs|25.8 %|/");
	end(&c);
}

static void panels_show_the_best_first(void **state)
{
	for (int kind = 0; kind < THRUM__TABLE_COUNT; kind++) {
		const struct thrum__table_form *form = thrum__table_form(kind);
		unsigned columns[THRUM__COLUMNS_MAX], count = thrum__table_columns(form, columns);
		char names[400] = "";

		for (unsigned i = 0; i < count; i++) {
			assert_true(columns[i] < form->count);
			for (unsigned k = 0; k < i; k++)
				assert_int_not_equal(columns[i], columns[k]);
			strcat(strcat(names, i > 0 ? " " : ""), form->columns[columns[i]].name);
		}
		assert_memory_equal(names, form->first, strlen(form->first));
		assert_int_equal(strlen(names), strlen(form->shown));
	}
}

/* The tree of a model whose counters that begin with "lat" are distributions. */
static void begin_tree(struct case_of *c, const char *lines)
{
	begin(c, lines, THRUM__TABLE_TREE);
	for (uint32_t i = 0; i < c->model->counter_count; i++)
		if (strncmp(thrum__model_string(c->model, c->model->counters[i].name, NULL), "lat",
			    3) == 0)
			c->model->counters[i].kind = THRUM_COUNTER_DISTRIBUTION;
	thrum__table_finish(&c->table);
	assert_int_equal(thrum__table_init(&c->table, THRUM__TABLE_TREE, &c->stats), 0);
}

#define INDENT "\u00a0\u00a0\u00a0"

static void counters_are_a_tree(void **state)
{
	struct case_of c;

	begin_tree(&c,
		"0 create - 1 thread\n0 counter 1 =1 \"net/tcp/open\n0 counter 1 =20 \"net-x\n"
		"0 counter 1 =5 \"net/udp\n1000000000 counter 1 =4 \"net/tcp/open\n"
		"0 counter 1 =100 \"net/tcp\n0 counter 1 =3 \"lat/a\n0 counter 1 =9 \"lat/b\n"
		"0 counter 1 =7 \"lat/b\n");
	assert_string_equal(show(&c, "counter kind value p50 p99 min max rate", false),
		"lat|distribution|3|7|9|3|9|/lat/a|distribution|1|3|3|3|3|/"
		"lat/b|distribution|2|9|9|7|9|/"
		"net|gauge|109|||||/net/tcp|gauge|104|||||/"
		"net/tcp/open|gauge|4|||1|4|3/net/udp|gauge|5|||5|5|/net-x|gauge|20|||20|20|/");
	assert_string_equal(show(&c, "counter", true),
		"lat/" INDENT "a/" INDENT "b/net/" INDENT "tcp/" INDENT INDENT "open/" INDENT
		"udp/net-x/");
	/* In another order, and with rows left out, paths stand whole. */
	assert_int_equal(thrum__table_sort(&c.table, column_of(&c, "value"), true), 0);
	assert_memory_equal(show(&c, "counter", true), "net/net/tcp/net-x/", 18);
	assert_int_equal(thrum__table_sort(&c.table, 0, false), 0);
	assert_memory_equal(show(&c, "counter", true), "lat/" INDENT "a/", 4 + strlen(INDENT) + 2);
	assert_int_equal(thrum__table_narrow(&c.table, NULL, "tcp"), 0);
	assert_string_equal(show(&c, "counter", true), "net/tcp/net/tcp/open/");
	end(&c);
}

/* Kinds that differ have no sum, and no path is too deep or too strange. */
static void strange_trees(void **state)
{
	struct case_of c;

	begin_tree(&c,
		"0 create - 1 thread\n0 counter 1 =1 \"lat\n0 counter 1 =2 \"x/1\n"
		"0 counter 1 =3 \"/\n0 counter 1 =4 \"//\n0 counter 1 =-9223372036854775808 \"y/1\n"
		"0 counter 1 =-9223372036854775808 \"y/2\n0 counter 1 =5 \"lat/x\n"
		"0 counter 1 =1 \"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20\n"
		"0 counter 1 =1 \"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18\n"
		"0 counter 1 =1 \"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16\n");
	c.model->counters[1].kind = THRUM_COUNTER_CUMULATIVE;
	thrum__table_finish(&c.table);
	assert_int_equal(thrum__table_init(&c.table, THRUM__TABLE_TREE, &c.stats), 0);
	assert_int_equal(c.table.count, 2 + 15 + 3 + 2 + 3 + 2);
	for (uint32_t row = 0; row < c.table.count; row++) {
		struct thrum__table_cell cell;

		for (unsigned column = 0; column < c.table.form->count; column++)
			thrum__table_words(&c.table, row, column, &cell);
	}
	end(&c);
}

static void numbers_for_people(void **state)
{
	struct case_of c;

	begin(&c,
		"0 create - 1 thread\n0 counter 1 =-1234567 \"a\n"
		"1000000000 counter 1 =12 \"a\n"
		"0 counter 1 =0 \"b\n1000000000 counter 1 =-3 \"b\n"
		"0 counter 1 =0 \"c\n400000000000 counter 1 =5 \"c\n",
		THRUM__TABLE_COUNTERS);

	assert_string_equal(show(&c, "min last rate", true),
		"-1,234,567|12|1,234,579/s/-3|-3|-3/s/0|5|0.01/s/");
	assert_string_equal(show(&c, "min rate", false), "-1234567|1234579/-3|-3/0|0.013/");
	end(&c);
}

static void nothing(void **state)
{
	for (int kind = 0; kind < THRUM__TABLE_COUNT; kind++) {
		struct case_of c;

		begin(&c, "", kind);

		assert_int_equal(c.table.count, 0);
		for (unsigned column = 0; column < c.table.form->count; column++)
			assert_int_equal(thrum__table_sort(&c.table, column, true), 0);
		assert_int_equal(thrum__table_narrow(&c.table, NULL, "x"), 0);
		/* The columns for people exist in the table. */
		for (const char *name = c.table.form->shown; *name;) {
			size_t size = strcspn(name, " ");

			assert_true(thrum__table_column(c.table.form, name, size) <
				c.table.form->count);
			name += size + (name[size] == ' ');
		}
		end(&c);
	}
}

#define MANY 5000

/* A main task that stays, and many that come and go, a microsecond each. */
static char *many_tasks(void)
{
	size_t room = MANY * 160, at;
	char *lines = malloc(room);

	assert_non_null(lines);
	at = (size_t)snprintf(lines, room, "0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 2; i <= MANY; i++)
		at += (size_t)snprintf(lines + at, room - at,
			"%d000 create 1 %d request\n%d000 label %d \"r%d\n%d100 switch %d\n"
			"%d600 resolve 1 %d\n%d600 switch 1\n",
			i, i, i, i, i, i, i, i, i, i);
	return lines;
}

static void read_all(const struct case_of *c)
{
	struct thrum__table_cell cell;

	for (uint32_t row = 0; row < c->table.count; row++) {
		(void)thrum__table_task(&c->table, row);
		for (unsigned column = 0; column < c->table.form->count; column++)
			thrum__table_words(&c->table, row, column, &cell);
	}
}

/* Rows that the model forgot after the statistics were made are empty, and new statistics have no
 * place for them, though an old task stays. */
static void forgets(void **state)
{
	static const int kinds[] = {THRUM__TABLE_TASKS, THRUM__TABLE_RUNS, THRUM__TABLE_SITES,
		THRUM__TABLE_KINDS, THRUM__TABLE_LABELS};
	char *lines = many_tasks();

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct case_of c;
		uint32_t before, left = 0;

		begin(&c, lines, kinds[i]);
		before = c.table.count;
		thrum__model_forget(c.model, MANY * INT64_C(1000) - 100 * 1000);
		read_all(&c);
		for (unsigned column = 0; column < c.table.form->count; column++)
			assert_int_equal(thrum__table_sort(&c.table, column, true), 0);
		for (uint32_t task = 0; task < c.model->tasks.count; task++)
			left += thrum__model_has_row(&c.model->tasks, task);
		assert_int_equal(thrum__table_narrow(&c.table, NULL, ""), 0);
		if (kinds[i] == THRUM__TABLE_TASKS)
			assert_int_equal(c.table.count, left);
		assert_true(left < before || kinds[i] != THRUM__TABLE_TASKS);
		thrum__table_finish(&c.table);
		thrum__stats_free(&c.stats);
		assert_int_equal(thrum__stats_make(c.model, true, 10, &c.stats), 0);
		assert_int_equal(c.stats.places, left);
		assert_int_equal(thrum__table_init(&c.table, kinds[i], &c.stats), 0);
		if (kinds[i] == THRUM__TABLE_TASKS)
			assert_int_equal(c.table.count, left);
		read_all(&c);
		end(&c);
	}
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks),
		cmocka_unit_test(tasks_have_names),
		cmocka_unit_test(cards_tell_the_most_important),
		cmocka_unit_test(sorts),
		cmocka_unit_test(long_texts_sort),
		cmocka_unit_test(searches),
		cmocka_unit_test(searches_tell_their_faults),
		cmocka_unit_test(searches_in_steps),
		cmocka_unit_test(other_tables),
		cmocka_unit_test(lanes),
		cmocka_unit_test(panels_show_the_best_first),
		cmocka_unit_test(counters_are_a_tree),
		cmocka_unit_test(strange_trees),
		cmocka_unit_test(numbers_for_people),
		cmocka_unit_test(nothing),
		cmocka_unit_test(forgets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
