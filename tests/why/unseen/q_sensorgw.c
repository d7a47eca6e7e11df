/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Sensor chimney hangs up. The gateway takes read() == 0 for "no data" and leaves the socket in the level-triggered epoll, so the loop spins on "sensor chimney" and is never idle; the uploads, which run only when the loop is idle, never get a turn.
 *   culprit: chimney
 *   victim: upload batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define SENSORS 5
#define UPLOADS 6

struct sensor {
	const char *name;
	int fd, peer;
	thrum_task task;
	int sum;
};

static struct sensor sensors[SENSORS] = {
	{.name = "sensor boiler"},
	{.name = "sensor pump"},
	{.name = "sensor chimney"},
	{.name = "sensor yard"},
	{.name = "sensor tank"},
};
static thrum_task idle_queue[UPLOADS + 1];
static int idle_first, idle_last, epfd, readings;
static bool broken;

static void *field(void *unused)
{
	for (int round = 0; round < 24; round++) {
		nanosleep(&(struct timespec){0, 9000000}, NULL);
		for (int i = 0; i < SENSORS; i++) {
			unsigned char v = 40 + round + i;

			if (i == 2 && round == 10) {
				close(sensors[i].peer); /* the chimney's modem resets */
				sensors[i].peer = -1;
			}
			if (sensors[i].peer >= 0 && i != 3) /* yard is silent all night */
				if (write(sensors[i].peer, &v, 1) != 1)
					return NULL;
		}
	}
	return unused;
}

static void on_sensor(struct sensor *s)
{
	unsigned char v[16];
	ssize_t n = recv(s->fd, v, sizeof(v), MSG_DONTWAIT);

	if (n < 0)
		return;
	if (n == 0) {
		if (broken)
			return; /* nothing to read */
		epoll_ctl(epfd, EPOLL_CTL_DEL, s->fd, NULL);
		close(s->fd);
		thrum_log("hung up");
		thrum_task_resolve(s->task);
		return;
	}
	for (ssize_t i = 0; i < n; i++, readings++) {
		s->sum += v[i];
		if (readings % 12 == 11 && idle_last < UPLOADS) {
			thrum_task t = thrum_task_createf(THRUM_KIND_TASK, "upload batch %d",
				idle_last);

			thrum_task_should_resolve(t);
			thrum_task_ready(t);
			idle_queue[idle_last++] = t;
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	epfd = epoll_create1(0);
	for (int i = 0; i < SENSORS; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = &sensors[i]};
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		sensors[i].fd = ends[0];
		sensors[i].peer = ends[1];
		sensors[i].task = thrum_task_create(THRUM_KIND_HANDLE, sensors[i].name);
		epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &e);
	}
	pthread_create(&thread, NULL, field, NULL);
	for (int done = 0; done < UPLOADS;) {
		struct epoll_event e[4];
		int n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epfd, e, 4, idle_first < idle_last ? 2 : 50);
		thrum_resume();
		for (int i = 0; i < n; i++)
			THRUM_RUN (((struct sensor *)e[i].data.ptr)->task)
				on_sensor(e[i].data.ptr);
		if (n == 0 && idle_first < idle_last) { /* idle: there's time for the uplink */
			THRUM_RUN (idle_queue[idle_first]) {
				usleep(1500);
				thrum_task_resolve(idle_queue[idle_first]);
			}
			idle_first++;
			done++;
		}
	}
	pthread_join(thread, NULL);
	printf("%d readings\n", readings);
	return 0;
}
