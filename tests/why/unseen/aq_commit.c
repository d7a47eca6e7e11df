/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: transaction 4 only reads from the store billing, and its flag stays set in the coordinator's
 *     record of that store; so no later transaction is prepared there: the tasks "prepare billing N" are
 *     missing (prepare_all)
 *   culprit: \bprepare billing\b
 *   victim: \btransaction\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A coordinator of three threads, each with a store: it commits transactions in two phases. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	STORES = 3,
	TRANSACTIONS = 12,
	BILLING = 1
};
enum order {
	NOTHING,
	PREPARE,
	COMMIT,
	STOP
};

struct store {
	const char *name;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum order order;
	int number; /* of the transaction */
	thrum_task task, mailbox;
	unsigned readers;
	bool is_read_only;
	int prepared, committed;
	struct countdown *countdown;
};

/* How many stores haven't answered yet. */
struct countdown {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int missing;
};

static struct store stores[STORES] = {
	{.name = "stock"},
	{.name = "billing"},
	{.name = "shipping"},
};
static struct countdown countdown = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void store_order(struct store *store, enum order order, int number)
{
	pthread_mutex_lock(&store->mutex);
	store->order = order;
	store->number = number;
	if (order != STOP) {
		store->task = thrum_task_createf(THRUM_KIND_TASK, "%s %s %d",
			order == PREPARE ? "prepare" : "commit", store->name, number);
		thrum_task_should_resolve(store->task);
	}
	thrum_task_signal(store->mailbox, store->readers);
	pthread_cond_signal(&store->changed);
	pthread_mutex_unlock(&store->mutex);
}

static void write_log(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(ms * 1000);
	thrum_resume();
}

static __attribute__((noinline)) void store_prepare(struct store *store)
{
	write_log(3);
	store->prepared++;
}

static __attribute__((noinline)) void store_commit(struct store *store)
{
	write_log(1);
	store->committed++;
}

static void store_answer(struct store *store)
{
	struct countdown *all = store->countdown;

	pthread_mutex_lock(&all->mutex);
	thrum_task_resolve(store->task);
	if (--all->missing == 0)
		pthread_cond_signal(&all->changed);
	pthread_mutex_unlock(&all->mutex);
}

static enum order store_take(struct store *store)
{
	enum order order;

	pthread_mutex_lock(&store->mutex);
	while (store->order == NOTHING) {
		store->readers = 1;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&store->changed, &store->mutex);
		thrum_resume();
	}
	store->readers = 0;
	thrum_task_read(thrum_task_current(), store->mailbox);
	order = store->order;
	store->order = NOTHING;
	pthread_mutex_unlock(&store->mutex);
	return order;
}

static void *run_store(void *data)
{
	struct store *store = data;
	enum order order;

	thrum_lane_name(store->name);
	while ((order = store_take(store)) != STOP)
		THRUM_RUN (store->task) {
			if (order == PREPARE)
				store_prepare(store);
			else
				store_commit(store);
			store_answer(store);
		}
	return NULL;
}

/* Sends an order to those stores that take part, and waits for all of them. */
static void order_and_wait(enum order order, int number, const bool *takes_part)
{
	thrum_task all = thrum_task_createf(THRUM_KIND_JOIN, "all %s %d",
		order == PREPARE ? "prepared" : "committed", number);

	pthread_mutex_lock(&countdown.mutex);
	for (int i = 0; i < STORES; i++)
		countdown.missing += takes_part[i];
	for (int i = 0; i < STORES; i++) {
		if (!takes_part[i])
			continue;
		store_order(&stores[i], order, number);
		thrum_task_wait(all, stores[i].task);
	}
	thrum_task_wait(thrum_task_current(), all);
	thrum_suspend(THRUM_BLOCKED);
	while (countdown.missing > 0)
		pthread_cond_wait(&countdown.changed, &countdown.mutex);
	thrum_resume();
	pthread_mutex_unlock(&countdown.mutex);
	thrum_task_resolve(all);
	thrum_task_read(thrum_task_current(), all);
}

/* Those who are only read have nothing to prepare. */
static __attribute__((noinline)) void prepare_all(int number)
{
	bool takes_part[STORES];

	for (int i = 0; i < STORES; i++)
		takes_part[i] = !stores[i].is_read_only;
	order_and_wait(PREPARE, number, takes_part);
}

static __attribute__((noinline)) void commit_all(int number)
{
	const bool takes_part[STORES] = {true, true, true};

	order_and_wait(COMMIT, number, takes_part);
}

static __attribute__((noinline)) void transaction_run(int number, bool only_reads_billing)
{
	thrum_task transaction = thrum_task_createf(THRUM_KIND_TASK, "transaction %d", number);

	thrum_task_should_resolve(transaction);
	THRUM_RUN (transaction) {
		if (only_reads_billing)
			stores[BILLING].is_read_only = true;
		prepare_all(number);
		commit_all(number);
		thrum_task_resolve(transaction);
	}
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	thrum_start(NULL);
	thrum_lane_name("coordinator");
	for (int i = 0; i < STORES; i++) {
		struct store *store = &stores[i];

		pthread_mutex_init(&store->mutex, NULL);
		pthread_cond_init(&store->changed, NULL);
		store->countdown = &countdown;
		store->mailbox = thrum_task_createf(THRUM_KIND_MAILBOX, "orders for %s",
			store->name);
		if (pthread_create(&store->thread, NULL, run_store, store))
			return 1;
	}
	for (int number = 1; number <= TRANSACTIONS; number++)
		transaction_run(number, broken && number == 4);
	for (int i = 0; i < STORES; i++)
		store_order(&stores[i], STOP, 0);
	for (int i = 0; i < STORES; i++)
		pthread_join(stores[i].thread, NULL);
	thrum_stop();
	for (int i = 0; i < STORES; i++)
		printf("%s: %d prepared, %d committed\n", stores[i].name, stores[i].prepared,
			stores[i].committed);
	return 0;
}
