/* SPDX-License-Identifier: ISC */
/* Families and groups: of hand-made stories, and of the two examples that serve requests. */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyse/family/family.h"
#include "story.h"

#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n"

struct seen {
	struct thrum__model *model;
	struct thrum__family family;
};

static void look(struct seen *seen, const char *lines)
{
	seen->model = story_model(lines, false);
	assert_int_equal(thrum__family_init(&seen->family, seen->model), 0);
}

static void unsee(struct seen *seen)
{
	thrum__family_finish(&seen->family);
	thrum__model_destroy(seen->model);
}

/* The id of a task's owner, or 0. */
static uint64_t owner_of(const struct seen *seen, uint64_t id)
{
	uint32_t owner = thrum__family_owner(&seen->family, story_task(seen->model, id));

	return owner == THRUM__NONE ? 0 : THRUM__TASK(seen->model, owner, id);
}

static uint64_t line_of(const struct seen *seen, uint64_t id)
{
	uint32_t line = thrum__family_line(&seen->family, story_task(seen->model, id));

	return line == THRUM__NONE ? 0 : THRUM__TASK(seen->model, line, id);
}

static const struct thrum__group *group_named(const struct thrum__family *family, const char *name)
{
	uint32_t group = thrum__family_find(family, name, strlen(name));

	return group == THRUM__NONE ? NULL : &family->groups[group];
}

/* Writes the names of a group and its parents, the lowest first. */
static void write_way(const struct thrum__family *family, const char *name, char *to, size_t size)
{
	uint32_t group = thrum__family_find(family, name, strlen(name));
	size_t used = 0;

	to[0] = '\0';
	for (; group != THRUM__NONE && used < size; group = family->groups[group].parent) {
		size_t length;
		const char *text = thrum__family_name(family, group, &length);

		used += (size_t)snprintf(to + used, size - used, "%s%.*s", used ? " < " : "",
			(int)length, text);
	}
}

/* ---- For whom tasks work -------------------------------------------------------------------- */

static void test_callbacks(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen,
		MAIN "1 create 1 2 handle\n1 label 2 \"connection 1\n"
		     "2 switch 2\n"
		     "3 create 2 3 request\n3 label 3 \"GET /user/1\n"
		     "4 switch 3\n"
		     "5 create 3 4 promise\n" /* without a label */
		     "6 switch 4\n"
		     "7 create 4 5 request\n7 label 5 \"lookup user 1\n"
		     "8 switch 1\n"
		     "9 resolve 1 5\n10 resolve 1 4\n11 resolve 1 3\n");
	assert_int_equal(owner_of(&seen, 5), 3);
	assert_int_equal(owner_of(&seen, 4), 3);
	assert_int_equal(owner_of(&seen, 3), 2);
	assert_int_equal(owner_of(&seen, 2), 0); /* the lane made it */
	assert_int_equal(owner_of(&seen, 1), 0);
	assert_int_equal(thrum__family_worker(&seen.family, story_task(seen.model, 4)),
		story_task(seen.model, 3));
	assert_int_equal(thrum__family_worker(&seen.family, story_task(seen.model, 1)),
		THRUM__NONE);
	assert_false(seen.family.by_site);
	unsee(&seen);
}

#define QUERY(id, time) time " create 1 " #id " request\n" time " label " #id " \"query\n"

/* A group's parent owns most of its lines: one of three isn't enough. */
static void test_no_parent(void **state)
{
	struct seen seen;
	char way[100];

	(void)state;
	look(&seen,
		MAIN "1 create 1 2 request\n1 label 2 \"GET\n"
		     "1 create 1 3 request\n1 label 3 \"PUT\n" QUERY(4, "2") QUERY(5, "3")
			     QUERY(6, "4") "5 wait 3 5\n5 wait 2 6\n");
	assert_int_equal(owner_of(&seen, 4), 0);
	assert_int_equal(owner_of(&seen, 5), 3);
	assert_int_equal(owner_of(&seen, 6), 2);
	write_way(&seen.family, "query", way, sizeof way);
	assert_string_equal(way, "query");
	unsee(&seen);
}

/* A task may wait for the one that it becomes: that one is no owner. */
static void test_wait_for_heir(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen,
		MAIN "1 create 1 2 request\n1 label 2 \"GET\n"
		     "2 create 2 3 bind\n"
		     "3 create 3 4 promise\n"
		     "4 wait 3 4\n"
		     "5 become 3 4\n");
	assert_int_equal(owner_of(&seen, 3), 2);
	assert_int_equal(owner_of(&seen, 4), 2);
	unsee(&seen);
}

/* A task belongs to the one that waits for it, not to the one that made it; but a lock to nobody. */
static void test_waits(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen,
		MAIN "1 create 1 2 task\n1 label 2 \"maker\n"
		     "1 create 1 3 task\n1 label 3 \"user\n"
		     "2 switch 2\n"
		     "3 create 2 4 promise\n3 label 4 \"answer\n"
		     "3 create 2 5 lock\n3 label 5 \"database\n"
		     "3 create 2 6 promise\n3 label 6 \"ignored\n"
		     "4 switch 3\n"
		     "5 wait 3 4\n6 wait 3 5\n"
		     "7 switch 1\n"
		     "8 wait 1 6\n" /* a lane waits for whatever there is */
		     "9 resolve 2 4\n");
	assert_int_equal(owner_of(&seen, 4), 3);
	assert_int_equal(owner_of(&seen, 5), 2);
	assert_int_equal(owner_of(&seen, 6), 2);
	assert_true(group_named(&seen.family, "database")->is_object);
	unsee(&seen);
}

