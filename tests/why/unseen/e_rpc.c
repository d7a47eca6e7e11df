/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: size 256K kill 1100
 *   ask: why
 *   truth: Each "call stats" that is answered with an error never gives its send credit back; after 32 of them no credit is left, and the pump waits for "send credits" for ever.
 *   culprit: (?i)call stats|(holds?|held|releas|leak|gave|give)[^\n]*send credits|send credits[^\n]*(holds?|held|releas|leak|gave|give)
 *   victim: pump|call get
 * case: healthy
 *   args: healthy
 *   run: size 256K
 *   ask: why
 *   culprit: nothing
 */
/* rpcload: sends RPCs over one connection with credit-based flow control */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define CREDITS 32
#define CALLS 33500
#define FIRST_ERROR 20000

struct message {
	int id, method, status;
};

static thrum_task window; /* of the credits */
static thrum_task calls[CALLS], connection;
static int credits = CREDITS;
static bool broken;

static void *server(void *data)
{
	struct message batch[CREDITS];
	int fd = *(int *)data;
	ssize_t size;

	while ((size = read(fd, batch, sizeof(batch))) > 0) {
		for (size_t i = 0; i < size / sizeof(batch[0]); i++)
			batch[i].status = batch[i].method == 1 && batch[i].id >= FIRST_ERROR ? 13
											     : 0;
		if (write(fd, batch, size) != size)
			break;
	}
	return NULL;
}

static void on_reply(const struct message *reply)
{
	THRUM_RUN (calls[reply->id]) {
		thrum_task_read(calls[reply->id], connection);
		if (reply->status) {
			if (broken) {
				thrum_task_fail(calls[reply->id], "server error 13");
				break;
			}
			credits++;
			thrum_lock_released(window);
			thrum_task_fail(calls[reply->id], "server error 13");
			break;
		}
		credits++;
		thrum_lock_released(window);
		thrum_task_resolve(calls[reply->id]);
	}
}

int main(int argc, char **argv)
{
	struct message batch[CREDITS];
	int ends[2], sent = 0, answered = 0, n;
	thrum_task pump;
	pthread_t thread;
	ssize_t size;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 2;
	pthread_create(&thread, NULL, server, &ends[1]);
	connection = thrum_task_create(THRUM_KIND_HANDLE, "rpc connection");
	window = thrum_task_create(THRUM_KIND_SEMAPHORE, "send credits");
	pump = thrum_task_create(THRUM_KIND_TASK, "pump");
	while (answered < CALLS) {
		for (n = 0; credits > 0 && sent < CALLS; n++, sent++) {
			batch[n] = (struct message){.id = sent, .method = sent % 400 == 399};
			calls[sent] = thrum_task_create(THRUM_KIND_REQUEST,
				batch[n].method ? "call stats" : "call get");
			THRUM_RUN (calls[sent])
				thrum_lock_acquired(window);
			thrum_task_wait(calls[sent], connection);
			credits--;
		}
		if (n && write(ends[0], batch, n * sizeof(batch[0])) < 0)
			return 1;
		if (sent < CALLS)
			thrum_task_wait(pump, window);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(ends[0], batch, sizeof(batch));
		thrum_resume();
		for (size_t i = 0; i < size / sizeof(batch[0]); i++, answered++)
			on_reply(&batch[i]);
		if (sent < CALLS && credits > 0)
			thrum_task_read(pump, window);
	}
	thrum_task_resolve(pump);
	printf("rpcload: %d calls\n", answered);
	return 0;
}
