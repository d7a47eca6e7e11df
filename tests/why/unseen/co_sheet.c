/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: In the fifth round a user gives cell B2 the formula D4, though D4 adds C3, and C3 adds B2. set_formula doesn't
 *     look for circles. The cells' values are shared promises, so B2, D4 and C3 wait for each other, and the
 *     total and the recalculation for them.
 *   culprit: cell (B2|C3|D4)
 *   victim: cell E1|recalculate|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A spreadsheet: each cell is a constant, a price from a feed, or the sum of other cells. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CELLS 8
#define PARTS_MAX 3
#define ROUNDS 8

struct cell {
	const char *name;
	int constant;
	unsigned feed; /* ms that the feed needs; 0: no feed */
	const char *parts[PARTS_MAX];
	struct thrum_promise *value; /* of this round; shared by all that need it */
	int last;
};

static struct cell cells[CELLS] = {
	{"A1", 5, 0, {NULL}, NULL, 0}, {"A2", 7, 10, {NULL}, NULL, 0},
	{"A3", 11, 15, {NULL}, NULL, 0}, {"B1", 0, 0, {"A1", "A2"}, NULL, 0},
	{"B2", 0, 0, {"A3"}, NULL, 0}, {"C3", 0, 0, {"B1", "B2"}, NULL, 0},
	{"D4", 0, 0, {"C3", "A2"}, NULL, 0}, {"E1", 0, 0, {"D4", "A1"}, NULL, 0}, /* the total */
};

static bool broken, closed;
static unsigned saves;

static struct cell *find_cell(const char *name)
{
	for (int i = 0; i < CELLS; i++)
		if (!strcmp(cells[i].name, name))
			return &cells[i];
	abort();
}

static bool needs(const struct cell *cell, const char *name)
{
	if (!strcmp(cell->name, name))
		return true;
	for (int i = 0; i < PARTS_MAX && cell->parts[i]; i++)
		if (needs(find_cell(cell->parts[i]), name))
			return true;
	return false;
}

/* A user types a formula. */
static bool set_formula(const char *name, const char *part)
{
	struct cell *cell = find_cell(name);

	if (!broken && needs(find_cell(part), name))
		return false;
	cell->parts[0] = part;
	return true;
}

static struct thrum_value add_parts(struct thrum_loop *loop, void *value, void *data)
{
	struct cell *cell = data;

	(void)loop;
	(void)value;
	cell->last = cell->constant;
	for (int i = 0; i < PARTS_MAX && cell->parts[i]; i++)
		cell->last += find_cell(cell->parts[i])->last;
	return thrum_value_none();
}

static struct thrum_promise *cell_value(struct thrum_loop *loop, struct cell *cell);

static struct thrum_promise *compute(struct thrum_loop *loop, struct cell *cell)
{
	struct thrum_promise *parts[PARTS_MAX + 1];
	size_t count = 0;

	if (cell->feed)
		parts[count++] = thrum_sleep(loop, cell->feed);
	for (int i = 0; i < PARTS_MAX && cell->parts[i]; i++)
		parts[count++] = cell_value(loop, find_cell(cell->parts[i]));
	return thrum_promise_map(thrum_promise_join(loop, parts, count), add_parts, cell, NULL);
}

/* Returns the value of a cell, which is computed once in a round. */
static struct thrum_promise *cell_value(struct thrum_loop *loop, struct cell *cell)
{
	struct thrum_resolver *resolver;

	if (cell->value)
		return thrum_promise_ref(cell->value);
	cell->value = thrum_promise_wait(loop, NULL, &resolver);
	thrum_promise_labelf(cell->value, "cell %s", cell->name);
	thrum_resolver_follow(resolver, compute(loop, cell));
	return thrum_promise_ref(cell->value);
}

static void forget_values(void)
{
	for (int i = 0; i < CELLS; i++) {
		thrum_promise_unref(cells[i].value);
		cells[i].value = NULL;
	}
}

static struct thrum_promise *recalculate(struct thrum_loop *loop, int round)
{
	struct thrum_promise *total;

	forget_values();
	if (round == 5 && !set_formula("B2", "D4"))
		puts("that formula would need itself");
	if (round == 3)
		set_formula("E1", "C3");
	if (round == 4)
		set_formula("E1", "D4");
	total = thrum_promise_no_cancel(cell_value(loop, find_cell("E1")));
	return thrum_promise_should_resolve(thrum_promise_labelf(total, "recalculate %d", round));
}

static struct thrum_promise *next_round(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t round = (intptr_t)data;

	(void)value;
	if (round > 1)
		printf("round %d: total %d\n", (int)round - 1, find_cell("E1")->last);
	fflush(stdout);
	if (round > ROUNDS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(recalculate(loop, (int)round), next_round, (void *)(round + 1),
		NULL);
}

static struct thrum_promise *save(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (closed)
		return thrum_promise_return(loop, thrum_value_none());
	saves++;
	return thrum_promise_bind(thrum_sleep(loop, 60), save, NULL, NULL);
}

static struct thrum_promise *begin_saving(struct thrum_loop *loop, void *data)
{
	return save(loop, NULL, data);
}

static struct thrum_promise *play(struct thrum_loop *loop)
{
	struct thrum_promise *opened = thrum_sleep(loop, 5);

	return thrum_promise_bind(opened, next_round, (void *)1, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	thrum_promise_async(loop, "save the sheet", begin_saving, NULL, NULL);
	error = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_label(play(loop), "main")));
	printf("closed after %u saves: %s\n", saves, thrum_promise_error_message(error));
	closed = true;
	thrum_stop();
	uv_run(&uv, UV_RUN_DEFAULT);
	forget_values();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) != 0;
}
