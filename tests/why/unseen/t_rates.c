/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: the thread "report" holds the readers-writers lock "rates" for reading and takes it again; in between the
 *     writer "reload" has begun to wait, and new readers wait behind a writer. So report waits for itself.
 *   culprit: report
 *   victim: reload|quote
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A table of exchange rates: quotes and reports read it, a reload writes it. Writers are preferred. */
static pthread_rwlock_t rates;
static thrum_task rates_task;
static double table[8];
static bool twice;

static void rates_lock(bool to_write)
{
	if (to_write ? pthread_rwlock_trywrlock(&rates) : pthread_rwlock_tryrdlock(&rates)) {
		thrum_task_wait(thrum_task_current(), rates_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (to_write)
			pthread_rwlock_wrlock(&rates);
		else
			pthread_rwlock_rdlock(&rates);
		thrum_resume();
	}
	thrum_lock_acquired(rates_task);
}

static void rates_unlock(void)
{
	thrum_lock_released(rates_task);
	pthread_rwlock_unlock(&rates);
}

static double convert(int currency, double amount, bool locked)
{
	double result;

	if (!locked)
		rates_lock(false);
	result = amount * table[currency];
	if (!locked)
		rates_unlock();
	return result;
}

static void *report(void *data)
{
	thrum_lane_name("report");
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < 3; i++) {
		double sum = 0;

		usleep(30000);
		rates_lock(false);
		for (int c = 0; c < 8; c++) {
			usleep(6000);
			sum += convert(c, 100, !twice);
		}
		rates_unlock();
		thrum_logf("sum %.1f", sum);
	}
	return NULL;
}

static void *reload(void *data)
{
	thrum_lane_name("reload");
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < 6; i++) {
		rates_lock(true);
		for (int c = 0; c < 8; c++)
			table[c] = 1 + c * 0.1 + i;
		rates_unlock();
		usleep(40000);
	}
	return NULL;
}

static void *quotes(void *data)
{
	thrum_lane_name("quotes");
	for (int i = 0; i < 60; i++) {
		thrum_task quote = thrum_task_createf(THRUM_KIND_REQUEST, "quote %d", i);

		THRUM_RUN (quote) {
			convert(i % 8, 10, false);
			thrum_task_resolve(quote);
		}
		usleep(3000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*const mains[])(void *) = {report, reload, quotes};
	pthread_rwlockattr_t how;
	pthread_t threads[3];

	twice = argc > 1 && !strcmp(argv[1], "broken");
	pthread_rwlockattr_init(&how);
	pthread_rwlockattr_setkind_np(&how, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&rates, &how);
	rates_task = thrum_task_create(THRUM_KIND_LOCK, "rates");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, mains[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	puts("rates: done");
	return 0;
}
