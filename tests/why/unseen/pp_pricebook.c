/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When reprice gives up in begin_write, it stays in writers_waiting; it should leave the queue.
 *   culprit: begin_write|reprice
 *   victim: begin_read|may_read|quote_prices
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A book of prices. Readers wait while a writer is in the queue, so that corrections come soon. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	ITEMS = 64,
	TELLERS = 3,
	QUOTES = 60,
	FEED = 16,
	PATIENCE_MS = 25
};

struct book {
	pthread_mutex_t lock;
	pthread_cond_t may_read, may_write;
	int readers, writers_waiting;
	bool writing;
	int price[ITEMS];
};

struct correction {
	int item, price;
};

static struct book book = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.may_read = PTHREAD_COND_INITIALIZER,
	.may_write = PTHREAD_COND_INITIALIZER,
};

static pthread_mutex_t feed_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t feed_ready = PTHREAD_COND_INITIALIZER;
static struct correction feed[FEED];
static unsigned feed_in, feed_out;
static bool feed_closed;
static bool leaves_queue;

static void begin_read(void)
{
	pthread_mutex_lock(&book.lock);
	while (book.writing || book.writers_waiting > 0)
		pthread_cond_wait(&book.may_read, &book.lock);
	book.readers++;
	pthread_mutex_unlock(&book.lock);
}

static void end_read(void)
{
	pthread_mutex_lock(&book.lock);
	if (--book.readers == 0 && book.writers_waiting > 0)
		pthread_cond_signal(&book.may_write);
	pthread_mutex_unlock(&book.lock);
}

static bool begin_write(void)
{
	struct timespec until;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PATIENCE_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_mutex_lock(&book.lock);
	book.writers_waiting++;
	while ((book.writing || book.readers > 0) && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&book.may_write, &book.lock, &until);
	if (book.writing || book.readers > 0) {
		if (leaves_queue && --book.writers_waiting == 0)
			pthread_cond_broadcast(&book.may_read);
		pthread_mutex_unlock(&book.lock);
		return false;
	}
	book.writers_waiting--;
	book.writing = true;
	pthread_mutex_unlock(&book.lock);
	return true;
}

static void end_write(void)
{
	pthread_mutex_lock(&book.lock);
	book.writing = false;
	if (book.writers_waiting > 0)
		pthread_cond_signal(&book.may_write);
	else
		pthread_cond_broadcast(&book.may_read);
	pthread_mutex_unlock(&book.lock);
}

static void push_correction(int item, int price)
{
	pthread_mutex_lock(&feed_lock);
	feed[feed_in++ % FEED] = (struct correction){item, price};
	pthread_cond_signal(&feed_ready);
	pthread_mutex_unlock(&feed_lock);
}

static void *reprice(void *data)
{
	struct correction next;
	int postponed = 0;

	(void)data;
	for (;;) {
		pthread_mutex_lock(&feed_lock);
		while (feed_in == feed_out && !feed_closed)
			pthread_cond_wait(&feed_ready, &feed_lock);
		if (feed_in == feed_out) {
			pthread_mutex_unlock(&feed_lock);
			printf("%d corrections postponed to the next day\n", postponed);
			return NULL;
		}
		next = feed[feed_out++ % FEED];
		pthread_mutex_unlock(&feed_lock);
		if (!begin_write()) {
			postponed++;
			continue;
		}
		book.price[next.item] = next.price;
		usleep(500);
		end_write();
	}
}

static void *quote_prices(void *data)
{
	int teller = (int)(long)data;
	long sum = 0;

	for (int i = 0; i < QUOTES; i++) {
		begin_read();
		sum += book.price[(i * 7 + teller) % ITEMS];
		usleep(300);
		end_read();
		usleep(1500);
	}
	printf("teller %d: %ld\n", teller, sum);
	return NULL;
}

/* Prints the whole book for the auditors. A price that looks wrong goes back to the feed. */
static void *export_book(void *data)
{
	(void)data;
	usleep(40000);
	begin_read();
	for (int i = 0; i < ITEMS; i++) {
		if (i == ITEMS / 8)
			push_correction(i, 99);
		usleep(1500);
	}
	end_read();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t writer, exporter, tellers[TELLERS];

	leaves_queue = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	for (int i = 0; i < ITEMS; i++)
		book.price[i] = 100 + i;
	pthread_create(&writer, NULL, reprice, NULL);
	pthread_create(&exporter, NULL, export_book, NULL);
	for (long i = 0; i < TELLERS; i++)
		pthread_create(&tellers[i], NULL, quote_prices, (void *)i);
	for (int i = 0; i < 5; i++) {
		usleep(5000);
		push_correction(i, 90 + i);
	}
	pthread_join(exporter, NULL);
	for (int i = 0; i < TELLERS; i++)
		pthread_join(tellers[i], NULL);
	pthread_mutex_lock(&feed_lock);
	feed_closed = true;
	pthread_cond_signal(&feed_ready);
	pthread_mutex_unlock(&feed_lock);
	pthread_join(writer, NULL);
	return 0;
}
