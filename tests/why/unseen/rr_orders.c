/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The audit process waits in request_snapshot() for the broker's answer and doesn't read its inbox
 *     meanwhile. The broker fills the inbox and waits there, before it comes to that request.
 *   culprit: request_snapshot
 *   victim: place_orders|publish|await_trader|waitpid
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A trader sends orders to a broker, which publishes them to an audit process by POSIX message queues. */

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ORDERS = 80,
	EVERY = 8
};

enum kind {
	ORDER,
	SNAPSHOT,
	CLOSE,
	STOP
};

struct message {
	enum kind kind;
	int number;
	long amount;
};

static mqd_t requests, inbox, snapshots, reports;
static bool waits;
static atomic_bool closed;
static sem_t due;
static int seen;

static mqd_t open_queue(const char *name, long room)
{
	struct mq_attr attributes = {.mq_maxmsg = room, .mq_msgsize = sizeof(struct message)};
	char path[64];

	snprintf(path, sizeof(path), "/%s-%d", name, (int)getpid());
	mqd_t queue = mq_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
	if (queue == (mqd_t)-1) {
		perror(path);
		exit(1);
	}
	mq_unlink(path);
	return queue;
}

static void put(mqd_t queue, enum kind kind, int number, long amount)
{
	struct message message = {kind, number, amount};

	if (mq_send(queue, (const char *)&message, sizeof(message), 0))
		exit(1);
}

static struct message take(mqd_t queue)
{
	struct message message;

	if (mq_receive(queue, (char *)&message, sizeof(message), NULL) != sizeof(message))
		exit(1);
	return message;
}

static void publish(const struct message *order)
{
	put(inbox, order->kind, order->number, order->amount);
}

/* The broker matches orders and keeps the sum of the day. */
static int run_broker(void)
{
	long sum = 0;

	for (;;) {
		struct message message = take(requests);

		if (message.kind == SNAPSHOT) {
			put(snapshots, SNAPSHOT, message.number, sum);
			continue;
		}
		if (message.kind == STOP)
			break;
		sum += message.amount;
		publish(&message);
		usleep(200);
	}
	put(reports, STOP, 0, sum);
	return 0;
}

/* The sum of the broker is compared with that of the entries so far. */
static long request_snapshot(int number)
{
	put(requests, SNAPSHOT, number, 0);
	return take(snapshots).amount;
}

static void *ask_aside(void *unused)
{
	(void)unused;
	while (!sem_wait(&due) && !closed)
		seen += request_snapshot(seen) > 0;
	return NULL;
}

static int run_audit(void)
{
	pthread_t asker;
	long sum = 0;

	sem_init(&due, 0, 0);
	if (!waits && pthread_create(&asker, NULL, ask_aside, NULL))
		return 1;
	for (;;) {
		struct message entry = take(inbox);

		sum += entry.amount;
		if (entry.kind == CLOSE)
			break;
		if (entry.number % EVERY)
			continue;
		if (waits)
			seen += request_snapshot(entry.number) > 0;
		else
			sem_post(&due);
	}
	closed = true;
	sem_post(&due);
	if (!waits)
		pthread_join(asker, NULL);
	put(reports, CLOSE, seen, sum);
	return 0;
}

static int place_orders(void)
{
	for (int i = 1; i <= ORDERS; i++)
		put(requests, ORDER, i, 100 + i * 13 % 50);
	put(requests, CLOSE, 0, 0);
	return 0;
}

static pid_t start(int (*run)(void))
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(run());
	}
	return child;
}

static void await_trader(pid_t trader)
{
	int status;

	while (waitpid(trader, &status, 0) < 0 && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	waits = argc > 1 && !strcmp(argv[1], "broken");
	requests = open_queue("rr-requests", 10);
	inbox = open_queue("rr-inbox", 4);
	snapshots = open_queue("rr-snapshots", 4);
	reports = open_queue("rr-reports", 4);

	pid_t broker = start(run_broker), audit = start(run_audit), trader = start(place_orders);
	if (broker < 0 || audit < 0 || trader < 0)
		return 1;
	await_trader(trader);
	struct message audited = take(reports);
	put(requests, STOP, 0, 0);
	struct message matched = take(reports);
	waitpid(broker, NULL, 0);
	waitpid(audit, NULL, 0);
	printf("the sums are %ld and %ld, %d snapshots\n", audited.amount, matched.amount,
		audited.number);
	return audited.amount != matched.amount;
}
