/* SPDX-License-Identifier: ISC */
/* The table of live tasks is read while it changes: a task counts if it is there all the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/packet.h"

#define CELLS 16

/* A table that changes before a read. */
struct table {
	struct thrum__live_task cells[CELLS];
	unsigned reads, change; /* `change`: the number of that read, from 1 on; 0: none */
	uint64_t waiting;       /* what cell 5 has then, if its tag stays */
	uint32_t tag;
};

static int64_t read_table(void *owner, uint64_t offset, void *to, size_t size)
{
	struct table *table = owner;

	if (++table->reads == table->change) {
		table->cells[5].tag = table->tag;
		table->cells[5].waiting = table->waiting;
	}
	if (offset >= sizeof table->cells)
		return 0;
	if (size > sizeof table->cells - offset)
		size = sizeof table->cells - offset;
	memcpy(to, (const char *)table->cells + offset, size);
	return (int64_t)size;
}

/* Reads it all, and returns the tag of cell 5; *cells: the copy. */
static uint32_t tag_of(struct table *table, struct thrum__live_task cells[CELLS])
{
	const struct thrum__input input = {.owner = table, .read = read_table};
	static const struct thrum__header header;

	memset(cells, 0xff, CELLS * sizeof *cells);
	assert_int_equal(thrum__format_live_read(&input, &header, 0, cells, CELLS), CELLS);
	return cells[5].tag;
}

static void a_free_table_is_read_once(void **state)
{
	struct thrum__live_task cells[CELLS];
	struct table table = {.reads = 0};

	assert_int_equal(tag_of(&table, cells), 0);
	assert_int_equal(table.reads, 1);
	for (size_t i = 0; i < CELLS; i++)
		assert_int_equal(cells[i].tag, 0);
	/* A task that comes after that doesn't count. */
	table = (struct table){.change = 2, .tag = 21};
	assert_int_equal(tag_of(&table, cells), 0);
	table = (struct table){.change = 1, .tag = 21};
	assert_int_equal(tag_of(&table, cells), 21);
}

static void a_task_counts_if_it_is_there_all_the_time(void **state)
{
	struct thrum__live_task cells[CELLS];

	for (unsigned change = 0; change <= 4; change++) {
		/* Cell 7 has a task throughout, cell 5 becomes free or gets another one. */
		for (uint32_t tag = 0; tag <= 37; tag += 37) {
			struct table table = {.change = change, .tag = tag};

			table.cells[5].tag = 21;
			table.cells[7].tag = 23;
			bool stays = change == 0 || change == 4, is_other = change == 1;

			assert_int_equal(tag_of(&table, cells), stays ? 21 : is_other ? tag : 0);
			assert_int_equal(cells[7].tag, 23);
			assert_int_equal(cells[0].tag, 0);
		}
	}
}

static void a_wait_counts_if_it_is_whole(void **state)
{
	struct thrum__live_task cells[CELLS];

	for (unsigned change = 0; change <= 3; change++) {
		struct table table = {.change = change, .tag = 21, .waiting = 9};

		table.cells[5].tag = 21;
		table.cells[5].waiting = 8;
		assert_int_equal(tag_of(&table, cells), 21);
		assert_int_equal(cells[5].waiting, change == 0 ? 8 : change == 1 ? 9 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_table_is_read_once),
		cmocka_unit_test(a_task_counts_if_it_is_there_all_the_time),
		cmocka_unit_test(a_wait_counts_if_it_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
