/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: One condition serves the sorter, the courier and the archiver, but announce_change signals only
 *     one of them. Its signal wakes the archiver, which wants something else and waits again, so nobody
 *     tells the thread that could go on. It should have broadcast.
 *   culprit: announce_change
 *   victim: wait_for_room|take_parcel|courier|sorter
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARCELS 80
#define ARCHIVE_FROM 20

/* A box with room for one parcel. */
struct box {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned parcel; /* 0: the box is empty */
	unsigned delivered;
	bool closed, archiver_waits;
};

static struct box box = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};
static bool tell_all;

static void announce_change(struct box *of)
{
	if (tell_all)
		pthread_cond_broadcast(&of->changed);
	else
		pthread_cond_signal(&of->changed);
}

static void wait_for_room(struct box *of)
{
	while (of->parcel)
		pthread_cond_wait(&of->changed, &of->mutex);
}

static void put_parcel(struct box *into, unsigned parcel)
{
	pthread_mutex_lock(&into->mutex);
	wait_for_room(into);
	into->parcel = parcel;
	announce_change(into);
	pthread_mutex_unlock(&into->mutex);
}

static unsigned take_parcel(struct box *from)
{
	unsigned parcel;

	pthread_mutex_lock(&from->mutex);
	while (!from->parcel && !from->closed)
		pthread_cond_wait(&from->changed, &from->mutex);
	parcel = from->parcel;
	if (parcel) {
		from->parcel = 0;
		from->delivered++;
		announce_change(from);
	}
	pthread_mutex_unlock(&from->mutex);
	return parcel;
}

/* Writes the list of the day when the box is closed. */
static void *archive_day(void *data)
{
	struct box *of = data;

	pthread_setname_np(pthread_self(), "archiver");
	pthread_mutex_lock(&of->mutex);
	of->archiver_waits = true;
	while (!of->closed || of->parcel)
		pthread_cond_wait(&of->changed, &of->mutex);
	printf("%u parcels today\n", of->delivered);
	pthread_mutex_unlock(&of->mutex);
	return NULL;
}

static void *deliver_parcels(void *data)
{
	unsigned parcel, street = 0;

	pthread_setname_np(pthread_self(), "courier");
	while ((parcel = take_parcel(data))) {
		usleep(300 + parcel % 3 * 200);
		street = street * 31 + parcel;
	}
	fprintf(stderr, "the tour has the number %u\n", street);
	return NULL;
}

static void await_archiver(struct box *of)
{
	bool waits = false;

	while (!waits) {
		usleep(1000);
		pthread_mutex_lock(&of->mutex);
		waits = of->archiver_waits;
		pthread_mutex_unlock(&of->mutex);
	}
}

static void *sort_parcels(void *data)
{
	struct box *into = data;
	pthread_t archiver;

	pthread_setname_np(pthread_self(), "sorter");
	for (unsigned parcel = 1; parcel <= PARCELS; parcel++) {
		if (parcel == ARCHIVE_FROM) {
			if (pthread_create(&archiver, NULL, archive_day, into))
				return NULL;
			await_archiver(into);
		}
		put_parcel(into, parcel);
	}
	pthread_mutex_lock(&into->mutex);
	into->closed = true;
	pthread_cond_broadcast(&into->changed);
	while (into->parcel)
		pthread_cond_wait(&into->changed, &into->mutex);
	pthread_cond_broadcast(&into->changed);
	pthread_mutex_unlock(&into->mutex);
	pthread_join(archiver, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t sorter, courier;

	tell_all = argc > 1 && !strcmp(argv[1], "healthy");
	if (pthread_create(&courier, NULL, deliver_parcels, &box) ||
		pthread_create(&sorter, NULL, sort_parcels, &box))
		return 1;
	pthread_join(sorter, NULL);
	pthread_join(courier, NULL);
	return 0;
}
