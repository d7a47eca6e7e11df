/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: The resend timer is not armed again after the second resend, so "publish 4", which was lost three times, is never sent again and its acknowledgement never comes.
 *   culprit: resend timer|on_resend
 *   victim: publish 4|upload telemetry
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

#define MESSAGES 7
#define RESEND_MS 40

struct publish {
	thrum_task task, either;
	int attempts;
	bool acked;
};

static struct publish publishes[MESSAGES + 1];
static int broker[2], timer, epoll, unacked;
static thrum_task link_task, timer_task;
static bool forgetful;

/* The other side: loses message 4 three times. */
static void *broker_main(void *data)
{
	uint8_t id;
	int lost = 0;

	while (recv(broker[1], &id, 1, 0) == 1) {
		usleep(3000);
		if (id == 4 && lost++ < 3)
			continue;
		send(broker[1], &id, 1, 0);
	}
	return data;
}

static void arm(int ms)
{
	struct itimerspec when = {.it_value = {.tv_nsec = ms * 1000000L}};

	timerfd_settime(timer, 0, &when, NULL);
	thrum_task_due(timer_task, ms * 1000000LL);
}

static void transmit(int id)
{
	struct publish *p = &publishes[id];
	uint8_t byte = (uint8_t)id;

	p->attempts++;
	p->either = thrum_task_create(THRUM_KIND_CHOOSE, "ack or resend");
	thrum_task_wait(p->either, link_task);
	thrum_task_wait(p->either, timer_task);
	thrum_task_wait(p->task, p->either);
	send(broker[0], &byte, 1, 0);
}

static void on_resend(void)
{
	uint64_t ticks;
	int most = 0;

	if (read(timer, &ticks, 8) != 8)
		return;
	THRUM_RUN (timer_task) {
		for (int i = 1; i <= MESSAGES; i++) {
			struct publish *p = &publishes[i];

			if (!p->attempts || p->acked)
				continue;
			thrum_task_resolve(p->either);
			thrum_task_read(p->task, p->either);
			transmit(i);
			if (p->attempts > most)
				most = p->attempts;
		}
		/* the bug: the timer is armed for first resends only */
		if (unacked && (!forgetful || most < 3))
			arm(RESEND_MS);
	}
}

static void on_ack(void)
{
	struct publish *p;
	uint8_t id;

	if (recv(broker[0], &id, 1, 0) != 1)
		return;
	p = &publishes[id];
	if (p->acked)
		return;
	THRUM_RUN (p->task) {
		thrum_task_resolve(p->either);
		thrum_task_read(p->task, p->either);
		p->acked = true;
		unacked--;
		thrum_task_resolve(p->task);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = 0};
	thrum_task all;
	pthread_t thread;

	forgetful = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	all = thrum_task_create(THRUM_KIND_TASK, "upload telemetry");
	thrum_task_should_resolve(all);
	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, broker);
	pthread_create(&thread, NULL, broker_main, NULL);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	epoll = epoll_create1(0);
	event.data.fd = timer;
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	event.data.fd = broker[0];
	epoll_ctl(epoll, EPOLL_CTL_ADD, broker[0], &event);
	link_task = thrum_task_create(THRUM_KIND_HANDLE, "broker");
	timer_task = thrum_task_create(THRUM_KIND_TIMER, "resend timer");
	for (int i = 1; i <= MESSAGES; i++) {
		publishes[i].task = thrum_task_createf(THRUM_KIND_REQUEST, "publish %d", i);
		thrum_task_should_resolve(publishes[i].task);
		thrum_task_wait(all, publishes[i].task);
		unacked++;
		transmit(i);
	}
	arm(RESEND_MS);
	while (unacked) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		epoll_wait(epoll, &event, 1, -1);
		thrum_resume();
		if (event.data.fd == timer)
			on_resend();
		else
			on_ack();
	}
	thrum_task_cancel(timer_task);
	thrum_task_resolve(link_task);
	thrum_task_resolve(all);
	shutdown(broker[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	printf("all acknowledged, 4 after %d attempts\n", publishes[4].attempts);
	return 0;
}
