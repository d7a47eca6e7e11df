/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The process of a branch answers each batch with a sum, but serve_branch skips a batch without
 *     hours, and answers nothing. run_month waits for the sum of that branch, and the branch for the next batch.
 *   culprit: serve_branch|start_branch
 *   victim: run_month
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Payslips: the batch tool has a process for each branch of the company, which knows its rates. Each month it
 * sends each branch the hours of its people, and adds up what the branches answer. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BRANCHES = 3,
	MONTHS = 8,
	PEOPLE = 16,
	HOLIDAYS = 5, /* the month in which the third branch is closed */
};

struct batch {
	uint32_t month;
	uint32_t count;
	uint32_t hours[PEOPLE];
};

struct sum {
	uint32_t month;
	uint64_t cents;
};

struct branch {
	pid_t process;
	int to, from;
};

static struct branch branches[BRANCHES];
static bool healthy;

static bool read_all(int descriptor, void *data, size_t size)
{
	char *bytes = data;

	while (size) {
		ssize_t got = read(descriptor, bytes, size);

		if (got <= 0)
			return false;
		bytes += got;
		size -= (size_t)got;
	}
	return true;
}

static uint64_t pay(const struct batch *batch, unsigned rate)
{
	uint64_t cents = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		uint32_t overtime = batch->hours[i] > 160 ? batch->hours[i] - 160 : 0;

		cents += (uint64_t)(batch->hours[i] - overtime) * rate + overtime * rate * 5 / 4;
		usleep(300); /* prints the slip */
	}
	return cents;
}

/* The branch's process. It ends when the tool closes the pipe. */
static void serve_branch(int in, int out, unsigned rate)
{
	struct batch batch;
	struct sum sum;

	memset(&sum, 0, sizeof(sum));
	while (read_all(in, &batch, sizeof(batch))) {
		if (!batch.count && !healthy)
			continue; /* nobody has worked */
		sum.month = batch.month;
		sum.cents = pay(&batch, rate);
		if (write(out, &sum, sizeof(sum)) != sizeof(sum))
			break;
	}
}

static void start_branch(struct branch *branch, unsigned rate)
{
	int to[2], from[2];

	if (pipe2(to, 0) || pipe2(from, 0))
		exit(1);
	branch->process = fork();
	if (!branch->process) {
		close(to[1]);
		close(from[0]);
		for (struct branch *other = branches; other < branch; other++) {
			close(other->to);
			close(other->from);
		}
		serve_branch(to[0], from[1], rate);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	branch->to = to[1];
	branch->from = from[0];
}

static void fill_batch(struct batch *batch, unsigned month, unsigned branch)
{
	memset(batch, 0, sizeof(*batch));
	batch->month = month;
	batch->count = month == HOLIDAYS && branch == 2 ? 0 : 4 + (month * 3 + branch * 5) % 12;
	for (uint32_t i = 0; i < batch->count; i++)
		batch->hours[i] = 150 + (i * 7 + month) % 25;
}

static uint64_t run_month(unsigned month)
{
	uint64_t cents = 0;
	struct batch batch;
	struct sum sum;

	for (unsigned i = 0; i < BRANCHES; i++) {
		fill_batch(&batch, month, i);
		if (write(branches[i].to, &batch, sizeof(batch)) != sizeof(batch))
			exit(1);
	}
	for (unsigned i = 0; i < BRANCHES; i++) {
		if (!read_all(branches[i].from, &sum, sizeof(sum)) || sum.month != month)
			exit(1);
		cents += sum.cents;
	}
	return cents;
}

int main(int count, char **arguments)
{
	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	for (unsigned i = 0; i < BRANCHES; i++)
		start_branch(&branches[i], 2100 + i * 150);
	for (unsigned month = 1; month <= MONTHS; month++) {
		uint64_t cents = run_month(month);

		printf("month %u: %llu.%02llu\n", month, (unsigned long long)cents / 100,
			(unsigned long long)cents % 100);
		fflush(stdout);
		usleep(30000);
	}
	for (unsigned i = 0; i < BRANCHES; i++) {
		close(branches[i].to);
		waitpid(branches[i].process, NULL, 0);
	}
	return 0;
}
