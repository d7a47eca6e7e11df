/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: fetch_keys of the process auth asks the frontend for the new keys in the middle of a
 *     verification, for which the frontend's only thread is blocked in auth_verify; so the request "GET
 *     /keys" is never received, and both processes wait for each other
 *   culprit: GET /keys|fetch_keys|auth_verify
 *   victim: login [0-9]+|check token [0-9]+
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Two processes: the frontend lets people log in, auth checks their tokens with the frontend's keys. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

#define LOGINS 9

struct message {
	unsigned long key; /* of the link: the sender and a number */
	int number;        /* of the login */
	int key_id;        /* of the token, or the newest key */
	bool is_good;
};

enum {
	FRONTEND = 1,
	AUTH = 2
};

static int calls[2];     /* frontend asks auth */
static int callbacks[2]; /* auth asks the frontend */
static bool serves_meanwhile;
static int newest_key = 1, served;

static bool receive(int socket, struct message *message)
{
	ssize_t size;

	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	size = recv(socket, message, sizeof(*message), 0);
	thrum_resume();
	return size == sizeof(*message);
}

static thrum_task ask(int socket, struct message *message, int who, const char *label)
{
	static unsigned long serial;
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, label);

	thrum_task_should_resolve(request);
	message->key = (unsigned long)who << 32 | ++serial;
	thrum_task_wait(thrum_task_current(), request);
	THRUM_RUN (request)
		thrum_link_send(&message->key, sizeof(message->key));
	if (send(socket, message, sizeof(*message), 0) < 0)
		thrum_task_fail(request, "send");
	return request;
}

static void answered(thrum_task request)
{
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
}

/* ---- auth ---- */

static int fetch_keys(void)
{
	struct message message = {0};
	thrum_task request = ask(callbacks[1], &message, AUTH, "GET /keys");

	if (!receive(callbacks[1], &message))
		_exit(0);
	answered(request);
	return message.key_id;
}

static void check_token(struct message *message, int *known)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "check token %d", message->number);

	THRUM_RUN (task) {
		thrum_link_receive(&message->key, sizeof(message->key));
		if (message->key_id > *known)
			*known = fetch_keys();
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(1000);
		thrum_resume();
		message->is_good = message->key_id <= *known;
		if (send(calls[1], message, sizeof(*message), 0) > 0)
			thrum_task_resolve(task);
		else
			thrum_task_fail(task, "send");
	}
}

static void auth_run(void)
{
	struct message message;
	int known;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(calls[0]);
	close(callbacks[0]);
	thrum_start(NULL);
	thrum_lane_name("auth");
	known = fetch_keys();
	for (;;) {
		bool is_open;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		is_open = recv(calls[1], &message, sizeof(message), 0) == sizeof(message);
		thrum_resume();
		if (!is_open)
			break;
		check_token(&message, &known);
	}
	thrum_stop();
	_exit(0);
}

/* ---- frontend ---- */

static void serve_keys(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "serve keys");
	struct message message;

	THRUM_RUN (task) {
		if (!receive(callbacks[0], &message)) {
			thrum_task_fail(task, "receive");
			break;
		}
		thrum_link_receive(&message.key, sizeof(message.key));
		message.key_id = newest_key;
		served++;
		if (send(callbacks[0], &message, sizeof(message), 0) > 0)
			thrum_task_resolve(task);
	}
}

/* Serves what comes in the next `ms`, or until `answer` can be read. */
static void serve_others(int answer, int ms)
{
	struct pollfd polls[2] = {{.fd = callbacks[0], .events = POLLIN},
		{.fd = answer, .events = POLLIN}};
	int count;

	do {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = poll(polls, 2, ms);
		thrum_resume();
		if (count > 0 && polls[0].revents)
			serve_keys();
	} while (count > 0 && !polls[1].revents);
}

static bool auth_verify(int number, int key_id)
{
	struct message message = {.number = number, .key_id = key_id};
	thrum_task request = ask(calls[0], &message, FRONTEND, "POST /verify");

	if (serves_meanwhile)
		serve_others(calls[0], -1);
	if (!receive(calls[0], &message))
		exit(1);
	answered(request);
	return message.is_good;
}

static int login(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "login %d", number);
	bool is_good = false;

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		is_good = auth_verify(number, newest_key);
		thrum_task_resolve(task);
	}
	return is_good;
}

int main(int argc, char **argv)
{
	int good = 0, status;
	pid_t child;

	serves_meanwhile = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, calls))
		return 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, callbacks))
		return 1;
	child = fork();
	if (child == 0)
		auth_run();
	close(calls[1]);
	close(callbacks[1]);
	thrum_start(NULL);
	thrum_lane_name("frontend");
	while (served == 0)
		serve_others(-1, 100); /* auth begins with the keys of today */
	for (int i = 1; i <= LOGINS; i++) {
		if (i == 6)
			newest_key = 2; /* the keys change at midnight */
		good += login(i);
		serve_others(-1, 10);
	}
	thrum_stop();
	close(calls[0]);
	close(callbacks[0]);
	if (waitpid(child, &status, 0) != child || status != 0)
		return 1;
	printf("%d logins, keys were fetched %d times\n", good, served);
	return good == LOGINS ? 0 : 1;
}
