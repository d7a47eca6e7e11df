/* SPDX-License-Identifier: ISC */
/* Two processes, linked by the numbers of their messages. With the bug, the server loses one. */
#include "annotate.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct message {
	uint64_t number; /* unique: here it is only one client's */
	char text[24];
};

/* The client sends a request, and the key of the link with it. */
static thrum_task ask(int socket, const struct message *message)
{
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, message->text);

	thrum_task_should_resolve(request);
	THRUM_RUN (request)
		thrum_link_send(&message->number, sizeof(message->number));
	if (write(socket, message, sizeof(*message)) != sizeof(*message))
		thrum_task_fail(request, "write");
	return request;
}

/* The server receives the key before it does the work. */
static void serve(int socket, const struct message *message)
{
	thrum_task work = thrum_task_createf(THRUM_KIND_TASK, "serve %s", message->text);

	thrum_task_should_resolve(work);
	THRUM_RUN (work) {
		thrum_link_receive(&message->number, sizeof(message->number));
		if (broken && message->number == 3)
			break; /* the bug: no answer */
		if (write(socket, message, sizeof(*message)) == sizeof(*message))
			thrum_task_resolve(work);
	}
}

static int run_server(int socket)
{
	struct message message;
	ssize_t size;

	/* A fork's child records nothing until it starts a recording of its own. */
	setenv("THRUM_TRACE", "server.thrum", 1);
	if (thrum_start(NULL))
		return 1;
	/* It ends when the client does. */
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(socket, &message, sizeof(message));
		thrum_resume();
		if (size != sizeof(message))
			return 0;
		serve(socket, &message);
	}
}

int main(int argc, char **argv)
{
	struct message message;
	int pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 1;
	begin(argc);
	child = fork();
	if (child == 0) {
		close(pair[0]);
		return run_server(pair[1]);
	}
	close(pair[1]);
	for (uint64_t i = 1; i <= 3; i++) {
		thrum_task request;
		ssize_t size;

		message = (struct message){.number = i};
		snprintf(message.text, sizeof(message.text), "GET /%llu", (unsigned long long)i);
		request = ask(pair[0], &message);
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		size = read(pair[0], &message, sizeof(message));
		thrum_resume();
		if (size == sizeof(message))
			thrum_task_resolve(request);
	}
	close(pair[0]);
	waitpid(child, NULL, 0);
	return 0;
}
