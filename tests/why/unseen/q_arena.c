/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 900
 *   ask: why
 *   truth: Spectator 9 joins and never reads its socket: "join spectator 9" holds the lock "world snapshot" while it waits for "client 9" to take the rest. The autosave and spectator 12 wait for the lock, while the game ticks on and overwrites the ring.
 *   culprit: (spectator|client) 9\b
 *   victim: autosave|spectator 12
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

#define ENTITIES 110
#define SNAPSHOT 40000
#define CLIENTS 4

/* A joining spectator gets the whole world; nobody else may freeze the world meanwhile. */
struct join {
	int number, at_tick;
	thrum_task task, client;
	int fd, peer, left;
	struct join *next; /* waits for the snapshot */
};

static struct join joins[CLIENTS] = {
	{.number = 3, .at_tick = 5},
	{.number = 5, .at_tick = 12},
	{.number = 9, .at_tick = 30},
	{.number = 12, .at_tick = 75},
};
static struct join autosave;
static struct join *holder, *queue, **queue_end = &queue;
static thrum_task snapshot;
static int epfd, tick;
static bool broken;

static void *client_process(void *data)
{
	struct join *j = data;
	char buffer[4096];
	int got = 0;

	if (broken && j->number == 9)
		return NULL; /* its laptop sleeps; TCP keeps the connection */
	while (got < SNAPSHOT) {
		ssize_t n = read(j->peer, buffer, sizeof(buffer));

		if (n <= 0)
			break;
		got += n;
		usleep(600);
	}
	return NULL;
}

static void stream(struct join *j);

static void snapshot_get(struct join *j)
{
	if (holder) {
		thrum_task_wait(j->task, snapshot);
		j->next = NULL;
		*queue_end = j;
		queue_end = &j->next;
		return;
	}
	holder = j;
	THRUM_RUN (j->task) {
		thrum_lock_acquired(snapshot);
		stream(j);
	}
}

static void hand_over(void)
{
	struct join *next = queue;

	holder = NULL;
	if (next) {
		queue = next->next;
		if (!queue)
			queue_end = &queue;
		snapshot_get(next);
	}
}

/* Runs in the join's task, which holds the snapshot. */
static void stream(struct join *j)
{
	static const char world[SNAPSHOT];

	while (j->left > 0) {
		ssize_t n = send(j->fd, world, j->left > 4096 ? 4096 : j->left,
			MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0) {
			struct epoll_event e = {.events = EPOLLOUT | EPOLLONESHOT, .data.ptr = j};

			thrum_task_wait(j->task, j->client);
			epoll_ctl(epfd, EPOLL_CTL_MOD, j->fd, &e);
			return;
		}
		j->left -= n;
	}
	thrum_lock_released(snapshot);
	thrum_task_resolve(j->task);
	hand_over();
}

static void game_tick(void)
{
	for (int i = 0; i < ENTITIES; i++) {
		thrum_task move = thrum_task_create(THRUM_KIND_TASK, i % 5 ? "move" : "think");

		THRUM_RUN (move)
			thrum_task_resolve(move);
	}
	for (int i = 0; i < CLIENTS; i++)
		if (joins[i].at_tick == tick) {
			joins[i].task = thrum_task_createf(THRUM_KIND_TASK, "join spectator %d",
				joins[i].number);
			thrum_task_should_resolve(joins[i].task);
			snapshot_get(&joins[i]);
		}
	if (tick == 50) {
		autosave.task = thrum_task_create(THRUM_KIND_TASK, "autosave");
		thrum_task_should_resolve(autosave.task);
		snapshot_get(&autosave); /* nothing left to stream: copies it at once */
	}
	tick++;
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 2000000}, {0, 2000000}};
	struct epoll_event e = {.events = EPOLLIN};
	int clock = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	epfd = epoll_create1(0);
	timerfd_settime(clock, 0, &every, NULL);
	epoll_ctl(epfd, EPOLL_CTL_ADD, clock, &e);
	snapshot = thrum_task_create(THRUM_KIND_LOCK, "world snapshot");
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2], size = 8192;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		joins[i].fd = ends[0];
		joins[i].peer = ends[1];
		joins[i].left = SNAPSHOT;
		joins[i].client = thrum_task_createf(THRUM_KIND_HANDLE, "client %d",
			joins[i].number);
		e = (struct epoll_event){.events = 0, .data.ptr = &joins[i]};
		epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &e);
		pthread_create(&thread, NULL, client_process, &joins[i]);
		pthread_detach(thread);
	}
	while (tick < (broken ? 100000 : 200)) {
		struct epoll_event events[8];
		uint64_t expired;
		int n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epfd, events, 8, -1);
		thrum_resume();
		for (int i = 0; i < n; i++) {
			struct join *j = events[i].data.ptr;

			if (j) {
				THRUM_RUN (j->task) {
					thrum_task_read(j->task, j->client);
					stream(j);
				}
			} else if (read(clock, &expired, sizeof(expired)) > 0)
				game_tick();
		}
	}
	printf("%d ticks, %s\n", tick, holder || queue ? "joins left" : "all joined");
	return 0;
}
