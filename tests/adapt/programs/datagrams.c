/* SPDX-License-Identifier: ISC */
/*
 * A server on UDP, and two threads that ask it, each question once the one before has its answer. "hang": the
 * server leaves out an answer to the second, whose socket is connected. "apart": so, but the sockets aren't
 * connected. "fork": the server is a process of its own. "lines": the server answers every third message, as
 * the others need none; then the second thread waits for what nobody asked for. "relay": as "apart", but the
 * server passes the question on to another program. "fine": all is answered. "wrong": so, and then calls get
 * addresses where nothing is, or little room. It knows nothing of thrum. The test kills it where it hangs.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTIONS 6

struct message {
	int asker, number;
};

static struct sockaddr_in address, other;
static int server;
static bool is_fine, is_apart, has_lines, is_relay;

static bool has_answer(const struct message *question)
{
	if (has_lines)
		return question->number % 3 == 2;
	return is_fine || question->asker != 2 || question->number != 3;
}

/* Perhaps another program answers, for which a socket stands that nobody reads. */
static void leave_out(const struct message *question, struct sockaddr_in *from, socklen_t size)
{
	if (is_relay) {
		*from = other;
		sendto(server, question, sizeof *question, 0, (struct sockaddr *)from, size);
	}
	if (!has_lines) {
		puts("hangs");
		fflush(stdout);
	}
}

static void *serve(void *unused)
{
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	struct message message;

	while (recvfrom(server, &message, sizeof message, 0, (struct sockaddr *)&from, &size) ==
			sizeof message &&
		message.asker)
		if (has_answer(&message))
			sendto(server, &message, sizeof message, 0, (struct sockaddr *)&from, size);
		else
			leave_out(&message, &from, size);
	return unused;
}

static void send_message(int fd, int asker, int number)
{
	struct message message = {asker, number};

	if (is_apart)
		sendto(fd, &message, sizeof message, 0, (struct sockaddr *)&address,
			sizeof address);
	else
		send(fd, &message, sizeof message, 0);
}

static void *ask(void *asker)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), own = *(int *)asker;
	struct message answer;

	if (!is_apart)
		connect(fd, (struct sockaddr *)&address, sizeof address);
	for (int i = 0; i < QUESTIONS; i++) {
		send_message(fd, own, i);
		usleep(own * 2000);
		if (has_lines && i % 3 != 2)
			continue;
		if (recv(fd, &answer, sizeof answer, 0) != sizeof answer)
			_exit(1);
	}
	if (has_lines && own == 2) {
		puts("hangs");
		fflush(stdout);
		recv(fd, &answer, sizeof answer, 0);
	}
	close(fd);
	return NULL;
}

static int bind_socket(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof *at;

	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)at, sizeof *at) != 0 ||
		getsockname(fd, (struct sockaddr *)at, &size) != 0)
		_exit(1);
	return fd;
}

static void call_wrongly(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	const uintptr_t nowhere[] = {8, UINTPTR_MAX - 7};
	struct iovec part = {&(char){0}, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	socklen_t size = 4;

	munmap(pages + page, page);
	for (int i = 0; i < 2; i++) {
		void *at;

		memcpy(&at, &nowhere[i], sizeof at);
		printf("%zd ", sendto(server, "", 1, 0, at, sizeof address));
		printf("%zd %zd ", sendmsg(server, at, 0), recvmsg(server, at, MSG_DONTWAIT));
		sendto(server, "", 1, 0, (struct sockaddr *)&address, sizeof address);
		printf("%zd\n", recvfrom(server, &(char){0}, 1, 0, (void *)pages, at));
	}
	for (int i = 0; i < 2; i++)
		sendto(server, "", 1, 0, (struct sockaddr *)&address, sizeof address);
	message.msg_name = pages + page - size;
	message.msg_namelen = size;
	printf("%zd ", recvmsg(server, &message, 0));
	printf("%zd\n", recvfrom(server, &(char){0}, 1, 0, message.msg_name, &size));
}

/* Whether the recording of a process has begun. */
static bool is_recorded(pid_t process)
{
	char path[64], line[512];
	bool is_found = false;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
	maps = fopen(path, "r");
	while (maps && !is_found && fgets(line, sizeof line, maps))
		is_found = strstr(line, ".thrum.") != NULL;
	if (maps)
		fclose(maps);
	return is_found;
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";
	int numbers[] = {1, 2};
	pthread_t threads[3];
	pid_t child = -1;

	is_fine = strcmp(how, "fine") == 0 || strcmp(how, "wrong") == 0;
	is_relay = strcmp(how, "relay") == 0;
	is_apart = is_relay || strcmp(how, "apart") == 0;
	has_lines = strcmp(how, "lines") == 0;
	server = bind_socket(&address);
	bind_socket(&other);
	if (strcmp(how, "fork") == 0 && (child = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(NULL);
		_exit(0);
	}
	if (child > 0)
		for (int i = 0; i < 200 && !is_recorded(child); i++)
			usleep(50000);
	else
		pthread_create(&threads[2], NULL, serve, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, ask, &numbers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	sendto(server, &(struct message){0, 0}, sizeof(struct message), 0,
		(struct sockaddr *)&address, sizeof address);
	if (child < 0)
		pthread_join(threads[2], NULL);
	if (strcmp(how, "wrong") == 0)
		call_wrongly();
	return 0;
}
