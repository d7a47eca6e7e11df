/* SPDX-License-Identifier: ISC */
/*
 * A program that talks with its children over pipes, and hangs as somebody has an end of one that he
 * shouldn't. The argument says which; with a second one it closes it in time. SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

static bool is_fine;
static int total;

static void read_all(int fd)
{
	char bytes[4096];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		total += (int)n;
}

/* Starts a program that reads from one descriptor and writes to the other, unless they are -1. */
static pid_t start(const char *name, const char *argument, int from, int to)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (from >= 0)
		dup2(from, STDIN_FILENO);
	if (to >= 0)
		dup2(to, STDOUT_FILENO);
	execlp(name, name, argument, (char *)NULL);
	_exit(127);
}

static void make(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		exit(1);
}

/* It waits for the end of the child's output, whose end it has itself. */
static void own(void)
{
	int output[2];
	pid_t child;

	make(output);
	child = start("echo", "done", -1, output[1]);
	if (is_fine)
		close(output[1]);
	read_all(output[0]);
	waitpid(child, NULL, 0);
}

/* It waits for the output of a child that waits for the end of its input. */
static void input(void)
{
	int in[2], output[2];
	pid_t child;

	make(in);
	make(output);
	child = start("sort", NULL, in[0], output[1]);
	close(in[0]);
	close(output[1]);
	dprintf(in[1], "b\na\n");
	if (is_fine)
		close(in[1]);
	read_all(output[0]);
	waitpid(child, NULL, 0);
}

/* It waits until such a child has ended. */
static void child(void)
{
	int in[2];
	pid_t child;

	make(in);
	child = start("cat", NULL, in[0], open("/dev/null", O_WRONLY | O_CLOEXEC));
	close(in[0]);
	if (is_fine)
		close(in[1]);
	waitpid(child, NULL, 0);
}

/* Writes more than the child takes before somebody reads what that writes. */
static void feed(pid_t child, const int in[2], const int output[2])
{
	static char bytes[65536];

	close(in[0]);
	close(output[1]);
	for (int i = 0; i < (is_fine ? 1 : 5); i++)
		if (write(in[1], bytes, sizeof bytes) < 0)
			exit(1);
	close(in[1]);
	read_all(output[0]);
	waitpid(child, NULL, 0);
}

static void full(void)
{
	int in[2], output[2];

	make(in);
	make(output);
	feed(start("cat", NULL, in[0], output[1]), in, output);
}

static void handle(int number)
{
	(void)number;
}

/* The same in a program with a handler that ends calls. */
static void handled(void)
{
	const struct sigaction ending = {.sa_handler = handle};

	if (sigaction(SIGUSR1, &ending, NULL) == 0)
		full();
}

