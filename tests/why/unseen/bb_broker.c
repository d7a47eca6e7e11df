/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: deliver takes a place of the consumer's "window". on_ack gives it back, on_reject (the message
 *     goes to the dead letters) doesn't. After four rejected messages (6, 13, 20, 27) the window is empty,
 *     and messages 28 and later wait for a place for ever.
 *   culprit: message (6|13|20|27)\b|on_reject
 *   victim: message (28|29|3[0-9])\b|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A message broker with a window for each consumer, on epoll. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

#define MESSAGES 40
#define WINDOW 4

struct message {
	int number;
	thrum_task task;
	bool is_delivered;
};

static struct {
	int epoll, timer, consumer;
	int published, next, done, dead_letters;
	int window_free;
	thrum_task window, link;
	struct message messages[MESSAGES];
	void (*on_reject)(struct message *);
} broker;

/* ---- The consumer, a thread ---- */

static void *run_consumer(void *data)
{
	int socket = *(int *)data;
	unsigned char frame[2];

	thrum_lane_name("consumer");
	for (;;) {
		ssize_t count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = read(socket, frame, 1);
		thrum_resume();
		if (count != 1)
			break;
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(3000);
		thrum_resume();
		frame[1] = frame[0] % 7 == 6 ? 'R' : 'A'; /* these can't be parsed */
		if (write(socket, frame, 2) != 2)
			break;
	}
	return NULL;
}

/* ---- The broker ---- */

static void window_give_back(void)
{
	thrum_lock_released(broker.window);
	broker.window_free++;
}

static void deliver(struct message *message)
{
	unsigned char frame = (unsigned char)message->number;

	THRUM_RUN (message->task) {
		broker.window_free--;
		thrum_lock_acquired(broker.window);
		message->is_delivered = true;
		thrum_task_wait(message->task, broker.link);
		if (write(broker.consumer, &frame, 1) != 1)
			abort();
	}
}

static void deliver_queued(void)
{
	while (broker.window_free > 0 && broker.next < broker.published)
		deliver(&broker.messages[broker.next++]);
}

static void publish(void)
{
	struct message *message = &broker.messages[broker.published];

	message->number = broker.published++;
	message->task = thrum_task_createf(THRUM_KIND_TASK, "message %d", message->number);
	thrum_task_should_resolve(message->task);
	if (broker.window_free == 0)
		thrum_task_wait(message->task, broker.window);
}

static void on_ack(struct message *message)
{
	window_give_back();
	broker.done++;
	thrum_task_resolve(message->task);
}

static void on_reject_and_drop(struct message *message)
{
	broker.dead_letters++;
	broker.done++;
	thrum_log("to the dead letters");
	thrum_task_resolve(message->task);
}

static void on_reject(struct message *message)
{
	window_give_back();
	on_reject_and_drop(message);
}

static void on_answer(void)
{
	unsigned char answer[2];

	while (recv(broker.consumer, answer, 2, MSG_DONTWAIT) == 2) {
		struct message *message = &broker.messages[answer[0]];

		THRUM_RUN (message->task) {
			thrum_task_read(message->task, broker.link);
			if (answer[1] == 'A')
				on_ack(message);
			else
				broker.on_reject(message);
		}
	}
}

static void watch(int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	if (epoll_ctl(broker.epoll, EPOLL_CTL_ADD, descriptor, &event))
		abort();
}

static void run_broker(void)
{
	while (broker.done < MESSAGES) {
		struct epoll_event events[4];
		int count;
		uint64_t ticks;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(broker.epoll, events, 4, -1);
		thrum_resume();
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == broker.timer) {
				if (read(broker.timer, &ticks, sizeof(ticks)) == sizeof(ticks) &&
					broker.published < MESSAGES)
					publish();
			} else {
				on_answer();
			}
		}
		deliver_queued();
	}
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 8000000}, {0, 8000000}};
	pthread_t consumer;
	int ends[2];

	if (argc != 2 || thrum_start(NULL))
		return 2;
	broker.on_reject = strcmp(argv[1], "healthy") == 0 ? on_reject : on_reject_and_drop;
	broker.window_free = WINDOW;
	broker.window = thrum_task_create(THRUM_KIND_SEMAPHORE, "window");
	broker.link = thrum_task_create(THRUM_KIND_HANDLE, "consumer link");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	broker.consumer = ends[0];
	broker.epoll = epoll_create1(EPOLL_CLOEXEC);
	broker.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(broker.timer, 0, &every, NULL);
	watch(broker.timer);
	watch(broker.consumer);
	pthread_create(&consumer, NULL, run_consumer, &ends[1]);
	run_broker();
	thrum_stop();
	close(broker.consumer);
	pthread_join(consumer, NULL);
	close(ends[1]);
	close(broker.timer);
	close(broker.epoll);
	printf("%d messages, %d dead letters\n", broker.done, broker.dead_letters);
	return 0;
}
