/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The shard "orders" drops messages while it recovers from a restart. It should have put the
 *          prepare of tx 6 aside and voted later, or voted no; tx 6 waits for that vote for ever.
 *   culprit: tx 6: prepare orders|shard orders
 *   victim: tx 6|tx 7|checkout
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Two-phase commit between three shards, each a thread with a queue of messages. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	SHARDS = 3,
	TRANSACTIONS = 14,
	RECOVERY_MS = 60
};
enum verb {
	PREPARE,
	COMMIT,
	RESTART
};
enum state {
	IDLE,
	PREPARED,
	RECOVERING
};

static const char *const verbs[] = {"prepare", "commit", "restart"};

struct transaction {
	int number, pending;
	pthread_mutex_t mutex;
	pthread_cond_t answered;
	thrum_task task;
};

struct message {
	enum verb verb;
	struct transaction *transaction;
	thrum_task task;
	struct message *next;
};

static struct shard {
	const char *name;
	enum state state;
	struct timespec recovered; /* the end of the recovery */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct message *first, **end, *deferred;
} shards[SHARDS] = {{.name = "stock"}, {.name = "orders"}, {.name = "payments"}};

static bool keep_messages;

static void shard_send(struct shard *shard, enum verb verb, struct transaction *transaction)
{
	struct message *message = calloc(1, sizeof(*message));

	message->verb = verb;
	message->transaction = transaction;
	if (transaction) {
		message->task = thrum_task_createf(THRUM_KIND_PROMISE, "tx %d: %s %s",
			transaction->number, verbs[verb], shard->name);
		thrum_task_wait(transaction->task, message->task);
	}
	pthread_mutex_lock(&shard->mutex);
	*shard->end = message;
	shard->end = &message->next;
	pthread_cond_signal(&shard->changed);
	pthread_mutex_unlock(&shard->mutex);
}

static void answer(struct message *message)
{
	struct transaction *transaction = message->transaction;

	pthread_mutex_lock(&transaction->mutex);
	thrum_task_resolve(message->task);
	if (--transaction->pending == 0)
		pthread_cond_signal(&transaction->answered);
	pthread_mutex_unlock(&transaction->mutex);
	free(message);
}

static void shard_handle(struct shard *shard, struct message *message)
{
	switch (shard->state) {
	case RECOVERING:
		if (keep_messages)
			shard->deferred = message;
		break;
	case IDLE:
	case PREPARED:
		usleep(800); /* writes the redo log */
		shard->state = shard->state == IDLE ? PREPARED : IDLE;
		answer(message);
	}
}

static void shard_restart(struct shard *shard)
{
	shard->state = RECOVERING;
	clock_gettime(CLOCK_REALTIME, &shard->recovered);
	shard->recovered.tv_nsec += RECOVERY_MS * 1000000L;
	shard->recovered.tv_sec += shard->recovered.tv_nsec / 1000000000L;
	shard->recovered.tv_nsec %= 1000000000L;
}

/* Returns the next message, or NULL at the end of a recovery. */
static struct message *shard_next(struct shard *shard)
{
	struct message *message;
	int late = 0;

	pthread_mutex_lock(&shard->mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!shard->first && !late)
		late = shard->state == RECOVERING
			? pthread_cond_timedwait(&shard->changed, &shard->mutex, &shard->recovered)
			: pthread_cond_wait(&shard->changed, &shard->mutex);
	thrum_resume();
	message = shard->first;
	if (message && !(shard->first = message->next))
		shard->end = &shard->first;
	pthread_mutex_unlock(&shard->mutex);
	return message;
}

static void *shard_thread(void *data)
{
	struct shard *shard = data;
	struct message *message;
	char name[32];

	snprintf(name, sizeof(name), "shard %s", shard->name);
	thrum_lane_name(name);
	for (;;) {
		message = shard_next(shard);
		if (!message) { /* it has recovered */
			shard->state = IDLE;
			message = shard->deferred;
			shard->deferred = NULL;
		}
		if (message && message->verb == RESTART)
			shard_restart(shard);
		else if (message)
			THRUM_RUN (message->task)
				shard_handle(shard, message);
	}
	return NULL;
}

/* Sends a message to all shards, and waits for their answers. */
static void ask_all(struct transaction *transaction, enum verb verb)
{
	transaction->pending = SHARDS;
	for (int i = 0; i < SHARDS; i++)
		shard_send(&shards[i], verb, transaction);
	pthread_mutex_lock(&transaction->mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (transaction->pending > 0)
		pthread_cond_wait(&transaction->answered, &transaction->mutex);
	thrum_resume();
	pthread_mutex_unlock(&transaction->mutex);
}

int main(int argc, char **argv)
{
	struct transaction transaction = {.mutex = PTHREAD_MUTEX_INITIALIZER,
		.answered = PTHREAD_COND_INITIALIZER};

	keep_messages = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	thrum_lane_name("checkout");
	for (int i = 0; i < SHARDS; i++) {
		shards[i].end = &shards[i].first;
		pthread_mutex_init(&shards[i].mutex, NULL);
		pthread_cond_init(&shards[i].changed, NULL);
		pthread_create(&shards[i].thread, NULL, shard_thread, &shards[i]);
	}
	for (int i = 1; i <= TRANSACTIONS; i++) {
		if (i == 6 || i == 11)
			shard_send(&shards[i == 6 ? 1 : 0], RESTART, NULL);
		transaction.number = i;
		transaction.task = thrum_task_createf(THRUM_KIND_TASK, "tx %d", i);
		thrum_task_should_resolve(transaction.task);
		THRUM_RUN (transaction.task) {
			ask_all(&transaction, PREPARE);
			ask_all(&transaction, COMMIT);
			thrum_task_resolve(transaction.task);
		}
	}
	thrum_stop();
	printf("%d transactions committed\n", TRANSACTIONS);
	return 0;
}
