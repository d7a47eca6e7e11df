/* SPDX-License-Identifier: ISC */
/* Tables are cut by ten minutes, and times that lie too far apart are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store.h"
#include "story.h"

#define LINE 80

/* Makes a model of tasks of which one ends every ten minutes. */
static struct thrum__model *long_model(unsigned tasks)
{
	char *lines = malloc(2 * LINE * (size_t)(tasks + 1));
	struct thrum__model *model;
	size_t used;

	assert_non_null(lines);
	used = (size_t)sprintf(lines, "0 create - 1 thread\n");
	for (unsigned i = 0; i < tasks; i++)
		used += (size_t)sprintf(lines + used,
			"%u000000000 create 1 %u task\n%u000000001 resolve 1 %u\n", i * 600, i + 2,
			i * 600, i + 2);
	model = story_model(lines, false);
	free(lines);
	return model;
}

struct files {
	unsigned tasks;
	uint64_t rows;
	int64_t latest;
};

static int count(void *context, const struct thrum__store_file *file)
{
	struct files *files = context;

	assert_int_equal(file->slot % 600, 0);
	if (file->table == THRUM__STORE_TASKS) {
		files->tasks++;
		assert_true(file->slot > files->latest);
		files->latest = file->slot;
		files->rows += file->rows;
	}
	return 0;
}

static int store(unsigned tasks, struct files *files)
{
	const struct thrum_trace_info info = {.start = INT64_C(1800000000000000000),
		.program = "p"};
	struct thrum__model *model = long_model(tasks);
	int result;

	*files = (struct files){.latest = INT64_MIN};
	result = thrum__store_write(model, &info, &(struct thrum__store_options){.program = "p"},
		count, files);
	thrum__model_destroy(model);
	return result;
}

static void ten_minutes_each(void **state)
{
	struct files files;

	(void)state;
	assert_int_equal(store(300, &files), 0);
	assert_int_equal(files.tasks, 300);
	assert_int_equal(files.rows, 300);
}

static void too_far_apart(void **state)
{
	struct files files;

	(void)state;
	assert_int_equal(store(THRUM__STORE_FILES_MAX + 1, &files), -THRUM_E_SIZE);
	assert_int_equal(files.tasks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_minutes_each),
		cmocka_unit_test(too_far_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
