/* SPDX-License-Identifier: ISC */
/*
 * Waits in calls that block, each until a signal interrupts it; then in a thread that is cancelled. With
 * an argument it waits for ever in that call. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hang.h"
#include "patience.h"

static int empty[2], full[2], sockets[2], listener, locked, other;
static char bytes[70000];

static void interrupt(int number)
{
	(void)number;
}

/* The handler of SIGALRM runs again and again, so that no call waits for ever. */
static void set_alarm(long us)
{
	struct itimerval interval = {{0, us}, {0, us}};
	struct sigaction action = {.sa_handler = interrupt};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &interval, NULL);
}

static int open_all(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (pipe(empty) < 0 || pipe(full) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		return -1;
	fcntl(full[1], F_SETFL, O_NONBLOCK);
	while (write(full[1], bytes, 4096) > 0)
		;
	fcntl(full[1], F_SETFL, 0);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) < 0 ||
		listen(listener, 1) < 0)
		return -1;
	locked = open("locked", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	other = open("locked", O_RDWR | O_CLOEXEC);
	return locked < 0 || other < 0 ? -1 : 0;
}

/* ---- Calls that wait -------------------------------------------------------------------------- */

/* Prints a call's result, and how it failed. */
#define SHOW(call) \
	do { \
		errno = 77; \
		long got = (long)(call); \
\
		printf("%s: %ld, %s\n", #call, got, strerrorname_np(errno)); \
	} while (0)

static void wait_in_all(void)
{
	struct iovec part = {bytes, 9};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct flock lock = {.l_type = F_WRLCK}, own = lock;
	pid_t child = fork(); /* it has an end of each pipe */

	if (child == 0) {
		pause();
		_exit(0);
	}
	set_alarm(5000);
	SHOW(read(empty[0], bytes, 9));
	SHOW(readv(empty[0], &part, 1));
	SHOW(write(full[1], bytes, 9));
	SHOW(writev(full[1], &part, 1));
	SHOW(recv(sockets[0], bytes, 9, 0));
	SHOW(recv(sockets[0], bytes, 9, MSG_WAITALL));
	SHOW(recvfrom(sockets[0], bytes, 9, 0, NULL, NULL));
	SHOW(recvmsg(sockets[0], &message, 0));
	SHOW(accept(listener, NULL, NULL));
	SHOW(flock(locked, LOCK_EX));
	SHOW(flock(other, LOCK_EX));
	SHOW(fcntl(locked, F_OFD_SETLKW, &own));
	SHOW(fcntl(other, F_OFD_SETLKW, &lock));
	SHOW(waitpid(child, NULL, 0));
	kill(child, SIGKILL);
	set_alarm(0);
	SHOW(wait(NULL) == child);
	SHOW(usleep(1000));
	SHOW(nanosleep(&(struct timespec){0, 1000}, NULL));
	SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){0, 0}, NULL));
	SHOW(sleep(0));
	SHOW(fsync(locked));
	SHOW(system("exit 3"));
}

/* ---- Calls that don't ------------------------------------------------------------------------- */

static int find(const char *host)
{
	struct addrinfo *found = NULL;
	int result = getaddrinfo(host, "80", NULL, &found);

	if (result == 0)
		freeaddrinfo(found);
	return result;
}