/* The same. The child closes what it needn't have while it runs in its parent's memory. */
static void vforked(void)
{
	int in[2], output[2];
	pid_t child;

	make(in);
	make(output);
	child = vfork();
	if (child == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	feed(child, in, output);
}

static void *read_output(void *fd)
{
	read_all(*(int *)fd);
	return NULL;
}

/* A thread waits for the end of a child's output, whose end another child has got. */
static void stray(void)
{
	pthread_t reader;
	int output[2];
	pid_t writer, other;

	make(output);
	if (!is_fine)
		fcntl(output[1], F_SETFD, 0);
	pthread_create(&reader, NULL, read_output, &output[0]);
	writer = start("echo", "done", -1, output[1]);
	other = start("sleep", "20", -1, -1);
	close(output[1]);
	waitpid(writer, NULL, 0);
	pthread_join(reader, NULL);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

/* The same, but the other child is this program, executed anew. It may know the end by its number, or by
 * a fixed one. */
static void start_anew(bool is_agreed)
{
	char number[16] = "-1";
	int output[2];
	pid_t writer, other;

	if (pipe(output) < 0)
		exit(1);
	if (is_fine)
		snprintf(number, sizeof number, "%d", output[1]);
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (is_agreed)
			close(dup2(output[1], 9) < 0 ? -1 : output[1]);
		execl("/proc/self/exe", "ends", "server", number, (char *)NULL);
		_exit(127);
	}
	writer = start("echo", "done", output[0], output[1]);
	close(output[1]);
	read_all(output[0]);
	waitpid(writer, NULL, 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void anew(void)
{
	start_anew(false);
}

static void agreed(void)
{
	start_anew(true);
}

static void serve(int end)
{
	usleep(300000);
	close(end);
	sleep(20);
}

/* All is well: a child has the end of a pipe by which threads wake each other. */
static void wake(void)
{
	pthread_t reader;
	pid_t other;
	int ends[2];

	make(ends);
	fcntl(ends[1], F_SETFD, 0);
	other = start("sleep", "20", -1, -1);
	pthread_create(&reader, NULL, read_output, &ends[0]);
	if (is_fine && write(ends[1], "x", 1) < 0)
		exit(1);
	pthread_join(reader, NULL);
	waitpid(other, NULL, 0);
}

/* A child that waits for the end of its input, or, as it waits for its child, behaves so. */
static pid_t start_filter(const int in[2], const int out[2], bool has_child)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "filter");
	close(in[1]);
	close(out[0]);
	if (has_child && fork() == 0)
		has_child = false;
	if (has_child)
		wait(NULL);
	else
		read_all(in[0]);
	_exit(0);
}

/* It waits for the output of a filter, whose input a copy of this program has, which does nothing. */
static void wait_for_filter(bool has_child)
{
	int in[2], out[2];
	pid_t filter, other;

	make(in);
	make(out);
	filter = start_filter(in, out, has_child);
	close(in[0]);
	close(out[1]);
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "monitor");
		if (is_fine)
			close(in[1]);
		pause();
	}
	close(in[1]);
	read_all(out[0]);
	waitpid(filter, NULL, 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void behind(void)
{
	wait_for_filter(false);
}

/* It waits for the output of another program, whose input's end a third one has got. */
static void relayed(void)
{
	int in[2], out[2];
	pid_t filter, other;

	make(in);
	make(out);
	if (!is_fine)
		fcntl(in[1], F_SETFD, 0);
	filter = start("cat", NULL, in[0], out[1]);
	other = start("sleep", "20", -1, -1);
	close(in[0]);
	close(in[1]);
	close(out[1]);
	read_all(out[0]);
	waitpid(filter, NULL, 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void parent(void)
{
	wait_for_filter(true);
}

struct beside {
	bool is_written, feeds, logs;
};

/* A copy that looks every now and then whether it should end. */
static pid_t start_monitor(const int in[2], const int out[2], const int control[2],
	const struct beside *beside)
{
	struct pollfd ask = {.fd = control[0], .events = POLLIN};
	pid_t child = fork();

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "monitor");
	close(control[1]);
	for (int i = 0; i < 2 && is_fine; i++) {
		close(in[i]);
		close(out[i]);
	}
	if (beside->feeds)
		close(in[0]);
	if (beside->logs)
		dprintf(open("/dev/null", O_WRONLY), "begins\n");
	while (poll(&ask, 1, 15) == 0)
		total++;
	_exit(0);
}

/* It waits for the output of a filter, whose input such a copy has. */
static void wait_beside(const struct beside *beside)
{
	int in[2], out[2], control[2];
	pid_t filter, monitor;

	make(in);
	make(out);
	filter = start_filter(in, out, false);
	make(control);
	monitor = start_monitor(in, out, control, beside);
	close(in[0]);
	close(out[1]);
	close(control[0]);
	if (beside->is_written)
		dprintf(in[1], "b\na\n");
	close(in[1]);
	read_all(out[0]);
	close(control[1]);
	waitpid(filter, NULL, 0);
	waitpid(monitor, NULL, 0);
}

static void nods(void)
{
	wait_beside(&(struct beside){.is_written = true});
}

/* The same, but the copy may write: it has closed the end from which it doesn't read, */
static void nods_feeds(void)
{
	wait_beside(&(struct beside){.is_written = true, .feeds = true});
}

/* it has written something, */
static void nods_logs(void)
{
	wait_beside(&(struct beside){.is_written = true, .logs = true});
}

/* or nobody else has. */
static void nods_first(void)
{
	wait_beside(&(struct beside){.is_written = false});
}

/* The same, but the copy may end at any time. */
static void busy(void)
{
	int in[2], out[2];
	pid_t other;

	make(in);
	make(out);
	start_filter(in, out, false);
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(out[1]);
		sleep(is_fine ? 1 : 20);
		_exit(0);
	}
	close(in[0]);
	close(in[1]);
	close(out[1]);
	read_all(out[0]);
	waitpid(other, NULL, 0);
}

static void *read_nothing(void *fd)
{
	char byte;

	if (read(*(int *)fd, &byte, 1) < 0)
		exit(1);
	return NULL;
}

static void *read_later(void *fd)
{
	sleep(20);
	read_all(*(int *)fd);
	return NULL;
}

/* Waits for the end of a child that writes more than a pipe takes. Another thread runs that function. */
static void wait_for_writer(void *(*beside)(void *), bool is_output)
{
	static char bytes[100000];
	int out[2], never[2];
	pthread_t thread;
	pid_t writer;

	make(out);
	make(never);
	pthread_create(&thread, NULL, beside, is_output ? &out[0] : &never[0]);
	writer = fork();
	if (writer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "writer");
		_exit(write(out[1], bytes, sizeof bytes) > 0 ? 0 : 1);
	}
	close(out[1]);
	if (is_fine)
		read_all(out[0]);
	waitpid(writer, NULL, 0);
	close(never[1]);
	pthread_join(thread, NULL);
}

