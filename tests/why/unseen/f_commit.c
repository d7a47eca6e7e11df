/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: two processes wait for each other: in transaction 4 the coordinator waits for the vote of shard 2, and shard
 *     2 (another process) asks the coordinator for the schema first, a question that the coordinator puts off until all
 *     votes are in.
 *   culprit: shard 2|schema
 *   victim: transaction
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

#define SHARDS 3
enum {
	PREPARE = 1,
	VOTE,
	ASK_SCHEMA,
	SCHEMA
};

/* A coordinator of two-phase commits, and its shards, which are processes. */
struct message {
	int type, transaction, shard, serial;
};
static int sockets[SHARDS], serial;
static thrum_task votes[SHARDS], transaction, question;
static struct message postponed;
static bool answer_at_once, asked;

static void send_message(int fd, int type, int transaction_number, int shard)
{
	struct message message = {type, transaction_number, shard,
		shard * 100000 + type * 10000 + ++serial};

	thrum_link_send(&message, sizeof message);
	if (write(fd, &message, sizeof message) < 0)
		thrum_log("write failed");
}

static void shard_main(int fd, int number)
{
	struct message message;
	thrum_task self;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getenv("THRUM_TRACE"))
		thrum_start(NULL);
	self = thrum_task_createf(THRUM_KIND_TASK, "shard %d", number);
	thrum_task_switch(self);
	while (read(fd, &message, sizeof message) == sizeof message) {
		int transaction_number = message.transaction;

		thrum_link_receive(&message, sizeof message);
		usleep(3000 + 1000 * number);
		if (transaction_number == 4 && number == 2) {
			/* a column that this shard doesn't know */
			thrum_task ask = thrum_task_create(THRUM_KIND_REQUEST, "ask for schema");

			thrum_task_should_resolve(ask);
			thrum_task_wait(self, ask);
			send_message(fd, ASK_SCHEMA, transaction_number, number);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			if (read(fd, &message, sizeof message) != sizeof message)
				break;
			thrum_resume();
			thrum_link_receive(&message, sizeof message);
			thrum_task_resolve(ask);
		}
		send_message(fd, VOTE, transaction_number, number);
	}
	thrum_stop();
	_exit(0);
}

static void answer_schema(const struct message *message)
{
	THRUM_RUN (question) {
		send_message(sockets[message->shard], SCHEMA, message->transaction, message->shard);
		thrum_task_resolve(question);
	}
	asked = false;
}

int main(int argc, char **argv)
{
	struct pollfd fds[SHARDS];

	answer_at_once = argc > 1 && !strcmp(argv[1], "healthy");
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < SHARDS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
			return 2;
		if (fork() == 0) {
			for (int k = 0; k < i; k++)
				close(sockets[k]);
			close(ends[0]);
			shard_main(ends[1], i);
		}
		close(ends[1]);
		sockets[i] = ends[0];
		fds[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	}
	for (int number = 1; number <= 8; number++) {
		int missing = SHARDS;

		transaction = thrum_task_createf(THRUM_KIND_TASK, "transaction %d", number);
		thrum_task_should_resolve(transaction);
		thrum_task_switch(transaction);
		for (int i = 0; i < SHARDS; i++) {
			votes[i] = thrum_task_createf(THRUM_KIND_REQUEST, "vote of shard %d", i);
			thrum_task_wait(transaction, votes[i]);
			THRUM_RUN (votes[i])
				send_message(sockets[i], PREPARE, number, i);
		}
		while (missing) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			poll(fds, SHARDS, -1);
			thrum_resume();
			for (int i = 0; i < SHARDS; i++) {
				struct message message;

				if (!fds[i].revents ||
					read(fds[i].fd, &message, sizeof message) != sizeof message)
					continue;
				if (message.type == ASK_SCHEMA) {
					question = thrum_task_createf(THRUM_KIND_TASK,
						"schema for shard %d", i);
					THRUM_RUN (question)
						thrum_link_receive(&message, sizeof message);
					postponed = message;
					asked = true;
					if (answer_at_once)
						answer_schema(&message);
					else /* between two transactions the schema can't change */
						thrum_task_wait(question, transaction);
					continue;
				}
				THRUM_RUN (votes[i]) {
					thrum_link_receive(&message, sizeof message);
					thrum_task_resolve(votes[i]);
				}
				thrum_task_read(transaction, votes[i]);
				missing--;
			}
		}
		thrum_task_resolve(transaction);
		thrum_task_switch(THRUM_TASK_NONE);
		if (asked)
			answer_schema(&postponed);
	}
	thrum_stop();
	for (int i = 0; i < SHARDS; i++)
		close(sockets[i]);
	while (wait(NULL) > 0)
		continue;
	puts("coordinator: 8 transactions");
	return 0;
}
