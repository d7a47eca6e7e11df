/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The writer at the head of the line writes for all in it, and then makes the next one the head. Large records
 *     are written alone by write_large, which returns without naming a new head. Those who came meanwhile wait
 *     for a turn that nobody gives them. The thread "import" did that and has ended.
 *   culprit: write_large|run_import|thread import
 *   victim: order|append_record
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The journal of a shop: threads append records, and who comes first writes those of all who wait (group commit). */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE 4096
#define ORDERS 3

struct record {
	size_t size;
	bool written;
	sem_t turn; /* it is written, or its writer is the head now */
	struct record *next;
};

struct journal {
	pthread_mutex_t mutex;
	struct record *first;
	struct record **last;
	size_t size;
	unsigned batches;
};

static struct journal journal = {.mutex = PTHREAD_MUTEX_INITIALIZER, .last = &journal.first};
static bool hands_over; /* whether write_large names the next head */
static atomic_int orders_left = ORDERS;
static atomic_bool importing;

static void disk_write(size_t size)
{
	usleep(size >= LARGE ? 150000 : 3000);
}

/* The caller has the mutex. */
static struct record *remove_first(void)
{
	struct record *record = journal.first;

	journal.first = record->next;
	if (!journal.first)
		journal.last = &journal.first;
	journal.size += record->size;
	record->written = true;
	return record;
}

/* The caller has the mutex. */
static void name_next_head(void)
{
	if (journal.first)
		sem_post(&journal.first->turn);
}

/* Writes the records of all who are in the line now. The head's own is the first. */
static void write_batch(struct record *own)
{
	struct record *record;
	unsigned count = 0;
	size_t size = 0;

	pthread_mutex_lock(&journal.mutex);
	for (record = journal.first; record && record->size < LARGE; record = record->next) {
		size += record->size;
		count++;
	}
	pthread_mutex_unlock(&journal.mutex);
	disk_write(size);
	pthread_mutex_lock(&journal.mutex);
	while (count-- > 0) {
		record = remove_first();
		if (record != own)
			sem_post(&record->turn);
	}
	journal.batches++;
	name_next_head();
	pthread_mutex_unlock(&journal.mutex);
}

/* Writes one large record straight from its buffer. */
static void write_large(struct record *own)
{
	disk_write(own->size);
	pthread_mutex_lock(&journal.mutex);
	remove_first();
	journal.batches++;
	if (hands_over)
		name_next_head();
	pthread_mutex_unlock(&journal.mutex);
}

static void append_record(size_t size)
{
	struct record own = {.size = size};
	bool head;

	sem_init(&own.turn, 0, 0);
	pthread_mutex_lock(&journal.mutex);
	head = !journal.first;
	*journal.last = &own;
	journal.last = &own.next;
	pthread_mutex_unlock(&journal.mutex);
	if (!head)
		sem_wait(&own.turn);
	if (!own.written) {
		if (own.size >= LARGE)
			write_large(&own);
		else
			write_batch(&own);
	}
	sem_destroy(&own.turn);
}

static void *run_orders(void *data)
{
	char name[16];
	int number = *(int *)data;

	snprintf(name, sizeof name, "order %d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 80; i++) {
		append_record(100 + (size_t)number);
		usleep(8000);
	}
	atomic_fetch_sub(&orders_left, 1);
	return NULL;
}

/* Takes over the stock of a supplier: a few small lists, then a large one. */
static void *run_import(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "import");
	for (int i = 0; i < 4; i++) {
		append_record(900);
		usleep(60000);
	}
	append_record(3 * LARGE);
	atomic_store(&importing, false);
	return NULL;
}

static void *run_sensors(void *data)
{
	unsigned *samples = data;

	pthread_setname_np(pthread_self(), "sensors");
	while (atomic_load(&orders_left) > 0) {
		++*samples;
		usleep(40000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t orders[ORDERS];
	pthread_t import;
	pthread_t sensors;
	int numbers[ORDERS];
	unsigned samples = 0;

	hands_over = argc < 2 || strcmp(argv[1], "broken");
	atomic_store(&importing, true);
	for (int i = 0; i < ORDERS; i++) {
		numbers[i] = i + 1;
		pthread_create(&orders[i], NULL, run_orders, &numbers[i]);
	}
	pthread_create(&import, NULL, run_import, NULL);
	pthread_create(&sensors, NULL, run_sensors, &samples);
	pthread_join(import, NULL);
	for (int i = 0; i < ORDERS; i++)
		pthread_join(orders[i], NULL);
	pthread_join(sensors, NULL);
	printf("journal: %zu bytes in %u writes\n", journal.size, journal.batches);
	return 0;
}
