/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: spawn_digester forks the process "digest-tape2" while the pipe to "digest-tape1" is open, and the
 *     new process keeps its writing end. When the main process closes its own end, digest-tape1 doesn't see
 *     the end of its input, and waits in digest_input for ever; main waits for its digest, and digest-tape2
 *     for main.
 *   culprit: spawn_digester|digest_input|digest-tape2
 *   victim: read_digest|finish_member
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Unpacks an archive, whose members may be interleaved, and lets a process for each member make its digest. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NMEMBERS 3

enum what {
	BEGIN,
	DATA,
	END
};

struct chunk {
	enum what what;
	int member;
	const char *data;
};

struct member {
	const char *name;
	pid_t process;
	int feed;   /* to the process */
	int result; /* from it */
	char digest[32];
};

/* The archive of one tape after the other, and one which was written by two tape drives at once. */
static const struct chunk plain_archive[] = {
	{BEGIN, 0, NULL},
	{DATA, 0, "The catalogue of the library, "},
	{DATA, 0, "first part.\n"},
	{END, 0, NULL},
	{BEGIN, 1, NULL},
	{DATA, 1, "Letters from A to K.\n"},
	{DATA, 1, "Letters from L to Z.\n"},
	{END, 1, NULL},
	{BEGIN, 2, NULL},
	{DATA, 2, "Maps.\n"},
	{END, 2, NULL},
};
static const struct chunk interleaved_archive[] = {
	{BEGIN, 0, NULL},
	{DATA, 0, "The catalogue of the library, "},
	{DATA, 0, "first part.\n"},
	{END, 0, NULL},
	{BEGIN, 1, NULL},
	{DATA, 1, "Letters from A to K.\n"},
	{BEGIN, 2, NULL},
	{DATA, 2, "Maps.\n"},
	{DATA, 1, "Letters from L to Z.\n"},
	{END, 1, NULL},
	{END, 2, NULL},
};

static struct member members[NMEMBERS] = {
	{.name = "tape0"},
	{.name = "tape1"},
	{.name = "tape2"},
};

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* In the process of a member: digests all its input. */
__attribute__((noinline)) uint64_t digest_input(int fd)
{
	uint64_t digest = 14695981039346656037u;
	unsigned char buffer[4096];
	ssize_t i, n;

	while ((n = read(fd, buffer, sizeof(buffer))) != 0) {
		if (n < 0) {
			if (errno == EINTR)
				continue;
			fail("unpack: read");
		}
		for (i = 0; i < n; i++)
			digest = (digest ^ buffer[i]) * 1099511628211u;
	}
	return digest;
}

__attribute__((noinline)) void run_digester(const char *name, int input, int output)
{
	char process_name[16];

	snprintf(process_name, sizeof(process_name), "digest-%s", name);
	pthread_setname_np(pthread_self(), process_name);
	dprintf(output, "%016llx", (unsigned long long)digest_input(input));
	_exit(0);
}

__attribute__((noinline)) void spawn_digester(struct member *member)
{
	int feed[2], result[2];

	if (pipe(feed) < 0 || pipe(result) < 0)
		fail("unpack: pipe");
	member->process = fork();
	if (member->process < 0)
		fail("unpack: fork");
	if (member->process == 0) {
		close(feed[1]);
		close(result[0]);
		run_digester(member->name, feed[0], result[1]);
	}
	close(feed[0]);
	close(result[1]);
	member->feed = feed[1];
	member->result = result[0];
}

__attribute__((noinline)) void feed_member(struct member *member, const char *data)
{
	size_t n = strlen(data);

	if (write(member->feed, data, n) != (ssize_t)n)
		fail("unpack: write");
}

__attribute__((noinline)) void read_digest(struct member *member)
{
	size_t used = 0;
	ssize_t n;

	while ((n = read(member->result, member->digest + used,
			sizeof(member->digest) - 1 - used)) > 0)
		used += (size_t)n;
	member->digest[used] = '\0';
}

/* A member is complete: gets its digest, and ends its process. */
__attribute__((noinline)) bool finish_member(struct member *member)
{
	int status;

	close(member->feed);
	read_digest(member);
	close(member->result);
	if (waitpid(member->process, &status, 0) < 0)
		fail("unpack: waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && strlen(member->digest) == 16;
}

int main(int argc, char **argv)
{
	const struct chunk *archive = plain_archive;
	size_t n = sizeof(plain_archive) / sizeof(plain_archive[0]), i;
	bool good = true;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "broken")) {
		archive = interleaved_archive;
		n = sizeof(interleaved_archive) / sizeof(interleaved_archive[0]);
	}
	for (i = 0; i < n; i++) {
		struct member *member = &members[archive[i].member];

		sleep_ms(20); /* the tape */
		switch (archive[i].what) {
		case BEGIN: spawn_digester(member); break;
		case DATA: feed_member(member, archive[i].data); break;
		case END: good = finish_member(member) && good; break;
		}
	}
	for (i = 0; i < NMEMBERS; i++)
		printf("%s  %s\n", members[i].digest, members[i].name);
	return good ? 0 : 1;
}
