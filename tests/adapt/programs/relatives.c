/* SPDX-License-Identifier: ISC */
/*
 * A program with threads and forked children that all wait for each other. The argument says how; with a
 * second one all is well. Without, they are a group of processes, which is to be killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

static bool is_fine;
static sem_t is_done;
static char byte;

static void get(int fd)
{
	if (read(fd, &byte, 1) < 0)
		exit(1);
}

static void put(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(1);
}

static void make(int ends[2], bool are_sockets)
{
	if (are_sockets ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
			: pipe2(ends, O_CLOEXEC))
		exit(1);
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

static void *wait_until_done(void *unused)
{
	(void)unused;
	sem_wait(&is_done);
	return NULL;
}

/* Starts a child that reads to the end of what it gets before it answers, and sends it something. */
static void start_renderer(int ends[2])
{
	make(ends, true);
	if (start("renderer")) {
		close(ends[0]);
		while (read(ends[1], &byte, 1) > 0)
			continue;
		put(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	put(ends[0]);
}

/* The child reads to the end, which the parent, another thread of which waits for it, doesn't send. */
static void half(void)
{
	int ends[2];

	start_renderer(ends);
	if (is_fine)
		shutdown(ends[0], SHUT_WR);
	get(ends[0]);
	wait(NULL);
}

static void *send_late(void *fd)
{
	usleep(700000);
	shutdown(*(int *)fd, SHUT_WR);
	return NULL;
}

/* The same, but another thread does so later. */
static void late(void)
{
	pthread_t thread;
	int ends[2];

	start_renderer(ends);
	pthread_create(&thread, NULL, send_late, &ends[0]);
	get(ends[0]);
	pthread_join(thread, NULL);
	wait(NULL);
}

/* The child has the lock of a file, and waits for the end of what the parent writes. The parent waits for
 * the lock. */
static void lock(void)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[] = "/tmp/thrum-relatives-XXXXXX";
	int file = mkstemp(path), output[2], ready[2];

	unlink(path);
	make(output, false);
	make(ready, false);
	if (start("cleaner")) {
		close(output[1]);
		fcntl(file, F_SETLKW, &whole);
		put(ready[1]);
		get(output[0]);
		_exit(0);
	}
	close(output[0]);
	get(ready[0]);
	if (is_fine)
		close(output[1]);
	fcntl(file, F_SETLKW, &whole);
	wait(NULL);
}

static void *get_answer(void *fd)
{
	get(*(int *)fd);
	return NULL;
}

/* The main thread waits for any child; the child for an answer of it; and a thread for the child. */
static void slots(void)
{
	pthread_t thread;
	int ends[2], answers[2];

	make(answers, false);
	make(ends, true);
	if (start("worker")) {
		close(ends[0]);
		get(ends[1]);
		put(answers[1]);
		_exit(0);
	}
	pthread_create(&thread, NULL, get_answer, &answers[0]);
	close(ends[1]);
	if (is_fine)
		put(ends[0]);
	wait(NULL);
	pthread_join(thread, NULL);
}

static int handled[2];

static void on_signal(int number)
{
	char record[64] = {(char)number};
	int error = errno;

	if (write(handled[1], record, sizeof record) < 0)
		exit(1);
	errno = error;
}

/* A handler fills a pipe that the thread which it interrupts reads. */
static void handler(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	make(handled, false);
	fcntl(handled[1], F_SETPIPE_SZ, 4096);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	get(handled[0]);
	for (int i = 0; i < (is_fine ? 62 : 70); i++)
		raise(SIGUSR1);
}

/* Two processes send a byte to and fro. */
static void turns(void)
{
	int there[2], back[2];

	make(there, false);
	make(back, false);
	if (start("other")) {
		close(there[1]);
		while (read(there[0], &byte, 1) > 0)
			put(back[1]);
		_exit(0);
	}
	for (int i = 0; i < 20000; i++) {
		put(there[1]);
		get(back[0]);
	}
	close(there[1]);
	wait(NULL);
}

static int ring_pipes[3][2];

/* The filter `n` of a ring: what it reads, it writes to the next one. */
static void filter(int n, const char *name)
{
	if (!start(name))
		return;
	for (int i = 0; i < 3; i++) {
		if (i != n)
			close(ring_pipes[i][0]);
		if (i != (n + 1) % 3)
			close(ring_pipes[i][1]);
	}
	if (is_fine && n == 0)
		put(ring_pipes[1][1]);
	for (int i = 0; i < 3; i++) {
		usleep(100000);
		get(ring_pipes[n][0]);
		put(ring_pipes[(n + 1) % 3][1]);
	}
	_exit(0);
}

/* Each filter reads before it writes, and the first one should write first. */
static void ring(void)
{
	static const char *const names[] = {"lexer", "parser", "checker"};

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 3; i++)
		make(ring_pipes[i], false);
	for (int i = 0; i < 3; i++)
		filter(i, names[i]);
	for (int i = 0; i < 3; i++) {
		close(ring_pipes[i][0]);
		close(ring_pipes[i][1]);
	}
	for (int i = 0; i < 3; i++)
		wait(NULL);
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void *be_clients(void *unused)
{
	(void)unused;
	for (int i = 0; i < 30; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
			exit(1);
		get(fd);
		close(fd);
	}
	return NULL;
}

/* It keeps its connections until it may have no more. */
static void limit(void)
{
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), free = dup(listener);
	pthread_t thread;

	setrlimit(RLIMIT_NOFILE, &(struct rlimit){24, 24});
	snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "thrum-%d", getpid());
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
		listen(listener, 1) != 0)
		exit(1);
	close(free);
	pthread_create(&thread, NULL, be_clients, NULL);
	for (int i = 0; i < 30; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0 && errno == EMFILE) {
			usleep(10000);
			i--;
			continue;
		}
		put(fd);
		if (is_fine)
			close(fd);
	}
	pthread_join(thread, NULL);
}

