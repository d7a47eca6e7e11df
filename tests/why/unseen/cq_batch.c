/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: check_branch gives a branch's postings to a child by a pipe (feed_postings) and reads the
 *     child's rejects from a second pipe only after the last posting. Branch 4 has a wrong currency, so
 *     the child rejects every posting. The pipe of rejects gets full, the child blocks in report_reject
 *     and reads no more, and the parent blocks in feed_postings as the pipe of postings gets full, too.
 *     Both wait for each other for ever. The fix reads the rejects while it feeds.
 *   culprit: feed_postings|report_reject
 *   victim: await_closing|teller|condition
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A bank's batch at night: a child for each branch checks its postings. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BRANCHES = 6,
	MOVED_BRANCH = 4, /* it keeps its books in another currency since today */
	POSTINGS = 3000,
	LINE = 64
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	int closed; /* branches */
} day = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static bool broken;
static int rejects;

static void fill_line(char *line, const char *what, int branch, int number, const char *currency)
{
	memset(line, ' ', LINE);
	line[snprintf(line, LINE - 1, "%s %d/%05d %s", what, branch, number, currency)] = ' ';
	line[LINE - 1] = '\n';
}

/* ---- The child ------------------------------------------------------------------------------ */

static void __attribute__((noinline)) report_reject(int out, int branch, int number)
{
	char line[LINE];

	fill_line(line, "rejected", branch, number, "unknown currency of the account");
	if (write(out, line, LINE) != LINE)
		_exit(1);
}

static void check_postings(int branch, FILE *in, int out)
{
	char line[LINE + 1];

	for (int number = 1; fgets(line, sizeof(line), in); number++)
		if (!strstr(line, "EUR"))
			report_reject(out, branch, number);
}

/* ---- The parent ----------------------------------------------------------------------------- */

static void __attribute__((noinline)) feed_postings(int to, int branch)
{
	char line[LINE];

	for (int number = 1; number <= POSTINGS; number++) {
		bool foreign = branch == MOVED_BRANCH || number % 300 == 0;

		fill_line(line, "posting", branch, number, foreign ? "CHF" : "EUR");
		if (write(to, line, LINE) != LINE)
			exit(1);
		if (number % 100 == 0)
			usleep(2000); /* the next block from the tape */
	}
	close(to);
}

static void *read_rejects(void *data)
{
	int from = *(int *)data;
	char block[LINE * 16];
	ssize_t size;

	while ((size = read(from, block, sizeof(block))) > 0)
		rejects += (int)size / LINE;
	close(from);
	return NULL;
}

static void check_branch(int branch)
{
	int postings[2], answers[2];
	pthread_t reader;
	pid_t child;

	if (pipe(postings) || pipe(answers))
		exit(1);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(postings[1]);
		close(answers[0]);
		check_postings(branch, fdopen(postings[0], "r"), answers[1]);
		_exit(0);
	}
	close(postings[0]);
	close(answers[1]);
	if (broken) {
		feed_postings(postings[1], branch);
		read_rejects(&answers[0]);
	} else {
		pthread_create(&reader, NULL, read_rejects, &answers[0]);
		feed_postings(postings[1], branch);
		pthread_join(reader, NULL);
	}
	waitpid(child, NULL, 0);
}

/* The teller machines open again when all branches are closed. */
static void *await_closing(void *data)
{
	(void)data;
	pthread_mutex_lock(&day.lock);
	while (day.closed < BRANCHES)
		pthread_cond_wait(&day.done, &day.lock);
	pthread_mutex_unlock(&day.lock);
	printf("teller machines are open\n");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t teller;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&teller, NULL, await_closing, NULL);
	pthread_setname_np(teller, "teller");
	for (int branch = 1; branch <= BRANCHES; branch++) {
		check_branch(branch);
		pthread_mutex_lock(&day.lock);
		day.closed++;
		pthread_cond_signal(&day.done);
		pthread_mutex_unlock(&day.lock);
		usleep(30000);
	}
	pthread_join(teller, NULL);
	printf("%d rejects\n", rejects);
	return 0;
}
