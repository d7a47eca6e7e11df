/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: The mirror resets the connection for gimp.tar.xz; the retry timer is set with whole seconds only (200 ms / 1000 = 0), which disarms the timerfd: the retry timer never fires.
 *   culprit: retry|backoff
 *   victim: gimp
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* fetchd: a download manager (annotated sparsely) */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

struct download {
	const char *name;
	int ms, failures;
	int fd; /* the transfer, simulated by a clock */
	int retry_fd;
	bool retrying;
	thrum_task task, transfer, retry;
};

static struct download downloads[] = {
	{"inkscape.tar.xz", 80, 0},
	{"gimp.tar.xz", 50, 1},
	{"krita.tar.xz", 140, 0},
	{"blender.tar.xz", 60, 0},
};
#define COUNT (int)(sizeof(downloads) / sizeof(downloads[0]))

static int epoll, left = COUNT;
static bool broken;

static void arm(int fd, int ms)
{
	struct itimerspec when = {
		.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l}};

	timerfd_settime(fd, 0, &when, NULL);
}

static void arm_seconds(int fd, int ms)
{
	struct itimerspec when = {.it_value.tv_sec = ms / 1000};

	timerfd_settime(fd, 0, &when, NULL);
}

static void begin(struct download *download)
{
	download->transfer = thrum_task_createf(THRUM_KIND_REQUEST, "transfer %s", download->name);
	thrum_task_wait(download->task, download->transfer);
	arm(download->fd, download->ms);
}

static void on_transfer(struct download *download)
{
	THRUM_RUN (download->task) {
		if (download->failures-- > 0) {
			thrum_task_fail(download->transfer, "connection reset by peer");
			download->retry = thrum_task_create(THRUM_KIND_TIMER, "retry timer");
			thrum_task_wait(download->task, download->retry);
			(broken ? arm_seconds : arm)(download->retry_fd, 200);
			break;
		}
		thrum_task_resolve(download->transfer);
		thrum_task_resolve(download->task);
		left--;
	}
}

static void on_retry(struct download *download)
{
	thrum_task_resolve(download->retry);
	THRUM_RUN (download->task)
		begin(download);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	epoll = epoll_create1(0);
	for (struct download *d = downloads; d < downloads + COUNT; d++) {
		struct epoll_event event = {.events = EPOLLIN};

		d->fd = timerfd_create(CLOCK_MONOTONIC, 0);
		d->retry_fd = timerfd_create(CLOCK_MONOTONIC, 0);
		event.data.u64 = (d - downloads) * 2;
		epoll_ctl(epoll, EPOLL_CTL_ADD, d->fd, &event);
		event.data.u64++;
		epoll_ctl(epoll, EPOLL_CTL_ADD, d->retry_fd, &event);
		d->task = thrum_task_createf(THRUM_KIND_TASK, "download %s", d->name);
		begin(d);
	}
	while (left > 0) {
		struct epoll_event event;
		struct download *d;
		uint64_t times;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		thrum_resume();
		d = &downloads[event.data.u64 / 2];
		if (read(event.data.u64 % 2 ? d->retry_fd : d->fd, &times, sizeof(times)) < 0)
			continue;
		(event.data.u64 % 2 ? on_retry : on_transfer)(d);
	}
	printf("fetchd: all done\n");
	return 0;
}