static void wait_in_none(void)
{
	int pipes[2];

	if (pipe2(pipes, O_NONBLOCK) < 0)
		return;
	SHOW(read(pipes[0], bytes, 9));
	SHOW(fcntl(pipes[0], F_GETFL) == O_NONBLOCK);
	SHOW(write(empty[1], "abc", 3));
	SHOW(read(empty[0], bytes, 9));
	SHOW(send(sockets[1], "abc", 3, 0));
	SHOW(recv(sockets[0], bytes, 9, 0));
	SHOW(recv(sockets[0], bytes, 9, MSG_DONTWAIT));
	SHOW(sendmsg(sockets[1], NULL, 0));
	SHOW(write(locked, "abc", 3));
	SHOW(read(other, bytes, 9));
	SHOW(read(-1, bytes, 9));
	SHOW(waitpid(-1, NULL, 0));
	SHOW(find("127.0.0.1"));
	SHOW(find("::1"));
	SHOW(find(NULL));
	SHOW(flock(-1, LOCK_EX));
	SHOW(dup2(pipes[0], empty[1]) == empty[1]);
	SHOW(fclose(fmemopen(bytes, 9, "r")));
	SHOW(close(pipes[0]));
	SHOW(close(pipes[1]));
	SHOW(read(empty[0], bytes, 9));
}

/* Sockets that block later: one by a call that is seen, one by a call that isn't. */
static void wait_later(void)
{
	int pair[2], off = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		return;
	SHOW(recv(pair[0], bytes, 9, 0));
	SHOW(recv(pair[1], bytes, 9, 0));
	SHOW(ioctl(pair[0], FIONBIO, &off));
	SHOW(syscall(SYS_ioctl, pair[1], FIONBIO, &off));
	set_alarm(5000);
	SHOW(recv(pair[0], bytes, 9, 0));
	SHOW(recv(pair[1], bytes, 9, 0));
	set_alarm(0);
}

/* ---- A call that waits for more than is there --------------------------------------------------- */

static _Atomic bool is_receiving;

static void *send_rest(void *receiver)
{
	while (!is_receiving || !is_asleep(*(int *)receiver))
		sched_yield();
	SHOW(send(sockets[1], "defgh", 5, 0));
	return NULL;
}

static void wait_for_more(void)
{
	int least = 5, receiver = gettid();
	pthread_t thread;

	SHOW(setsockopt(sockets[0], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least));
	SHOW(send(sockets[1], "abc", 3, 0));
	if (pthread_create(&thread, NULL, send_rest, &receiver) != 0)
		return;
	/* SHOW would print beside the thread. */
	is_receiving = true;
	ssize_t size = recv(sockets[0], bytes, 9, 0);

	pthread_join(thread, NULL);
	SHOW(size);
}

/* ---- A thread that is cancelled ---------------------------------------------------------------- */

static void *read_for_ever(void *unused)
{
	SHOW(read(sockets[0], bytes, 9));
	return unused;
}

static void cancel(void)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, read_for_ever, NULL) != 0)
		return;
	pthread_cancel(thread);
	SHOW(pthread_join(thread, &result));
	SHOW(result == PTHREAD_CANCELED);
}

/* ---- Waiting for ever ------------------------------------------------------------------------- */

static const char *chosen;
static _Atomic bool has_begun;

static void *wait_for_ever(void *unused)
{
	has_begun = true;
	if (strcmp(chosen, "accept") == 0)
		accept(listener, NULL, NULL);
	else
		(void)!write(dup(full[1]), bytes, 9); /* somebody else may read from it */
	return unused;
}

static bool is_stuck(void)
{
	return has_begun;
}

/* A child that may yet end. */
static void wait_for_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		end_after(10);
		pause();
		_exit(0);
	}
	poll(NULL, 0, 1);
	end_after(2);
	waitpid(child, NULL, 0);
}

/* Looks again and again for what never comes. */
static void poll_for_ever(void)
{
	end_after(2);
	while (!has_begun)
		usleep(10000);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (open_all() < 0)
		return 1;
	if (argc == 1) {
		poll(NULL, 0, 1); /* this starts the recording */
		wait_in_all();
		wait_in_none();
		wait_later();
		wait_for_more();
		cancel();
		return 0;
	}
	chosen = argv[1];
	if (strcmp(chosen, "child") == 0) {
		wait_for_child();
		return 0;
	}
	if (strcmp(chosen, "poll") == 0) {
		poll_for_ever();
		return 0;
	}
	end_when(is_stuck);
	if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
