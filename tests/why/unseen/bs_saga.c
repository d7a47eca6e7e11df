/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: When the credit step fails, credit_failed compensates with refund, which locks the source account. But
 *     transfer still holds that lock, until the compensation has ended: it waits for itself, and all later transfers
 *     from or to this account (alice) wait behind it.
 *   culprit: refund|credit_failed|account alice|transfer 4\b
 *   victim: transfer ([5-9]|1[0-9])\b|day
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A bank: a transfer is a saga of a debit and a credit at another bank. If the credit fails, the debit is taken back. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define TRANSFERS 12

struct account {
	const char *label;
	long cents;
	struct thrum_mutex *lock;
};

struct transfer {
	int number;
	struct account *from;
	bool closed; /* the other bank refuses */
};

static bool broken;
static struct account accounts[] = {
	{"account alice", 100000, NULL},
	{"account bob", 100000, NULL},
	{"account carol", 100000, NULL},
};
static struct transfer transfers[TRANSFERS];
static int settled;

static struct thrum_promise *take_back(struct thrum_loop *loop, void *data)
{
	struct transfer *transfer = data;

	transfer->from->cents += 500;
	return thrum_promise_label(thrum_sleep(loop, 3), "journal");
}

/* Compensates the debit. */
static struct thrum_promise *refund(struct thrum_loop *loop, struct transfer *transfer)
{
	if (!broken)
		return take_back(loop, transfer);
	return thrum_mutex_with(transfer->from->lock, take_back, transfer, NULL);
}

static struct thrum_promise *credit_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	return thrum_promise_label(refund(loop, data), "refund");
}

static struct thrum_promise *on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct transfer *transfer = data;

	(void)value;
	if (transfer->closed)
		return thrum_promise_fail(loop, -EPERM, "account closed");
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *credit(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 8), on_answer, data, NULL),
		"credit");
}

/* The first step. */
static struct thrum_promise *debit(struct thrum_loop *loop, void *data)
{
	struct transfer *transfer = data;
	struct thrum_promise *steps;

	transfer->from->cents -= 500;
	steps = thrum_promise_label(thrum_sleep(loop, 4), "debit");
	steps = thrum_promise_bind(steps, credit, transfer, NULL);
	return thrum_promise_catch(steps, credit_failed, transfer, NULL);
}

static void on_settled(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	settled++;
}

static struct thrum_promise *transfer_begin(struct thrum_loop *loop, void *value, void *data)
{
	struct transfer *transfer = data;

	(void)loop;
	(void)value;
	return thrum_mutex_with(transfer->from->lock, debit, transfer, NULL);
}

static struct thrum_promise *transfer_at(struct thrum_loop *loop, struct transfer *transfer)
{
	struct thrum_promise *whole;

	whole = thrum_promise_bind(thrum_sleep(loop, (uint64_t)(10 * transfer->number)),
		transfer_begin, transfer, NULL);
	whole = thrum_promise_labelf(whole, "transfer %d", transfer->number);
	thrum_promise_on_success(thrum_promise_ref(whole), on_settled, NULL, NULL);
	return whole;
}

static void on_report(uv_timer_t *timer)
{
	(void)timer;
	printf("settled %d\n", settled);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[TRANSFERS], *day;
	struct thrum_loop *loop;
	uv_timer_t report;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &report);
	uv_timer_start(&report, on_report, 100, 100);
	for (size_t i = 0; i < 3; i++)
		accounts[i].lock = thrum_mutex_create(loop, accounts[i].label);
	for (int i = 0; i < TRANSFERS; i++) {
		transfers[i] = (struct transfer){.number = i + 1,
			.from = &accounts[i % 3],
			.closed = i == 3};
		all[i] = transfer_at(loop, &transfers[i]);
	}
	day = thrum_promise_label(thrum_promise_join(loop, all, TRANSFERS), "day");
	if (thrum_promise_run(thrum_promise_should_resolve(day)))
		puts("day failed");
	printf("settled %d of %d\n", settled, TRANSFERS);
	thrum_stop();
	return 0;
}
