/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the runner reads the results of a worker, and its log only when the worker has ended
 *     (drain_log). One test logs more than a pipe holds, so its worker is blocked in log_line, and the
 *     runner waits for its result.
 *   culprit: log_line|drain_log
 *   victim: collect_result
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A test runner: a pool of workers, which are forked, get tests by a pipe, and answer by another; a third has the log. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3
#define TESTS 30

struct worker {
	pid_t pid;
	int tests, results, log; /* the runner's ends */
	bool busy;
};

struct result {
	int test, passed;
};

static struct worker workers[WORKERS];
static bool verbose_parser;
static long log_bytes;

static void pause_ms(int ms)
{
	struct timespec time = {0, ms * 1000000L};

	nanosleep(&time, NULL);
}

static void log_line(int log, int test, const char *text)
{
	char line[128];
	int size = snprintf(line, sizeof(line),
		"test %d: %s ........................................\n", test, text);

	if (write(log, line, (size_t)size) != size)
		_exit(3);
}

static int run_test(int log, int test)
{
	uint32_t sum = (uint32_t)test;
	int lines = test == 17 && verbose_parser ? 3000 : 3;

	for (int i = 0; i < 40000; i++)
		sum = sum * 1664525u + 1013904223u;
	for (int i = 0; i < lines; i++)
		log_line(log, test, "token read");
	pause_ms(25);
	return sum != 0;
}

static _Noreturn void work(int tests, int results, int log)
{
	int test;

	while (read(tests, &test, sizeof(test)) == sizeof(test)) {
		struct result result = {test, run_test(log, test)};

		if (write(results, &result, sizeof(result)) != sizeof(result))
			_exit(2);
	}
	_exit(0);
}

static int start_worker(struct worker *worker)
{
	int tests[2], results[2], log[2];

	if (pipe2(tests, O_CLOEXEC) || pipe2(results, O_CLOEXEC) || pipe2(log, O_CLOEXEC))
		return -1;
	worker->pid = fork();
	if (worker->pid < 0)
		return -1;
	if (worker->pid == 0) {
		close(tests[1]);
		close(results[0]);
		close(log[0]);
		for (struct worker *other = workers; other < worker; other++) {
			close(other->tests);
			close(other->results);
			close(other->log);
		}
		work(tests[0], results[1], log[1]);
	}
	close(tests[0]);
	close(results[1]);
	close(log[1]);
	worker->tests = tests[1];
	worker->results = results[0];
	worker->log = log[0];
	worker->busy = false;
	return 0;
}

static void send_test(struct worker *worker, int test)
{
	worker->busy = true;
	if (write(worker->tests, &test, sizeof(test)) != sizeof(test))
		exit(1);
}

/* Waits until some worker has a result, and returns that worker. */
static struct worker *collect_result(int *passed)
{
	struct pollfd polled[WORKERS];
	struct result result;

	for (int i = 0; i < WORKERS; i++)
		polled[i] = (struct pollfd){workers[i].busy ? workers[i].results : -1, POLLIN, 0};
	if (poll(polled, WORKERS, -1) <= 0)
		exit(1);
	for (int i = 0; i < WORKERS; i++)
		if (polled[i].revents) {
			if (read(workers[i].results, &result, sizeof(result)) != sizeof(result))
				exit(1);
			*passed += result.passed;
			workers[i].busy = false;
			return &workers[i];
		}
	return NULL;
}

/* The worker has ended or is about to. */
static void drain_log(struct worker *worker)
{
	char text[4096];
	ssize_t size;

	close(worker->tests);
	while ((size = read(worker->log, text, sizeof(text))) > 0)
		log_bytes += size;
	close(worker->log);
	close(worker->results);
	waitpid(worker->pid, NULL, 0);
}

static void run_suite(int suite)
{
	int next = 0, passed = 0, under_way = 0;

	for (int i = 0; i < WORKERS; i++) {
		if (start_worker(&workers[i]))
			exit(1);
		send_test(&workers[i], next++);
		under_way++;
	}
	while (under_way > 0) {
		struct worker *worker = collect_result(&passed);

		under_way--;
		if (worker && next < TESTS) {
			send_test(worker, next++);
			under_way++;
		}
	}
	for (int i = WORKERS - 1; i >= 0; i--)
		drain_log(&workers[i]);
	printf("suite %d: %d passed, %ld bytes of log\n", suite, passed, log_bytes);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	verbose_parser = argc > 1 && !strcmp(argv[1], "broken");
	for (int suite = 1;; suite++)
		run_suite(suite);
}
