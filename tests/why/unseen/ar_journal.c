/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the thread "batcher" waits in collect_batch on the condition record_added, whose clock is
 *     CLOCK_MONOTONIC, until a deadline that linger_deadline made from CLOCK_REALTIME: decades ahead. The
 *     last batch stays one record short (sensor-3 has nothing more to say), so the batcher never gives up
 *     waiting, and never commits it.
 *   culprit: batcher|collect_batch|record_added|linger_deadline
 *   victim: sensor-[0-2]|ship_record|batch_committed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Collects readings of sensors in batches, and commits a batch to a journal when it is full or has lingered for 60 ms. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NSENSORS 4
#define BATCH_SIZE 4
#define LINGER_NS 60000000L

struct record {
	int sensor;
	int sequence;
	double value;
};

static pthread_mutex_t batch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t record_added;
static pthread_cond_t batch_committed = PTHREAD_COND_INITIALIZER;
static struct record batch[BATCH_SIZE];
static int batch_used;
static unsigned long batch_number;
static bool stopping;
static int journal;

/* How many readings each sensor has today. */
static int readings[NSENSORS] = {6, 6, 6, 6};

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* The time at which a batch that is begun now has lingered for long enough. */
__attribute__((noinline)) void linger_deadline(struct timespec *deadline)
{
	clock_gettime(CLOCK_REALTIME, deadline);
	deadline->tv_nsec += LINGER_NS;
	if (deadline->tv_nsec >= 1000000000L) {
		deadline->tv_nsec -= 1000000000L;
		deadline->tv_sec++;
	}
}

/* Called by a sensor: adds a record to the batch, and waits until the batch is in the journal. */
__attribute__((noinline)) void ship_record(const struct record *record)
{
	unsigned long mine;

	pthread_mutex_lock(&batch_lock);
	while (batch_used == BATCH_SIZE)
		pthread_cond_wait(&batch_committed, &batch_lock);
	batch[batch_used++] = *record;
	mine = batch_number;
	pthread_cond_signal(&record_added);
	while (batch_number == mine)
		pthread_cond_wait(&batch_committed, &batch_lock);
	pthread_mutex_unlock(&batch_lock);
}

/* Writes the batch to the journal; the lock is held. */
__attribute__((noinline)) void commit_batch(void)
{
	char line[80];
	int i, n;

	for (i = 0; i < batch_used; i++) {
		n = snprintf(line, sizeof(line), "%lu s%d #%d %.2f\n", batch_number,
			batch[i].sensor, batch[i].sequence, batch[i].value);
		if (write(journal, line, (size_t)n) != n) {
			perror("journal");
			exit(1);
		}
	}
	batch_used = 0;
	batch_number++;
	pthread_cond_broadcast(&batch_committed);
}

/* Waits until the batch is full, or has lingered, or the program stops. Returns false when there is nothing more to do. */
__attribute__((noinline)) bool collect_batch(void)
{
	struct timespec deadline;

	while (batch_used == 0 && !stopping)
		pthread_cond_wait(&record_added, &batch_lock);
	if (batch_used == 0)
		return false;
	linger_deadline(&deadline);
	while (batch_used < BATCH_SIZE && !stopping) {
		if (pthread_cond_timedwait(&record_added, &batch_lock, &deadline) == ETIMEDOUT)
			break;
	}
	return true;
}

static void *run_batcher(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "batcher");
	pthread_mutex_lock(&batch_lock);
	while (collect_batch())
		commit_batch();
	pthread_mutex_unlock(&batch_lock);
	return NULL;
}

static void *run_sensor(void *argument)
{
	int sensor = (int)(long)argument;
	struct record record = {.sensor = sensor};
	char name[16];
	int i;

	snprintf(name, sizeof(name), "sensor-%d", sensor);
	pthread_setname_np(pthread_self(), name);
	for (i = 0; i < readings[sensor]; i++) {
		sleep_ms(10 + 5 * sensor);
		record.sequence = i;
		record.value = 20.0 + sensor + 0.25 * i;
		ship_record(&record);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t batcher, sensors[NSENSORS];
	pthread_condattr_t attributes;
	long i;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "broken"))
		readings[3] = 4;
	journal = memfd_create("journal", 0);
	if (journal < 0) {
		perror("memfd_create");
		return 1;
	}
	/* Jumps of the wall clock shall not matter. */
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&record_added, &attributes);
	pthread_condattr_destroy(&attributes);

	pthread_create(&batcher, NULL, run_batcher, NULL);
	for (i = 0; i < NSENSORS; i++)
		pthread_create(&sensors[i], NULL, run_sensor, (void *)i);
	for (i = 0; i < NSENSORS; i++)
		pthread_join(sensors[i], NULL);

	pthread_mutex_lock(&batch_lock);
	stopping = true;
	pthread_cond_signal(&record_added);
	pthread_mutex_unlock(&batch_lock);
	pthread_join(batcher, NULL);
	printf("journal: %lu batches committed\n", batch_number);
	return 0;
}
