/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The client doesn't close its old session in reopen_session, and serve_session still reads from it.
 *   culprit: reopen_session|serve_session
 *   victim: ask_server|check_out
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Seats of a licence. The server is a process of its own, and serves one session after the other. */

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SEATS = 4,
	TOOLS = 6,
	ROUNDS = 8,
	SESSION_QUESTIONS = 40
};

enum verb {
	CHECK_OUT,
	CHECK_IN,
	STOP
};
enum answer {
	GRANTED,
	NO_SEAT,
	SESSION_EXPIRED,
	BYE
};

struct question {
	enum verb verb;
	int tool;
	int seats;
};

struct reply {
	enum answer answer;
	int seats_left;
};

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static bool closes_session;

/* The server. */

static int seats_left[TOOLS];

static enum answer answer_question(const struct question *question)
{
	int *left = &seats_left[question->tool % TOOLS];

	if (question->verb == STOP)
		return BYE;
	if (question->verb == CHECK_IN) {
		*left += question->seats;
		return GRANTED;
	}
	if (*left < question->seats)
		return NO_SEAT;
	*left -= question->seats;
	return GRANTED;
}

/* Returns false if the server is to stop. An expired session is closed by its client. */
static bool serve_session(int session)
{
	struct question question;
	struct reply reply = {.answer = GRANTED};

	for (int count = 0; recv(session, &question, sizeof question, MSG_WAITALL) > 0; count++) {
		if (count >= SESSION_QUESTIONS && question.verb != STOP)
			reply.answer = SESSION_EXPIRED;
		else
			reply.answer = answer_question(&question);
		reply.seats_left = seats_left[question.tool % TOOLS];
		usleep(300); /* signs the reply */
		if (send(session, &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply ||
			reply.answer == BYE)
			break;
	}
	return reply.answer != BYE;
}

static void serve(int listener)
{
	bool goes_on = true;

	for (int i = 0; i < TOOLS; i++)
		seats_left[i] = SEATS;
	while (goes_on) {
		int session = accept(listener, NULL, NULL);

		if (session < 0)
			_exit(1);
		goes_on = serve_session(session);
		close(session);
	}
	_exit(0);
}

/* The client. */

struct client {
	int session;
	int reopened;
};

static int open_session(void)
{
	int session = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (session < 0 || connect(session, (struct sockaddr *)&address, sizeof address)) {
		perror("licence server");
		exit(1);
	}
	return session;
}

static void reopen_session(struct client *client)
{
	int old = client->session;

	if (closes_session)
		close(old);
	client->session = open_session();
	client->reopened++;
}

static struct reply ask_server(struct client *client, enum verb verb, int tool, int seats)
{
	struct question question = {.verb = verb, .tool = tool, .seats = seats};
	struct reply reply;

	for (;;) {
		if (send(client->session, &question, sizeof question, MSG_NOSIGNAL) !=
				sizeof question ||
			recv(client->session, &reply, sizeof reply, MSG_WAITALL) != sizeof reply) {
			perror("licence server");
			exit(1);
		}
		if (reply.answer != SESSION_EXPIRED)
			return reply;
		reopen_session(client);
	}
}

static int check_out_all(struct client *client, int seats)
{
	int granted = 0;

	for (int tool = 0; tool < TOOLS; tool++)
		granted += ask_server(client, CHECK_OUT, tool, seats).answer == GRANTED;
	usleep(1000); /* the tools run */
	for (int tool = 0; tool < TOOLS; tool++)
		if (seats <= SEATS)
			ask_server(client, CHECK_IN, tool, seats);
	return granted;
}

int main(int argc, char **argv)
{
	struct client client = {.session = -1};
	int listener, granted = 0;
	pid_t server;

	closes_session = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/pp_licence.%d", (int)getpid());
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8)) {
		perror(address.sun_path);
		return 1;
	}
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listener);
	}
	close(listener);
	client.session = open_session();
	for (int round = 0; round < ROUNDS; round++)
		granted += check_out_all(&client, 1 + round % (SEATS + 1));
	ask_server(&client, STOP, 0, 0);
	close(client.session);
	waitpid(server, NULL, 0);
	unlink(address.sun_path);
	printf("granted %d, %d sessions more\n", granted, client.reopened);
	return 0;
}
