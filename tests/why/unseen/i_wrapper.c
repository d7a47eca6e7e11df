/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The runner opens the pipe for a test's output without O_CLOEXEC, and then starts the mock mail server, which inherits the write end and lives on. The test has exited, but the end of its output never comes; read_output waits for ever.
 *   culprit: mailserver|mockmail|child
 *   victim: reporter|print_results
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A test runner. It captures the output of each test through a pipe. Some tests need a mail server;
 * the runner starts a mock when the first of them comes, and keeps it for the rest of the suite.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct test {
	const char *name;
	bool needs_mail;
	int lines;
	/* Results. */
	int status;
	size_t output;
	bool done;
};

static struct test tests[] = {
	{.name = "parse headers", .lines = 12},
	{.name = "parse dates", .lines = 4},
	{.name = "fold long lines", .lines = 30},
	{.name = "send a message", .needs_mail = true, .lines = 7},
	{.name = "send to many", .needs_mail = true, .lines = 9},
};
#define TESTS (sizeof(tests) / sizeof(tests[0]))

static bool broken;
static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t results_changed = PTHREAD_COND_INITIALIZER;
static int mail_control = -1;
static pid_t mail_pid;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* The program itself, executed again as the mock. It ends when the runner closes the control socket. */
static int mock_mail(int control)
{
	char command;

	prctl(PR_SET_NAME, "mockmail");
	if (write(control, "+", 1) != 1)
		return 1;
	while (read(control, &command, 1) == 1)
		if (write(control, "250", 3) != 3)
			return 1;
	return 0;
}

static void start_mailserver(void)
{
	pid_t parent = getpid();
	int ends[2];
	char ready, number[16];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		fail("socketpair");
	mail_pid = fork();
	if (mail_pid < 0)
		fail("fork");
	if (mail_pid == 0) {
		die_with_parent(parent);
		/* A copy without the flag: the mock needs it. */
		snprintf(number, sizeof(number), "%d", dup(ends[1]));
		execl("/proc/self/exe", "i_wrapper", "mockmail", number, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	mail_control = ends[0];
	if (read(mail_control, &ready, 1) != 1)
		fail("mock mail server");
}

static void test_main(const struct test *test, int output)
{
	for (int i = 0; i < test->lines; i++)
		dprintf(output, "ok %d - %s\n", i + 1, test->name);
	_exit(0);
}

/* Reads to the end: until the test has exited, or has closed its output. */
static size_t read_output(int output)
{
	char buffer[512];
	size_t total = 0;
	ssize_t got;

	while ((got = read(output, buffer, sizeof(buffer))) != 0) {
		if (got < 0 && errno != EINTR)
			fail("read");
		if (got > 0)
			total += (size_t)got;
	}
	return total;
}

static void run_test(struct test *test)
{
	pid_t parent = getpid(), pid;
	int ends[2], status;
	size_t output;

	if (broken ? pipe(ends) : pipe2(ends, O_CLOEXEC))
		fail("pipe");
	if (test->needs_mail && mail_control < 0)
		start_mailserver();
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		die_with_parent(parent);
		close(ends[0]);
		test_main(test, ends[1]);
	}
	close(ends[1]);
	output = read_output(ends[0]);
	close(ends[0]);
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");

	pthread_mutex_lock(&results_lock);
	test->output = output;
	test->status = status;
	test->done = true;
	pthread_cond_signal(&results_changed);
	pthread_mutex_unlock(&results_lock);
}

static void *print_results(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "reporter");
	for (size_t i = 0; i < TESTS; i++) {
		pthread_mutex_lock(&results_lock);
		while (!tests[i].done)
			pthread_cond_wait(&results_changed, &results_lock);
		pthread_mutex_unlock(&results_lock);
		printf("%-20s %s, %zu bytes\n", tests[i].name,
			tests[i].status ? "FAILED" : "passed", tests[i].output);
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t reporter;

	if (argc == 3 && !strcmp(argv[1], "mockmail"))
		return mock_mail(atoi(argv[2]));
	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&reporter, NULL, print_results, NULL);
	for (size_t i = 0; i < TESTS; i++)
		run_test(&tests[i]);
	pthread_join(reporter, NULL);
	close(mail_control);
	waitpid(mail_pid, NULL, 0);
	return 0;
}
