/* SPDX-License-Identifier: ISC */
/*
 * Processes that wait for each other, while other threads of theirs only sleep for a time, again and again.
 * The argument says how; with a second one all is well. Without, they are a group of processes, which is to
 * be killed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define ROUNDS 60 /* after so many, a thread that naps helps */
#define REQUESTS 20

static bool is_fine;
static _Atomic bool is_over;
static _Atomic int last_end = -1; /* what helps: to write there, or to close it */

static void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static void put(int fd, const void *from, size_t size)
{
	if (write(fd, from, size) != (ssize_t)size)
		exit(1);
}

/* Returns false at the end. */
static bool get(int fd, void *to, size_t size)
{
	size_t done = 0;
	ssize_t got;

	while (done < size && (got = read(fd, (char *)to + done, size - done)) > 0)
		done += (size_t)got;
	return done == size;
}

/* Returns true in the child. */
static bool start(const char *name)
{
	if (fork() != 0)
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	return true;
}

static void begin_thread(void *(*run)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, data) != 0)
		exit(1);
	pthread_detach(thread);
}

/* ---- Threads that tick ------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_line = PTHREAD_COND_INITIALIZER;
static int lines;

static void *write_log(void *data)
{
	int written = 0;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (written == lines)
			pthread_cond_wait(&has_line, &lock);
		written = lines;
	}
	return data;
}

static void *show_progress(void *data)
{
	for (;;) {
		pause_ms(30);
		pthread_mutex_lock(&lock);
		lines++;
		pthread_cond_signal(&has_line);
		pthread_mutex_unlock(&lock);
	}
	return data;
}

static void *beat(void *data)
{
	int *fd = data;

	while (!is_over) {
		pause_ms(30);
		put(*fd, "b", 1);
	}
	return NULL;
}

/* Helps in the end. */
static void *help(void *data)
{
	bool writes = data;

	for (int i = 0; i < ROUNDS; i++)
		pause_ms(40);
	if (writes)
		put(last_end, "x", 1);
	else
		close(last_end);
	return NULL;
}

/* ---- heart: one process beats while it waits for an answer of another one ----------------------- */

static void keep_store(int fd)
{
	unsigned char size;
	char text[256];

	while (get(fd, &size, 1)) {
		/* The mistake: as if the size counted itself. */
		unsigned more = !is_fine && size > 30 ? 1 : 0;

		if (!get(fd, text, size + more))
			return;
		put(fd, "k", 1);
	}
}

static void ask_store(int fd)
{
	char text[256] = "", answer;

	for (unsigned i = 0; i < REQUESTS; i++) {
		text[0] = (char)(20 + i);
		put(fd, text, 1 + 20 + i);
		if (!get(fd, &answer, 1))
			exit(1);
	}
}

