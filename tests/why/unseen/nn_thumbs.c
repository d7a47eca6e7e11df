/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: make_thumb returns early for a corrupt scan and does not give its decode budget back. Two
 *          corrupt scans, scan_07.tif and scan_11.tif, keep 10 of 12 units, so large photos get none.
 *   culprit: scan_(07|11)\.tif
 *   victim: pano_|holiday import|decode budget
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A thumbnailer: four threads decode photos, and a budget limits the memory that they use at a time. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	THREADS = 4,
	BUDGET = 12,
	LARGE = 5,
	SMALL = 1
};

struct photo {
	const char *name;
	int units;
	bool corrupt;
	int result;
	thrum_task task;
	struct photo *next;
};

/* The camera lists its files by type, scans first. */
static struct photo photos[] = {
	{.name = "scan_07.tif", .units = LARGE, .corrupt = true},
	{.name = "scan_11.tif", .units = LARGE, .corrupt = true},
	{.name = "img_01.jpg", .units = SMALL},
	{.name = "img_02.jpg", .units = SMALL},
	{.name = "img_04.jpg", .units = SMALL},
	{.name = "img_05.jpg", .units = SMALL},
	{.name = "img_08.jpg", .units = SMALL},
	{.name = "pano_03.jpg", .units = LARGE},
	{.name = "img_09.jpg", .units = SMALL},
	{.name = "img_10.jpg", .units = SMALL},
	{.name = "img_12.jpg", .units = SMALL},
	{.name = "pano_06.jpg", .units = LARGE},
	{.name = "pano_14.jpg", .units = LARGE},
	{.name = "img_13.jpg", .units = SMALL},
	{.name = "img_15.jpg", .units = SMALL},
	{.name = "img_17.jpg", .units = SMALL},
	{.name = "pano_16.jpg", .units = LARGE},
	{.name = "img_18.jpg", .units = SMALL},
	{.name = "pano_19.jpg", .units = LARGE},
	{.name = "img_20.jpg", .units = SMALL},
	{.name = "pano_21.jpg", .units = LARGE},
	{.name = "img_22.jpg", .units = SMALL},
};
enum {
	PHOTOS = sizeof(photos) / sizeof(photos[0])
};

static bool give_back_on_error;

/* ---- The memory budget ---- */

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int free;
	thrum_task task;
} budget = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, BUDGET, 0};

static void budget_take(int units)
{
	pthread_mutex_lock(&budget.mutex);
	if (budget.free < units) {
		thrum_task_wait(thrum_task_current(), budget.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (budget.free < units)
			pthread_cond_wait(&budget.changed, &budget.mutex);
		thrum_resume();
	}
	budget.free -= units;
	for (int i = 0; i < units; i++)
		thrum_lock_acquired(budget.task);
	pthread_mutex_unlock(&budget.mutex);
}

static void budget_give(int units)
{
	pthread_mutex_lock(&budget.mutex);
	budget.free += units;
	for (int i = 0; i < units; i++)
		thrum_lock_released(budget.task);
	pthread_cond_broadcast(&budget.changed);
	pthread_mutex_unlock(&budget.mutex);
}

/* ---- Work on one photo ---- */

static int decode(const struct photo *photo)
{
	usleep(1000 * (unsigned)photo->units);
	return photo->corrupt ? -1 : 0;
}

static int scale(const struct photo *photo)
{
	volatile unsigned sum = 0;

	for (int i = 0; i < 200000 * photo->units; i++)
		sum += (unsigned)i ^ sum >> 3;
	return sum == 1;
}

static int make_thumb(struct photo *photo)
{
	budget_take(photo->units);
	if (decode(photo)) {
		if (give_back_on_error)
			budget_give(photo->units);
		return -1;
	}
	scale(photo);
	usleep(1500); /* writes the file */
	budget_give(photo->units);
	return 0;
}

/* ---- The pool ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static struct photo *queue, **queue_end = &queue;
static int done, failed;
static bool closing;

static void *pool_thread(void *data)
{
	struct photo *photo;

	(void)data;
	thrum_lane_name("decoder");
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !closing)
			pthread_cond_wait(&queued, &mutex);
		thrum_resume();
		if (!queue)
			break;
		photo = queue;
		queue = photo->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (photo->task) {
			photo->result = make_thumb(photo);
			if (photo->result)
				thrum_task_fail(photo->task, "not a TIFF file");
			else
				thrum_task_resolve(photo->task);
		}
		pthread_mutex_lock(&mutex);
		done++;
		failed += photo->result != 0;
		pthread_cond_signal(&finished);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	thrum_task import;

	give_back_on_error = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	budget.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "decode budget");
	import = thrum_task_create(THRUM_KIND_JOIN, "holiday import");
	thrum_task_should_resolve(import);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, pool_thread, NULL);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < PHOTOS; i++) {
		photos[i].task = thrum_task_create(THRUM_KIND_TASK, photos[i].name);
		thrum_task_wait(import, photos[i].task);
		thrum_task_ready(photos[i].task);
		*queue_end = &photos[i];
		queue_end = &photos[i].next;
	}
	pthread_cond_broadcast(&queued);
	while (done < PHOTOS)
		pthread_cond_wait(&finished, &mutex);
	closing = true;
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&mutex);
	thrum_task_resolve(import);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d thumbnails, %d photos failed\n", done - failed, failed);
	thrum_stop();
	return failed == 2 ? 0 : 1;
}
