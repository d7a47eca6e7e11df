/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: admit_work waits in a thread of libuv's pool for the plate that decode_work finds, which needs a thread of the same
 *     pool. When four cars come at once, all four threads wait and no decode_work can run.
 *   culprit: admit_work|decode_work
 *   victim: barrier|admit_done
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* The control of a parking garage: cameras read plates at the lanes, then the barrier opens. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

struct car {
	int number;
	uv_timer_t shutter;
	uv_work_t decode;
	uv_work_t admit;
	pthread_mutex_t mutex;
	pthread_cond_t plate_known;
	bool decoded;
	char plate[12];
};

static unsigned arrived, admitted, free_places = 400;
static bool decode_first;
static pthread_mutex_t book_lock = PTHREAD_MUTEX_INITIALIZER;

static void decode_work(uv_work_t *request)
{
	struct car *car = request->data;

	usleep(8000); /* picture recognition */
	pthread_mutex_lock(&car->mutex);
	snprintf(car->plate, sizeof(car->plate), "B-TX %d", car->number);
	car->decoded = true;
	pthread_cond_signal(&car->plate_known);
	pthread_mutex_unlock(&car->mutex);
}

static void admit_work(uv_work_t *request)
{
	struct car *car = request->data;

	pthread_mutex_lock(&car->mutex);
	while (!car->decoded)
		pthread_cond_wait(&car->plate_known, &car->mutex);
	pthread_mutex_unlock(&car->mutex);
	usleep(3000); /* the book of subscribers is on disk */
	pthread_mutex_lock(&book_lock);
	free_places--;
	pthread_mutex_unlock(&book_lock);
}

static void car_left(uv_handle_t *handle)
{
	free(handle->data);
}

static void admit_done(uv_work_t *request, int status)
{
	struct car *car = request->data;

	(void)status;
	admitted++;
	uv_close((uv_handle_t *)&car->shutter, car_left);
}

static void decode_done(uv_work_t *request, int status)
{
	struct car *car = request->data;

	(void)status;
	if (decode_first)
		uv_queue_work(request->loop, &car->admit, admit_work, admit_done);
}

/* The camera has taken the picture. */
static void on_shutter(uv_timer_t *timer)
{
	struct car *car = timer->data;

	uv_queue_work(timer->loop, &car->decode, decode_work, decode_done);
}

static void car_arrives(uv_loop_t *loop)
{
	struct car *car = calloc(1, sizeof(*car));

	car->number = (int)++arrived;
	car->decode.data = car;
	car->admit.data = car;
	pthread_mutex_init(&car->mutex, NULL);
	pthread_cond_init(&car->plate_known, NULL);
	if (!decode_first)
		uv_queue_work(loop, &car->admit, admit_work, admit_done);
	car->shutter.data = car;
	uv_timer_init(loop, &car->shutter);
	uv_timer_start(&car->shutter, on_shutter, 15, 0);
}

static void on_lane_sensor(uv_timer_t *timer)
{
	car_arrives(timer->loop);
}

/* A concert has ended, and the next one begins. */
static void on_rush(uv_timer_t *timer)
{
	for (int i = 0; i < 6; i++)
		car_arrives(timer->loop);
}

static void on_display(uv_timer_t *timer)
{
	(void)timer;
	pthread_mutex_lock(&book_lock);
	printf("free %u, arrived %u, admitted %u\n", free_places, arrived, admitted);
	fflush(stdout);
	pthread_mutex_unlock(&book_lock);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	uv_timer_t lane, rush, display;

	decode_first = argc > 1 && !strcmp(argv[1], "healthy");
	uv_timer_init(loop, &lane);
	uv_timer_init(loop, &rush);
	uv_timer_init(loop, &display);
	uv_timer_start(&lane, on_lane_sensor, 20, 90);
	uv_timer_start(&rush, on_rush, 700, 1000);
	uv_timer_start(&display, on_display, 200, 200);
	return uv_run(loop, UV_RUN_DEFAULT);
}