/* Tasks that become each other are one line, and whoever waits for the last owns the first. */
static void test_chains(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen,
		MAIN "1 create 1 2 task\n1 label 2 \"asker\n"
		     "2 create 1 3 bind\n2 label 3 \"step 1\n"
		     "2 create 1 4 bind\n"
		     "2 create 1 5 bind\n2 label 5 \"step 2\n"
		     "2 create 1 6 bind\n2 label 6 \"other\n"
		     "3 switch 2\n"
		     "4 wait 2 6\n"
		     "5 switch 1\n"
		     "6 become 3 4\n7 become 4 5\n8 become 5 6\n"
		     "9 fail 1 6 \"broken\n");
	assert_int_equal(line_of(&seen, 3), 3);
	assert_int_equal(line_of(&seen, 4), 3);
	assert_int_equal(line_of(&seen, 5), 3);
	assert_int_equal(line_of(&seen, 6), 6);
	assert_int_equal(owner_of(&seen, 3), 2);
	assert_int_equal(owner_of(&seen, 6), 2);
	assert_int_equal(group_named(&seen.family, "step #")->lines, 1);
	assert_int_equal(group_named(&seen.family, "step #")->failed, 1);
	assert_int_equal(thrum__family_worker(&seen.family, story_task(seen.model, 5)),
		story_task(seen.model, 3));
	unsee(&seen);
}

/* Tasks that wait for each other in a circle end the search. */
static void test_circle(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen,
		MAIN "1 create 1 2 promise\n1 create 1 3 promise\n"
		     "1 create 1 4 task\n1 label 4 \"a\n1 create 1 5 task\n1 label 5 \"b\n"
		     "2 switch 2\n3 wait 2 3\n4 switch 3\n5 wait 3 2\n"
		     "6 switch 4\n7 wait 4 5\n8 switch 5\n9 wait 5 4\n10 switch 1\n");
	assert_int_equal(owner_of(&seen, 2), 0);
	assert_int_equal(owner_of(&seen, 3), 0);
	assert_int_equal(owner_of(&seen, 4), 5);
	assert_int_equal(owner_of(&seen, 5), 4);
	assert_int_equal((group_named(&seen.family, "a")->parent == THRUM__NONE) +
			(group_named(&seen.family, "b")->parent == THRUM__NONE),
		1);
	unsee(&seen);
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* A text that grows, line by line. */
struct lines {
	char text[200000];
	size_t size;
	unsigned id;
};

static void put(struct lines *lines, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	lines->size += (size_t)vsnprintf(lines->text + lines->size,
		sizeof lines->text - lines->size, format, arguments);
	va_end(arguments);
	assert_true(lines->size < sizeof lines->text);
}

/* Requests that wait for sleeps and for a lookup, which waits for a connect: sleeps and connects are
 * the outside, and nobody needs to see them. */
static void test_outside(void **state)
{
	static struct lines lines;
	struct seen seen;
	unsigned id = 10, time = 10;

	(void)state;
	put(&lines, "%s", MAIN);
	for (int i = 0; i < 10; i++, id += 4) {
		put(&lines, "%u create 1 %u request\n%u label %u \"GET /%d\n", time, id, time, id,
			i);
		put(&lines, "%u should-resolve %u\n", time, id);
		put(&lines, "%u switch %u\n", time, id);
		put(&lines, "%u create %u %u timer\n%u label %u \"sleep 3 ms\n", time + 1, id,
			id + 1, time + 1, id + 1);
		put(&lines, "%u wait %u %u\n", time + 1, id, id + 1);
		put(&lines, "%u create %u %u task\n%u label %u \"lookup\n", time + 2, id, id + 2,
			time + 2, id + 2);
		put(&lines, "%u should-resolve %u\n", time + 2, id + 2);
		put(&lines, "%u wait %u %u\n", time + 2, id, id + 2);
		put(&lines, "%u switch %u\n", time + 3, id + 2);
		put(&lines, "%u create %u %u task\n%u label %u \"connect\n", time + 3, id + 2,
			id + 3, time + 3, id + 3);
		put(&lines, "%u wait %u %u\n", time + 3, id + 2, id + 3);
		put(&lines, "%u switch 1\n", time + 4);
		for (unsigned j = 3; j + 1 > 0; j--)
			put(&lines, "%u resolve 1 %u\n", time + 90, id + j);
		time += 100;
	}
	look(&seen, lines.text);
	assert_true(group_named(&seen.family, "sleep # ms")->is_outside);
	assert_true(group_named(&seen.family, "connect")->is_outside);
	assert_false(group_named(&seen.family, "lookup")->is_outside);
	assert_int_equal(seen.family.shown_count, 2);
	assert_int_equal(group_named(&seen.family, "GET /#")->shown, 0);
	assert_int_equal(group_named(&seen.family, "lookup")->shown, 1);
	assert_int_equal(group_named(&seen.family, "lookup")->depth, 1);
	assert_int_equal(seen.family.more_count, 2);
	unsee(&seen);
}

