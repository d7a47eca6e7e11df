/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the process “auth” shares one question to the directory among all who ask for the same user, but has
 *     room for one asker: auth_share() overwrites the first one when a second comes. So “GET /mail” gets no reply.
 *   culprit: verify alice for request 1|auth_share|ask auth|of auth
 *   victim: GET /mail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A web front, a process that checks who may see what, and a directory of users: three processes. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thrum.h>

#define USERS 4
#define REQUESTS 4

struct message {
	uint64_t key; /* of the link: unique among all messages */
	unsigned request;
	char user[16];
	bool may;
};

static uint64_t new_key(void)
{
	static uint64_t number;

	return (uint64_t)getpid() << 32 | ++number;
}

static bool receive(int socket, struct message *message)
{
	ssize_t size;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	size = read(socket, message, sizeof *message);
	thrum_resume();
	return size == sizeof *message;
}

static void sleep_ms(unsigned ms)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(ms * 1000);
	thrum_resume();
}

/* Sends a message for the task that runs. */
static void send_message(int socket, struct message *message)
{
	message->key = new_key();
	thrum_link_send(&message->key, sizeof message->key);
	if (write(socket, message, sizeof *message) != sizeof *message)
		perror("write");
}

/* ---- directory: knows all users, and is slow -------------------------------------------------- */

static int run_directory(int auth)
{
	struct message message;
	thrum_task task;

	while (receive(auth, &message)) {
		task = thrum_task_createf(THRUM_KIND_TASK, "find %s", message.user);
		THRUM_RUN (task) {
			thrum_link_receive(&message.key, sizeof message.key);
			sleep_ms(160);
			message.may = strcmp(message.user, "mallory") != 0;
			send_message(auth, &message);
			thrum_task_resolve(task);
		}
	}
	return 0;
}

/* ---- auth: asks the directory, once for all who ask at the same time --------------------------- */

struct asker {
	unsigned request;
	thrum_task task;
};

struct question {
	char user[16];
	bool is_pending;
	struct asker asker;
	thrum_task answer;
};

static struct question questions[USERS];
static int front, directory;

static struct question *question_of(const char *user)
{
	for (int i = 0; i < USERS; i++)
		if (questions[i].is_pending && strcmp(questions[i].user, user) == 0)
			return &questions[i];
	return NULL;
}

static __attribute__((noinline)) void auth_ask(struct message *message, struct asker asker)
{
	struct question *question = questions;

	while (question->is_pending)
		question++;
	question->is_pending = true;
	question->asker = asker;
	memcpy(question->user, message->user, sizeof question->user);
	question->answer = thrum_task_createf(THRUM_KIND_REQUEST, "ask for %s", message->user);
	thrum_task_wait(asker.task, question->answer);
	THRUM_RUN (question->answer)
		send_message(directory, message);
}

/* The answer to the question that is under way is also for this one. */
static __attribute__((noinline)) void auth_share(struct question *question, struct asker asker)
{
	thrum_task_wait(asker.task, question->answer);
	question->asker = asker;
}

static __attribute__((noinline)) void auth_verify(struct message *message)
{
	struct question *question = question_of(message->user);
	struct asker asker = {.request = message->request};

	asker.task = thrum_task_createf(THRUM_KIND_TASK, "verify %s for request %u", message->user,
		message->request);
	thrum_task_should_resolve(asker.task);
	THRUM_RUN (asker.task) {
		thrum_link_receive(&message->key, sizeof message->key);
		if (question)
			auth_share(question, asker);
		else
			auth_ask(message, asker);
	}
}

static __attribute__((noinline)) void auth_answer(struct message *message)
{
	struct question *question = question_of(message->user);
	struct asker asker = question->asker;

	question->is_pending = false;
	THRUM_RUN (question->answer) {
		thrum_link_receive(&message->key, sizeof message->key);
		thrum_task_resolve(question->answer);
	}
	message->request = asker.request;
	THRUM_RUN (asker.task) {
		thrum_task_read(asker.task, question->answer);
		send_message(front, message);
		thrum_task_resolve(asker.task);
	}
}

static int run_auth(void)
{
	struct pollfd watched[] = {{.fd = front, .events = POLLIN},
		{.fd = directory, .events = POLLIN}};
	struct message message;

	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(watched, 2, -1);
		thrum_resume();
		if (watched[1].revents & POLLIN && receive(directory, &message))
			auth_answer(&message);
		if (watched[0].revents & POLLIN && receive(front, &message))
			auth_verify(&message);
		else if (watched[0].revents)
			return 0;
	}
}

/* ---- front: the requests of browsers ----------------------------------------------------------- */

struct request {
	const char *path, *user;
	unsigned comes_after; /* the one before */
	thrum_task task, check;
};

static void request_begin(struct request *request, unsigned number)
{
	struct message message = {.request = number};

	snprintf(message.user, sizeof message.user, "%s", request->user);
	request->task = thrum_task_createf(THRUM_KIND_TASK, "GET %s", request->path);
	thrum_task_should_resolve(request->task);
	THRUM_RUN (request->task) {
		request->check = thrum_task_create(THRUM_KIND_REQUEST, "ask auth");
		thrum_task_wait(request->task, request->check);
		THRUM_RUN (request->check)
			send_message(front, &message);
	}
}

static void request_end(struct request *request, struct message *message)
{
	THRUM_RUN (request->check) {
		thrum_link_receive(&message->key, sizeof message->key);
		thrum_task_resolve(request->check);
	}
	THRUM_RUN (request->task) {
		thrum_task_read(request->task, request->check);
		printf("GET %s: %s\n", request->path, message->may ? "200" : "403");
		thrum_task_resolve(request->task);
	}
}

static int run_front(struct request *requests)
{
	struct message message;

	for (unsigned i = 0; i < REQUESTS; i++) {
		sleep_ms(requests[i].comes_after);
		request_begin(&requests[i], i);
	}
	for (unsigned i = 0; i < REQUESTS && receive(front, &message); i++)
		request_end(&requests[message.request], &message);
	return 0;
}

/* ------------------------------------------------------------------------------------------------ */

static bool start_process(const char *name, int keep, int other, int close1, int close2)
{
	if (fork() != 0)
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	close(close1);
	close(close2);
	front = keep;
	directory = other;
	if (thrum_start(NULL))
		_exit(2);
	thrum_lane_name(name);
	return true;
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	struct request requests[REQUESTS] = {
		{.path = "/", .user = "bob"},
		{.path = "/mail", .user = "alice", .comes_after = 5},
		/* A page with a frame: the browser asks for both at once. */
		{.path = "/calendar", .user = broken ? "alice" : "carol", .comes_after = 10},
		{.path = "/admin", .user = "mallory", .comes_after = 10},
	};
	int web[2], users[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, web) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET, 0, users))
		return 2;
	if (thrum_start(NULL))
		return 2;
	if (start_process("directory", users[1], -1, web[0], web[1]))
		return close(users[0]), run_directory(users[1]);
	if (start_process("auth", web[1], users[0], web[0], users[1]))
		return run_auth();
	close(web[1]), close(users[0]), close(users[1]);
	front = web[0];
	run_front(requests);
	close(front);
	while (wait(NULL) > 0)
		continue;
	return 0;
}
