/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: refresh_price holds prices_lock for reading and takes it for writing in mend_price, so the thread
 *     "mender" waits for itself. The editor waits behind it, while the readers go on.
 *   culprit: deadlock.*itself|mend_price
 *   victim: mender
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A list of prices: two threads read it all the time, one mends prices, and an editor sets new ones. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_rwlock_t prices_lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned prices[8];
static bool broken;
static volatile bool is_over;

static void mend_price(unsigned at)
{
	pthread_rwlock_wrlock(&prices_lock);
	prices[at]++;
	pthread_rwlock_unlock(&prices_lock);
}

static void refresh_price(unsigned at)
{
	pthread_rwlock_rdlock(&prices_lock);
	if (prices[at] == 0 && broken) {
		mend_price(at);
		pthread_rwlock_unlock(&prices_lock);
		return;
	}
	pthread_rwlock_unlock(&prices_lock);
	mend_price(at);
}

static void *read_prices(void *sum)
{
	while (!is_over) {
		pthread_rwlock_rdlock(&prices_lock);
		for (unsigned i = 0; i < 8; i++)
			*(unsigned *)sum += prices[i];
		usleep(1000);
		pthread_rwlock_unlock(&prices_lock);
		usleep(1000);
	}
	return NULL;
}

static void *mend(void *unused)
{
	usleep(50000);
	refresh_price(3);
	return unused;
}

static void *edit(void *unused)
{
	usleep(200000);
	pthread_rwlock_wrlock(&prices_lock);
	prices[5] = 7;
	pthread_rwlock_unlock(&prices_lock);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t readers[2], mender, editor;
	unsigned sums[2] = {0, 0};

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < 2; i++)
		pthread_create(&readers[i], NULL, read_prices, &sums[i]);
	pthread_create(&mender, NULL, mend, NULL);
	pthread_setname_np(mender, "mender");
	pthread_create(&editor, NULL, edit, NULL);
	pthread_setname_np(editor, "editor");
	pthread_join(mender, NULL);
	pthread_join(editor, NULL);
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	printf("%u %u\n", sums[0], sums[1]);
	return 0;
}
