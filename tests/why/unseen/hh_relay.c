/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The indexer (a child, run_indexer) gets the write end of a pipe with
 *     each job, over a Unix socket. For an empty document it goes on to the next
 *     job and doesn't close that end, so the parent's read sees no end of file.
 *   culprit: run_indexer|start_indexer
 *   victim: collect_output|publish
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DOCUMENTS 40

struct job {
	int document;
	int length;
};

static struct helper {
	pid_t pid;
	int jobs;
	long bytes;
} renderer, indexer;
static bool close_empty;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static bool send_job(int to, const struct job *job, int output)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = (void *)job, .iov_len = sizeof(*job)};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &output, sizeof(int));
	return sendmsg(to, &message, 0) == sizeof(*job);
}

static bool receive_job(int from, struct job *job, int *output)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = job, .iov_len = sizeof(*job)};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *rights;

	if (recvmsg(from, &message, 0) != sizeof(*job) || !(rights = CMSG_FIRSTHDR(&message)))
		return false;
	memcpy(output, CMSG_DATA(rights), sizeof(int));
	return true;
}

static int run_renderer(int from)
{
	struct job job;
	int output;

	while (receive_job(from, &job, &output)) {
		char line[80];

		for (int i = 0; i < job.length; i++) {
			int length = snprintf(line, sizeof(line), "<p>%d.%d</p>\n", job.document,
				i);

			if (write(output, line, (size_t)length) != length)
				break;
		}
		close(output);
	}
	return 0;
}

static int run_indexer(int from)
{
	struct job job;
	int output;

	while (receive_job(from, &job, &output)) {
		char word[32];

		if (job.length == 0) {
			if (close_empty)
				close(output);
			continue;
		}
		for (int i = 0; i < job.length; i += 3) {
			int length = snprintf(word, sizeof(word), "word%d %d\n",
				i * job.document % 311, i);

			if (write(output, word, (size_t)length) != length)
				break;
		}
		pause_ms(1);
		close(output);
	}
	return 0;
}

static void start_renderer(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) || (renderer.pid = fork()) < 0)
		exit(1);
	if (renderer.pid == 0) {
		close(ends[0]);
		_exit(run_renderer(ends[1]));
	}
	close(ends[1]);
	renderer.jobs = ends[0];
}

static void start_indexer(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) || (indexer.pid = fork()) < 0)
		exit(1);
	if (indexer.pid == 0) {
		close(ends[0]);
		close(renderer.jobs);
		_exit(run_indexer(ends[1]));
	}
	close(ends[1]);
	indexer.jobs = ends[0];
}

/* It reads all that the helper writes for this job. */
static void collect_output(struct helper *helper, const struct job *job)
{
	char buffer[4096];
	int ends[2];
	ssize_t got;

	if (pipe(ends) || !send_job(helper->jobs, job, ends[1]))
		exit(1);
	close(ends[1]);
	while ((got = read(ends[0], buffer, sizeof(buffer))) > 0)
		helper->bytes += got;
	close(ends[0]);
}

static void *publish(void *data)
{
	for (int i = 0; i < DOCUMENTS; i++) {
		struct job job = {.document = i, .length = i == 23 ? 0 : 20 + i * 13 % 60};

		collect_output(data, &job);
		pause_ms(2);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t pages, words;
	int status[2];

	if (argc != 2)
		return 2;
	close_empty = !strcmp(argv[1], "healthy");
	start_renderer();
	start_indexer();
	pthread_create(&pages, NULL, publish, &renderer);
	pthread_create(&words, NULL, publish, &indexer);
	pthread_join(pages, NULL);
	pthread_join(words, NULL);
	close(renderer.jobs);
	close(indexer.jobs);
	waitpid(renderer.pid, &status[0], 0);
	waitpid(indexer.pid, &status[1], 0);
	printf("%ld bytes of pages, %ld of words\n", renderer.bytes, indexer.bytes);
	return status[0] || status[1];
}
