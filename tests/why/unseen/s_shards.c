/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Shard 2 clears its flag “woken” after it has worked through its messages, not when it takes them. “get user:42”
 *     is posted to its inbox while it works on “scan orders”; the poster sees the flag and writes no wake-up, and then shard 2
 *     sleeps in epoll_wait with the message in its inbox.
 *   culprit: shard 2
 *   victim: get user:42
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thrum.h>
#include <unistd.h>

#define SHARDS 3

struct message {
	struct message *next;
	thrum_task task;
	int work_ms; /* -1: stop */
};

struct shard {
	pthread_t thread;
	pthread_mutex_t mutex;
	struct message *first, **last;
	bool woken;
	int event, epoll, number;
	thrum_task inbox;
};

static struct shard shards[SHARDS];
static bool broken;
static int replies;

static void post(struct shard *shard, struct message *message)
{
	uint64_t one = 1;
	bool wake;

	message->next = NULL;
	pthread_mutex_lock(&shard->mutex);
	*shard->last = message;
	shard->last = &message->next;
	wake = !shard->woken;
	shard->woken = true;
	thrum_task_signal(shard->inbox, wake);
	pthread_mutex_unlock(&shard->mutex);
	if (wake && write(shard->event, &one, sizeof(one)) < 0)
		perror("eventfd");
}

static void *shard_loop(void *data)
{
	struct shard *shard = data;
	bool stop = false;
	char name[16];

	snprintf(name, sizeof(name), "shard %d", shard->number);
	thrum_lane_name(name);
	while (!stop) {
		struct epoll_event event;
		struct message *message;
		uint64_t count;

		thrum_task_wait(thrum_task_current(), shard->inbox);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		epoll_wait(shard->epoll, &event, 1, -1);
		thrum_resume();
		if (read(shard->event, &count, sizeof(count)) < 0)
			continue;
		pthread_mutex_lock(&shard->mutex);
		message = shard->first;
		shard->first = NULL;
		shard->last = &shard->first;
		if (!broken)
			shard->woken = false;
		pthread_mutex_unlock(&shard->mutex);
		while (message) {
			struct message *next = message->next;
			uint64_t one = 1;

			thrum_task_read(thrum_task_current(), shard->inbox);
			if (message->work_ms < 0) {
				stop = true;
			} else {
				THRUM_RUN (message->task) {
					usleep((unsigned)message->work_ms * 1000);
					thrum_task_resolve(message->task);
				}
				if (write(replies, &one, sizeof(one)) < 0)
					perror("eventfd");
			}
			free(message);
			message = next;
		}
		if (broken) {
			pthread_mutex_lock(&shard->mutex);
			shard->woken = false;
			pthread_mutex_unlock(&shard->mutex);
		}
	}
	return NULL;
}

static void request(int shard, const char *name, int work_ms)
{
	struct message *message = calloc(1, sizeof(*message));

	message->work_ms = work_ms;
	if (name) {
		message->task = thrum_task_create(THRUM_KIND_TASK, name);
		thrum_task_should_resolve(message->task);
		thrum_task_wait(message->task, shards[shard].inbox);
	}
	post(&shards[shard], message);
}

int main(int argc, char **argv)
{
	uint64_t done = 0, count;
	char name[32];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	replies = eventfd(0, 0);
	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = &shards[i];
		struct epoll_event event = {.events = EPOLLIN};

		pthread_mutex_init(&shard->mutex, NULL);
		shard->last = &shard->first;
		shard->number = i;
		shard->event = eventfd(0, EFD_NONBLOCK);
		shard->epoll = epoll_create1(0);
		epoll_ctl(shard->epoll, EPOLL_CTL_ADD, shard->event, &event);
		shard->inbox = thrum_task_createf(THRUM_KIND_MAILBOX, "inbox of shard %d", i);
		pthread_create(&shard->thread, NULL, shard_loop, shard);
	}
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "get user:%d", i);
		request(i % 3, name, 2);
		usleep(12000);
	}
	request(2, "scan orders", 90);
	usleep(30000);
	request(2, "get user:42", 2);
	request(0, "get user:43", 2);
	while (done < 15) {
		if (read(replies, &count, sizeof(count)) == sizeof(count))
			done += count;
	}
	for (int i = 0; i < SHARDS; i++) {
		request(i, NULL, -1);
		pthread_join(shards[i].thread, NULL);
	}
	printf("%d replies\n", (int)done);
	return 0;
}
