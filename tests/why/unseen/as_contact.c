/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_results, the callback of the uv_async_t results_ready, takes one result per call, but libuv
 *     makes one call for several uv_async_send; while the loop saves a large picture two results come, and
 *     one stays in the list
 *   culprit: on_results|results_ready|take_result
 *   victim: scaler|run_sheet
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Makes a contact sheet: a thread scales the pictures, and the loop saves each one and puts it on the sheet. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define PICTURES 6

struct picture {
	struct picture *next;
	unsigned number, width, height;
	size_t bytes;
};

struct list {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct picture *first, **end;
};

static struct list to_scale = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
	&to_scale.first};
static struct list scaled = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
	&scaled.first};
static struct picture pictures[PICTURES];
static uv_async_t results_ready;
static uv_timer_t progress;
static unsigned placed;
static pthread_t scaler;

static void list_put(struct list *list, struct picture *picture)
{
	pthread_mutex_lock(&list->mutex);
	picture->next = NULL;
	*list->end = picture;
	list->end = &picture->next;
	pthread_cond_signal(&list->changed);
	pthread_mutex_unlock(&list->mutex);
}

/* The caller holds the mutex. */
static struct picture *list_first(struct list *list)
{
	struct picture *picture = list->first;

	if (picture) {
		list->first = picture->next;
		if (!list->first)
			list->end = &list->first;
	}
	return picture;
}

/* ---- The thread that scales ---- */

__attribute__((noinline)) struct picture *next_picture(void)
{
	struct picture *picture;

	pthread_mutex_lock(&to_scale.mutex);
	while (!(picture = list_first(&to_scale)))
		pthread_cond_wait(&to_scale.changed, &to_scale.mutex);
	pthread_mutex_unlock(&to_scale.mutex);
	return picture;
}

__attribute__((noinline)) void scale_picture(struct picture *picture)
{
	usleep(150000); /* the graphics card does it */
	picture->width /= 8;
	picture->height /= 8;
	picture->bytes = (size_t)picture->width * picture->height / 2;
}

__attribute__((noinline)) void *run_scaler(void *data)
{
	struct picture *picture;

	(void)data;
	pthread_setname_np(pthread_self(), "scaler");
	while ((picture = next_picture())->number) {
		scale_picture(picture);
		list_put(&scaled, picture);
		uv_async_send(&results_ready);
	}
	return NULL;
}

/* ---- The loop ---- */

__attribute__((noinline)) void save_picture(const struct picture *picture)
{
	/* The share is mounted over a slow line: some 50 kB take 70 ms. */
	usleep((useconds_t)(picture->bytes * 7 / 5));
}

__attribute__((noinline)) struct picture *take_result(void)
{
	struct picture *picture;

	pthread_mutex_lock(&scaled.mutex);
	picture = list_first(&scaled);
	pthread_mutex_unlock(&scaled.mutex);
	return picture;
}

__attribute__((noinline)) void finish_sheet(void)
{
	static struct picture last; /* with the number 0 */

	list_put(&to_scale, &last);
	uv_close((uv_handle_t *)&results_ready, NULL);
	uv_close((uv_handle_t *)&progress, NULL);
}

/* A picture is ready. */
__attribute__((noinline)) void on_results(uv_async_t *async)
{
	struct picture *picture = take_result();

	(void)async;
	if (!picture)
		return;
	save_picture(picture);
	printf("picture %u: %u x %u\n", picture->number, picture->width, picture->height);
	if (++placed == PICTURES)
		finish_sheet();
}

static void on_progress(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "%u of %u\n", placed, PICTURES);
}

__attribute__((noinline)) void run_sheet(uv_loop_t *loop)
{
	uv_run(loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv)
{
	bool panorama = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_t loop;

	if (uv_loop_init(&loop) || uv_async_init(&loop, &results_ready, on_results) ||
		uv_timer_init(&loop, &progress))
		return 1;
	uv_timer_start(&progress, on_progress, 400, 400);
	for (unsigned i = 0; i < PICTURES; i++) {
		pictures[i].number = i + 1;
		pictures[i].width = 640;
		pictures[i].height = 480;
	}
	if (panorama) {
		pictures[1].width = 8192;
		pictures[1].height = 5600;
	}
	for (unsigned i = 0; i < PICTURES; i++)
		list_put(&to_scale, &pictures[i]);
	if (pthread_create(&scaler, NULL, run_scaler, NULL))
		return 1;
	run_sheet(&loop);
	pthread_join(scaler, NULL);
	uv_loop_close(&loop);
	printf("sheet: %u pictures\n", placed);
	return 0;
}
