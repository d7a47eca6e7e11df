/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the actor "auditor" leaves the dispatcher for good when a transfer of 0 reaches it (its behaviour
 *     returns STOP and nobody starts it again), so the letters in its mailbox are never read; the transfers
 *     whose audits lie there never end
 *   culprit: \bauditor\b
 *   victim: transfer \d+
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small bank of actors: tellers ask the ledger and the auditor by letters; two threads run the actors.
 * Its author annotated only the transfers and the letters. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	THREADS = 2,
	TRANSFERS = 12,
	BOX = 32
};
enum verdict {
	CONTINUE,
	STOP
};

struct transfer {
	thrum_task task;
	int number;
	int amount;
	int steps; /* answers that are missing */
};

struct letter {
	thrum_task task;
	struct actor *sender;
	struct transfer *transfer;
	bool is_answer;
};

struct actor {
	const char *name;
	enum verdict (*behave)(struct actor *self, struct letter *letter);
	struct letter *box[BOX];
	unsigned first, count;
	bool is_scheduled, is_stopped;
	struct actor *next;
	long sum;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct actor *run_queue, **run_queue_end = &run_queue;
static int open_transfers;
static bool is_closing;

/* The caller holds the mutex. */
static void schedule(struct actor *actor)
{
	if (actor->is_scheduled || actor->is_stopped || actor->count == 0)
		return;
	actor->is_scheduled = true;
	actor->next = NULL;
	*run_queue_end = actor;
	run_queue_end = &actor->next;
	pthread_cond_broadcast(&changed);
}

static __attribute__((noinline)) void send_letter(struct actor *from, struct actor *to,
	struct transfer *transfer, bool is_answer)
{
	struct letter *letter = calloc(1, sizeof(*letter));

	if (!letter)
		abort();
	letter->task = thrum_task_createf(THRUM_KIND_TASK, "letter to %s", to->name);
	thrum_task_should_resolve(letter->task);
	letter->sender = from;
	letter->transfer = transfer;
	letter->is_answer = is_answer;
	pthread_mutex_lock(&mutex);
	if (to->count == BOX)
		abort();
	to->box[(to->first + to->count++) % BOX] = letter;
	schedule(to);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void transfer_done(struct transfer *transfer)
{
	thrum_task_resolve(transfer->task);
	pthread_mutex_lock(&mutex);
	open_transfers--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static enum verdict ledger_behave(struct actor *self, struct letter *letter)
{
	self->sum += letter->transfer->amount;
	usleep(1000);
	send_letter(self, letter->sender, letter->transfer, true);
	return CONTINUE;
}

/* A transfer of nothing marks the end of the day: then the auditor closes its books. */
static enum verdict auditor_behave(struct actor *self, struct letter *letter)
{
	self->sum++;
	send_letter(self, letter->sender, letter->transfer, true);
	return letter->transfer->amount == 0 ? STOP : CONTINUE;
}

static struct actor ledger = {.name = "ledger", .behave = ledger_behave};
static struct actor auditor = {.name = "auditor", .behave = auditor_behave};

static enum verdict teller_behave(struct actor *self, struct letter *letter)
{
	if (!letter->is_answer) {
		letter->transfer->steps = 2;
		send_letter(self, &ledger, letter->transfer, false);
		send_letter(self, &auditor, letter->transfer, false);
	} else if (--letter->transfer->steps == 0) {
		transfer_done(letter->transfer);
	}
	return CONTINUE;
}

static struct actor teller = {.name = "teller", .behave = teller_behave};

static void *dispatch(void *data)
{
	struct actor *actor;
	struct letter *letter;
	enum verdict verdict;

	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	while (!is_closing) {
		actor = run_queue;
		if (!actor) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
			continue;
		}
		run_queue = actor->next;
		if (!run_queue)
			run_queue_end = &run_queue;
		letter = actor->box[actor->first++ % BOX];
		actor->count--;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (letter->task) {
			verdict = actor->behave(actor, letter);
			thrum_task_resolve(letter->task);
		}
		free(letter);
		pthread_mutex_lock(&mutex);
		actor->is_scheduled = false;
		actor->is_stopped = verdict == STOP;
		schedule(actor);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	static char names[THREADS][16];
	struct transfer transfers[TRANSFERS];
	pthread_t threads[THREADS];

	thrum_start(NULL);
	thrum_lane_name("main");
	for (int i = 0; i < THREADS; i++) {
		snprintf(names[i], sizeof(names[i]), "dispatcher %d", i + 1);
		if (pthread_create(&threads[i], NULL, dispatch, names[i]))
			return 1;
	}
	for (int i = 0; i < TRANSFERS; i++) {
		transfers[i].number = i + 1;
		transfers[i].amount = broken && i == 5 ? 0 : 10 * (i + 1);
		transfers[i].task = thrum_task_createf(THRUM_KIND_TASK, "transfer %d", i + 1);
		thrum_task_should_resolve(transfers[i].task);
		pthread_mutex_lock(&mutex);
		open_transfers++;
		pthread_mutex_unlock(&mutex);
		send_letter(NULL, &teller, &transfers[i], false);
		usleep(20000);
	}
	thrum_suspend(THRUM_BLOCKED);
	pthread_mutex_lock(&mutex);
	while (open_transfers > 0)
		pthread_cond_wait(&changed, &mutex);
	is_closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_resume();
	printf("sum %ld, %ld audits\n", ledger.sum, auditor.sum);
	return 0;
}