/* naps: the parent, too, only naps, and asks whether the front has ended. */
static void heart(bool naps)
{
	int beats[2], sockets[2];
	char byte;

	if (pipe(beats) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(1);
	if (start("store")) {
		close(sockets[0]);
		close(beats[0]);
		close(beats[1]);
		keep_store(sockets[1]);
		_exit(0);
	}
	if (start("front")) {
		close(sockets[1]);
		close(beats[0]);
		begin_thread(beat, &beats[1]);
		ask_store(sockets[0]);
		_exit(0);
	}
	close(sockets[0]);
	close(sockets[1]);
	close(beats[1]);
	while (naps && waitpid(-1, NULL, WNOHANG) == 0)
		pause_ms(20);
	while (!naps && get(beats[0], &byte, 1))
		continue;
	while (wait(NULL) > 0)
		continue;
}

/* ---- progress: a parent that shows the progress keeps the end of a pipe, to which it never writes - */

static void progress(void)
{
	int words[2];
	char byte;

	if (pipe(words))
		exit(1);
	if (start("maker")) {
		for (int i = 0; i < 40; i++) {
			pause_ms(2);
			put(words[1], "weft", 4);
		}
		_exit(0);
	}
	if (start("filter")) {
		close(words[1]);
		while (get(words[0], &byte, 1))
			continue;
		_exit(0);
	}
	close(words[0]);
	last_end = words[1];
	if (is_fine)
		begin_thread(help, NULL); /* closes it at last */
	begin_thread(write_log, NULL);
	begin_thread(show_progress, NULL);
	while (wait(NULL) > 0)
		continue;
}

/* ---- Where the thread that naps is the one that may write --------------------------------------- */

/* Waits for a word from the parent, whose thread writes it in the end. is_used: something was sent before. */
static void serve_ticker(bool is_used)
{
	int words[2];
	char byte;

	if (pipe(words))
		exit(1);
	if (start("listener")) {
		close(words[1]);
		for (int i = is_used ? 0 : 1; i < 2; i++)
			if (!get(words[0], &byte, 1))
				exit(1);
		_exit(0);
	}
	close(words[0]);
	last_end = words[1];
	begin_thread(help, &is_fine);
	if (is_used) {
		pause_ms(60); /* so that the child waits, and is recorded */
		put(words[1], "x", 1);
	}
	while (wait(NULL) > 0)
		continue;
}

/* ---- asks: a child asks back by a socket that the parent hasn't used, before it answers ----------- */

static void *answer_late(void *data)
{
	char byte;

	for (int i = 0; i < ROUNDS || recv(last_end, &byte, 1, MSG_DONTWAIT) != 1; i++)
		pause_ms(40);
	put(last_end, "x", 1);
	return data;
}

/* Reads the question at once. */
static void *answer_slowly(void *data)
{
	char byte;

	while (recv(last_end, &byte, 1, MSG_DONTWAIT) != 1)
		pause_ms(5);
	for (int i = 0; i < ROUNDS; i++)
		pause_ms(40);
	put(last_end, "x", 1);
	return data;
}

static void asks(bool reads)
{
	int prices[2], stocks[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, prices) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, stocks))
		exit(1);
	if (start("prices")) {
		close(prices[0]);
		close(stocks[0]);
		if (!get(prices[1], &byte, 1))
			_exit(1);
		put(stocks[1], "q", 1);
		if (get(stocks[1], &byte, 1))
			put(prices[1], "p", 1);
		_exit(0);
	}
	close(prices[1]);
	close(stocks[1]);
	last_end = stocks[0];
	begin_thread(!is_fine ? show_progress : reads ? answer_slowly : answer_late, NULL);
	put(prices[0], "a", 1);
	if (!get(prices[0], &byte, 1))
		exit(1);
}

/* The same over sockets, by which the thread has written before; the main thread hears the answers. */
static int line;

static void *ping(void *data)
{
	put(line, "p", 1);
	for (int i = 0; i < ROUNDS; i++)
		pause_ms(40);
	put(line, "p", 1);
	return data;
}

static void pings(void)
{
	int sockets[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(1);
	if (start("echo")) {
		close(sockets[0]);
		while (get(sockets[1], &byte, 1))
			put(sockets[1], &byte, 1);
		_exit(0);
	}
	close(sockets[1]);
	line = sockets[0];
	begin_thread(ping, NULL);
	for (int i = 0; i < 2; i++)
		if (!get(line, &byte, 1))
			exit(1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	is_fine = argc > 2;
	if (!is_fine)
		setpgid(0, 0);
	end_after(is_fine ? 60 : 10);
	if (strcmp(how, "heart") == 0 || strcmp(how, "naps") == 0)
		heart(strcmp(how, "naps") == 0);
	else if (strcmp(how, "progress") == 0)
		progress();
	else if (strcmp(how, "asks") == 0 || strcmp(how, "reads") == 0)
		asks(strcmp(how, "reads") == 0);
	else if (strcmp(how, "pings") == 0)
		pings();
	else
		serve_ticker(strcmp(how, "feeder") == 0);
	return 0;
}
