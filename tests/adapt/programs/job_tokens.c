/* SPDX-License-Identifier: ISC */
/*
 * Jobs are children that take a token out of a pipe, and give it back. The first argument says how. With a
 * second one, "few", only two jobs have done so before. SIGALRM ends it. All but "kept" and "server" come to
 * their end.
 *
 * kept		two jobs end with their tokens
 * fine		all jobs give theirs back
 * paid		the parent gives the tokens of jobs that end with theirs, but late
 * executed	a job's other program gives back its token, late
 * doubled	a job gives back its token by a duplicate, late
 * works	what comes out of the pipe is work: it isn't given back, and a worker is killed
 * pair		a job takes two tokens at a time, late
 * server	a server has a token and waits for a request, and its parent waits for the token
 * asked	the same, but the parent asks first
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang.h"

#define PAUSE 300000 /* us: longer than a thread waits before it looks */
#define TOKENS 2

static int tokens[2], talk[2];

static void take(int fd)
{
	char token;

	if (read(fd, &token, 1) != 1)
		_exit(2);
}

static void give(int fd)
{
	if (write(fd, "+", 1) != 1)
		_exit(2);
}

static void run_job(void)
{
	take(tokens[0]);
	usleep(2000);
	give(tokens[1]);
}

static void keep_token(void)
{
	take(tokens[0]);
}

static void give_by_program(void)
{
	char number[64];

	take(tokens[0]);
	snprintf(number, sizeof number, "sleep 0.3; printf + >&%d", tokens[1]);
	execl("/bin/sh", "sh", "-c", number, NULL);
	_exit(2);
}

static void give_by_double(void)
{
	int other = dup(tokens[1]);

	take(tokens[0]);
	usleep(PAUSE);
	give(other);
}

static void take_pair(void)
{
	char both[TOKENS];

	for (int count = 0; count < TOKENS;) {
		ssize_t got = read(tokens[0], both, (size_t)(TOKENS - count));

		if (got < 1)
			_exit(2);
		count += (int)got;
	}
	usleep(PAUSE);
	if (write(tokens[1], "++", TOKENS) != TOKENS)
		_exit(2);
}

/* Answers a request, and ends with the next one. */
static void serve(void)
{
	char request;

	close(talk[0]);
	take(tokens[0]);
	for (int i = 0; i < 2; i++)
		if (read(talk[1], &request, 1) != 1 || write(talk[1], "a", 1) != 1)
			_exit(2);
	give(tokens[1]);
}

static pid_t start(void (*job)(void), const char *name)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		job();
		_exit(0);
	}
	return child;
}

static void finish(void)
{
	while (wait(NULL) > 0)
		;
}

/* The signal comes when the process has ended. */
static void wait_and_kill(pid_t process)
{
	siginfo_t ended;

	waitid(P_PID, (id_t)process, &ended, WEXITED | WNOWAIT);
	kill(process, SIGKILL);
	waitpid(process, NULL, 0);
}

static void run_jobs(int count)
{
	for (int i = 0; i < count; i++)
		start(run_job, "job");
}

static void wait_for_work(void)
{
	/* Some work leads to more. */
	for (int i = 0; i < 5; i++) {
		take(tokens[0]);
		if (i < 2)
			give(tokens[1]);
	}
}

/* Each of two workers takes five pieces of work and gives two more: two are left, and there are two. */
static void work(void)
{
	pid_t killed = start(wait_for_work, "worker");

	start(wait_for_work, "worker");
	usleep(PAUSE);
	kill(killed, SIGKILL);
	usleep(PAUSE);
	for (int i = 0; i < 10; i++)
		give(tokens[1]);
}

static void ask(void)
{
	char answer;

	if (write(talk[0], "q", 1) != 1 || read(talk[0], &answer, 1) != 1)
		_exit(2);
}

/* Takes all tokens back, while a server may have one. */
static void collect(bool asks)
{
	pid_t server;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, talk) != 0)
		_exit(2);
	server = start(serve, "server");
	close(talk[1]);
	/* It is known whom the server answers if it waits for the first request, too. */
	while (!is_asleep(server))
		usleep(1000);
	usleep(PAUSE);
	ask();
	usleep(PAUSE);
	if (asks)
		ask();
	for (int i = 0; i < TOKENS; i++)
		take(tokens[0]);
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "fine";
	bool is_kept = strcmp(how, "kept") == 0, is_paid = strcmp(how, "paid") == 0;

	end_after(is_kept || strcmp(how, "server") == 0 ? 3 : 20);
	if (pipe(tokens))
		return 2;
	for (int i = 0; i < TOKENS; i++)
		give(tokens[1]);
	if (strcmp(how, "works") == 0) {
		work();
		finish();
		printf("done\n");
		return 0;
	}
	run_jobs(count > 2 ? 2 : 5);
	finish();
	if (strcmp(how, "server") == 0 || strcmp(how, "asked") == 0)
		collect(how[0] == 'a');
	for (int i = 0; i < TOKENS && (is_kept || is_paid); i++)
		wait_and_kill(start(keep_token, "parser"));
	for (int i = 0; i < TOKENS; i++) {
		if (strcmp(how, "executed") == 0)
			start(give_by_program, "shell");
		if (strcmp(how, "doubled") == 0)
			start(give_by_double, "doubler");
	}
	if (strcmp(how, "pair") == 0)
		start(take_pair, "pair");
	usleep(PAUSE / 10);
	run_jobs(how[0] == 'a' ? 0 : 5);
	usleep(is_paid ? PAUSE : 0);
	for (int i = 0; i < TOKENS && is_paid; i++)
		give(tokens[1]);
	finish();
	printf("done\n");
	return 0;
}
