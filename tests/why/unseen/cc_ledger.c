/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: transfer locks the account and unlocks it in transfer_done, which is bound to the success only. "transfer 5" of
 *     account mill fails for want of money, after it took the lock, and so never gives it back. "transfer 7" waits for
 *     that lock for ever.
 *   culprit: transfer 5|transfer_done|have_lock
 *   victim: main\b|transfer 7
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A ledger on promises. Each account has a lock; a transfer checks the balance, writes the journal, and books. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct account {
	const char *name;
	struct thrum_mutex *lock;
	int balance;
};

struct transfer {
	struct account *account;
	int number;
	int amount;
};

static struct account accounts[] = {{"mill", NULL, 300}, {"farm", NULL, 500}, {"smith", NULL, 200}};
static bool always;
static unsigned booked, refused;

static struct thrum_promise *journal_written(struct thrum_loop *loop, void *value, void *data)
{
	struct transfer *transfer = data;

	(void)value;
	transfer->account->balance -= transfer->amount;
	booked++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *write_journal(struct thrum_loop *loop, struct transfer *transfer)
{
	struct thrum_promise *written = thrum_sleep(loop, 8);

	written = thrum_promise_labelf(written, "journal %d", transfer->number);
	return thrum_promise_bind(written, journal_written, transfer, NULL);
}

/* The balance comes from the bank. */
static struct thrum_promise *check_balance(struct thrum_loop *loop, void *value, void *data)
{
	struct transfer *transfer = data;

	(void)value;
	if (transfer->account->balance < transfer->amount)
		return thrum_promise_fail(loop, -EDQUOT, "%s has only %d", transfer->account->name,
			transfer->account->balance);
	return write_journal(loop, transfer);
}

static struct thrum_promise *transfer_done(struct thrum_loop *loop, void *value, void *data)
{
	struct transfer *transfer = data;

	(void)value;
	thrum_mutex_unlock(transfer->account->lock);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *transfer_ended(struct thrum_loop *loop, void *data)
{
	return transfer_done(loop, NULL, data);
}

static struct thrum_promise *have_lock(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *work;

	(void)value;
	work = thrum_promise_bind(thrum_sleep(loop, 5), check_balance, data, NULL);
	if (always)
		return thrum_promise_finalize(work, transfer_ended, data, NULL);
	return thrum_promise_bind(work, transfer_done, data, NULL);
}

static struct thrum_promise *transfer_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct transfer *transfer = data;

	printf("transfer %d: %s\n", transfer->number, failure->message);
	fflush(stdout);
	refused++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *free_transfer(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *transfer(int number, struct account *account, int amount)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));
	struct thrum_promise *promise;

	transfer->account = account;
	transfer->number = number;
	transfer->amount = amount;
	promise = thrum_promise_bind(thrum_mutex_lock(account->lock), have_lock, transfer, NULL);
	promise = thrum_promise_labelf(promise, "transfer %d", number);
	promise = thrum_promise_catch(promise, transfer_refused, transfer, NULL);
	return thrum_promise_finalize(promise, free_transfer, transfer, free);
}

static struct thrum_promise *run_day(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *next_day(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 15), run_day, data, NULL);
}

static struct thrum_promise *run_day(struct thrum_loop *loop, void *value, void *data)
{
	static const struct {
		int account;
		int amount;
	} orders[][2] = {{{0, 100}, {1, 50}}, {{0, 120}, {2, 30}}, {{0, 100}, {1, 60}},
		{{0, 20}, {2, 10}}, {{1, 5}, {2, 5}}};
	intptr_t day = thrum_int(data);
	struct thrum_promise *both[2];
	struct thrum_promise *all;

	(void)value;
	if (day == (intptr_t)(sizeof(orders) / sizeof(orders[0])))
		return thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < 2; i++)
		both[i] = transfer((int)day * 2 + i + 1, &accounts[orders[day][i].account],
			orders[day][i].amount);
	all = thrum_promise_labelf(thrum_promise_join(loop, both, 2), "day %d", (int)day);
	return thrum_promise_bind(all, next_day, (void *)(day + 1), NULL);
}

static struct thrum_promise *show_clock(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 400), show_clock, data, NULL);
}

static struct thrum_promise *begin_clock(struct thrum_loop *loop, void *data)
{
	return show_clock(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *program;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	always = argc > 1 && !strcmp(argv[1], "healthy");
	uv_loop_init(&uv);
	if (thrum_start(NULL) || thrum_loop_create(&uv, &loop))
		return 1;
	for (int i = 0; i < 3; i++)
		accounts[i].lock = thrum_mutex_create(loop, accounts[i].name);
	thrum_promise_async(loop, "clock", begin_clock, NULL, NULL);
	program = thrum_promise_label(run_day(loop, NULL, NULL), "main");
	code = thrum_promise_run(thrum_promise_should_resolve(program));
	printf("%u booked, %u refused\n", booked, refused);
	thrum_stop();
	for (int i = 0; i < 3; i++)
		thrum_mutex_destroy(accounts[i].lock);
	thrum_loop_destroy(loop);
	return code;
}
