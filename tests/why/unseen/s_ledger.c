/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: The ledger is an actor that takes one message after the other. Its handler of a transfer asks the ledger itself to
 *     debit an account, through its own inbox, and waits for the reply; but the ledger takes no message before the handler
 *     has ended. The api requests behind it hang.
 *   culprit: transfer
 *   victim: api request
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum action {
	DEPOSIT,
	DEBIT,
	TRANSFER
};

struct message {
	enum action action;
	int account, to, amount;
	struct thrum_resolver *reply;
};

static struct thrum_mvar *inbox;
static int balance[4], broken;

/* Sends a message to the ledger, and waits for its reply. */
static struct thrum_promise *await_reply(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return data;
}

static struct thrum_promise *ask(struct thrum_loop *loop, const char *name, enum action action,
	int account, int to, int amount)
{
	struct message *message = calloc(1, sizeof(*message));
	struct thrum_promise *reply = thrum_promise_wait(loop, name, &message->reply);

	message->action = action;
	message->account = account;
	message->to = to;
	message->amount = amount;
	return thrum_promise_bind(thrum_mvar_put(inbox, thrum_value_own(message, NULL)),
		await_reply, reply, NULL);
}

/* ---- The ledger ---- */

static struct thrum_promise *apply(struct thrum_loop *loop, void *value, void *data)
{
	struct message *message = data;

	(void)value;
	balance[message->account] += message->action == DEBIT ? -message->amount : message->amount;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *credit(struct thrum_loop *loop, void *value, void *data)
{
	struct message *message = data;

	(void)value;
	balance[message->to] += message->amount;
	return thrum_sleep(loop, 2); /* the journal */
}

static struct thrum_promise *transfer(struct thrum_loop *loop, struct message *message)
{
	struct thrum_promise *debit;

	if (broken) {
		debit = ask(loop, "debit", DEBIT, message->account, 0, message->amount);
	} else {
		balance[message->account] -= message->amount;
		debit = thrum_sleep(loop, 2);
	}
	return thrum_promise_labelf(thrum_promise_bind(debit, credit, message, NULL),
		"transfer from %d to %d", message->account, message->to);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *data);

static struct thrum_promise *handled(struct thrum_loop *loop, void *value, void *data)
{
	struct message *message = data;

	(void)value;
	thrum_resolver_resolve(message->reply, thrum_value_none());
	free(message);
	return serve(loop, NULL);
}

static struct thrum_promise *handle(struct thrum_loop *loop, void *value, void *data)
{
	struct message *message = value;
	struct thrum_promise *done;

	(void)data;
	if (message->action == TRANSFER)
		done = transfer(loop, message);
	else
		done = thrum_promise_bind(thrum_sleep(loop, 2), apply, message, NULL);
	return thrum_promise_bind(done, handled, message, NULL);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_bind(thrum_mvar_take(inbox), handle, NULL, NULL);
}

/* ---- The API ---- */

static struct thrum_promise *request(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)(intptr_t)data;

	(void)value;
	if (number == 5)
		return ask(loop, "reply", TRANSFER, 1, 2, 30);
	return ask(loop, "reply", DEPOSIT, number % 4, 0, 100);
}

static struct thrum_promise *statistics(struct thrum_loop *loop, void *data);

static struct thrum_promise *statistics_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return statistics(loop, data);
}

/* Runs as long as the program does. */
static struct thrum_promise *statistics(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 70), statistics_again, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *requests[8];
	struct thrum_loop *loop;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	inbox = thrum_mvar_create(loop, "ledger inbox");
	thrum_promise_async(loop, "ledger", serve, NULL, NULL);
	thrum_promise_async(loop, "statistics", statistics, NULL, NULL);
	for (int i = 0; i < 8; i++)
		requests[i] = thrum_promise_should_resolve(
			thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop, 15 * (i + 1)),
						     request, (void *)(intptr_t)i, NULL),
				"api request %d", i));
	result = thrum_promise_run(thrum_promise_join(loop, requests, 8));
	thrum_stop();
	printf("%d: %d %d %d %d\n", result, balance[0], balance[1], balance[2], balance[3]);
	return result != 0;
}
