/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the forked script process still has the write end of its own standard input open, so its read of
 *     the request's body never sees the end; the server waits for the script's answer.
 *   culprit: run_script|script-post|read_body
 *   victim: handle_request|client|serve
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about CivetWeb: a CGI script never sees the end of POST data on its standard input, because
 * the child doesn't close the write end of the pipe that it inherited.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct request {
	const char *method, *path, *body;
};

static const struct request requests[] = {
	{"GET", "/cgi/date", ""},
	{"GET", "/cgi/env", ""},
	{"POST", "/cgi/comment", "name=anna&text=hello"},
	{"GET", "/cgi/date", ""},
};
static bool healthy;

static size_t read_body(char *body, size_t size)
{
	size_t have = 0;
	ssize_t got;

	while (have < size && (got = read(0, body + have, size - have)) > 0)
		have += (size_t)got;
	return have;
}

/* The script is built in: the child doesn't execute another program. */
static int run_script(const struct request *request)
{
	char body[256], answer[128];
	size_t size = 0;
	int length;

	prctl(PR_SET_NAME, *request->body ? "script-post" : "script-get");
	if (*request->body)
		size = read_body(body, sizeof(body));
	length = snprintf(answer, sizeof(answer), "%s: %zu bytes\n", request->path, size);
	return write(1, answer, (size_t)length) == length ? 0 : 1;
}

static pid_t spawn_script(const struct request *request, int in[2], int out[2])
{
	pid_t parent = getpid();
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	dup2(in[0], 0);
	dup2(out[1], 1);
	close(in[0]);
	close(out[1]);
	if (healthy) {
		close(in[1]);
		close(out[0]);
	}
	_exit(run_script(request));
}

static void handle_request(int client, const struct request *request)
{
	int in[2], out[2];
	char buffer[256];
	ssize_t size;
	pid_t child;

	if (pipe(in) || pipe(out))
		return;
	child = spawn_script(request, in, out);
	close(in[0]);
	close(out[1]);
	size = (ssize_t)strlen(request->body);
	if (size > 0 && write(in[1], request->body, (size_t)size) != size)
		perror("body");
	close(in[1]);
	while ((size = read(out[0], buffer, sizeof(buffer))) > 0) {
		if (write(client, buffer, (size_t)size) != size)
			break;
	}
	close(out[0]);
	waitpid(child, NULL, 0);
}

static void *client(void *data)
{
	int fd = *(int *)data;
	char buffer[256];
	ssize_t size;

	pthread_setname_np(pthread_self(), "client");
	while ((size = read(fd, buffer, sizeof(buffer))) > 0)
		printf("%.*s", (int)size, buffer);
	return NULL;
}

int main(int argc, char **argv)
{
	int sockets[2];
	pthread_t thread;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	signal(SIGPIPE, SIG_IGN);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return 1;
	pthread_create(&thread, NULL, client, &sockets[1]);
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		handle_request(sockets[0], &requests[i]);
	shutdown(sockets[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	return 0;
}
