/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The thread “batcher” writes a batch when it has 8 rows, or 120 ms after its first row. The writer gives a
 *     batch back when the disk is busy; take_back() puts its rows into the batch but sets no deadline. The batcher then
 *     waits in its mailbox “rows” without a timeout, while all sensors wait for the acknowledgement of their rows.
 *   culprit: batcher|take_back
 *   victim: sensor|writer|main|acks
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Takes rows from three sensors and writes them in batches. Each thread has a mailbox. A sensor sends its next row when
 * the last one is written. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <thrum.h>

#define SENSORS 3
#define ROWS 4 /* of each sensor */
#define BATCH 8
#define LIMIT_MS 120

enum letter_type {
	ROW,
	WRITE,
	TAKE_BACK,
	ACK,
	STOP,
};

struct batch {
	unsigned count;
	unsigned sensor[BATCH];
};

struct letter {
	enum letter_type type;
	unsigned sensor;
	struct batch batch;
};

struct mailbox {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct letter letters[16];
	unsigned first, count, readers;
	thrum_task task;
};

static struct mailbox rows, batches, acks[SENSORS];
static int busy_at = -1; /* the batch for which the disk is busy */
static unsigned written;

/* ---- Mailboxes ------------------------------------------------------------------------------- */

static void mailbox_init(struct mailbox *mailbox, const char *name)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&mailbox->mutex, NULL);
	pthread_cond_init(&mailbox->filled, &monotonic);
	mailbox->task = thrum_task_create(THRUM_KIND_MAILBOX, name);
}

static void mailbox_put(struct mailbox *mailbox, const struct letter *letter)
{
	pthread_mutex_lock(&mailbox->mutex);
	if (mailbox->count == 16)
		abort();
	mailbox->letters[(mailbox->first + mailbox->count++) % 16] = *letter;
	thrum_task_signal(mailbox->task, mailbox->readers);
	pthread_cond_signal(&mailbox->filled);
	pthread_mutex_unlock(&mailbox->mutex);
}

/* Takes a letter. Returns false if none comes until the deadline, which may be NULL. */
static bool mailbox_take(struct mailbox *mailbox, const struct timespec *deadline,
	struct letter *letter)
{
	bool late = false;

	pthread_mutex_lock(&mailbox->mutex);
	mailbox->readers++;
	while (mailbox->count == 0 && !late) {
		thrum_task_wait(thrum_task_current(), mailbox->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (deadline)
			late = pthread_cond_timedwait(&mailbox->filled, &mailbox->mutex,
				       deadline) != 0;
		else
			pthread_cond_wait(&mailbox->filled, &mailbox->mutex);
		thrum_resume();
	}
	mailbox->readers--;
	/* Also if the time is up: the wait is over. */
	thrum_task_read(thrum_task_current(), mailbox->task);
	if (mailbox->count > 0) {
		*letter = mailbox->letters[mailbox->first++ % 16];
		mailbox->count--;
		late = false;
	}
	pthread_mutex_unlock(&mailbox->mutex);
	return !late;
}

/* ---- The batcher ----------------------------------------------------------------------------- */

struct batcher {
	struct batch batch;
	bool timed;
	struct timespec deadline; /* if it is timed */
};

static void set_deadline(struct batcher *batcher)
{
	clock_gettime(CLOCK_MONOTONIC, &batcher->deadline);
	batcher->deadline.tv_nsec += LIMIT_MS * 1000000;
	if (batcher->deadline.tv_nsec >= 1000000000) {
		batcher->deadline.tv_nsec -= 1000000000;
		batcher->deadline.tv_sec++;
	}
	batcher->timed = true;
}

static void flush_batch(struct batcher *batcher)
{
	struct letter letter = {.type = WRITE, .batch = batcher->batch};

	mailbox_put(&batches, &letter);
	batcher->batch.count = 0;
	batcher->timed = false;
}

static void add_row(struct batcher *batcher, unsigned sensor)
{
	if (batcher->batch.count == 0)
		set_deadline(batcher);
	batcher->batch.sensor[batcher->batch.count++] = sensor;
	if (batcher->batch.count == BATCH)
		flush_batch(batcher);
}

static __attribute__((noinline)) void take_back(struct batcher *batcher, const struct batch *batch)
{
	for (unsigned i = 0; i < batch->count; i++) {
		batcher->batch.sensor[batcher->batch.count++] = batch->sensor[i];
		if (batcher->batch.count == BATCH)
			flush_batch(batcher);
	}
}

static void *run_batcher(void *data)
{
	struct batcher batcher = {.timed = false};
	struct letter letter;

	(void)data;
	thrum_lane_name("batcher");
	for (;;) {
		if (!mailbox_take(&rows, batcher.timed ? &batcher.deadline : NULL, &letter)) {
			flush_batch(&batcher);
			continue;
		}
		if (letter.type == STOP)
			return NULL;
		if (letter.type == TAKE_BACK)
			take_back(&batcher, &letter.batch);
		else
			add_row(&batcher, letter.sensor);
	}
}

/* ---- The writer and the sensors --------------------------------------------------------------- */

static void write_batch(const struct batch *batch)
{
	struct timespec disk = {.tv_nsec = 10000000};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	nanosleep(&disk, NULL);
	thrum_resume();
	for (unsigned i = 0; i < batch->count; i++)
		mailbox_put(&acks[batch->sensor[i]], &(struct letter){.type = ACK});
	written += batch->count;
}

static void *run_writer(void *data)
{
	struct letter letter;

	(void)data;
	thrum_lane_name("writer");
	for (int number = 0; mailbox_take(&batches, NULL, &letter) && letter.type != STOP;
		number++) {
		if (number == busy_at) {
			letter.type = TAKE_BACK;
			mailbox_put(&rows, &letter);
			continue;
		}
		write_batch(&letter.batch);
	}
	return NULL;
}

static void *run_sensor(void *data)
{
	unsigned number = (unsigned)((struct mailbox *)data - acks);
	struct letter row = {.type = ROW, .sensor = number}, ack;
	char name[32];

	snprintf(name, sizeof name, "sensor %u", number + 1);
	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < ROWS; i++) {
		mailbox_put(&rows, &row);
		mailbox_take(&acks[number], NULL, &ack);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct letter stop = {.type = STOP};
	pthread_t batcher, writer, sensors[SENSORS];
	char name[32];

	if (argc > 1 && strcmp(argv[1], "broken") == 0)
		busy_at = 2;
	thrum_start(NULL);
	mailbox_init(&rows, "rows");
	mailbox_init(&batches, "batches");
	for (int i = 0; i < SENSORS; i++) {
		snprintf(name, sizeof name, "acks %d", i + 1);
		mailbox_init(&acks[i], name);
	}
	if (pthread_create(&batcher, NULL, run_batcher, NULL) ||
		pthread_create(&writer, NULL, run_writer, NULL))
		return 2;
	for (int i = 0; i < SENSORS; i++)
		if (pthread_create(&sensors[i], NULL, run_sensor, &acks[i]))
			return 2;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < SENSORS; i++)
		pthread_join(sensors[i], NULL);
	thrum_resume();
	mailbox_put(&rows, &stop);
	mailbox_put(&batches, &stop);
	pthread_join(batcher, NULL);
	pthread_join(writer, NULL);
	printf("%u rows written\n", written);
	thrum_stop();
	return written != SENSORS * ROWS;
}