/* Nobody reads it. */
static void unread(void)
{
	wait_for_writer(read_nothing, false);
}

/* All is well: a thread is about to read it. */
static void late(void)
{
	wait_for_writer(read_later, true);
}

/* Waits for the end of a child to which it sends SIGTERM, and which begins with that held back. */
static void end_worker(void (*work)(const sigset_t *))
{
	sigset_t held;
	pid_t worker;

	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, NULL);
	worker = fork();
	if (worker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "worker");
		if (is_fine)
			sigprocmask(SIG_UNBLOCK, &held, NULL);
		work(&held);
		_exit(0);
	}
	kill(worker, SIGTERM);
	waitpid(worker, NULL, 0);
	sigprocmask(SIG_UNBLOCK, &held, NULL);
}

static void wait_for_signals(const sigset_t *held)
{
	(void)held;
	for (;;)
		pause();
}

static void work_first(const sigset_t *held)
{
	int signal;

	usleep(400000);
	sigwait(held, &signal);
}

/* The child never sees the signal. */
static void masked(void)
{
	end_worker(wait_for_signals);
}

/* All is well: it looks after its work. */
static void working(void)
{
	end_worker(work_first);
}

/* Reads the output of a shell, and then its errors. */
static void read_shell(const char *script)
{
	int output[2], errors[2];
	pid_t shell;

	make(output);
	make(errors);
	shell = fork();
	if (shell == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(output[1], STDOUT_FILENO);
		dup2(errors[1], STDERR_FILENO);
		execlp("sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(output[1]);
	close(errors[1]);
	read_all(is_fine ? errors[0] : output[0]);
	read_all(is_fine ? output[0] : errors[0]);
	waitpid(shell, NULL, 0);
}

/* The shell writes more errors than a pipe takes, and keeps its output aside meanwhile. */
static void noisy(void)
{
	read_shell("i=0; while [ $i -lt 4000 ]; do echo 'warning: the line has no end' >&2; "
		   "i=$((i + 1)); done; echo done");
}

static inline __attribute__((always_inline)) void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
}

static __attribute__((noinline)) void complain(int fd)
{
	for (int i = 0; i < 4000; i++)
		put(fd, "warning: the line has no end\n");
	close(fd);
}

/* Reads the output of a child, and then its errors, of which there are more than a pipe takes. */
static void lint(void)
{
	int output[2], errors[2];
	pid_t checker;

	make(output);
	make(errors);
	checker = fork();
	if (checker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "checker");
		close(output[0]);
		close(errors[0]);
		complain(errors[1]);
		put(output[1], "done\n");
		_exit(0);
	}
	close(output[1]);
	close(errors[1]);
	read_all(is_fine ? errors[0] : output[0]);
	read_all(is_fine ? output[0] : errors[0]);
	waitpid(checker, NULL, 0);
}

/* Shows how far the work is, or reads what `fd` tells after a while. */
static void *nap(void *fd)
{
	for (int i = 0; !is_fine || i < 4; i++)
		usleep(20000);
	read_all(*(const int *)fd);
	return NULL;
}

