/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The refresher announces the new generation of the table with pthread_cond_signal where a broadcast is needed: only one of the three lookups wakes up, the other two wait on for the condition "table fresh" for ever.
 *   culprit: refresher|table_publish
 *   victim: lookup (de|fr|it)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* rates: lookups wait while the table of rates is stale; a refresher publishes a new one */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct table {
	pthread_mutex_t mutex;
	pthread_cond_t fresh;
	int generation, waiters;
	thrum_task task;
};

static struct table table = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static bool broken;

static void table_await(struct table *t, int generation)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&t->mutex);
	while (t->generation < generation) {
		t->waiters++;
		thrum_task_wait(self, t->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&t->fresh, &t->mutex);
		thrum_resume();
		thrum_task_read(self, t->task);
	}
	pthread_mutex_unlock(&t->mutex);
}

static void table_publish(struct table *t)
{
	pthread_mutex_lock(&t->mutex);
	t->generation++;
	thrum_task_signal(t->task, t->waiters);
	if (broken && t->generation == 4) { /* the "fast path" of the second half of the day */
		if (t->waiters)
			t->waiters--;
		pthread_cond_signal(&t->fresh);
	} else {
		t->waiters = 0;
		pthread_cond_broadcast(&t->fresh);
	}
	pthread_mutex_unlock(&t->mutex);
}

static void *refresher(void *data)
{
	thrum_lane_name("refresher");
	for (int i = 0; i < 4; i++) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(60000); /* asks the bank */
		thrum_resume();
		table_publish(&table);
	}
	return NULL;
}

static void *country(void *data)
{
	char label[32];

	snprintf(label, sizeof(label), "country %s", (char *)data);
	thrum_lane_name(label);
	for (int generation = 1; generation <= 4; generation++) {
		thrum_task lookup = thrum_task_createf(THRUM_KIND_TASK, "lookup %s", (char *)data);

		thrum_task_should_resolve(lookup);
		THRUM_RUN (lookup) {
			table_await(&table, generation);
			thrum_task_resolve(lookup);
		}
		usleep(5000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char *countries[] = {"de", "fr", "it"};
	pthread_t threads[3], thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	table.task = thrum_task_create(THRUM_KIND_CONDITION, "table fresh");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, country, countries[i]);
	pthread_create(&thread, NULL, refresher, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_join(thread, NULL);
	printf("rates: generation %d\n", table.generation);
	return 0;
}
