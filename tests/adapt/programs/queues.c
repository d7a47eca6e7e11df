/* SPDX-License-Identifier: ISC */
/*
 * Processes that send messages by queues. The first argument says which: "msg" those of msgget(), "mq"
 * those of mq_open(). The second one says how; with a third one all is well. SIGALRM ends it. Queues that
 * outlive the program stand in the file "queue". "named" before the second one: others could open the
 * queues, too. "unlink" and a name removes a queue of mq_open().
 *
 * room		the only process that took messages has ended, and the queue is full
 * answer	a process asks, and the one that should answer is killed
 * asked	the same before anybody waits for the answer
 * circle	two processes wait for each other's message
 * full		two processes send to each other, and neither receives
 * worker	a process waits for its children's results, and one ends without any
 * idle		a server waits for its next request, and those who asked before have ended
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang.h"
#include "patience.h"

#define PAUSE 300000 /* us: longer than a thread waits before it looks */
#define SIZE 1000
#define MANY 40

static bool is_fine, is_mq, is_named;
static int queues[2];
static char names[2][32];
static struct message {
	long type;
	char text[SIZE];
} message = {1, "text"};

static void make(void)
{
	struct mq_attr about = {.mq_maxmsg = 4, .mq_msgsize = SIZE};
	FILE *file = is_mq && !is_named ? NULL : fopen("queue", "w");

	for (int i = 0; i < 2; i++) {
		char *name = names[i];

		snprintf(name, sizeof names[i], "/thrum-%d-%d", (int)getpid(), i);
		queues[i] = is_mq
			? mq_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &about)
			: msgget(is_named ? getpid() * 2 + i : IPC_PRIVATE, IPC_CREAT | 0600);
		if (queues[i] < 0) {
			printf("skipped: %s\n", strerror(errno));
			exit(0);
		}
		if (is_mq && !is_named)
			mq_unlink(name);
		if (file && is_mq)
			fprintf(file, "%s\n", name);
		else if (file)
			fprintf(file, "%d\n", queues[i]);
	}
	if (file)
		fclose(file);
}

static void send_to(int queue)
{
	if (is_mq ? mq_send(queues[queue], message.text, SIZE, 0)
		  : msgsnd(queues[queue], &message, SIZE, 0))
		_exit(2);
}

static void receive_from(int queue)
{
	if ((is_mq ? mq_receive(queues[queue], message.text, SIZE, NULL)
		   : msgrcv(queues[queue], &message, SIZE, 0, 0)) < 0)
		_exit(2);
}

/* Returns 0 in the child. */
static pid_t start(const char *name)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
	}
	return child;
}

static void room(void)
{
	pid_t child = start("logger");

	if (child == 0) {
		for (int i = 0; i < (is_fine ? MANY + 1 : 1); i++)
			receive_from(0);
		_exit(0);
	}
	send_to(0);
	if (!is_fine)
		waitpid(child, NULL, 0);
	for (int i = 0; i < MANY; i++)
		send_to(0);
}

static void serve(void)
{
	receive_from(0);
	if (!is_fine)
		raise(SIGKILL);
	usleep(PAUSE);
	send_to(1);
	_exit(0);
}

static void answer(void)
{
	pid_t server = start("server"), client;

	if (server == 0)
		serve();
	client = start("client");
	if (client == 0) {
		send_to(0);
		receive_from(1);
		_exit(0);
	}
	waitpid(server, NULL, 0);
	waitpid(client, NULL, 0);
}

static void asked(void)
{
	pid_t server = start("server");

	if (server == 0)
		serve();
	send_to(0);
	if (!is_fine)
		waitpid(server, NULL, 0);
	receive_from(1);
}

static void circle(void)
{
	pid_t child = start("player");

	if (child == 0) {
		usleep(PAUSE);
		if (is_fine)
			send_to(1);
		receive_from(0);
		send_to(1);
		_exit(0);
	}
	receive_from(1);
	send_to(0);
	waitpid(child, NULL, 0);
}

static void send_many(int to, int from)
{
	for (int i = 0; i < MANY; i++) {
		send_to(to);
		if (is_fine)
			receive_from(from);
	}
	for (int i = 0; i < MANY && !is_fine; i++)
		receive_from(from);
}

static void full(void)
{
	pid_t child = start("player");

	send_many(child == 0, child != 0);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void worker(void)
{
	pid_t workers[2];

	for (int i = 0; i < 2; i++) {
		workers[i] = start("worker");
		if (workers[i] == 0) {
			usleep(is_fine ? PAUSE : PAUSE / 4);
			if (is_fine || i == 0)
				send_to(0);
			_exit(0);
		}
	}
	/* A thread looks only once before it waits for a queue of msgget(). */
	for (int i = 0; i < 2 && !is_mq && !is_fine; i++)
		while (state_of(workers[i]) != 'Z')
			usleep(1000);
	for (int i = 0; i < 2; i++)
		receive_from(0);
}

static void idle(void)
{
	pid_t client, late;

	for (int i = 0; i < 2; i++) {
		client = start("client");
		if (client == 0) {
			send_to(0);
			receive_from(1);
			_exit(0);
		}
		receive_from(0);
		send_to(1);
		waitpid(client, NULL, 0);
	}
	late = is_fine ? start("client") : -1;
	if (late == 0) {
		usleep(2 * PAUSE);
		send_to(0);
		_exit(0);
	}
	receive_from(0);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"room", room}, {"answer", answer}, {"asked", asked}, {"circle", circle},
		{"full", full}, {"worker", worker}, {"idle", idle}};

	if (count < 3)
		return 1;
	if (strcmp(arguments[1], "unlink") == 0)
		return mq_unlink(arguments[2]) != 0;
	is_mq = strcmp(arguments[1], "mq") == 0;
	is_named = strcmp(arguments[2], "named") == 0;
	is_fine = count > 3 + is_named;
	end_after(is_fine ? 20 : 2);
	make();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(arguments[2 + is_named], cases[i].name) == 0)
			cases[i].run();
	printf("done\n");
	for (int i = 0; i < 2; i++)
		if (is_mq)
			mq_unlink(names[i]);
		else
			msgctl(queues[i], IPC_RMID, NULL);
	return 0;
}