/* As lint(), but another thread naps again and again. */
static void napping(void)
{
	int output[2], errors[2];
	pthread_t napper;
	pid_t filter;

	make(output);
	make(errors);
	filter = fork();
	if (filter == 0) {
		char part[1024] = "";

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "filter");
		put(output[1], "begins\n");
		for (int i = 0; i < 65; i++)
			if (write(errors[1], part, sizeof part) < 0)
				_exit(1);
		_exit(0);
	}
	close(output[1]);
	close(errors[1]);
	pthread_create(&napper, NULL, nap, &errors[0]);
	read_all(output[0]);
	pthread_join(napper, NULL);
	close(errors[0]);
	waitpid(filter, NULL, 0);
}

/* All is well: the shell keeps its output aside for a command, under a number that closes for others. */
static void aside(void)
{
	read_shell("{ sleep 20; } >&2; echo done");
}

/* The same, under a number of its own. */
static void moved(void)
{
	read_shell("n=$((3 + 3)); eval \"exec $n>&1 1>&2\"; sleep 20; eval \"echo done >&$n\"");
}

/* A child answers into a stream, which it doesn't flush. */
static void buffered(void)
{
	int questions[2], answers[2];
	char line[80];

	make(questions);
	make(answers);
	if (fork() == 0) {
		FILE *in = fdopen(questions[0], "r"), *out = fdopen(answers[1], "w");

		close(questions[1]), close(answers[0]);
		while (fgets(line, sizeof line, in)) {
			fprintf(out, "answer to %s", line);
			if (is_fine)
				fflush(out);
		}
		_exit(0);
	}
	close(questions[0]), close(answers[1]);
	put(questions[1], "all\n");
	total += (int)read(answers[0], line, sizeof line);
	close(questions[1]);
	wait(NULL);
}

/* An agent that goes on in the background: after a job that is done, it has the job's output. */
static void start_agent(bool is_apart, bool is_executed)
{
	int null = open("/dev/null", O_RDWR);

	if (fork() != 0)
		return;
	if (is_apart)
		setsid();
	if (is_fine)
		dup2(null, STDOUT_FILENO);
	if (is_executed)
		execlp("sleep", "sleep", "20", (char *)NULL);
	for (int i = 0; i < 2000; i++)
		usleep(10000);
	_exit(0);
}

/* The last one of some jobs starts such an agent. */
static void run_jobs(int jobs, bool is_apart, bool is_executed)
{
	for (int i = 1; i <= jobs; i++) {
		int output[2];
		pid_t child;

		make(output);
		child = fork();
		if (child == 0) {
			dup2(output[1], STDOUT_FILENO);
			close(output[0]);
			close(output[1]);
			if (i == jobs)
				start_agent(is_apart, is_executed);
			usleep(100000);
			put(STDOUT_FILENO, "done\n");
			_exit(0);
		}
		close(output[1]);
		read_all(output[0]);
		close(output[0]);
		waitpid(child, NULL, 0);
	}
}

static void nightly(void)
{
	run_jobs(3, true, false);
}

static void nightly_run(void)
{
	run_jobs(3, true, true);
}

/* The same, but no output has come to its end before: it may be the agent's, too, */
static void nightly_first(void)
{
	run_jobs(1, true, false);
}

/* or the agent is a part of the job. */
static void nightly_part(void)
{
	run_jobs(3, false, false);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"own", own}, {"input", input}, {"child", child}, {"full", full},
		{"vforked", vforked}, {"handled", handled}, {"stray", stray}, {"anew", anew},
		{"agreed", agreed}, {"wake", wake}, {"behind", behind}, {"parent", parent},
		{"relayed", relayed}, {"busy", busy}, {"unread", unread}, {"late", late},
		{"masked", masked}, {"working", working}, {"noisy", noisy}, {"lint", lint},
		{"aside", aside}, {"moved", moved}, {"napping", napping}, {"nods", nods},
		{"nods_feeds", nods_feeds}, {"nods_logs", nods_logs}, {"nods_first", nods_first},
		{"nightly", nightly}, {"nightly_run", nightly_run},
		{"nightly_first", nightly_first}, {"nightly_part", nightly_part},
		{"buffered", buffered}};

	if (argc > 2 && strcmp(argv[1], "server") == 0)
		serve(atoi(argv[2]));
	is_fine = argc > 2;
	/* `wake` waits for ever, and `working` ends by itself. Naps have to be seen for some time. */
	end_after((is_fine && argv[1][0] != 'w') || (argc > 1 && strcmp(argv[1], "working") == 0)
			? 20
			: argv[1][0] == 'n' ? 3
					    : 1);
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	printf("%d bytes\n", total);
	return 0;
}
