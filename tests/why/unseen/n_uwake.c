/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: cancel_service always wakes the first service thread; "service-1" is never told of the messages in
 *     its queue and sleeps on, so "message 1", "message 3" and "message 5" never end.
 *   culprit: queue of service 1|service-1|cancel_service
 *   victim: message \d|broadcast
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about libwebsockets: with several service threads lws_cancel_service wakes only the thread
 * with the number 0; the others sleep on.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <uv.h>

#define SERVICES 2
#define MESSAGES 6

struct service {
	uv_loop_t loop;
	uv_async_t wake;
	pthread_t thread;
	pthread_mutex_t lock;
	thrum_task queue;
	thrum_task messages[MESSAGES];
	int count, sent;
	bool stop;
	int number;
};

static struct service services[SERVICES];
static sem_t sent;
static bool healthy;

/* Runs in the service's thread: it sends what is in the queue. */
static void on_wake(uv_async_t *wake)
{
	struct service *service = wake->data;

	pthread_mutex_lock(&service->lock);
	while (service->count > 0) {
		thrum_task message = service->messages[--service->count];

		thrum_task_read(message, service->queue);
		THRUM_RUN (message)
			service->sent++;
		thrum_task_resolve(message);
		sem_post(&sent);
	}
	if (service->stop)
		uv_close((uv_handle_t *)&service->wake, NULL);
	pthread_mutex_unlock(&service->lock);
}

static void *run_service(void *data)
{
	struct service *service = data;
	char name[16];

	snprintf(name, sizeof(name), "service-%d", service->number);
	thrum_lane_name(name);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	uv_run(&service->loop, UV_RUN_DEFAULT);
	thrum_resume();
	return NULL;
}

static void cancel_service(int number)
{
	struct service *service = &services[healthy ? number : 0];

	pthread_mutex_lock(&service->lock);
	thrum_task_signal(service->queue, (unsigned)service->count);
	pthread_mutex_unlock(&service->lock);
	uv_async_send(&service->wake);
}

static void post_message(int number)
{
	struct service *service = &services[number % SERVICES];
	thrum_task message = thrum_task_createf(THRUM_KIND_TASK, "message %d", number);

	thrum_task_should_resolve(message);
	thrum_task_wait(message, service->queue);
	pthread_mutex_lock(&service->lock);
	service->messages[service->count++] = message;
	pthread_mutex_unlock(&service->lock);
	cancel_service(number % SERVICES);
}

int main(int argc, char **argv)
{
	thrum_task broadcast;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	sem_init(&sent, 0, 0);
	for (int i = 0; i < SERVICES; i++) {
		struct service *service = &services[i];
		char label[32];

		snprintf(label, sizeof(label), "queue of service %d", i);
		service->number = i;
		service->queue = thrum_task_create(THRUM_KIND_MAILBOX, label);
		pthread_mutex_init(&service->lock, NULL);
		uv_loop_init(&service->loop);
		uv_async_init(&service->loop, &service->wake, on_wake);
		service->wake.data = service;
		pthread_create(&service->thread, NULL, run_service, service);
	}
	broadcast = thrum_task_create(THRUM_KIND_TASK, "broadcast");
	thrum_task_should_resolve(broadcast);
	THRUM_RUN (broadcast) {
		for (int i = 0; i < MESSAGES; i++)
			post_message(i);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		for (int i = 0; i < MESSAGES; i++)
			sem_wait(&sent);
		thrum_resume();
	}
	thrum_task_resolve(broadcast);
	for (int i = 0; i < SERVICES; i++) {
		pthread_mutex_lock(&services[i].lock);
		services[i].stop = true;
		pthread_mutex_unlock(&services[i].lock);
		cancel_service(i);
		pthread_join(services[i].thread, NULL);
		uv_loop_close(&services[i].loop);
	}
	printf("%d and %d sent\n", services[0].sent, services[1].sent);
	thrum_stop();
	return 0;
}
