/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: hidapi pull request #143 ("Hanging inside hid_close()"): read_main cancels the transfer and handles events
 *     until `cancelled` is set. For pad 5 a report has just come, so the transfer ends as completed instead of cancelled;
 *     read_callback sets `cancelled` only for a cancelled one, and submits the transfer again. The pad sends no more
 *     reports, so “transfer pad 5” never ends, the reading thread of pad 5 neither, and hid_close waits for it.
 *   culprit: transfer pad 5|read_callback|submit_transfer
 *   victim: close pad|read pad|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A test of gamepads: each is opened, a button is pressed, and it is closed. A thread for each pad handles its
 * transfers; the thread "bus" stands for the kernel. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define PADS 8

enum status {
	IN_FLIGHT,
	COMPLETED,
	CANCELLED,
	IDLE
};

struct pad {
	int number;
	int press_ms, release_ms; /* when the pad reports, after it was opened; 0: never */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum status status;
	thrum_task transfer;
	bool shutdown, cancelled, pressed, open;
	int age_ms;
	pthread_t thread;
	thrum_task thread_task;
	thrum_task pressed_task;
};

static struct pad pads[PADS];
static bool fixed;
static atomic_bool over;
static atomic_int reports;

/* ---- transfers ---- */

/* The caller holds the mutex, here and below. */
static void submit_transfer(struct pad *pad)
{
	pad->status = IN_FLIGHT;
	pad->transfer = thrum_task_createf(THRUM_KIND_REQUEST, "transfer pad %d", pad->number);
}

static void end_transfer(struct pad *pad, enum status status)
{
	pad->status = status;
	if (status == CANCELLED)
		thrum_task_cancel(pad->transfer);
	else
		thrum_task_resolve(pad->transfer);
	pthread_cond_broadcast(&pad->changed);
}

/* A transfer that has ended already can't be cancelled. */
static void cancel_transfer(struct pad *pad)
{
	if (pad->status == IN_FLIGHT)
		end_transfer(pad, CANCELLED);
}

static void *bus_main(void *data)
{
	int i;

	(void)data;
	thrum_lane_name("bus");
	while (!over) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(1000);
		thrum_resume();
		for (i = 0; i < PADS; i++) {
			pthread_mutex_lock(&pads[i].mutex);
			if (pads[i].open) {
				pads[i].age_ms++;
				if (pads[i].status == IN_FLIGHT &&
					((pads[i].press_ms && pads[i].age_ms >= pads[i].press_ms) ||
						(pads[i].release_ms &&
							pads[i].age_ms >= pads[i].release_ms))) {
					if (pads[i].press_ms)
						pads[i].press_ms = 0;
					else
						pads[i].release_ms = 0;
					end_transfer(&pads[i], COMPLETED);
				}
			}
			pthread_mutex_unlock(&pads[i].mutex);
		}
	}
	return NULL;
}

/* ---- the reading thread of a pad ---- */

static void read_callback(struct pad *pad)
{
	if (pad->status == CANCELLED || (fixed && pad->shutdown)) {
		pad->status = IDLE;
		pad->cancelled = true;
		return;
	}
	reports++;
	if (!pad->pressed) {
		pad->pressed = true;
		thrum_task_resolve(pad->pressed_task);
		pthread_cond_broadcast(&pad->changed);
	}
	submit_transfer(pad);
}

static void handle_events(struct pad *pad)
{
	while (pad->status == IN_FLIGHT) {
		thrum_task_wait(thrum_task_current(), pad->transfer);
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		pthread_cond_wait(&pad->changed, &pad->mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), pad->transfer);
	read_callback(pad);
}

static void debounce(struct pad *pad)
{
	pthread_mutex_unlock(&pad->mutex);
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(60000);
	thrum_resume();
	pthread_mutex_lock(&pad->mutex);
}

static void *read_main(void *data)
{
	struct pad *pad = data;
	char name[32];

	snprintf(name, sizeof(name), "read pad %d", pad->number);
	thrum_lane_name(name);
	thrum_task_become(pad->thread_task, thrum_task_current());
	pthread_mutex_lock(&pad->mutex);
	submit_transfer(pad);
	pad->open = true;
	while (!pad->shutdown) {
		handle_events(pad);
		debounce(pad);
	}
	cancel_transfer(pad);
	while (!pad->cancelled)
		handle_events(pad);
	pad->open = false;
	pthread_mutex_unlock(&pad->mutex);
	return NULL;
}

/* ---- the program's side ---- */

static void hid_open(struct pad *pad)
{
	char name[32];

	snprintf(name, sizeof(name), "read pad %d", pad->number);
	pad->thread_task = thrum_task_create(THRUM_KIND_THREAD, name);
	pad->pressed_task = thrum_task_createf(THRUM_KIND_TASK, "button of pad %d", pad->number);
	if (pthread_create(&pad->thread, NULL, read_main, pad))
		exit(1);
}

static void wait_for_button(struct pad *pad)
{
	pthread_mutex_lock(&pad->mutex);
	while (!pad->pressed) {
		thrum_task_wait(thrum_task_current(), pad->pressed_task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&pad->changed, &pad->mutex);
		thrum_resume();
	}
	pthread_mutex_unlock(&pad->mutex);
	thrum_task_read(thrum_task_current(), pad->pressed_task);
}

static void hid_close(struct pad *pad)
{
	thrum_task closing = thrum_task_createf(THRUM_KIND_TASK, "close pad %d", pad->number);

	thrum_task_should_resolve(closing);
	THRUM_RUN (closing) {
		pthread_mutex_lock(&pad->mutex);
		pad->shutdown = true;
		cancel_transfer(pad);
		pthread_mutex_unlock(&pad->mutex);
		thrum_task_wait(closing, pad->thread_task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_join(pad->thread, NULL);
		thrum_resume();
		thrum_task_read(closing, pad->thread_task);
	}
	thrum_task_resolve(closing);
}

static void test_pads(void)
{
	int i;

	for (i = 0; i < PADS; i++) {
		hid_open(&pads[i]);
		wait_for_button(&pads[i]);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(30000); /* prints the result */
		thrum_resume();
		hid_close(&pads[i]);
		printf("pad %d works\n", i + 1);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	thrum_task all;
	pthread_t bus;
	int i;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	all = thrum_task_create(THRUM_KIND_TASK, "main");
	for (i = 0; i < PADS; i++) {
		pads[i] = (struct pad){.number = i + 1,
			.press_ms = 20,
			.release_ms = i == 4 ? 25 : 0};
		pthread_mutex_init(&pads[i].mutex, NULL);
		pthread_cond_init(&pads[i].changed, NULL);
	}
	if (pthread_create(&bus, NULL, bus_main, NULL))
		return 1;
	THRUM_RUN (all)
		test_pads();
	thrum_task_resolve(all);
	over = true;
	pthread_join(bus, NULL);
	printf("%d reports\n", reports);
	thrum_stop();
	return 0;
}
