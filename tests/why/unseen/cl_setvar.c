/* SPDX-License-Identifier: ISC */
/*
 * After asterisk/asterisk #1872.
 *
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: chan_pjsip_new sets the endpoint's variables while it holds the channel's lock. One of them is a function that
 *     pushes a task to the endpoint's serializer and waits for it. Before that task, the serializer runs the query of
 *     the channel's state, which waits for the channel's lock. So "trunk call 5" waits for "add header to trunk call
 *     5", and that is behind "state of trunk call 5", which waits for the lock that the call holds.
 *   culprit: trunk call 5
 *   victim: phones
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A telephone exchange: each endpoint has a worker that takes new calls, and a serializer for its tasks. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CALLS = 12,
	QUEUE = 8
};

struct channel {
	char name[32];
	pthread_mutex_t mutex;
	thrum_task lock;
	int state;
	char header[32];
};

struct sip_task {
	void (*run)(struct channel *channel);
	struct channel *channel;
	thrum_task task;
	bool waited_for, done;
};

struct taskprocessor {
	pthread_mutex_t mutex;
	pthread_cond_t filled, ended;
	struct sip_task *queue[QUEUE];
	unsigned first, count;
	bool shutdown;
};

struct endpoint {
	const char *name;
	int header_from; /* the call from which on the endpoint sets a header; 0: never */
	struct taskprocessor serializer;
	struct channel channels[CALLS];
};

static bool broken;

/* ---- Channels ------------------------------------------------------------------------------- */

static void channel_lock(struct channel *channel)
{
	if (pthread_mutex_trylock(&channel->mutex)) {
		thrum_task_wait(thrum_task_current(), channel->lock);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&channel->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(channel->lock);
}

static void channel_unlock(struct channel *channel)
{
	thrum_lock_released(channel->lock);
	pthread_mutex_unlock(&channel->mutex);
}

/* ---- Serializers ---------------------------------------------------------------------------- */

static struct sip_task *push_task(struct taskprocessor *processor, const char *what,
	struct channel *channel, void (*run)(struct channel *channel), bool waited_for)
{
	struct sip_task *task = calloc(1, sizeof(*task));

	if (!task)
		exit(2);
	task->run = run;
	task->channel = channel;
	task->waited_for = waited_for;
	task->task = thrum_task_createf(THRUM_KIND_TASK, "%s %s", what, channel->name);
	thrum_task_should_resolve(task->task);
	pthread_mutex_lock(&processor->mutex);
	processor->queue[(processor->first + processor->count++) % QUEUE] = task;
	thrum_task_ready(task->task);
	pthread_cond_signal(&processor->filled);
	pthread_mutex_unlock(&processor->mutex);
	return task;
}

static void push_task_wait_serializer(struct taskprocessor *processor, const char *what,
	struct channel *channel, void (*run)(struct channel *channel))
{
	struct sip_task *task = push_task(processor, what, channel, run, true);

	pthread_mutex_lock(&processor->mutex);
	thrum_task_wait(thrum_task_current(), task->task);
	thrum_suspend(THRUM_BLOCKED);
	while (!task->done)
		pthread_cond_wait(&processor->ended, &processor->mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), task->task);
	pthread_mutex_unlock(&processor->mutex);
	free(task);
}

static void *serializer_run(void *data)
{
	struct endpoint *endpoint = data;
	struct taskprocessor *processor = &endpoint->serializer;
	char name[48];

	snprintf(name, sizeof(name), "pjsip serializer %s", endpoint->name);
	thrum_lane_name(name);
	pthread_mutex_lock(&processor->mutex);
	for (;;) {
		struct sip_task *task;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!processor->count && !processor->shutdown)
			pthread_cond_wait(&processor->filled, &processor->mutex);
		thrum_resume();
		if (!processor->count)
			break;
		task = processor->queue[processor->first];
		processor->first = (processor->first + 1) % QUEUE;
		processor->count--;
		pthread_mutex_unlock(&processor->mutex);
		THRUM_RUN (task->task) {
			task->run(task->channel);
			thrum_task_resolve(task->task);
		}
		pthread_mutex_lock(&processor->mutex);
		if (task->waited_for) {
			task->done = true;
			pthread_cond_broadcast(&processor->ended);
		} else {
			free(task);
		}
	}
	pthread_mutex_unlock(&processor->mutex);
	return NULL;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static int last_state; /* of the serializer's task; for the applications */

static void query_state(struct channel *channel)
{
	channel_lock(channel);
	__atomic_store_n(&last_state, channel->state, __ATOMIC_RELAXED);
	channel_unlock(channel);
}

static void add_header(struct channel *channel)
{
	strcpy(channel->header, "X-CUSTOMER-ID: 17");
}

static void set_variables(struct endpoint *endpoint, struct channel *channel, int number)
{
	usleep(3000); /* reads the variables from the database */
	if (endpoint->header_from && number >= endpoint->header_from)
		push_task_wait_serializer(&endpoint->serializer, "add header to", channel,
			add_header);
}

static void chan_pjsip_new(struct endpoint *endpoint, struct channel *channel, int number)
{
	channel_lock(channel);
	channel->state = 1;
	push_task(&endpoint->serializer, "state of", channel, query_state, false);
	if (broken)
		set_variables(endpoint, channel, number);
	channel_unlock(channel);
	if (!broken)
		set_variables(endpoint, channel, number);
}

static void *worker_run(void *data)
{
	struct endpoint *endpoint = data;

	thrum_lane_name(endpoint->name);
	for (int i = 0; i < CALLS; i++) {
		struct channel *channel = &endpoint->channels[i];
		thrum_task call;

		snprintf(channel->name, sizeof(channel->name), "%s call %d", endpoint->name, i + 1);
		call = thrum_task_create(THRUM_KIND_TASK, channel->name);
		thrum_task_should_resolve(call);
		channel->lock = thrum_task_createf(THRUM_KIND_LOCK, "channel of %s", channel->name);
		pthread_mutex_init(&channel->mutex, NULL);
		THRUM_RUN (call) {
			chan_pjsip_new(endpoint, channel, i + 1);
			thrum_task_resolve(call);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(25000);
		thrum_resume();
	}
	return NULL;
}

static struct endpoint endpoints[2] = {
	{.name = "phones"},
	{.name = "trunk",
		.header_from = 5}, /* its configuration is changed after the fourth call */
};

int main(int argc, char **argv)
{
	pthread_t workers[2], serializers[2];

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	for (int i = 0; i < 2; i++) {
		struct taskprocessor *processor = &endpoints[i].serializer;

		pthread_mutex_init(&processor->mutex, NULL);
		pthread_cond_init(&processor->filled, NULL);
		pthread_cond_init(&processor->ended, NULL);
		if (pthread_create(&serializers[i], NULL, serializer_run, &endpoints[i]) ||
			pthread_create(&workers[i], NULL, worker_run, &endpoints[i]))
			return 2;
	}
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	for (int i = 0; i < 2; i++) {
		struct taskprocessor *processor = &endpoints[i].serializer;

		pthread_mutex_lock(&processor->mutex);
		processor->shutdown = true;
		pthread_cond_signal(&processor->filled);
		pthread_mutex_unlock(&processor->mutex);
		pthread_join(serializers[i], NULL);
	}
	thrum_resume();
	thrum_stop();
	printf("%d calls\n", 2 * CALLS);
	return 0;
}
