/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Each part that the store rejects keeps its credit of the upload window: on_reply returns it only
 *     after a success. Four rejected first tries (parts 3, 7, 8, 12) use up the window, and the rest waits.
 *   culprit: part (3|7|8|12), try 1
 *   victim: upload backup|part [0-9]+, try|upload window
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define PARTS 24
#define WINDOW 4

struct message {
	int part, attempt, status;
};

struct part {
	thrum_task task;
	int number, attempt;
	bool waits;
	struct part *next;
};

static struct part parts[PARTS], *queue, **queue_end = &queue;
static thrum_task window, connection, upload;
static int credits = WINDOW, left = PARTS, client, broken;

/* The store is throttled for some parts, and answers 503 to their first try. */
static void *store(void *data)
{
	int fd = *(int *)data;
	struct message message;

	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		usleep(2000);
		message.status = 200;
		if (message.attempt == 1)
			if (message.part == 3 || message.part == 7 || message.part == 8 ||
				message.part == 12)
				message.status = 503;
		if (write(fd, &message, sizeof(message)) != sizeof(message))
			break;
	}
	return NULL;
}

static void enqueue(struct part *part)
{
	part->attempt++;
	part->waits = false;
	part->task = thrum_task_createf(THRUM_KIND_TASK, "part %d, try %d", part->number,
		part->attempt);
	thrum_task_wait(upload, part->task);
	part->next = NULL;
	*queue_end = part;
	queue_end = &part->next;
}

static void send_part(struct part *part)
{
	struct message message = {part->number, part->attempt, 0};

	if (write(client, &message, sizeof(message)) != sizeof(message))
		abort();
	thrum_task_wait(part->task, connection);
}

/* Sends parts for as long as the store lets us. */
static void pump(void)
{
	while (queue) {
		struct part *part = queue;

		if (credits == 0) {
			if (!part->waits)
				thrum_task_wait(part->task, window);
			part->waits = true;
			return;
		}
		queue = part->next;
		if (!queue)
			queue_end = &queue;
		credits--;
		THRUM_RUN (part->task) {
			thrum_lock_acquired(window);
			send_part(part);
		}
	}
}

static void credit_return(void)
{
	thrum_lock_released(window);
	credits++;
}

static void on_reply(const struct message *reply)
{
	struct part *part = &parts[reply->part];

	THRUM_RUN (part->task) {
		thrum_task_read(part->task, connection);
		if (reply->status == 200) {
			credit_return();
			thrum_task_resolve(part->task);
			left--;
			break;
		}
		if (!broken)
			credit_return();
		thrum_task_fail(part->task, "503 slow down");
	}
	if (reply->status != 200)
		enqueue(part);
}

static void loop(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event);
	while (left > 0) {
		struct message reply;

		pump();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		epoll_wait(epoll, &event, 1, -1);
		thrum_resume();
		if (read(client, &reply, sizeof(reply)) != sizeof(reply))
			abort();
		on_reply(&reply);
	}
	close(epoll);
}

int main(int argc, char **argv)
{
	int ends[2];
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	client = ends[0];
	pthread_create(&thread, NULL, store, &ends[1]);
	window = thrum_task_create(THRUM_KIND_SEMAPHORE, "upload window");
	connection = thrum_task_create(THRUM_KIND_HANDLE, "store connection");
	upload = thrum_task_create(THRUM_KIND_JOIN, "upload backup.tar");
	thrum_task_should_resolve(upload);
	for (int i = 0; i < PARTS; i++) {
		parts[i].number = i;
		enqueue(&parts[i]);
	}
	loop();
	thrum_task_resolve(upload);
	printf("uploaded %d parts\n", PARTS);
	thrum_stop();
	close(client);
	pthread_join(thread, NULL);
	return 0;
}
