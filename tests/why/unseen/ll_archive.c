/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: wait_for_checksum reaps a packer by the way and drops its end. It should have passed it on.
 *   culprit: wait_for_checksum
 *   victim: wait_for_volumes
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_VOLUMES 4

struct volume {
	pid_t packer;
	int milliseconds;
	bool packed;
};

static struct volume volumes[N_VOLUMES] = {
	{0, 20, false},
	{0, 110, false},
	{0, 130, false},
	{0, 160, false},
};
static int volumes_open;
static bool choosy;

static uint32_t churn(uint32_t seed, int milliseconds)
{
	static unsigned char block[16384];
	uint32_t sum = seed;
	for (int i = 0; i < milliseconds / 5; i++) {
		for (size_t b = 0; b < sizeof(block); b++) {
			block[b] = (unsigned char)(sum >> 11);
			sum = sum * 16777619u ^ block[b];
		}
		usleep(5000);
	}
	return sum;
}

static void start_packer(int index)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		uint32_t sum = churn(index + 1, volumes[index].milliseconds);
		_exit(sum == 0);
	}
	volumes[index].packer = child;
	volumes_open++;
}

static pid_t start_checksum(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		churn(77, 70);
		_exit(0);
	}
	return child;
}

static void note_end(pid_t child, int status)
{
	for (int i = 0; i < N_VOLUMES; i++)
		if (volumes[i].packer == child && !volumes[i].packed) {
			volumes[i].packed = true;
			volumes_open--;
			printf("volume %d packed, status %d\n", i, WEXITSTATUS(status));
		}
}

static int wait_for_checksum(pid_t checksum)
{
	int status = 0;
	pid_t ended;
	if (choosy) {
		waitpid(checksum, &status, 0);
		return WEXITSTATUS(status);
	}
	do
		ended = wait(&status);
	while (ended != checksum && ended > 0);
	return WEXITSTATUS(status);
}

static void reap_packers(void)
{
	int status;
	pid_t child;
	while ((child = waitpid(-1, &status, WNOHANG)) > 0)
		note_end(child, status);
}

static void wait_for_volumes(const sigset_t *child_ends)
{
	reap_packers();
	while (volumes_open > 0) {
		sigwaitinfo(child_ends, NULL);
		reap_packers();
	}
}

int main(int argc, char **argv)
{
	sigset_t child_ends;

	choosy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	sigemptyset(&child_ends);
	sigaddset(&child_ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_ends, NULL);
	for (int i = 0; i < N_VOLUMES; i++)
		start_packer(i);
	pid_t checksum = start_checksum();
	printf("checksum: status %d\n", wait_for_checksum(checksum));
	wait_for_volumes(&child_ends);
	printf("archive complete\n");
	return 0;
}
