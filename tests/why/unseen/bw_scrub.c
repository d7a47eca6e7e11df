/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The checkers are forked one after the other, and each inherits the writing ends of the pipes to those
 *     before it (start_checker doesn't close them). finish_checkers closes the first pipe, but later checkers still
 *     have it open, so the first checker sees no end of file, and the parent waits for it for ever.
 *   culprit: start_checker|inherit|writing end|write end
 *   victim: finish_checkers|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Scrubs a disk: hands out blocks to checker processes over pipes, and sums up what they report. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHECKERS = 3,
	BLOCKS = 60,
	BLOCK_SIZE = 4096
};

struct checker {
	pid_t pid;
	int to;
};

struct request {
	uint32_t block;
	uint32_t seed;
};

static struct checker checkers[CHECKERS];
static bool healthy;
static atomic_bool finished;
static atomic_uint handed_out;

static uint32_t checksum(uint32_t seed)
{
	static unsigned char data[BLOCK_SIZE];
	uint32_t sum = 1;

	memset(data, seed & 255, sizeof(data));
	for (int i = 0; i < BLOCK_SIZE; i++)
		sum = sum * 31 + data[i];
	return sum;
}

static int check_blocks(int from)
{
	struct request request;
	int bad = 0;

	while (read(from, &request, sizeof(request)) == sizeof(request)) {
		if (checksum(request.seed) == 0)
			bad++;
		usleep(1000); /* the disk */
	}
	return bad;
}

static int start_checker(int number)
{
	struct checker *checker = &checkers[number];
	int ends[2];

	if (pipe(ends))
		return -1;
	checker->pid = fork();
	if (checker->pid < 0)
		return -1;
	if (checker->pid == 0) {
		char name[16];

		snprintf(name, sizeof(name), "checker %d", number);
		prctl(PR_SET_NAME, name);
		close(ends[1]);
		if (healthy)
			for (int i = 0; i < number; i++)
				close(checkers[i].to);
		_exit(check_blocks(ends[0]));
	}
	close(ends[0]);
	checker->to = ends[1];
	return 0;
}

static void *show_progress(void *data)
{
	(void)data;
	while (!finished) {
		usleep(100000);
		fprintf(stderr, "%u of %d blocks\n", handed_out, BLOCKS);
	}
	return NULL;
}

static void hand_out(void)
{
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct request request = {i, i * 2654435761u};

		if (write(checkers[i % CHECKERS].to, &request, sizeof(request)) != sizeof(request))
			perror("write");
		handed_out++;
		usleep(2000);
	}
}

static int finish_checkers(void)
{
	int bad = 0;

	for (int i = 0; i < CHECKERS; i++) {
		int status;

		close(checkers[i].to);
		if (waitpid(checkers[i].pid, &status, 0) > 0 && WIFEXITED(status))
			bad += WEXITSTATUS(status);
	}
	return bad;
}

int main(int argc, char **argv)
{
	pthread_t progress;
	int bad;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < CHECKERS; i++)
		if (start_checker(i)) {
			perror("start");
			return 1;
		}
	pthread_create(&progress, NULL, show_progress, NULL);
	pthread_setname_np(progress, "progress");
	hand_out();
	bad = finish_checkers();
	finished = true;
	pthread_join(progress, NULL);
	printf("%d bad blocks\n", bad);
	return 0;
}
