/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="GET /cart"
 *   truth: The slowest GET /cart had its answer after 3 ms, but the loop was busy for 180 ms in "rotate access.log", which copies and syncs the log in the loop's own thread. (GET /report is slow of itself and has nothing to do with it.)
 *   culprit: rotate access\.log|rotate_log
 *   victim: GET /cart
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

struct request {
	thrum_task task;
	const char *url;
	int fd, peer, ms;
};

static struct request requests[24];
static int epfd, count, finished;
static thrum_task backend;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Plays the application servers. */
static void *application(void *data)
{
	struct request *r = data;
	char c;

	if (read(r->peer, &c, 1) != 1)
		return NULL;
	usleep(r->ms * 1000);
	if (write(r->peer, &c, 1) != 1)
		return NULL;
	return NULL;
}

static void forward(const char *url, int ms)
{
	struct request *r = &requests[count++];
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = r};
	pthread_t thread;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return;
	r->url = url;
	r->ms = ms;
	r->fd = ends[0];
	r->peer = ends[1];
	pthread_create(&thread, NULL, application, r);
	pthread_detach(thread);
	r->task = thrum_task_create(THRUM_KIND_REQUEST, url);
	thrum_task_should_resolve(r->task);
	epoll_ctl(epfd, EPOLL_CTL_ADD, r->fd, &e);
	thrum_task_wait(r->task, backend);
	if (write(r->fd, "?", 1) != 1)
		thrum_task_fail(r->task, "write");
}

static void on_reply(struct request *r)
{
	char c;

	if (read(r->fd, &c, 1) != 1)
		return;
	THRUM_RUN (r->task) {
		thrum_task_read(r->task, backend);
		close(r->fd);
		thrum_task_resolve(r->task);
	}
	finished++;
}

static void rotate_log(void)
{
	usleep(180000); /* copy, compress, fsync */
}

int main(void)
{
	int64_t begin = now_ms();
	int64_t next = begin + 5, rotation = begin + 104;
	thrum_task rotate = thrum_task_create(THRUM_KIND_TIMER, "rotate access.log");
	bool rotated = false;

	thrum_task_due(rotate, 104000000);
	epfd = epoll_create1(0);
	backend = thrum_task_create(THRUM_KIND_HANDLE, "backend pool");
	while (finished < 20) {
		struct epoll_event e[8];
		int64_t now = now_ms(), until;
		int n;

		if (count < 20 && now >= next) {
			if (count == 4)
				forward("GET /report", 300);
			else if (count % 5 == 2)
				forward("GET /logo.png", 2);
			else
				forward("GET /cart", 3);
			next = now + (count == 9 ? 1 : 11);
			if (count == 9)
				rotation = now + 1;
		}
		if (!rotated && count >= 9 && now_ms() >= rotation) {
			rotated = true;
			THRUM_RUN (rotate) {
				rotate_log();
				thrum_task_resolve(rotate);
			}
			continue;
		}
		until = count < 20 ? next : now + 50;
		if (!rotated && count >= 9 && rotation < until)
			until = rotation;
		now = now_ms();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epfd, e, 8, until > now ? (int)(until - now) : 0);
		thrum_resume();
		for (int i = 0; i < n; i++)
			on_reply(e[i].data.ptr);
	}
	printf("%d answered\n", finished);
	return 0;
}