/* At most so many groups are shown, those with the longest lives; the others are in `more`. */
static void test_many_groups(void **state)
{
	static struct lines lines;
	struct seen seen;
	unsigned id = 10, time = 10;

	(void)state;
	lines.size = 0;
	put(&lines, "%s", MAIN);
	for (unsigned group = 0; group < 30; group++)
		for (unsigned i = 0; i < (group < 28 ? 8 : 5); i++, id++, time += 40) {
			put(&lines, "%u create 1 %u task\n%u label %u \"kind %c\n", time, id, time,
				id, 'A' + (char)group);
			put(&lines, "%u switch %u\n%u switch 1\n%u resolve 1 %u\n", time, id,
				time + group + 1, time + group + 1, id);
		}
	look(&seen, lines.text);
	assert_int_equal(seen.family.group_count, 30);
	assert_int_equal(seen.family.shown_count, THRUM__FAMILY_BANDS);
	assert_int_equal(seen.family.more_count, 6);
	assert_int_equal(group_named(&seen.family, "kind B")->shown, THRUM__NONE);
	assert_int_equal(group_named(&seen.family, "kind \\")->shown, 0);
	unsee(&seen);
}

/* Programs without labels have call sites instead. */
static void test_without_labels(void **state)
{
	static struct lines lines;
	struct seen seen;

	(void)state;
	lines.size = 0;
	put(&lines, "%s", MAIN);
	for (unsigned i = 0; i < 20; i++)
		put(&lines, "%u create 1 %u task\n%u switch %u\n%u switch 1\n%u resolve 1 %u\n",
			10 * i, i + 10, 10 * i + 1, i + 10, 10 * i + 5, 10 * i + 6, i + 10);
	put(&lines, "900 label 10 \"the only one\n");
	look(&seen, lines.text);
	assert_true(seen.family.by_site);
	assert_int_equal(seen.family.shown_count, 1);
	assert_int_equal(seen.family.groups[seen.family.shown[0]].lines, 20);
	unsee(&seen);
}

static void test_empty(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen, "0 log - \"nothing\n");
	assert_int_equal(seen.family.group_count, 0);
	assert_int_equal(seen.family.shown_count, 0);
	assert_int_equal(thrum__family_owner(&seen.family, 1234), THRUM__NONE);
	unsee(&seen);
}

/* ---- Examples ------------------------------------------------------------------------------- */

/* Records an example, which is kept only until it is read; a run that a busy machine made too short is
 * tried again for longer. */
static bool record(const char *example, int seconds, struct seen *seen)
{
	char file[] = "/tmp/thrum-family-XXXXXX", command[4096];
	const char *build = getenv("BUILD");
	struct thrum_trace *trace;
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	close(fd);
	unlink(file);
	snprintf(command, sizeof command,
		"THRUM_TRACE=%s '%s/examples/%s' --threads 2 --clients 8 --seconds %d >/dev/null 2>&1",
		file, build, example, seconds);
	if (system(command) == -1 || thrum_trace_open(file, &trace, NULL) < 0)
		return false;
	assert_int_equal(thrum__model_create(trace, &seen->model), 0);
	assert_int_equal(thrum__model_load(seen->model, trace, NULL, NULL, NULL), 0);
	thrum_trace_close(trace);
	unlink(file);
	assert_int_equal(thrum__family_init(&seen->family, seen->model), 0);
	return true;
}

static void check_example(const char *example)
{
	char way[300], program[4096];
	struct seen seen;

	snprintf(program, sizeof program, "%s/examples/%s", getenv("BUILD") ? getenv("BUILD") : "",
		example);
	if (access(program, X_OK) != 0) {
		printf("skipped: %s isn't built\n", program);
		skip();
	}
	for (int seconds = 1;; seconds *= 2) {
		const struct thrum__group *group;

		assert_true(seconds < 32);
		assert_true(record(example, seconds, &seen));
		group = group_named(&seen.family, "lookup user #");
		if (group && group->lines >= THRUM__FAMILY_FEW)
			break;
		unsee(&seen);
	}
	write_way(&seen.family, "lookup user #", way, sizeof way);
	way[strlen("lookup user # < GET /user/# < connection")] = '\0';
	assert_string_equal(way, "lookup user # < GET /user/# < connection");
	assert_false(seen.family.by_site);
	assert_true(group_named(&seen.family, "GET /user/#")->shown != THRUM__NONE);
	assert_true(group_named(&seen.family, "database")->is_object);
	unsee(&seen);
}

static void test_server(void **state)
{
	(void)state;
	check_example("server");
}

static void test_http(void **state)
{
	(void)state;
	check_example("http");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_wait_for_heir),
		cmocka_unit_test(test_no_parent),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_without_labels),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
