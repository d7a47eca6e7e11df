/* SPDX-License-Identifier: ISC */
/*
 * case: convoy
 *   args: convoy
 *   ask: why --slow="POST /charge"
 *   truth: the slowest charge waited for the lock "ledger", which "nightly export" held for 180 ms at a stretch.
 *   culprit: nightly export
 *   victim: POST /charge
 * case: disk
 *   args: disk
 *   ask: why --slow="POST /charge"
 *   truth: the slowest charge had the ledger at once, but its own "fsync receipt" took 170 ms.
 *   culprit: fsync receipt
 *   victim: (nightly export|ledger)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A payment API: three threads take charges, one exports the ledger at night. */
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static thrum_task ledger_task;
static int convoy, disk;

static void ledger_lock(void)
{
	if (pthread_mutex_trylock(&ledger)) {
		thrum_task_wait(thrum_task_current(), ledger_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&ledger);
		thrum_resume();
	}
	thrum_lock_acquired(ledger_task);
}

static void ledger_unlock(void)
{
	thrum_lock_released(ledger_task);
	pthread_mutex_unlock(&ledger);
}

static void receipt(thrum_task charge, int ms)
{
	thrum_task sync = thrum_task_create(THRUM_KIND_REQUEST, "fsync receipt");

	thrum_task_wait(charge, sync);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(ms * 1000u);
	thrum_resume();
	thrum_task_resolve(sync);
	thrum_task_read(charge, sync);
}

static void *serve(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "api %d", number);
	thrum_lane_name(name);
	for (int i = 0; i < 14; i++) {
		thrum_task charge = thrum_task_create(THRUM_KIND_REQUEST, "POST /charge");

		THRUM_RUN (charge) {
			ledger_lock();
			usleep(1500);
			ledger_unlock();
			receipt(charge, disk && number == 2 && i == 6 ? 170 : 4);
			thrum_task_resolve(charge);
		}
		usleep(12000 + 1000 * (unsigned)number);
	}
	return NULL;
}

static void *export(void *data)
{
	thrum_task job;

	thrum_lane_name("cron");
	usleep(100000);
	job = thrum_task_create(THRUM_KIND_TASK, "nightly export");
	THRUM_RUN (job) {
		for (int part = 0; part < 36; part++) {
			if (!convoy || part == 0)
				ledger_lock();
			usleep(convoy ? 5000 : 2000);
			if (!convoy || part == 35)
				ledger_unlock();
			if (!convoy)
				usleep(3000);
		}
		thrum_task_resolve(job);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	convoy = argc > 1 && !strcmp(argv[1], "convoy");
	disk = argc > 1 && !strcmp(argv[1], "disk");
	ledger_task = thrum_task_create(THRUM_KIND_LOCK, "ledger");
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, serve, (void *)(i + 1));
	pthread_create(&threads[3], NULL, export, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
