/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: submit_label wakes one waiter of "changed" (pthread_cond_signal), but the supply watchers wait for the same condition: one of them takes the wake-up that was meant for the printer, finds enough paper and waits again. The printer sleeps with a label in the queue.
 *   culprit: watch_supply|supply-\w+|submit_label
 *   victim: printer|print_labels|wait_printed|pack_parcels
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * The label printing of a warehouse. A packer submits a label and waits until it is printed. Watchers
 * order new paper and ink when there is little left.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LABELS 24

static bool broken;

/* All of it is guarded by `lock`. "changed" tells of any change: of the queue and of the supplies. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t printed = PTHREAD_COND_INITIALIZER;
static int queue[LABELS], queued, taken, finished;
static bool closing;
static int at_work; /* threads that have come to their loop */

struct supply {
	const char *name;
	int left, low, refill;
	int ordered;
};

static struct supply supplies[] = {
	{.name = "paper", .left = 400, .low = 20, .refill = 500},
	{.name = "ink", .left = 90, .low = 5, .refill = 100},
	{.name = "glue", .left = 60, .low = 4, .refill = 80},
};
#define SUPPLIES (int)(sizeof(supplies) / sizeof(supplies[0]))

static void *watch_supply(void *data)
{
	struct supply *supply = data;
	char name[16];

	snprintf(name, sizeof(name), "supply-%s", supply->name);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&lock);
	at_work++;
	while (!closing) {
		if (supply->left < supply->low) {
			supply->left += supply->refill;
			supply->ordered++;
		}
		pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *print_labels(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "printer");
	pthread_mutex_lock(&lock);
	at_work++;
	for (;;) {
		while (taken == queued && !closing)
			pthread_cond_wait(&changed, &lock);
		if (taken == queued)
			break;
		taken++;
		for (int i = 0; i < SUPPLIES; i++)
			supplies[i].left--;
		pthread_mutex_unlock(&lock);
		usleep(1000); /* the printer */
		pthread_mutex_lock(&lock);
		finished++;
		pthread_cond_signal(&printed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int submit_label(int parcel)
{
	int number;

	pthread_mutex_lock(&lock);
	queue[queued] = parcel;
	number = ++queued;
	if (broken)
		pthread_cond_signal(&changed);
	else
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return number;
}

static void wait_printed(int number)
{
	pthread_mutex_lock(&lock);
	while (finished < number)
		pthread_cond_wait(&printed, &lock);
	pthread_mutex_unlock(&lock);
}

static void pack_parcels(void)
{
	for (int i = 0; i < LABELS; i++) {
		wait_printed(submit_label(1000 + i));
		usleep(1000); /* the packer sticks it on */
	}
}

/* The next thread is started when this one is at its loop. */
static pthread_t start(void *(*function)(void *), void *data, int order)
{
	pthread_t thread;
	bool there = false;

	pthread_create(&thread, NULL, function, data);
	while (!there) {
		usleep(1000);
		pthread_mutex_lock(&lock);
		there = at_work == order;
		pthread_mutex_unlock(&lock);
	}
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t watchers[SUPPLIES], printer;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < SUPPLIES; i++)
		watchers[i] = start(watch_supply, &supplies[i], i + 1);
	printer = start(print_labels, NULL, SUPPLIES + 1);
	pack_parcels();

	pthread_mutex_lock(&lock);
	closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(printer, NULL);
	for (int i = 0; i < SUPPLIES; i++)
		pthread_join(watchers[i], NULL);
	printf("%d labels, %d sheets left\n", finished, supplies[0].left);
	return 0;
}
