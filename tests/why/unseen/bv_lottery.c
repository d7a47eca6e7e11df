/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: Terminal 2 changes its paper while draw 3 takes place. printed then waits for the condition of draw 3 without
 *     looking whether it has been drawn already; its signal came before the wait, and no other one comes.
 *   culprit: draw 3\b|\bprinted\b|draw_numbers
 *   victim: terminal 2
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Lottery terminals: each sells a ticket for the next draw, prints it, and settles it after the draw. */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define DRAWS 10
#define TERMINALS 3

struct draw {
	struct thrum_condition *drawn;
	bool is_drawn;
	unsigned number;
};

struct terminal {
	int number;
	int draw; /* for which it sold a ticket */
	unsigned settled;
};

static struct draw draws[DRAWS + 1];
static int next_draw = 1;
static bool broken;
static unsigned seconds10;

static struct thrum_promise *sell(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *settle(struct thrum_loop *loop, void *value, void *data)
{
	struct terminal *terminal = data;

	(void)value;
	terminal->settled++;
	printf("terminal %d: draw %d gave %u\n", terminal->number, terminal->draw,
		draws[terminal->draw].number);
	return thrum_promise_bind(thrum_sleep(loop, 20), sell, terminal, NULL);
}

static struct thrum_promise *printed(struct thrum_loop *loop, void *value, void *data)
{
	struct terminal *terminal = data;
	struct draw *draw = &draws[terminal->draw];
	struct thrum_promise *result;

	(void)value;
	if (!broken && draw->is_drawn)
		result = thrum_promise_return(loop, thrum_value_none());
	else
		result = thrum_condition_wait(draw->drawn, NULL);
	return thrum_promise_bind(result, settle, terminal, NULL);
}

static unsigned printing_ms(const struct terminal *terminal)
{
	if (terminal->number == 2 && terminal->draw == 3)
		return 150; /* the paper must be changed */
	return 10;
}

static struct thrum_promise *sell(struct thrum_loop *loop, void *value, void *data)
{
	struct terminal *terminal = data;
	struct thrum_promise *printing;

	(void)value;
	if (next_draw > DRAWS)
		return thrum_promise_return(loop, thrum_value_none());
	terminal->draw = next_draw;
	printing = thrum_sleep(loop, printing_ms(terminal));
	thrum_promise_labelf(printing, "print a ticket for draw %d", terminal->draw);
	return thrum_promise_bind(printing, printed, terminal, NULL);
}

static struct thrum_promise *draw_numbers(struct thrum_loop *loop, void *value, void *data)
{
	struct draw *draw = &draws[next_draw];

	(void)value;
	draw->number = (unsigned)next_draw * 7919 % 49 + 1;
	draw->is_drawn = true;
	next_draw++;
	thrum_condition_broadcast(draw->drawn, thrum_value_none());
	if (next_draw > DRAWS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 100), draw_numbers, data, NULL);
}

/* The clock on the display. */
static void on_clock(uv_timer_t *timer)
{
	(void)timer;
	seconds10++;
}

int main(int argc, char **argv)
{
	static struct terminal terminals[TERMINALS];
	struct thrum_promise *parts[TERMINALS + 1];
	struct thrum_loop *loop;
	uv_timer_t clock;
	char label[20];
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setlinebuf(stdout);
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &clock);
	uv_timer_start(&clock, on_clock, 100, 100);
	for (int i = 1; i <= DRAWS; i++) {
		snprintf(label, sizeof label, "draw %d", i);
		draws[i].drawn = thrum_condition_create(loop, label);
	}
	for (int i = 0; i < TERMINALS; i++) {
		terminals[i].number = i + 1;
		parts[i] = sell(loop, NULL, &terminals[i]);
		thrum_promise_should_resolve(thrum_promise_labelf(parts[i], "terminal %d", i + 1));
	}
	parts[TERMINALS] = thrum_promise_bind(thrum_sleep(loop, 100), draw_numbers, NULL, NULL);
	thrum_promise_label(parts[TERMINALS], "host");
	error = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, parts, TERMINALS + 1), "day"));
	printf("the day ends: %s\n", thrum_promise_error_message(error));
	return error ? 1 : 0;
}
