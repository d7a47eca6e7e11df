/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The cache's lock prefers writers. "nightly report" holds it for reading and calls a function that takes it for reading once more, while "evict cold rows" waits to write: the second reading waits behind the writer, the writer for the first reading. Later lookups queue behind the writer.
 *   culprit: nightly report
 *   victim: evict|lookup
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int readers, writers_waiting;
	bool writing;
	thrum_task task;
} table = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, false, 0};
static int rows[256];
static bool broken;

static void sleep_on_table(void)
{
	thrum_task_wait(thrum_task_current(), table.task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&table.changed, &table.mutex);
	thrum_resume();
}

static void read_lock(void)
{
	pthread_mutex_lock(&table.mutex);
	while (table.writing || table.writers_waiting)
		sleep_on_table();
	table.readers++;
	thrum_lock_acquired(table.task);
	pthread_mutex_unlock(&table.mutex);
}

static void write_lock(void)
{
	pthread_mutex_lock(&table.mutex);
	table.writers_waiting++;
	while (table.writing || table.readers)
		sleep_on_table();
	table.writers_waiting--;
	table.writing = true;
	thrum_lock_acquired(table.task);
	pthread_mutex_unlock(&table.mutex);
}

static void unlock(void)
{
	pthread_mutex_lock(&table.mutex);
	thrum_lock_released(table.task);
	if (table.writing)
		table.writing = false;
	else
		table.readers--;
	pthread_cond_broadcast(&table.changed);
	pthread_mutex_unlock(&table.mutex);
}

static int lookup(int key)
{
	int value;

	read_lock();
	usleep(500);
	value = rows[key];
	unlock();
	return value;
}

static void report(void)
{
	int sum = 0;

	read_lock();
	for (int i = 0; i < 4; i++) {
		usleep(10000);
		sum += rows[i];
	}
	sum += broken ? lookup(4) /* the total's row */ : rows[4];
	unlock();
	rows[255] = sum;
}

static void *client(void *data)
{
	int id = (int)(long)data;

	thrum_lane_name(id ? "client B" : "client A");
	for (int i = 0; i < 12; i++) {
		thrum_task t = thrum_task_createf(THRUM_KIND_REQUEST, "lookup %d", 16 * id + i);

		thrum_task_should_resolve(t);
		THRUM_RUN (t) {
			lookup(16 * id + i);
			thrum_task_resolve(t);
		}
		usleep(8000 + 1000 * id);
	}
	return NULL;
}

static void *reporter(void *unused)
{
	thrum_task t = thrum_task_create(THRUM_KIND_TASK, "nightly report");

	usleep(30000);
	thrum_task_should_resolve(t);
	THRUM_RUN (t) {
		report();
		thrum_task_resolve(t);
	}
	return unused;
}

static void *janitor(void *unused)
{
	for (int i = 0; i < 4; i++) {
		thrum_task t = thrum_task_createf(THRUM_KIND_TASK, "evict cold rows %d", i);

		thrum_task_should_resolve(t);
		THRUM_RUN (t) {
			write_lock();
			usleep(1500);
			rows[100 + i] = 0;
			unlock();
			thrum_task_resolve(t);
		}
		usleep(21000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	table.task = thrum_task_create(THRUM_KIND_LOCK, "row table");
	pthread_create(&threads[0], NULL, client, (void *)0);
	pthread_create(&threads[1], NULL, client, (void *)1);
	pthread_create(&threads[2], NULL, reporter, NULL);
	pthread_create(&threads[3], NULL, janitor, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("report: %d\n", rows[255]);
	return 0;
}