/* A broker asks another child, by a pair of sockets that the parent has closed. That one waits for the
 * parent's word, and the parent for the broker. */
static void broker(void)
{
	int stock[2], orders[2], word[2];

	make(stock, true);
	make(orders, true);
	make(word, false);
	if (start("stock")) {
		close(stock[0]);
		close(orders[0]);
		close(orders[1]);
		close(word[1]);
		get(word[0]);
		get(stock[1]);
		put(stock[1]);
		_exit(0);
	}
	if (start("broker")) {
		close(stock[1]);
		close(orders[0]);
		close(word[0]);
		close(word[1]);
		get(orders[1]);
		put(stock[0]);
		get(stock[0]);
		put(orders[1]);
		_exit(0);
	}
	close(stock[0]);
	close(stock[1]);
	close(orders[1]);
	close(word[0]);
	put(orders[0]);
	if (is_fine)
		put(word[1]);
	get(orders[0]);
	wait(NULL);
	wait(NULL);
}

/* Serves one session after the other, each until its end, or until nothing comes for that time. */
static void serve_sessions(int listener, int limit_ms)
{
	struct timeval limit = {limit_ms / 1000, limit_ms % 1000 * 1000};

	for (int i = 0; i < 2; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
			exit(1);
		while (recv(fd, &byte, 1, 0) > 0)
			put(fd);
		close(fd);
	}
	_exit(0);
}

static int open_session(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		exit(1);
	put(fd);
	if (recv(fd, &byte, 1, 0) != 1)
		exit(1);
	return fd;
}

/* The parent begins a second session while the first one is open. */
static void begin_sessions(bool closes, int limit_ms)
{
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), first;

	snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "thrum-%d", getpid());
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
		listen(listener, 4) != 0)
		exit(1);
	if (start("server"))
		serve_sessions(listener, limit_ms);
	close(listener);
	first = open_session();
	if (closes)
		close(first);
	close(open_session());
	wait(NULL);
}

static void session(void)
{
	begin_sessions(is_fine, 0);
}

/* The server gives the first session up. */
static void expiry(void)
{
	begin_sessions(false, 900);
}

/* A worker that answers; the job k kills it, and s takes long. */
static int start_worker(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		exit(1);
	if (!start("worker")) {
		close(ends[1]);
		return ends[0];
	}
	close(ends[0]);
	while (read(ends[1], &byte, 1) == 1) {
		if (byte == 'k')
			raise(SIGKILL);
		if (byte == 's')
			usleep(1500000);
		put(ends[1]);
	}
	_exit(0);
}

/* A worker dies of its job. The next one gets the job only if all is well. */
static void pool(void)
{
	struct signalfd_siginfo told;
	struct pollfd polled[3] = {{.events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}};
	sigset_t chld;
	int answers = 0;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	polled[0].fd = signalfd(-1, &chld, SFD_CLOEXEC);
	polled[1].fd = start_worker();
	polled[2].fd = start_worker();
	if (write(polled[1].fd, "a", 1) != 1 || write(polled[2].fd, "k", 1) != 1)
		exit(1);
	while (answers < 2 && poll(polled, 3, -1) > 0) {
		if (polled[1].revents & POLLIN) {
			get(polled[1].fd);
			answers++;
		}
		if (polled[2].revents & POLLIN && read(polled[2].fd, &byte, 1) == 1)
			answers++;
		if (!(polled[0].revents & POLLIN))
			continue;
		if (read(polled[0].fd, &told, sizeof told) < 0 || waitpid(-1, NULL, WNOHANG) <= 0)
			exit(1);
		close(polled[2].fd);
		polled[2].fd = start_worker();
		if (is_fine && write(polled[2].fd, "s", 1) != 1)
			exit(1);
	}
	close(polled[1].fd);
	close(polled[2].fd);
	while (wait(NULL) > 0)
		;
}

