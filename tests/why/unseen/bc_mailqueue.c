/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: program_timer() sets the timerfd to the rest of the time in whole milliseconds; if the next
 *     message is due already, or in less than 1 ms, that is 0, which disarms the timer: run_queue sleeps in
 *     epoll_wait for ever, though messages are due, and the delivery thread waits for work
 *   culprit: program_timer
 *   victim: run_queue|delivery|main|take_order
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A mail queue: messages are due at some time, one timerfd for the first of them, an eventfd for receipts. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
	MESSAGES = 14
};

struct message {
	int number;
	int64_t due; /* ns; 0: not in the queue */
	int tries;
};

struct queue {
	struct message messages[MESSAGES];
	int epoll, timer, receipts;
	int64_t shortest; /* the least time for which the timer is set, in ns */
	int delivered, deferred;
};

/* Work of the delivery thread: planned, and done. */
struct delivery {
	pthread_mutex_t lock;
	pthread_cond_t ordered;
	int orders[MESSAGES * 2];
	int given, taken;
	int good[MESSAGES * 2];
	int goods, goods_seen;
	bool stopping;
};

static struct delivery delivery = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.ordered = PTHREAD_COND_INITIALIZER};

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Returns the number of the next message to deliver, or -1 at the end. */
static int take_order(void)
{
	int number = -1;

	pthread_mutex_lock(&delivery.lock);
	while (delivery.taken == delivery.given && !delivery.stopping)
		pthread_cond_wait(&delivery.ordered, &delivery.lock);
	if (delivery.taken < delivery.given)
		number = delivery.orders[delivery.taken++];
	pthread_mutex_unlock(&delivery.lock);
	return number;
}

static void *deliver(void *data)
{
	struct queue *queue = data;
	uint64_t one = 1;
	int number;

	pthread_setname_np(pthread_self(), "delivery");
	while ((number = take_order()) >= 0) {
		pause_ms(3);
		pthread_mutex_lock(&delivery.lock);
		delivery.good[delivery.goods++] = number;
		pthread_mutex_unlock(&delivery.lock);
		if (write(queue->receipts, &one, sizeof(one)) != sizeof(one))
			perror("receipt");
	}
	return NULL;
}

static void order_delivery(int number)
{
	pthread_mutex_lock(&delivery.lock);
	delivery.orders[delivery.given++] = number;
	pthread_cond_signal(&delivery.ordered);
	pthread_mutex_unlock(&delivery.lock);
}

/* Sets the timer to a time from now on; the resolution is a millisecond. */
static __attribute__((noinline)) void program_timer(struct queue *queue, int64_t ns)
{
	struct itimerspec spec = {{0, 0}, {0, 0}};

	ns = ns < 0 ? 0 : ns / 1000000 * 1000000;
	if (ns < queue->shortest)
		ns = queue->shortest;
	spec.it_value.tv_sec = ns / 1000000000;
	spec.it_value.tv_nsec = ns % 1000000000;
	if (timerfd_settime(queue->timer, 0, &spec, NULL))
		perror("timerfd_settime");
}

static void schedule_next(struct queue *queue)
{
	int64_t first = INT64_MAX;

	for (int i = 0; i < MESSAGES; i++)
		if (queue->messages[i].due && queue->messages[i].due < first)
			first = queue->messages[i].due;
	if (first != INT64_MAX)
		program_timer(queue, first - now());
}

/* Greylisting: some are deferred at the first try. Scanning a large message takes long. */
static void scan(struct queue *queue, struct message *message)
{
	if (message->number == 7)
		pause_ms(30);
	if (message->number % 5 == 2 && message->tries++ == 0) {
		message->due = now() + 60000000;
		queue->deferred++;
		return;
	}
	message->due = 0;
	order_delivery(message->number);
}

/* One message in each turn, so that receipts are seen in between. */
static void on_timer(struct queue *queue)
{
	struct message *first = NULL;
	uint64_t times;

	if (read(queue->timer, &times, sizeof(times)) != sizeof(times))
		return;
	for (int i = 0; i < MESSAGES; i++)
		if (queue->messages[i].due && (!first || queue->messages[i].due < first->due))
			first = &queue->messages[i];
	if (first && first->due <= now() + 1000000)
		scan(queue, first);
	schedule_next(queue);
}

static void on_receipts(struct queue *queue)
{
	uint64_t count;

	if (read(queue->receipts, &count, sizeof(count)) != sizeof(count))
		return;
	pthread_mutex_lock(&delivery.lock);
	while (delivery.goods_seen < delivery.goods) {
		delivery.goods_seen++;
		queue->delivered++;
	}
	pthread_mutex_unlock(&delivery.lock);
}

static __attribute__((noinline)) void run_queue(struct queue *queue)
{
	struct epoll_event events[4];

	while (queue->delivered < MESSAGES) {
		int count = epoll_wait(queue->epoll, events, 4, -1);

		for (int i = 0; i < count; i++)
			if (events[i].data.fd == queue->timer)
				on_timer(queue);
			else
				on_receipts(queue);
	}
}

static void watch(struct queue *queue, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	if (epoll_ctl(queue->epoll, EPOLL_CTL_ADD, descriptor, &event))
		exit(1);
}

int main(int argc, char **argv)
{
	static struct queue queue;
	pthread_t thread;
	int64_t begin = now();

	queue.shortest = argc > 1 && !strcmp(argv[1], "healthy") ? 1 : 0;
	queue.epoll = epoll_create1(EPOLL_CLOEXEC);
	queue.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	queue.receipts = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	watch(&queue, queue.timer);
	watch(&queue, queue.receipts);
	for (int i = 0; i < MESSAGES; i++)
		queue.messages[i] = (struct message){i, begin + (int64_t)(i + 1) * 12000000, 0};
	pthread_create(&thread, NULL, deliver, &queue);
	schedule_next(&queue);
	run_queue(&queue);
	pthread_mutex_lock(&delivery.lock);
	delivery.stopping = true;
	pthread_cond_signal(&delivery.ordered);
	pthread_mutex_unlock(&delivery.lock);
	pthread_join(thread, NULL);
	printf("%d delivered, %d deferred\n", queue.delivered, queue.deferred);
	return 0;
}
