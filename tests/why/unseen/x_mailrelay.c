/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: size 256K kill 950
 *   ask: why
 *   truth: The two relays to dead.example bounced with 550 and left the function without giving their "smtp slots" back; later relays wait for a slot for ever. Local mail goes on and overwrites the ring.
 *   culprit: dead\.example
 *   victim: relay order-|smtp slots
 * case: healthy
 *   args: healthy
 *   run: size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	SLOTS = 2,
	RELAYS = 3,
	MESSAGES = 30
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t given_back;
	int free;
	thrum_task task;
} slots = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, SLOTS, 0};

static pthread_mutex_t mbox = PTHREAD_MUTEX_INITIALIZER;
static thrum_task mbox_task;
static atomic_int next_message;
static atomic_bool relays_done;
static bool broken;

static void slot_take(void)
{
	pthread_mutex_lock(&slots.mutex);
	if (slots.free == 0) {
		thrum_task_wait(thrum_task_current(), slots.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (slots.free == 0)
			pthread_cond_wait(&slots.given_back, &slots.mutex);
		thrum_resume();
	}
	slots.free--;
	thrum_lock_acquired(slots.task);
	pthread_mutex_unlock(&slots.mutex);
}

static void slot_give(void)
{
	pthread_mutex_lock(&slots.mutex);
	slots.free++;
	thrum_lock_released(slots.task);
	pthread_cond_signal(&slots.given_back);
	pthread_mutex_unlock(&slots.mutex);
}

static bool smtp_send(int number)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(3000);
	thrum_resume();
	return number != 4 && number != 5;
}

static void relay(int number)
{
	thrum_task task;

	if (number == 4 || number == 5)
		task = thrum_task_createf(THRUM_KIND_TASK, "relay list-%d@dead.example", number);
	else
		task = thrum_task_createf(THRUM_KIND_TASK, "relay order-%d", number);
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		slot_take();
		if (!smtp_send(number)) {
			thrum_log("550 no such user, bounced");
			if (broken)
				return;
			slot_give();
			thrum_task_fail(task, "550 no such user");
			return;
		}
		slot_give();
		thrum_task_resolve(task);
	}
}

static void *relay_thread(void *unused)
{
	int number;

	thrum_lane_name("relay agent");
	while ((number = next_message++) < MESSAGES)
		relay(number);
	return unused;
}

/* Local mail: many small deliveries. */
static void *local_thread(void *unused)
{
	thrum_lane_name("local agent");
	for (int round = 0; round < 220; round++) {
		if (round > 110 && relays_done)
			break;
		for (int i = 0; i < 600; i++) {
			thrum_task task = thrum_task_create(THRUM_KIND_TASK, "deliver local");

			thrum_task_should_resolve(task);
			THRUM_RUN (task) {
				pthread_mutex_lock(&mbox);
				thrum_lock_acquired(mbox_task);
				thrum_lock_released(mbox_task);
				pthread_mutex_unlock(&mbox);
				thrum_task_resolve(task);
			}
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(4000);
		thrum_resume();
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t relays[RELAYS], local;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	slots.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "smtp slots");
	mbox_task = thrum_task_create(THRUM_KIND_LOCK, "mbox");
	pthread_create(&local, NULL, local_thread, NULL);
	for (int i = 0; i < RELAYS; i++)
		pthread_create(&relays[i], NULL, relay_thread, NULL);
	for (int i = 0; i < RELAYS; i++)
		pthread_join(relays[i], NULL);
	relays_done = true;
	pthread_join(local, NULL);
	return 0;
}
