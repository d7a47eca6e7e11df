/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: closing the device ends the thread "usb-events", and opening it again starts no other; nobody
 *     handles the transfer of the second session, so "bulk write 3" never ends.
 *   culprit: usb-events|handle_events|usb events
 *   victim: bulk write|print job
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about QtUsb: after the device was closed and opened again, a write never ends, because the
 * thread that handles libusb's events left its loop when the device was closed.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct transfer {
	thrum_task task;
	bool submitted, done;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct transfer *current;
static bool open_device, thread_runs;
static pthread_t events_thread;
static thrum_task transfers; /* a mailbox */
static bool handler_waits;
static int written;
static bool healthy;

static void *handle_events(void *data)
{
	(void)data;
	thrum_lane_name("usb-events");
	pthread_mutex_lock(&mutex);
	while (open_device) {
		if (!current) {
			handler_waits = true;
			thrum_task_wait(thrum_task_current(), transfers);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
			handler_waits = false;
			continue;
		}
		thrum_task_read(thrum_task_current(), transfers);
		pthread_mutex_unlock(&mutex);
		usleep(5000);
		pthread_mutex_lock(&mutex);
		current->done = true;
		thrum_task_resolve(current->task);
		current = NULL;
		written++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void device_open(void)
{
	pthread_mutex_lock(&mutex);
	open_device = true;
	pthread_mutex_unlock(&mutex);
	if (!thread_runs) {
		thread_runs = true;
		pthread_create(&events_thread, NULL, handle_events, NULL);
	}
}

static void device_close(void)
{
	pthread_mutex_lock(&mutex);
	open_device = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	pthread_join(events_thread, NULL);
	if (healthy)
		thread_runs = false;
}

static void bulk_write(int number)
{
	struct transfer transfer = {0};

	transfer.task = thrum_task_createf(THRUM_KIND_REQUEST, "bulk write %d", number);
	thrum_task_should_resolve(transfer.task);
	pthread_mutex_lock(&mutex);
	current = &transfer;
	transfer.submitted = true;
	thrum_task_signal(transfers, handler_waits);
	pthread_cond_broadcast(&changed);
	while (!transfer.done) {
		thrum_task_wait(thrum_task_current(), transfer.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), transfer.task);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	thrum_task job;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	transfers = thrum_task_create(THRUM_KIND_MAILBOX, "transfers");
	job = thrum_task_create(THRUM_KIND_TASK, "print job");
	thrum_task_should_resolve(job);
	THRUM_RUN (job) {
		device_open();
		bulk_write(1);
		bulk_write(2);
		/* The printer reports an error, so the program opens it anew. */
		device_close();
		device_open();
		bulk_write(3);
		bulk_write(4);
	}
	thrum_task_resolve(job);
	device_close();
	printf("%d writes\n", written);
	thrum_stop();
	return 0;
}
