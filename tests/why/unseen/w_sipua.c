/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 800
 *   ask: why
 *   truth: the timer of retransmission of INVITEs (timer A) is given in microseconds, but set_timer takes milliseconds: 40 ms become 40 s, so the INVITE whose first datagram was lost is not sent again.
 *   culprit: timer A
 *   victim: INVITE
 * case: healthy
 *   args: healthy
 *   run: stop 800
 *   ask: why
 *   culprit: nothing
 */
/* sipua: a SIP client's transactions with a loop on poll and its own timers. The registrar thread loses
 * the first datagram of some transactions. Runs until it is stopped: it stays registered. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	TRANSACTIONS = 9
};
enum method {
	REGISTER,
	OPTIONS,
	INVITE
};
static const char *const method_name[] = {"REGISTER", "OPTIONS", "INVITE"};

struct transaction {
	enum method method;
	int branch, sent;
	int64_t due; /* ms; 0: not set */
	thrum_task task, timer, either;
};

static struct transaction transactions[TRANSACTIONS];
static int transport, registrar;
static thrum_task udp;
static bool broken;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* `t1` in ms */
static void set_timer(struct transaction *transaction, int64_t t1)
{
	transaction->due = now_ms() + t1;
	transaction->timer = thrum_task_create(THRUM_KIND_TIMER,
		transaction->method == INVITE ? "timer A" : "timer E");
	thrum_task_due(transaction->timer, t1 * 1000000);
}

static void transmit(struct transaction *transaction)
{
	int64_t t1 = 40;
	char datagram = (char)transaction->branch;

	transaction->sent++;
	if (transaction->method == INVITE && broken)
		t1 = 40 * 1000; /* "T1 is in us here" */
	set_timer(transaction, t1 * transaction->sent);
	transaction->either = thrum_task_create(THRUM_KIND_CHOOSE, "response or timer");
	thrum_task_wait(transaction->either, udp);
	thrum_task_wait(transaction->either, transaction->timer);
	thrum_task_wait(transaction->task, transaction->either);
	if (write(transport, &datagram, 1) != 1)
		perror("sipua");
}

static void begin(int branch, enum method method)
{
	struct transaction *transaction = &transactions[branch];

	transaction->branch = branch;
	transaction->method = method;
	transaction->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", method_name[method],
		branch);
	thrum_task_should_resolve(transaction->task);
	THRUM_RUN (transaction->task)
		transmit(transaction);
}

static void on_response(void)
{
	struct transaction *transaction;
	char branch;

	if (read(transport, &branch, 1) != 1)
		return;
	transaction = &transactions[(int)branch];
	if (!transaction->due)
		return; /* a duplicate */
	transaction->due = 0;
	thrum_task_cancel(transaction->timer);
	thrum_task_resolve(transaction->either);
	THRUM_RUN (transaction->task) {
		thrum_task_read(transaction->task, transaction->either);
		thrum_task_resolve(transaction->task);
	}
}

static void on_timer(struct transaction *transaction)
{
	transaction->due = 0;
	thrum_task_resolve(transaction->timer);
	thrum_task_resolve(transaction->either);
	THRUM_RUN (transaction->task) {
		thrum_task_read(transaction->task, transaction->either);
		transmit(transaction);
	}
}

static void *registrar_thread(void *unused)
{
	bool seen[TRANSACTIONS] = {false};
	char branch;

	(void)unused;
	while (read(registrar, &branch, 1) == 1) {
		bool lossy = branch == 2 || branch == 4 || branch == 7;

		usleep(6000);
		if (lossy && !seen[(int)branch]) {
			seen[(int)branch] = true;
			continue;
		}
		if (write(registrar, &branch, 1) != 1)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const enum method plan[TRANSACTIONS] = {REGISTER, OPTIONS, OPTIONS, INVITE, REGISTER,
		INVITE, OPTIONS, INVITE, OPTIONS};
	int pair[2], begun = 0;
	int64_t next_begin = now_ms() + 5, keepalive = now_ms() + 100;
	thrum_task keepalive_timer;
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		return 1;
	transport = pair[0];
	registrar = pair[1];
	pthread_create(&thread, NULL, registrar_thread, NULL);
	udp = thrum_task_create(THRUM_KIND_HANDLE, "udp 127.0.0.1:5060");
	keepalive_timer = thrum_task_create(THRUM_KIND_TIMER, "keepalive");
	thrum_task_due(keepalive_timer, 100000000);
	for (;;) {
		struct pollfd pollfd = {transport, POLLIN, 0};
		int64_t now = now_ms(), next = keepalive;

		if (begun < TRANSACTIONS && now >= next_begin) {
			begin(begun, plan[begun]);
			begun++;
			next_begin = now + 15;
		}
		if (now >= keepalive) {
			thrum_task_resolve(keepalive_timer);
			keepalive = now + 100;
			keepalive_timer = thrum_task_create(THRUM_KIND_TIMER, "keepalive");
			thrum_task_due(keepalive_timer, 100000000);
		}
		for (int i = 0; i < begun; i++)
			if (transactions[i].due && transactions[i].due <= now)
				on_timer(&transactions[i]);
		if (begun < TRANSACTIONS && next_begin < next)
			next = next_begin;
		for (int i = 0; i < begun; i++)
			if (transactions[i].due && transactions[i].due < next)
				next = transactions[i].due;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&pollfd, 1, next > now ? (int)(next - now) : 0);
		thrum_resume();
		if (pollfd.revents & POLLIN)
			on_response();
	}
}
