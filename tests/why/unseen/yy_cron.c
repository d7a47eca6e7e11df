/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The job's shell starts an agent that goes on in the background and still has the write end of the
 *   	output pipe. start_agent should have closed it, as collect_output reads until the end of the pipe.
 *   culprit: start_agent|agent_loop|run_agent
 *   victim: collect_output
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS 6

struct job {
	const char *user;
	const char *name;
	int lines;
	bool needs_agent;
};

static const struct job crontab[JOBS] = {
	{"root", "logrotate", 12, false},
	{"www", "sitemap", 40, false},
	{"backup", "snapshot", 25, true},
	{"root", "updatedb", 8, false},
	{"mail", "expire-queue", 30, false},
	{"www", "thumbnails", 16, false},
};

static bool broken;

/* Keeps the keys of the backup for a while, so that the next job need not ask for them. */
static void agent_loop(void)
{
	for (int i = 0; i < 300; i++) {
		if (!broken && i == 20)
			break;
		usleep(20000);
	}
}

static void start_agent(void)
{
	pid_t pid = fork();
	if (pid != 0)
		return;
	setsid();
	prctl(PR_SET_NAME, "keyagent");
	int null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 2);
	if (!broken)
		dup2(null, 1);
	close(null);
	agent_loop();
	_exit(0);
}

static void run_job(const struct job *job)
{
	prctl(PR_SET_NAME, job->name);
	if (job->needs_agent)
		start_agent();
	for (int i = 0; i < job->lines; i++) {
		char line[80];
		int len = snprintf(line, sizeof line, "%s: step %d of %d\n", job->name, i + 1,
			job->lines);
		if (write(1, line, (size_t)len) < 0)
			_exit(1);
		usleep(500);
	}
	_exit(0);
}

static size_t collect_output(int fd, char *mail, size_t size)
{
	size_t used = 0;
	for (;;) {
		char buf[512];
		ssize_t n = read(fd, buf, sizeof buf);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return used;
		size_t room = size - used;
		size_t take = (size_t)n < room ? (size_t)n : room;
		memcpy(mail + used, buf, take);
		used += take;
	}
}

static int do_command(const struct job *job, size_t *mailed)
{
	int out[2];
	if (pipe2(out, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		close(out[0]);
		dup2(out[1], 1);
		close(out[1]);
		run_job(job);
	}
	close(out[1]);
	char mail[8192];
	size_t len = collect_output(out[0], mail, sizeof mail);
	close(out[0]);
	int status = 0;
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	*mailed += len;
	fprintf(stderr, "mail to %s: %zu bytes of %s\n", job->user, len, job->name);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	size_t mailed = 0;
	int failed = 0;
	for (int i = 0; i < JOBS; i++)
		if (do_command(&crontab[i], &mailed) != 0)
			failed++;
	printf("%d jobs, %d failed, %zu bytes mailed\n", JOBS, failed, mailed);
	fflush(stdout);
	return failed != 0;
}
