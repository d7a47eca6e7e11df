/* SPDX-License-Identifier: ISC */
/*
 * Limits its own system calls to those that it needs itself, and goes on with threads, locks and pipes.
 *
 *     limits HOW ACTION
 *
 * HOW: prctl, syscall, all (all threads, by seccomp), child (in a fork's child), vfork (in a vfork's child,
 * which runs a program), exec (and runs a program), strict, strict-syscall, twice, few (the filter forbids
 * nothing but what no recorder needs), alone (without threads, so that nothing is recorded before), stream
 * (reads lines, and writes to a pipe that a child had, too). ACTION: what other calls lead to: kill, trap,
 * EPERM's or ENOSYS's number.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOMENT 30000 /* us */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;
static int ends[2];

static const int needed[] = {SYS_read, SYS_write, SYS_futex, SYS_exit, SYS_exit_group,
	SYS_rt_sigreturn, SYS_clock_nanosleep, SYS_madvise};
/* The C library needs most of these to make a thread. */
static const int more[] = {
	SYS_clone,
	SYS_clone3,
	SYS_mmap,
	SYS_mprotect,
	SYS_munmap,
	SYS_rt_sigprocmask,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_execve,
	SYS_brk,
	SYS_faccessat,
	SYS_openat,
	SYS_close,
	SYS_fstat,
	SYS_newfstatat,
	SYS_pread64,
	SYS_set_tid_address,
	SYS_prlimit64,
	SYS_getrandom,
	SYS_prctl,
	SYS_seccomp,
	SYS_wait4,
	SYS_ppoll,
#ifdef SYS_arch_prctl
	SYS_arch_prctl,
	SYS_access,
#endif
};

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(EXIT_FAILURE);
}

static void set_turn(int to)
{
	pthread_mutex_lock(&turn_lock);
	turn = to;
	pthread_cond_broadcast(&turned);
	pthread_mutex_unlock(&turn_lock);
}

static void await_turn(int value)
{
	pthread_mutex_lock(&turn_lock);
	while (turn != value)
		pthread_cond_wait(&turned, &turn_lock);
	pthread_mutex_unlock(&turn_lock);
}

/* Answers each odd turn: has the lock for a moment, and writes to the pipe. */
static void *answer(void *unused)
{
	for (int i = 1; i < 8; i += 2) {
		await_turn(i);
		pthread_mutex_lock(&lock);
		set_turn(i + 1);
		usleep(MOMENT);
		pthread_mutex_unlock(&lock);
		usleep(MOMENT);
		if (write(ends[1], "x", 1) != 1)
			say("no answer\n");
	}
	await_turn(-1); /* to end takes other calls */
	return unused;
}

/* Waits for the other thread, by its lock and by the pipe. */
static void work(int round)
{
	char byte;

	set_turn(round);
	await_turn(round + 1);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	if (read(ends[0], &byte, 1) == 1)
		say("read\n");
}

static int put_list(struct sock_filter *to, const int *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(unsigned)list[i], 0, 1);
		to[2 * i + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return (int)(2 * count);
}

static int put_limits(struct sock_filter *steps, unsigned action, bool allows_more)
{
	int count = put_list(steps, needed, sizeof needed / sizeof *needed);

	if (allows_more)
		count += put_list(steps + count, more, sizeof more / sizeof *more);
	steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	return count;
}

static int put_few(struct sock_filter *steps, unsigned action)
{
	steps[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_reboot, 0, 1);
	steps[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	steps[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return 3;
}

static void limit(const char *how, unsigned action, bool allows_more)
{
	struct sock_filter steps[100] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	int count = 1 +
		(strcmp(how, "few") == 0 ? put_few(steps + 1, action)
					 : put_limits(steps + 1, action, allows_more));
	struct sock_fprog filter = {(unsigned short)count, steps};
	long result;

	if (strcmp(how, "syscall") == 0)
		result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
	else if (strcmp(how, "all") == 0)
		result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			&filter);
	else
		result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
	say(result == 0 ? "limited\n" : "not limited\n");
}

static void *say_so(void *unused)
{
	say("a new thread\n");
	return unused;
}

static void after(bool makes_threads)
{
	pthread_t thread;

	/* Its own lock, which has another value by now. */
	if (syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, -1, NULL, NULL, 0) != 0)
		say("no wait\n");
	work(3);
	work(5);
	if (makes_threads && pthread_create(&thread, NULL, say_so, NULL) == 0)
		pthread_join(thread, NULL);
	work(7);
}

