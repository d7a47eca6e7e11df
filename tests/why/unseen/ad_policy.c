/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: ask_greylist waits for an answer to a question that is still in its stdio buffer: no fflush.
 *   culprit: ask_greylist
 *   victim: deliver_mail|serve_policy
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Mail delivery by three processes: the parent asks a filter about each mail, the filter a policy server. */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAILS 120
#define LINE 128

/* A pair of pipes, as one side sees it. */
struct channel {
	FILE *in, *out;
};

static bool flushes_all;

static void make_channel(int near[2], int far[2])
{
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		exit(1);
	near[0] = back[0];
	near[1] = there[1];
	far[0] = there[0];
	far[1] = back[1];
}

static struct channel open_channel(const int ends[2], const int others[2])
{
	struct channel channel = {.in = fdopen(ends[0], "r"), .out = fdopen(ends[1], "w")};

	if (!channel.in || !channel.out)
		exit(1);
	close(others[0]);
	close(others[1]);
	return channel;
}

static void be_child(const char *name)
{
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* ---- The policy server ---- */

static void serve_policy(struct channel filter)
{
	struct timespec query = {.tv_nsec = 400000};
	char line[LINE];
	unsigned known = 0;

	while (fgets(line, sizeof(line), filter.in)) {
		nanosleep(&query, NULL); /* asks its database */
		if (strncmp(line, "greylist ", 9) == 0)
			fprintf(filter.out, "%s\n", known++ % 3 ? "pass" : "later");
		else
			fprintf(filter.out, "%s\n", strstr(line, "spam") ? "reject" : "pass");
		fflush(filter.out);
	}
}

/* ---- The filter ---- */

static bool ask_sender(struct channel policy, const char *sender, char *answer)
{
	fprintf(policy.out, "sender %s\n", sender);
	fflush(policy.out);
	return fgets(answer, LINE, policy.in) != NULL;
}

/* Asks whether an unknown sender must come again later. */
static bool ask_greylist(struct channel policy, const char *sender, char *answer)
{
	fprintf(policy.out, "greylist %s\n", sender);
	if (flushes_all)
		fflush(policy.out);
	return fgets(answer, LINE, policy.in) != NULL;
}

static void run_filter(struct channel parent, struct channel policy)
{
	char sender[LINE], answer[LINE];

	while (fgets(sender, sizeof(sender), parent.in)) {
		bool is_answered;

		sender[strcspn(sender, "\n")] = '\0';
		if (strncmp(sender, "new-", 4) == 0)
			is_answered = ask_greylist(policy, sender, answer);
		else
			is_answered = ask_sender(policy, sender, answer);
		if (!is_answered)
			break;
		fputs(answer, parent.out);
		fflush(parent.out);
	}
}

/* ---- The parent ---- */

static void name_sender(int number, char *sender)
{
	if (number % 31 == 30)
		snprintf(sender, LINE, "new-%d@example.org", number);
	else if (number % 5 == 4)
		snprintf(sender, LINE, "spam-%d@example.net", number);
	else
		snprintf(sender, LINE, "friend-%d@example.com", number);
}

static bool deliver_mail(struct channel filter, int number, int *delivered)
{
	char sender[LINE], verdict[LINE];

	name_sender(number, sender);
	fprintf(filter.out, "%s\n", sender);
	fflush(filter.out);
	if (!fgets(verdict, sizeof(verdict), filter.in))
		return false;
	*delivered += strncmp(verdict, "pass", 4) == 0;
	return true;
}

int main(int argc, char **argv)
{
	int to_filter[2], at_filter[2], to_policy[2], at_policy[2];
	int delivered = 0, number = 0;
	struct channel filter;

	flushes_all = argc < 2 || strcmp(argv[1], "broken") != 0;
	make_channel(to_policy, at_policy);
	if (fork() == 0) {
		be_child("policyd");
		serve_policy(open_channel(at_policy, to_policy));
		exit(0);
	}
	make_channel(to_filter, at_filter);
	if (fork() == 0) {
		be_child("filterd");
		run_filter(open_channel(at_filter, to_filter), open_channel(to_policy, at_policy));
		exit(0);
	}
	filter = open_channel(to_filter, at_filter);
	close(to_policy[0]);
	close(to_policy[1]);
	close(at_policy[0]);
	close(at_policy[1]);

	while (number < MAILS && deliver_mail(filter, number, &delivered))
		number++;
	fclose(filter.out);
	while (wait(NULL) > 0)
		continue;
	printf("%d of %d mails delivered\n", delivered, number);
	return 0;
}
