/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Pricing asks stock for the parts of kit 7, while stock waits for pricing to answer it.
 *   culprit: parts of kit
 *   victim: reserve kit|till [0-2]
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A shop: tills ask the services stock and pricing, each a thread with a channel for requests. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	TILLS = 3,
	SALES = 40
};
enum verb {
	RESERVE,
	PARTS,
	PRICE,
	CLOSE
};

struct request {
	enum verb verb;
	int item, answer;
	bool with_parts, answered;
	int parts;
	thrum_task task;
	struct request *next;
};

struct service {
	const char *name;
	int (*serve)(struct request *request);
	pthread_mutex_t mutex;
	pthread_cond_t posted, replied;
	struct request *first, **end;
	unsigned idle;
	thrum_task channel;
	pthread_t thread;
};

static int serve_stock(struct request *request);
static int serve_pricing(struct request *request);

#define SERVICE(title, function) \
	{ \
		.name = title, .serve = function, .mutex = PTHREAD_MUTEX_INITIALIZER, \
		.posted = PTHREAD_COND_INITIALIZER, .replied = PTHREAD_COND_INITIALIZER \
	}
static struct service stock = SERVICE("stock", serve_stock);
static struct service pricing = SERVICE("pricing", serve_pricing);
static int left[10] = {500, 500, 500, 500, 500, 500, 500, 500, 500, 500};
static bool broken;

/* Item 7 is a kit: it consists of other items. */
static bool is_kit(int item)
{
	return item == 7;
}

/* Sends a request, and blocks until the reply comes. */
static int call(struct service *service, struct request *request)
{
	static const char *const verbs[] = {"reserve", "parts of", "price of", "close"};
	thrum_task self = thrum_task_current();

	request->task = thrum_task_createf(THRUM_KIND_TASK, "%s %s %d", verbs[request->verb],
		is_kit(request->item) ? "kit" : "item", request->item);
	thrum_task_should_resolve(request->task);
	pthread_mutex_lock(&service->mutex);
	*service->end = request;
	service->end = &request->next;
	thrum_task_signal(service->channel, service->idle);
	pthread_cond_signal(&service->posted);
	thrum_task_wait(self, request->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!request->answered)
		pthread_cond_wait(&service->replied, &service->mutex);
	thrum_resume();
	thrum_task_read(self, request->task);
	pthread_mutex_unlock(&service->mutex);
	return request->answer;
}

static int serve_stock(struct request *request)
{
	struct request price = {.verb = PRICE, .item = request->item};

	usleep(200);
	if (request->verb == PARTS)
		return is_kit(request->item) ? 4 : 1;
	left[request->item]--;
	/* The receipt has the price on it. */
	if (!broken) {
		price.with_parts = true;
		price.parts = is_kit(request->item) ? 4 : 1;
	}
	return call(&pricing, &price);
}

static int serve_pricing(struct request *request)
{
	struct request parts = {.verb = PARTS, .item = request->item};

	usleep(100);
	if (!is_kit(request->item))
		return 100 + request->item;
	return 90 * (request->with_parts ? request->parts : call(&stock, &parts));
}

static void *service_thread(void *data)
{
	struct service *service = data;
	bool closed = false;

	thrum_lane_name(service->name);
	while (!closed) {
		struct request *request;

		pthread_mutex_lock(&service->mutex);
		service->idle++;
		while (!service->first) {
			thrum_task_wait(thrum_task_current(), service->channel);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&service->posted, &service->mutex);
			thrum_resume();
		}
		service->idle--;
		thrum_task_read(thrum_task_current(), service->channel);
		request = service->first;
		if (!(service->first = request->next))
			service->end = &service->first;
		pthread_mutex_unlock(&service->mutex);
		THRUM_RUN (request->task) {
			closed = request->verb == CLOSE;
			request->answer = closed ? 0 : service->serve(request);
			pthread_mutex_lock(&service->mutex);
			thrum_task_resolve(request->task);
			request->answered = true;
			pthread_cond_broadcast(&service->replied);
			pthread_mutex_unlock(&service->mutex);
		}
	}
	return NULL;
}

static void *till_thread(void *data)
{
	int till = *(int *)data, sum = 0;
	char name[16];

	snprintf(name, sizeof(name), "till %d", till);
	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	for (int sale = 0; sale < SALES; sale++) {
		/* Kits sell only in the afternoon. */
		int item = sale < 25 ? (sale + till) % 5 : 3 + sale % 5;
		struct request reserve = {.verb = RESERVE, .item = item};

		sum += call(&stock, &reserve);
	}
	*(int *)data = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	struct service *services[] = {&stock, &pricing};
	pthread_t tills[TILLS];
	int sums[TILLS] = {0, 1, 2}, sum = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "kits: not recorded\n");
	for (int i = 0; i < 2; i++) {
		services[i]->end = &services[i]->first;
		services[i]->channel = thrum_task_create(THRUM_KIND_MAILBOX, services[i]->name);
		if (pthread_create(&services[i]->thread, NULL, service_thread, services[i]))
			return 1;
	}
	for (int i = 0; i < TILLS; i++)
		if (pthread_create(&tills[i], NULL, till_thread, &sums[i]))
			return 1;
	for (int i = 0; i < TILLS; i++) {
		pthread_join(tills[i], NULL);
		sum += sums[i];
	}
	for (int i = 0; i < 2; i++) {
		struct request close = {.verb = CLOSE};

		call(services[i], &close);
		pthread_join(services[i]->thread, NULL);
	}
	printf("%d tills sold for %d\n", TILLS, sum);
	thrum_stop();
	return 0;
}
