/* SPDX-License-Identifier: ISC */
/*
 * A server that forks its workers, and knows nothing of thrum. Each worker accepts connections. The
 * argument says what else happens. SIGALRM ends what hangs.
 *
 * hang     a worker waits for a condition that nobody signals
 * fine     all workers end
 * herd     a connection comes soon
 * left     a thread of the server held a lock at the fork, which the worker wants
 * daemon   the server is the grandchild of the program, which ends
 * short    many children end without waiting, and one runs another program
 * many     more children wait than may record
 * killed   children are killed, and waited for by one call each
 * rights   the workers give up the rights of root
 * unseen   they do so without the C library
 * limited  a filter of system calls kills each worker that opens a file
 * waits    the server does nothing but wait for its workers, one of which hangs
 * handled  signals interrupt its wait
 * other    so does that of another worker, which ends
 * pipe     four workers read the same pipe
 * keeps    the same, and the server keeps the end to which it wrote
 * stopped  a worker stops itself
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 2
#define SHORT 300
#define MANY 110

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_filled = PTHREAD_COND_INITIALIZER;
static int listener, is_kept[2];

/* ---- A worker ---------------------------------------------------------------------------------- */

static void wait_for_table(void)
{
	pthread_mutex_lock(&table);
	pthread_cond_wait(&is_filled, &table);
	pthread_mutex_unlock(&table);
}

static void use_table(void)
{
	pthread_mutex_lock(&table);
	pthread_mutex_unlock(&table);
}

static void forbid_opening(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

static void serve(const char *scene)
{
	if (strcmp(scene, "limited") == 0)
		forbid_opening();
	if (strcmp(scene, "rights") == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		_exit(1);
	if (strcmp(scene, "unseen") == 0 && syscall(SYS_setuid, 65534) != 0)
		_exit(1);
	int peer = accept(listener, NULL, NULL);
	char byte = 0;

	if (peer < 0 || read(peer, &byte, 1) != 1)
		_exit(1);
	alarm(2);
	if (byte == 'h' && strcmp(scene, "left") == 0)
		use_table();
	else if (byte == 'h')
		wait_for_table();
	if (write(peer, &byte, 1) != 1)
		_exit(1);
	_exit(0);
}

/* ---- The server -------------------------------------------------------------------------------- */

static void *keep_table(void *unused)
{
	pthread_setname_np(pthread_self(), "refresher");
	pthread_mutex_lock(&table);
	if (write(is_kept[1], "", 1) == 1)
		pause();
	return unused;
}

static void listen_here(void)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || listen(listener, 8) != 0)
		exit(1);
}

static int ask(char what)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof peer;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (getsockname(listener, (struct sockaddr *)&peer, &size) != 0 ||
		connect(fd, (struct sockaddr *)&peer, sizeof peer) != 0 || write(fd, &what, 1) != 1)
		exit(1);
	return fd;
}

static int serve_all(const char *scene)
{
	bool hangs = strcmp(scene, "hang") == 0 || strcmp(scene, "left") == 0;
	pthread_t thread;
	int fds[WORKERS], failed = 0;
	char byte;

	if (strcmp(scene, "left") == 0 &&
		(pipe(is_kept) != 0 || pthread_create(&thread, NULL, keep_table, NULL) != 0 ||
			read(is_kept[0], &byte, 1) != 1))
		return 1;
	listen_here();
	for (int i = 0; i < WORKERS; i++)
		if (fork() == 0)
			serve(scene);
	usleep(strcmp(scene, "herd") == 0 ? 20000 : 200000);
	for (int i = 0; i < WORKERS; i++)
		fds[i] = ask(hangs && i == 0 ? 'h' : 'f');
	for (int i = 0, status; i < WORKERS && waitpid(-1, &status, 0) > 0; i++)
		failed += status != 0;
	for (int i = 0; i < WORKERS; i++)
		close(fds[i]);
	printf("%d of %d workers failed\n", failed, WORKERS);
	return 0;
}

/* ---- Children ---------------------------------------------------------------------------------- */

/* As daemon() does. */
static int serve_later(void)
{
	int done[2];
	char byte;

	if (pipe(done) != 0)
		return 1;
	fflush(stdout);
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		close(done[0]);
		exit(serve_all("hang"));
	}
	wait(NULL);
	close(done[1]);
	return (int)read(done[0], &byte, 1); /* until the daemon has ended */
}

