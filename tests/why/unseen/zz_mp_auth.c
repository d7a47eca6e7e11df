/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: serve_lookups in the process of the directory skips an unknown user, and sends no answer for him.
 *   culprit: serve_lookups
 *   victim: ask_directory|serve_logins|log_in|run_mail_client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A mail server: clients log in at the front, and the front asks a directory about each user. */

enum {
	CLIENTS = 2,
	LOGINS = 50
};

struct lookup {
	unsigned int number;
	char user[16];
};

struct record {
	unsigned int number;
	int status;
	int mailbox;
};

static const char *const users[] = {"anna", "bela", "carl", "dora", "emil"};
static bool broken;

static int find_user(const char *name)
{
	for (int i = 0; i < 5; i++)
		if (!strcmp(users[i], name))
			return i;
	return -1;
}

static void serve_lookups(int front)
{
	struct lookup lookup;
	struct record record;

	while (recv(front, &lookup, sizeof(lookup), 0) == (ssize_t)sizeof(lookup)) {
		record.number = lookup.number;
		record.mailbox = find_user(lookup.user);
		record.status = record.mailbox < 0 ? ENOENT : 0;
		if (record.status && broken)
			continue;
		if (send(front, &record, sizeof(record), MSG_NOSIGNAL) < 0)
			break;
	}
}

static bool ask_directory(int directory, const char *user)
{
	static unsigned int number;
	struct lookup lookup = {.number = ++number};
	struct record record;

	snprintf(lookup.user, sizeof(lookup.user), "%s", user);
	if (send(directory, &lookup, sizeof(lookup), MSG_NOSIGNAL) < 0)
		return false;
	if (recv(directory, &record, sizeof(record), 0) != (ssize_t)sizeof(record) ||
		record.number != number)
		return false;
	return record.status == 0;
}

static void serve_logins(int directory, const int *clients)
{
	struct pollfd polled[CLIENTS];
	int open_clients = CLIENTS;
	char user[16], answer;

	for (int i = 0; i < CLIENTS; i++)
		polled[i] = (struct pollfd){.fd = clients[i], .events = POLLIN};
	while (open_clients > 0 && poll(polled, CLIENTS, -1) > 0) {
		for (int i = 0; i < CLIENTS; i++) {
			ssize_t count;

			if (!polled[i].revents)
				continue;
			count = recv(polled[i].fd, user, sizeof(user) - 1, 0);
			if (count <= 0) {
				close(polled[i].fd);
				polled[i].fd = -1;
				open_clients--;
				continue;
			}
			user[count] = 0;
			answer = ask_directory(directory, user) ? '+' : '-';
			if (send(polled[i].fd, &answer, 1, MSG_NOSIGNAL) < 0)
				perror("front");
		}
	}
}

static bool log_in(int server, const char *user)
{
	char answer = '-';

	if (send(server, user, strlen(user), MSG_NOSIGNAL) < 0 || recv(server, &answer, 1, 0) != 1)
		exit(1);
	return answer == '+';
}

static int run_mail_client(int number, int server)
{
	int refused = 0;

	for (int i = 0; i < LOGINS; i++) {
		bool is_guest = number == 1 && i % 20 == 15;

		refused += !log_in(server, is_guest ? "guest" : users[(i + number) % 5]);
		usleep(2000);
	}
	return refused;
}

int main(int argc, char **argv)
{
	int directory[2], ends[2], clients[CLIENTS], status, refused = 0;
	pid_t client_processes[CLIENTS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, directory))
		return 1;
	if (fork() == 0) {
		close(directory[0]);
		serve_lookups(directory[1]);
		_exit(0);
	}
	close(directory[1]);
	for (int i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 1;
		clients[i] = ends[0];
		client_processes[i] = fork();
		if (client_processes[i] == 0) {
			for (int j = 0; j <= i; j++)
				close(clients[j]);
			close(directory[0]);
			_exit(run_mail_client(i, ends[1]));
		}
		close(ends[1]);
	}
	serve_logins(directory[0], clients);
	close(directory[0]);
	for (int i = 0; i < CLIENTS; i++) {
		waitpid(client_processes[i], &status, 0);
		refused += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
	}
	wait(&status);
	printf("%d logins, %d refused\n", CLIENTS * LOGINS, refused);
	return 0;
}
