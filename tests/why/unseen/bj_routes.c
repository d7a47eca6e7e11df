/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the reader thread "stats" waits for a report request while it still counts as an online reader of
 *     the routing table, so it never passes a quiet point and the updater's wait_for_readers never ends; the
 *     request comes only after that.
 *   culprit: stats|report_wait
 *   victim: updater|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A router: readers use the table without a lock, and an update waits until all have seen the new one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORWARDERS 2
#define READERS (FORWARDERS + 1)
#define ROUTES 16
#define UPDATES 3

struct table {
	int version;
	int next_hop[ROUTES];
};

struct reader {
	pthread_t thread;
	int number;
	bool online;
	unsigned long seen;
	long packets;
};

static struct table *current;
static struct reader readers[READERS];
static pthread_mutex_t epoch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reader_moved = PTHREAD_COND_INITIALIZER;
static unsigned long epoch = 1;

static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t report_wanted = PTHREAD_COND_INITIALIZER;
static int reports_wanted;
static int reports_made;

static bool stopping;
static bool rests_offline;

static void reader_set(struct reader *reader, bool online)
{
	pthread_mutex_lock(&epoch_lock);
	reader->online = online;
	reader->seen = epoch;
	pthread_cond_signal(&reader_moved);
	pthread_mutex_unlock(&epoch_lock);
}

/* The reader holds no pointer into the table here. */
static void reader_quiet(struct reader *reader)
{
	reader_set(reader, true);
}

static bool all_have_seen(unsigned long wanted)
{
	for (int i = 0; i < READERS; i++) {
		if (readers[i].online && readers[i].seen < wanted)
			return false;
	}
	return true;
}

static void wait_for_readers(void)
{
	unsigned long wanted;

	pthread_mutex_lock(&epoch_lock);
	wanted = ++epoch;
	while (!all_have_seen(wanted))
		pthread_cond_wait(&reader_moved, &epoch_lock);
	pthread_mutex_unlock(&epoch_lock);
}

static struct table *table_make(int version)
{
	struct table *table = calloc(1, sizeof *table);

	table->version = version;
	for (int i = 0; i < ROUTES; i++)
		table->next_hop[i] = (i * 7 + version) % 5;
	return table;
}

static void *forward(void *data)
{
	struct reader *self = data;
	char name[16];

	snprintf(name, sizeof name, "forward-%d", self->number);
	pthread_setname_np(pthread_self(), name);
	while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		struct table *table = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

		self->packets += table->next_hop[self->packets % ROUTES] >= 0;
		usleep(2000);
		reader_quiet(self);
	}
	reader_set(self, false);
	return NULL;
}

static void report_wait(struct reader *self)
{
	if (rests_offline)
		reader_set(self, false);
	pthread_mutex_lock(&report_lock);
	while (reports_made == reports_wanted)
		pthread_cond_wait(&report_wanted, &report_lock);
	reports_made++;
	pthread_mutex_unlock(&report_lock);
	reader_set(self, true);
}

static void *report(void *data)
{
	struct reader *self = data;

	pthread_setname_np(pthread_self(), "stats");
	for (int i = 0; i < UPDATES; i++) {
		report_wait(self);
		printf("table %d in use\n", __atomic_load_n(&current, __ATOMIC_ACQUIRE)->version);
		reader_quiet(self);
	}
	reader_set(self, false);
	return NULL;
}

static void report_ask(void)
{
	pthread_mutex_lock(&report_lock);
	reports_wanted++;
	pthread_cond_signal(&report_wanted);
	pthread_mutex_unlock(&report_lock);
}

static void *update(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "updater");
	for (int version = 1; version <= UPDATES; version++) {
		struct table *old = current;

		usleep(50000);
		__atomic_store_n(&current, table_make(version), __ATOMIC_RELEASE);
		wait_for_readers();
		free(old);
		report_ask();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t updater;

	rests_offline = argc > 1 && strcmp(argv[1], "healthy") == 0;
	current = table_make(0);
	for (int i = 0; i < READERS; i++) {
		readers[i].number = i;
		readers[i].online = true;
		readers[i].seen = epoch;
		pthread_create(&readers[i].thread, NULL, i < FORWARDERS ? forward : report,
			&readers[i]);
	}
	pthread_create(&updater, NULL, update, NULL);
	pthread_join(updater, NULL);
	__atomic_store_n(&stopping, true, __ATOMIC_RELEASE);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	free(current);
	puts("done");
	return 0;
}