/* The child sends requests of two bytes each, one of three bytes, and waits for an answer to each. */
static void send_requests(int fd)
{
	char answer;

	for (int i = 0; i < 5; i++)
		if (write(fd, "req", i == 3 ? 3 : 2) < 0 || read(fd, &answer, 1) != 1)
			_exit(1);
	_exit(0);
}

/* Answers each request that has come whole. Returns false at the end. */
static bool __attribute__((noinline)) take_requests(int fd)
{
	static char bytes[8];
	static ssize_t used;
	ssize_t size = read(fd, bytes + used, sizeof bytes - (size_t)used);

	if (size <= 0)
		return false;
	used += size;
	if (used == 3 && !is_fine)
		return true; /* though the longer one is whole, too */
	used = 0;
	return write(fd, "a", 1) == 1;
}

/* The parent polls the child's requests alone. */
static void parser(void)
{
	struct pollfd polled = {-1, POLLIN, 0};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		exit(1);
	if (fork() == 0) {
		close(ends[0]);
		send_requests(ends[1]);
	}
	close(ends[1]);
	polled.fd = ends[0];
	while (poll(&polled, 1, -1) == 1 && take_requests(ends[0]))
		;
	wait(NULL);
}

static int there[2], back[2];

/* Answers each piece with two of its size, in a thread of the child. */
static __attribute__((noinline)) void *double_pieces(void *unused)
{
	char piece[2048];
	ssize_t size;

	while ((size = read(there[0], piece, sizeof piece)) > 0)
		for (int i = 0; i < 2; i++)
			if (write(back[1], piece, (size_t)size) != size)
				_exit(1);
	return unused;
}

static void be_doubler(void)
{
	pthread_t thread;

	close(there[1]);
	close(back[0]);
	pthread_create(&thread, NULL, double_pieces, NULL);
	pthread_join(thread, NULL);
	_exit(0);
}

static __attribute__((noinline)) void feed(int fd)
{
	static char document[400000];

	if (write(fd, document, is_fine ? 20000 : sizeof document) < 0)
		exit(1);
	close(fd);
}

static void *run_feeder(void *unused)
{
	char answer[4096];

	make(there, false);
	make(back, false);
	if (start("doubler"))
		be_doubler();
	close(there[0]);
	close(back[1]);
	feed(there[1]);
	while (read(back[0], answer, sizeof answer) > 0)
		;
	wait(NULL);
	return unused;
}

/* A thread gives a document to a child before it reads any answer: the pipes can't have both. */
static void feeder(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run_feeder, NULL);
	pthread_join(thread, NULL);
}

/* Reads so much, slowly, and waits until the pipe is full again. */
static void read_slowly(int fd, int pieces)
{
	int used = 0, room = fcntl(fd, F_GETPIPE_SZ);
	char piece[4096];

	for (int i = 0; i < pieces; i++) {
		if (i % 8 == 0)
			usleep(150000);
		if (read(fd, piece, sizeof piece) != sizeof piece)
			_exit(1);
	}
	while (used < room && ioctl(fd, FIONREAD, &used) == 0)
		usleep(1000);
}

/* A child reads a part of a large write, and ends: the call tells how much it has written. */
static void gone(void)
{
	static char document[400000];
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	make(ends, false);
	if (start("reader")) {
		close(ends[1]);
		read_slowly(ends[0], 24);
		_exit(0);
	}
	close(ends[0]);
	for (int i = 0; i < 2; i++) {
		ssize_t size = write(ends[1], document, sizeof document);

		printf("%zd %s\n", size, size < 0 ? strerror(errno) : "written");
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"half", half}, {"late", late}, {"lock", lock}, {"slots", slots},
		{"handler", handler}, {"turns", turns}, {"limit", limit}, {"ring", ring},
		{"broker", broker}, {"session", session}, {"expiry", expiry}, {"pool", pool},
		{"parser", parser}, {"feeder", feeder}, {"gone", gone}};
	pthread_t thread;
	sigset_t mask;

	is_fine = argc > 2;
	end_after(20);
	if (!is_fine)
		setpgid(0, 0);
	sem_init(&is_done, 0, 0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &mask, NULL); /* in that thread */
	pthread_create(&thread, NULL, wait_until_done, NULL);
	pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	sem_post(&is_done);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
