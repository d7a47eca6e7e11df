/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: pick_node starts its round at the first node for each call (its counter is in the selector, which each call makes anew), so all work goes to node alder; nothing is served "on birch" or "on cedar", and the calls queue for alder.
 *   culprit: on (alder|birch|cedar)|pick_node|alder|birch|cedar
 *   victim: call profile
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A client of a small cluster: it spreads its calls over three nodes, each of which does one thing at a time. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	NODES = 3,
	CALLS = 36
};

struct call {
	struct call *next;
	thrum_task task, work;
	bool done;
};

struct node {
	const char *name;
	pthread_t thread;
	struct call *first, **end;
};

struct selector {
	unsigned turn;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct node nodes[NODES] = {{.name = "alder"}, {.name = "birch"}, {.name = "cedar"}};
static struct selector shared_selector;
static struct call calls[CALLS];
static bool broken, closed;

static struct node *pick_node(struct selector *selector)
{
	return &nodes[selector->turn++ % NODES];
}

static void *run_node(void *data)
{
	struct node *node = data;
	struct call *call;

	thrum_lane_name(node->name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!node->first && !closed)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		call = node->first;
		if (!call)
			break;
		node->first = call->next;
		if (!node->first)
			node->end = &node->first;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (call->work) {
			usleep(7000);
			thrum_task_resolve(call->work);
		}
		THRUM_RUN (call->task) {
			thrum_task_read(call->task, call->work);
			thrum_task_resolve(call->task);
		}
		pthread_mutex_lock(&mutex);
		call->done = true;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void send_call(struct call *call)
{
	struct selector fresh = {0};
	struct node *node = pick_node(broken ? &fresh : &shared_selector);

	call->task = thrum_task_create(THRUM_KIND_REQUEST, "call profile");
	thrum_task_should_resolve(call->task);
	THRUM_RUN (call->task)
		call->work = thrum_task_createf(THRUM_KIND_TASK, "on %s", node->name);
	thrum_task_ready(call->work);
	thrum_task_wait(call->task, call->work);
	pthread_mutex_lock(&mutex);
	call->next = NULL;
	*node->end = call;
	node->end = &call->next;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_lane_name("client");
	for (int i = 0; i < NODES; i++) {
		nodes[i].end = &nodes[i].first;
		pthread_create(&nodes[i].thread, NULL, run_node, &nodes[i]);
	}
	for (int i = 0; i < CALLS; i++) {
		send_call(&calls[i]);
		usleep(3500);
	}
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < CALLS; i++)
		while (!calls[i].done)
			pthread_cond_wait(&changed, &mutex);
	closed = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < NODES; i++)
		pthread_join(nodes[i].thread, NULL);
	printf("%d calls\n", CALLS);
	thrum_stop();
	return 0;
}
