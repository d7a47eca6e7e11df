/* SPDX-License-Identifier: ISC */
/*
 * After zephyrproject-rtos/zephyr #53455.
 *
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: Each notification takes one of three contexts, "tx meta data". They are given back by works "tx complete" in the
 *     system work queue. When the charger is plugged in, the work "battery level 6" sends four notifications from this
 *     very queue: alloc_tx_meta_data waits for a fourth context, and the works that would free one stand behind it in
 *     the queue. The fix doesn't wait in the queue's own thread.
 *   culprit: battery level|alloc_tx_meta_data|bt_gatt_notify
 *   victim: beat|tx complete|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A sports watch: its work queue and an application send notifications by radio. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CONTEXTS = 3,
	QUEUE = 32,
	BEATS = 40,
	LEVELS = 12,
	CHARGER_LEVEL = 6
};

struct work {
	void (*run)(void);
	thrum_task task;
};

static struct {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct work works[QUEUE];
	unsigned first, count;
	bool stop;
} sysworkq = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t freed;
	int free;
	thrum_task task;
} meta_data = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.freed = PTHREAD_COND_INITIALIZER,
	.free = CONTEXTS};

/* Packets that the radio still has to send. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	int packets;
	bool stop;
} radio = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static bool broken;
static int levels, values_left, sent, completed;

/* ---- The system work queue ------------------------------------------------------------------ */

static void k_work_submit(const char *name, int number, void (*run)(void))
{
	struct work work = {.run = run,
		.task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", name, number)};

	thrum_task_should_resolve(work.task);
	pthread_mutex_lock(&sysworkq.mutex);
	if (sysworkq.count == QUEUE)
		exit(2);
	sysworkq.works[(sysworkq.first + sysworkq.count++) % QUEUE] = work;
	thrum_task_ready(work.task);
	pthread_cond_signal(&sysworkq.filled);
	pthread_mutex_unlock(&sysworkq.mutex);
}

static void *sysworkq_run(void *data)
{
	(void)data;
	thrum_lane_name("sysworkq");
	pthread_mutex_lock(&sysworkq.mutex);
	for (;;) {
		struct work work;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!sysworkq.count && !sysworkq.stop)
			pthread_cond_wait(&sysworkq.filled, &sysworkq.mutex);
		thrum_resume();
		if (!sysworkq.count)
			break;
		work = sysworkq.works[sysworkq.first];
		sysworkq.first = (sysworkq.first + 1) % QUEUE;
		sysworkq.count--;
		pthread_mutex_unlock(&sysworkq.mutex);
		THRUM_RUN (work.task) {
			work.run();
			thrum_task_resolve(work.task);
		}
		pthread_mutex_lock(&sysworkq.mutex);
	}
	pthread_mutex_unlock(&sysworkq.mutex);
	return NULL;
}

/* ---- Notifications -------------------------------------------------------------------------- */

/* Takes a context for a packet. Returns false if there is none and it can't wait. */
static bool alloc_tx_meta_data(void)
{
	bool may_wait = broken || !pthread_equal(pthread_self(), sysworkq.thread);

	pthread_mutex_lock(&meta_data.mutex);
	if (!meta_data.free && !may_wait) {
		pthread_mutex_unlock(&meta_data.mutex);
		return false;
	}
	if (!meta_data.free) {
		thrum_task_wait(thrum_task_current(), meta_data.task);
		thrum_suspend(THRUM_BLOCKED);
		while (!meta_data.free)
			pthread_cond_wait(&meta_data.freed, &meta_data.mutex);
		thrum_resume();
	}
	meta_data.free--;
	thrum_lock_acquired(meta_data.task);
	pthread_mutex_unlock(&meta_data.mutex);
	return true;
}

static void free_tx_meta_data(void)
{
	pthread_mutex_lock(&meta_data.mutex);
	meta_data.free++;
	thrum_lock_released(meta_data.task);
	pthread_cond_signal(&meta_data.freed);
	pthread_mutex_unlock(&meta_data.mutex);
}

static bool bt_gatt_notify(void)
{
	if (!alloc_tx_meta_data())
		return false;
	pthread_mutex_lock(&radio.mutex);
	radio.packets++;
	sent++;
	pthread_cond_signal(&radio.filled);
	pthread_mutex_unlock(&radio.mutex);
	return true;
}

/* A work: sends the values of the battery that are left. */
static void notify_battery(void)
{
	while (values_left > 0 && bt_gatt_notify())
		values_left--;
}

static void submit_level(void)
{
	k_work_submit("battery level", levels, notify_battery);
}

/* A work: the radio has sent a packet. */
static void tx_complete(void)
{
	free_tx_meta_data();
	completed++;
	if (values_left > 0)
		submit_level(); /* there is a context again */
}

/* A work: the gauge has measured. */
static void measure(void)
{
	levels++;
	values_left += levels == CHARGER_LEVEL ? 4 : 1; /* also current, health, temperature */
	submit_level();
}

static void *radio_run(void *data)
{
	int number = 0;

	(void)data;
	thrum_lane_name("radio");
	for (;;) {
		pthread_mutex_lock(&radio.mutex);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!radio.packets && !radio.stop)
			pthread_cond_wait(&radio.filled, &radio.mutex);
		thrum_resume();
		if (!radio.packets) {
			pthread_mutex_unlock(&radio.mutex);
			return NULL;
		}
		radio.packets--;
		pthread_mutex_unlock(&radio.mutex);
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		usleep(4000); /* until the next connection event */
		thrum_resume();
		k_work_submit("tx complete", ++number, tx_complete);
	}
}

/* ---- The application ------------------------------------------------------------------------ */

static void *heart_rate(void *data)
{
	(void)data;
	thrum_lane_name("heart rate");
	for (int i = 1; i <= BEATS; i++) {
		thrum_task beat = thrum_task_createf(THRUM_KIND_TASK, "beat %d", i);

		thrum_task_should_resolve(beat);
		THRUM_RUN (beat) {
			bt_gatt_notify();
			thrum_task_resolve(beat);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(20000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t application, controller;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	meta_data.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "tx meta data");
	if (pthread_create(&sysworkq.thread, NULL, sysworkq_run, NULL) ||
		pthread_create(&controller, NULL, radio_run, NULL) ||
		pthread_create(&application, NULL, heart_rate, NULL))
		return 2;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 1; i <= LEVELS; i++) {
		usleep(60000);
		thrum_resume();
		k_work_submit("measure", i, measure);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
	}
	pthread_join(application, NULL);
	usleep(50000);
	pthread_mutex_lock(&radio.mutex);
	radio.stop = true;
	pthread_cond_signal(&radio.filled);
	pthread_mutex_unlock(&radio.mutex);
	pthread_join(controller, NULL);
	pthread_mutex_lock(&sysworkq.mutex);
	sysworkq.stop = true;
	pthread_cond_signal(&sysworkq.filled);
	pthread_mutex_unlock(&sysworkq.mutex);
	pthread_join(sysworkq.thread, NULL);
	thrum_resume();
	thrum_stop();
	printf("%d notifications, %d completed\n", sent, completed);
	return 0;
}