static int make_short(void)
{
	for (int i = 0; i < SHORT; i++)
		if (fork() == 0)
			_exit(0);
	if (fork() == 0)
		execlp("true", "true", (char *)NULL);
	while (wait(NULL) > 0)
		;
	return 0;
}

/* Each waits for the server to close the pipe. */
static int make_many(void)
{
	int fds[2];
	char byte;

	if (pipe(fds) != 0)
		return 1;
	for (int i = 0; i < MANY; i++)
		if (fork() == 0) {
			close(fds[1]);
			_exit((int)read(fds[0], &byte, 1));
		}
	sleep(1);
	close(fds[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}

static void reap(int way, pid_t child)
{
	siginfo_t info;

	switch (way) {
	case 0: wait(NULL); break;
	case 1: wait3(NULL, 0, NULL); break;
	case 2: wait4(child, NULL, 0, NULL); break;
	case 3: waitid(P_PID, (id_t)child, &info, WEXITED); break;
	default: waitpid(child, NULL, 0); break;
	}
}

static int kill_children(void)
{
	for (int way = 0; way < 5; way++) {
		pid_t child = fork();

		if (child == 0)
			pause();
		usleep(200000);
		kill(child, SIGKILL);
		reap(way, child);
	}
	return 0;
}

static int wait_for_workers(void)
{
	for (int i = 0; i < WORKERS; i++)
		if (fork() == 0) {
			alarm(2);
			if (i == 0)
				wait_for_table();
			usleep(200000);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/* Also while the recorder looks whether the wait lasts. An alarm may come between two waits. */
static int be_interrupted(void)
{
	struct itimerval often = {{0, 20000}, {0, 20000}};
	struct sigaction action = {.sa_handler = on_alarm};
	int count = 0;

	sigaction(SIGALRM, &action, NULL);
	if (fork() == 0) {
		usleep(500000);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	while (wait(NULL) < 0 && errno == EINTR)
		count++;
	puts(count > alarms / 2 ? "interrupted by most alarms" : "hardly interrupted");
	return 0;
}

/* Waits for one worker while another one ends. */
static int hear_of_other(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	pid_t worker;
	int count = 0;

	sigaction(SIGCHLD, &action, NULL);
	worker = fork();
	if (worker == 0) {
		usleep(1000000);
		_exit(0);
	}
	if (fork() == 0) {
		usleep(300000);
		_exit(0);
	}
	while (waitpid(worker, NULL, 0) < 0 && errno == EINTR)
		count++;
	printf("interrupted %d times\n", count);
	return 0;
}

static int share_pipe(bool keeps)
{
	int fds[2];
	char byte;

	if (pipe(fds) != 0)
		return 1;
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			close(fds[1]);
			while (read(fds[0], &byte, 1) == 1)
				usleep(2000);
			_exit(0);
		}
	for (int i = 0; i < 12; i++) {
		usleep(5000);
		if (write(fds[1], "x", 1) != 1)
			return 1;
	}
	sleep(1); /* so that each has to wait, also on a busy machine */
	if (!keeps)
		close(fds[1]);
	else
		alarm(2);
	while (wait(NULL) > 0)
		;
	return 0;
}

static int wait_for_stopped(void)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		raise(SIGSTOP);
		_exit(0);
	}
	alarm(2);
	return wait(NULL) < 0;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "fine";

	if (strcmp(scene, "daemon") == 0)
		return serve_later();
	if (strcmp(scene, "short") == 0)
		return make_short();
	if (strcmp(scene, "many") == 0)
		return make_many();
	if (strcmp(scene, "killed") == 0)
		return kill_children();
	if (strcmp(scene, "waits") == 0)
		return wait_for_workers();
	if (strcmp(scene, "handled") == 0)
		return be_interrupted();
	if (strcmp(scene, "other") == 0)
		return hear_of_other();
	if (strcmp(scene, "pipe") == 0 || strcmp(scene, "keeps") == 0)
		return share_pipe(strcmp(scene, "keeps") == 0);
	if (strcmp(scene, "stopped") == 0)
		return wait_for_stopped();
	return serve_all(scene);
}
