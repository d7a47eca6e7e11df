/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: picture_scaled returns early for damaged pictures and keeps their slots, so nothing more starts.
 *   culprit: picture_scaled
 *   victim: wait_for_album|album_changed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This program scales the pictures of an album on libuv's pool, at most two at a time. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define PICTURES 14
#define SLOTS 2

struct picture {
	uv_work_t work;
	struct picture *next;
	unsigned char pixels[4096];
	unsigned int number;
	unsigned int brightness;
	bool damaged;
};

static bool broken;
static struct picture pictures[PICTURES];

/* The loop's thread alone uses these. */
static uv_loop_t loop;
static uv_async_t intake;
static uv_timer_t progress;
static unsigned int slots_used;
static struct picture *backlog;
static struct picture **backlog_end = &backlog;

/* The lock protects these. */
static pthread_mutex_t album_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t album_changed = PTHREAD_COND_INITIALIZER;
static struct picture *submitted;
static unsigned int finished;
static bool closing;

static void scale_picture(uv_work_t *work)
{
	struct picture *picture = work->data;
	unsigned int sum = 0;

	if (picture->pixels[0] != 0xff) {
		picture->damaged = true;
		return;
	}
	for (unsigned int round = 0; round < 200; round++)
		for (size_t i = 0; i < sizeof(picture->pixels); i++)
			sum += picture->pixels[i] ^ round;
	picture->brightness = sum;
	uv_sleep(4);
}

static void picture_scaled(uv_work_t *work, int status);

static void start_more(void)
{
	while (slots_used < SLOTS && backlog) {
		struct picture *picture = backlog;

		backlog = picture->next;
		if (!backlog)
			backlog_end = &backlog;
		slots_used++;
		picture->work.data = picture;
		uv_queue_work(&loop, &picture->work, scale_picture, picture_scaled);
	}
}

static void count_finished(void)
{
	pthread_mutex_lock(&album_lock);
	finished++;
	pthread_cond_signal(&album_changed);
	pthread_mutex_unlock(&album_lock);
}

static void picture_scaled(uv_work_t *work, int status)
{
	struct picture *picture = work->data;

	count_finished();
	if (status < 0 || picture->damaged) {
		fprintf(stderr, "picture %u is damaged, skipped\n", picture->number);
		if (broken)
			return;
	}
	slots_used--;
	start_more();
}

static void take_submitted(uv_async_t *async)
{
	struct picture *first;
	bool is_closing;

	pthread_mutex_lock(&album_lock);
	first = submitted;
	submitted = NULL;
	is_closing = closing;
	pthread_mutex_unlock(&album_lock);

	while (first) {
		struct picture *next = first->next;

		first->next = NULL;
		*backlog_end = first;
		backlog_end = &first->next;
		first = next;
	}
	start_more();
	if (is_closing) {
		uv_close((uv_handle_t *)async, NULL);
		uv_close((uv_handle_t *)&progress, NULL);
	}
}

static void show_progress(uv_timer_t *timer)
{
	(void)timer;
	pthread_mutex_lock(&album_lock);
	fprintf(stderr, "%u of %u\n", finished, PICTURES);
	pthread_mutex_unlock(&album_lock);
}

static void *run_scaler(void *unused)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	return unused;
}

static void submit(struct picture *picture)
{
	pthread_mutex_lock(&album_lock);
	picture->next = submitted;
	submitted = picture;
	pthread_mutex_unlock(&album_lock);
	uv_async_send(&intake);
}

static void wait_for_album(void)
{
	pthread_mutex_lock(&album_lock);
	while (finished < PICTURES)
		pthread_cond_wait(&album_changed, &album_lock);
	closing = true;
	pthread_mutex_unlock(&album_lock);
	uv_async_send(&intake);
}

int main(int argc, char **argv)
{
	pthread_t scaler;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	uv_loop_init(&loop);
	uv_async_init(&loop, &intake, take_submitted);
	uv_timer_init(&loop, &progress);
	uv_timer_start(&progress, show_progress, 10, 40);
	for (unsigned int i = 0; i < PICTURES; i++) {
		pictures[i].number = i;
		memset(pictures[i].pixels, (int)(17 * i), sizeof(pictures[i].pixels));
		pictures[i].pixels[0] = i == 5 || i == 8 ? 0 : 0xff;
	}
	pthread_create(&scaler, NULL, run_scaler, NULL);
	for (unsigned int i = 0; i < PICTURES; i++)
		submit(&pictures[i]);
	wait_for_album();
	pthread_join(scaler, NULL);
	uv_loop_close(&loop);
	return 0;
}
