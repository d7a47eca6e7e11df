/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: Since db conn 0 is busy, SELECT invoices is sent over db conn 1, but its callback is registered on db conn 0. The rows come on db conn 1, where nobody waits; the query hangs.
 *   culprit: db conn [01]
 *   victim: SELECT invoices|monthly report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* report: queries over a pool of three database connections */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define CONNS 3

struct query {
	const char *sql;
	unsigned char ms; /* the database's own business */
	bool prepared;
	struct query *next;
	thrum_task task;
};

struct conn {
	int fd, peer;
	bool busy;
	struct query *waiting;
	thrum_task handle;
};

static struct conn pool[CONNS];
static int epoll;
static bool broken;
static struct query queries[] = {
	{"SELECT users", 20},
	{"SELECT orders", 15},
	{"SELECT prices", 25},
	{"SELECT taxes", 60},
	{"SELECT invoices", 20, true},
	{"SELECT credits", 10},
};
#define QUERIES (int)(sizeof(queries) / sizeof(queries[0]))

/* The database: one session each. */
static void *database(void *data)
{
	struct conn *conn = data;
	unsigned char ms;

	while (read(conn->peer, &ms, 1) == 1) {
		usleep(ms * 1000);
		if (write(conn->peer, "R", 1) != 1)
			break;
	}
	return NULL;
}

static void submit(struct query *query)
{
	int chosen = 0, usable;
	struct query **at;

	for (usable = chosen; usable < CONNS && pool[usable].busy; usable++)
		continue;
	/* prepared statements take another path, which forgets that the first choice was busy */
	if (!broken || !query->prepared)
		chosen = usable;
	query->task = thrum_task_create(THRUM_KIND_REQUEST, query->sql);
	thrum_task_should_resolve(query->task);
	thrum_task_wait(query->task, pool[chosen].handle);
	for (at = &pool[chosen].waiting; *at; at = &(*at)->next)
		continue;
	*at = query;
	pool[usable].busy = true;
	THRUM_RUN (query->task)
		thrum_logf("sent on db conn %d", usable);
	if (write(pool[usable].fd, &query->ms, 1) != 1)
		thrum_task_fail(query->task, "write");
}

static int on_rows(struct conn *conn)
{
	struct query *query = conn->waiting;
	char row;

	if (read(conn->fd, &row, 1) != 1)
		return 0;
	conn->busy = false;
	if (!query) {
		thrum_logf("rows on db conn %d dropped: nobody asked", (int)(conn - pool));
		return 0;
	}
	conn->waiting = query->next;
	THRUM_RUN (query->task) {
		thrum_task_read(query->task, conn->handle);
		thrum_task_resolve(query->task);
	}
	return 1;
}

static int pump(void)
{
	struct epoll_event event;
	int n;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	n = epoll_wait(epoll, &event, 1, -1);
	thrum_resume();
	return n == 1 ? on_rows(event.data.ptr) : 0;
}

int main(int argc, char **argv)
{
	thrum_task report, idle;
	pthread_t thread;
	int done = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	epoll = epoll_create1(0);
	for (int i = 0; i < CONNS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &pool[i]};
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		pool[i].fd = ends[0];
		pool[i].peer = ends[1];
		pool[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "db conn %d", i);
		epoll_ctl(epoll, EPOLL_CTL_ADD, pool[i].fd, &event);
		pthread_create(&thread, NULL, database, &pool[i]);
	}
	idle = thrum_task_create(THRUM_KIND_TIMER, "idle disconnect");
	thrum_task_due(idle, 30000000000ll);
	report = thrum_task_create(THRUM_KIND_TASK, "monthly report");
	thrum_task_should_resolve(report);
	/* three at once */
	for (int i = 0; i < 3; i++) {
		submit(&queries[i]);
		thrum_task_wait(report, queries[i].task);
	}
	while (done < 3)
		done += pump();
	/* then: one after the other on conn 0, with an overlap */
	submit(&queries[3]);
	thrum_task_wait(report, queries[3].task);
	submit(&queries[4]);
	thrum_task_wait(report, queries[4].task);
	while (done < 5)
		done += pump();
	submit(&queries[5]);
	thrum_task_wait(report, queries[5].task);
	while (done < QUERIES)
		done += pump();
	THRUM_RUN (report)
		thrum_task_resolve(report);
	printf("report: %d queries\n", done);
	return 0;
}
