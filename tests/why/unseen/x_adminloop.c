/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow="GET /health"
 *   truth: The slowest health check came while the loop's only thread ran "export yearly report" in one piece for some 200 ms; it had to wait for its turn.
 *   culprit: export yearly report
 *   victim: GET /health
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CHECKS = 25
};

/* The load balancer sends it: the task travels with the question. */
struct question {
	thrum_task task;
	char path[16];
};

static int ends[2];
static bool slow;

static void *balancer(void *unused)
{
	thrum_lane_name("balancer");
	for (int i = 0; i < CHECKS; i++) {
		struct question question = {.path = "/health"};
		char answer;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(18000);
		thrum_resume();
		question.task = thrum_task_create(THRUM_KIND_REQUEST, "GET /health");
		thrum_task_should_resolve(question.task);
		thrum_task_wait(thrum_task_current(), question.task);
		thrum_task_ready(question.task);
		if (write(ends[0], &question, sizeof question) != sizeof question)
			break;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (read(ends[0], &answer, 1) != 1)
			break;
		thrum_resume();
		thrum_task_read(thrum_task_current(), question.task);
	}
	shutdown(ends[0], SHUT_WR);
	return unused;
}

/* Returns false at the end. */
static bool on_question(void)
{
	struct question question;
	bool is_open = false;

	if (read(ends[1], &question, sizeof question) != sizeof question)
		return false;
	THRUM_RUN (question.task) {
		is_open = write(ends[1], "+", 1) == 1;
		thrum_task_resolve(question.task);
	}
	return is_open;
}

static void render_rows(int rows)
{
	for (int i = 0; i < rows; i++)
		usleep(2000);
}

static int rows_left = 100;
static thrum_task report;

/* Returns true when the report is done. */
static bool on_report_timer(int timer)
{
	uint64_t times;
	bool done = false;

	if (read(timer, &times, sizeof times) != sizeof times)
		return true;
	if (!report) {
		report = thrum_task_create(THRUM_KIND_TASK, "export yearly report");
		thrum_task_should_resolve(report);
	}
	THRUM_RUN (report) {
		int rows = slow ? rows_left : 1;

		render_rows(rows);
		rows_left -= rows;
		done = rows_left <= 60;
		if (done)
			thrum_task_resolve(report);
	}
	return done;
}

int main(int argc, char **argv)
{
	struct itimerspec when = {.it_value.tv_nsec = 100000000, .it_interval.tv_nsec = 4000000};
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t thread;
	bool is_open = true;

	slow = argc > 1 && strcmp(argv[1], "slow") == 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	timerfd_settime(timer, 0, &when, NULL);
	event.data.fd = timer;
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	event.data.fd = ends[1];
	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], &event);
	thrum_lane_name("admin loop");
	pthread_create(&thread, NULL, balancer, NULL);
	while (is_open) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		epoll_wait(epoll, &event, 1, -1);
		thrum_resume();
		if (event.data.fd == timer) {
			if (on_report_timer(timer))
				epoll_ctl(epoll, EPOLL_CTL_DEL, timer, NULL);
		} else
			is_open = on_question();
	}
	pthread_join(thread, NULL);
	return 0;
}
