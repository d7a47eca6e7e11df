/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 1100
 *   ask: why
 *   truth: Late in the run the stock is low; then the inventory actor asks billing for a credit check, while billing waits in its charge for the inventory's reservation: two modules that call each other in a cycle.
 *   culprit: credit check|reserve|inventory|billing
 *   victim: checkout
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
/* shop: three actors, each a thread with a mailbox, that ask each other and wait for the answer */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>

#define ORDERS 5000
#define LOW_STOCK 4500

struct letter {
	struct letter *next;
	int order;
	bool quick, answered;
	thrum_task task;
	struct actor *to;
};

struct actor {
	const char *name;
	void (*handle)(struct letter *);
	struct letter *first, **last;
	int readers;
	pthread_mutex_t mutex;
	pthread_cond_t come, answered;
	thrum_task mailbox;
	pthread_t thread;
};

static bool broken;
static void charge(struct letter *), reserve(struct letter *);
static struct actor billing = {"billing", charge}, inventory = {"inventory", reserve};

static void ask(struct actor *actor, struct letter *letter, const char *what)
{
	thrum_task self = thrum_task_current();

	letter->to = actor;
	letter->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", what, letter->order);
	thrum_task_should_resolve(letter->task);
	pthread_mutex_lock(&actor->mutex);
	*actor->last = letter;
	actor->last = &letter->next;
	thrum_task_signal(actor->mailbox, actor->readers);
	pthread_cond_signal(&actor->come);
	thrum_task_wait(self, letter->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!letter->answered)
		pthread_cond_wait(&actor->answered, &actor->mutex);
	thrum_resume();
	pthread_mutex_unlock(&actor->mutex);
	thrum_task_read(self, letter->task);
}

static void *actor_main(void *data)
{
	struct actor *actor = data;
	struct letter *letter;
	bool stop;

	thrum_lane_name(actor->name);
	for (;;) {
		pthread_mutex_lock(&actor->mutex);
		actor->readers++;
		while (!(letter = actor->first)) {
			thrum_task_wait(thrum_task_current(), actor->mailbox);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&actor->come, &actor->mutex);
			thrum_resume();
		}
		actor->readers--;
		actor->first = letter->next;
		if (!letter->next)
			actor->last = &actor->first;
		thrum_task_read(thrum_task_current(), actor->mailbox);
		pthread_mutex_unlock(&actor->mutex);
		stop = letter->order < 0;
		THRUM_RUN (letter->task) {
			if (!stop)
				actor->handle(letter);
			thrum_task_resolve(letter->task);
		}
		pthread_mutex_lock(&actor->mutex);
		letter->answered = true;
		pthread_cond_broadcast(&actor->answered);
		pthread_mutex_unlock(&actor->mutex);
		if (stop)
			return NULL; /* the letter was the asker's, who may be gone */
	}
}

static void charge(struct letter *letter)
{
	struct letter reservation = {.order = letter->order};

	if (letter->quick)
		return; /* a credit check only */
	ask(&inventory, &reservation, "reserve");
}

static void reserve(struct letter *letter)
{
	struct letter check = {.order = letter->order, .quick = true};

	if (letter->order > LOW_STOCK && broken)
		ask(&billing, &check, "credit check");
}

static void start(struct actor *actor)
{
	pthread_mutex_init(&actor->mutex, NULL);
	pthread_cond_init(&actor->come, NULL);
	pthread_cond_init(&actor->answered, NULL);
	actor->last = &actor->first;
	actor->mailbox = thrum_task_createf(THRUM_KIND_MAILBOX, "%s mailbox", actor->name);
	pthread_create(&actor->thread, NULL, actor_main, actor);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	start(&billing);
	start(&inventory);
	for (int i = 0; i < ORDERS; i++) {
		thrum_task checkout = thrum_task_createf(THRUM_KIND_TASK, "checkout %d", i);
		struct letter letter = {.order = i};

		thrum_task_should_resolve(checkout);
		THRUM_RUN (checkout) {
			ask(&billing, &letter, "charge");
			thrum_task_resolve(checkout);
		}
	}
	ask(&billing, &(struct letter){.order = -1}, "stop");
	ask(&inventory, &(struct letter){.order = -1}, "stop");
	pthread_join(billing.thread, NULL);
	pthread_join(inventory.thread, NULL);
	printf("shop: %d orders\n", ORDERS);
	return 0;
}