static int strict(const char *how)
{
	char byte;

	if (strcmp(how, "strict") == 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	else
		syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	say("strict\n");
	for (int i = 0; i < 4; i++)
		if (read(ends[0], &byte, 1) == 1)
			say("read\n");
	syscall(SYS_exit, 0);
	return 0;
}

static void *answer_strict(void *unused)
{
	for (int i = 0; i < 4; i++) {
		usleep(2 * MOMENT);
		if (write(ends[1], "x", 1) != 1)
			say("no answer\n");
	}
	usleep(2 * MOMENT);
	_exit(3);
	return unused;
}

static int child(const char *how, unsigned action, char **program)
{
	int status = 0;
	pid_t process = strcmp(how, "vfork") == 0 ? vfork() : strcmp(how, "exec") == 0 ? 0 : fork();

	if (process == 0) {
		limit("prctl", action, true);
		if (strcmp(how, "child") == 0) {
			usleep(MOMENT);
			say("child\n");
			_exit(4);
		}
		execve(program[0], program, (char *[]){NULL});
		_exit(EXIT_FAILURE);
	}
	while (waitpid(process, &status, 0) < 0 && errno == EINTR)
		;
	printf("%x\n", (unsigned)status);
	fflush(stdout);
	work(3);
	return EXIT_SUCCESS;
}

/* As sshd does: its child limits itself, and goes on with pipes that its parent has, too. The line that it
 * waits for is in the stream's buffer or in the pipe. */
static int read_lines(unsigned action)
{
	int lines[2], shared[2];
	struct pollfd one = {.events = POLLIN};
	struct timespec moment = {.tv_nsec = MOMENT * 1000};
	char line[16];

	if (pipe(lines) != 0 || pipe(shared) != 0)
		return EXIT_FAILURE;
	FILE *stream = fdopen(lines[0], "r");

	if (!stream || write(lines[1], "1\n2\n", 4) != 4 || !fgets(line, sizeof line, stream))
		return EXIT_FAILURE;
	one.fd = lines[0];
	fflush(stdout);
	pid_t process = fork();

	if (process == 0)
		_exit(0);
	waitpid(process, NULL, 0);
	limit("prctl", action, true);
	say(ppoll(&one, 1, &moment, NULL) == 0 ? "nothing\n" : "something\n");
	if (write(shared[1], "x", 1) == 1 && read(shared[0], line, 1) == 1 &&
		fgets(line, sizeof line, stream))
		say(line);
	close(shared[1]);
	close(shared[0]);
	after(true);
	_exit(5);
}

static unsigned action_of(const char *word)
{
	if (strcmp(word, "kill") == 0)
		return SECCOMP_RET_KILL_PROCESS;
	if (strcmp(word, "trap") == 0)
		return SECCOMP_RET_TRAP;
	return SECCOMP_RET_ERRNO | (unsigned)atoi(word);
}

static int go_alone(unsigned action)
{
	char byte = 0;

	if (pipe(ends) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return EXIT_FAILURE;
	limit("prctl", action, false);
	if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	_exit(byte == 'x' ? 0 : EXIT_FAILURE);
}

int main(int count, char **words)
{
	const char *how = words[1];
	bool is_strict = strncmp(how, "strict", 6) == 0;
	unsigned action = count > 2 ? action_of(words[2]) : 0;
	pthread_t thread;

	if (strcmp(how, "alone") == 0)
		return go_alone(action);
	if (pipe(ends) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		pthread_create(&thread, NULL, is_strict ? answer_strict : answer, NULL) != 0)
		return EXIT_FAILURE;
	if (is_strict)
		return strict(how);
	work(1);
	if (count > 3)
		return child(how, action, words + 3);
	if (strcmp(how, "stream") == 0)
		return read_lines(action);
	limit(how, action, strcmp(how, "syscall") == 0 || strcmp(how, "twice") == 0);
	if (strcmp(how, "twice") == 0)
		limit("prctl", action, false);
	after(strcmp(how, "syscall") == 0);
	_exit(5);
}
