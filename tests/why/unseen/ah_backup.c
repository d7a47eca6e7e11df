/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the helper process "metrics" is started by the first metric, here while the pipe of the first
 *     archive is open, and inherits the pipe's writing end. The packer ends, but read_archive never
 *     sees the end of the file, as "metrics" holds the pipe open.
 *   culprit: metrics
 *   victim: read_archive
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* Backs up volumes: for each a packer process writes an archive into a pipe, and the main process stores
 * what it reads. A helper process, started when first needed, collects metrics. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 1024

struct volume {
	const char *name;
	int blocks;
};

static void become(const char *name)
{
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no child outlives the backup */
}

/* ---- Metrics --------------------------------------------------------------------------------- */

struct metric {
	char name[24];
	long value;
};

static int metrics_pipe = -1;
static pid_t metrics_process;

/* Sums up until the backup closes the pipe. */
static __attribute__((noinline)) int collect_metrics(int input)
{
	struct metric metric;
	long count = 0, sum = 0;

	while (read(input, &metric, sizeof metric) == sizeof metric) {
		count++;
		sum += metric.value;
	}
	fprintf(stderr, "%ld metrics, sum %ld\n", count, sum);
	return 0;
}

static void start_metrics(void)
{
	int ends[2];

	if (pipe(ends))
		exit(2);
	metrics_process = fork();
	if (metrics_process == 0) {
		become("metrics");
		close(ends[1]);
		_exit(collect_metrics(ends[0]));
	}
	close(ends[0]);
	metrics_pipe = ends[1];
}

static void count_metric(const char *name, long value)
{
	struct metric metric = {.value = value};

	if (metrics_pipe < 0)
		start_metrics();
	strncpy(metric.name, name, sizeof metric.name - 1);
	if (write(metrics_pipe, &metric, sizeof metric) != sizeof metric)
		perror("metrics");
}

static void stop_metrics(void)
{
	if (metrics_pipe < 0)
		return;
	close(metrics_pipe);
	waitpid(metrics_process, NULL, 0);
}

/* ---- Packing --------------------------------------------------------------------------------- */

/* Runs in a process of its own. */
static __attribute__((noinline)) int pack_volume(const struct volume *volume, int output)
{
	char block[BLOCK];

	memset(block, volume->name[0], sizeof block);
	for (int i = 0; i < volume->blocks; i++) {
		if (write(output, block, sizeof block) != sizeof block)
			return 1;
		usleep(10000);
	}
	return 0;
}

static pid_t start_packer(const struct volume *volume, int *archive)
{
	int ends[2];
	pid_t packer;

	if (pipe(ends))
		exit(2);
	count_metric("volumes", 1);
	packer = fork();
	if (packer == 0) {
		become("packer");
		close(ends[0]);
		_exit(pack_volume(volume, ends[1]));
	}
	close(ends[1]);
	*archive = ends[0];
	return packer;
}

/* Reads the archive to its end, and returns its size. */
static __attribute__((noinline)) long read_archive(int archive)
{
	char block[BLOCK];
	long total = 0;
	ssize_t size;

	while ((size = read(archive, block, sizeof block)) > 0)
		total += size;
	close(archive);
	return total;
}

static bool back_up(const struct volume *volume)
{
	int archive, status;
	pid_t packer = start_packer(volume, &archive);
	long size = read_archive(archive);

	waitpid(packer, &status, 0);
	printf("%s: %ld bytes\n", volume->name, size);
	count_metric("bytes", size);
	return status == 0 && size == volume->blocks * (long)BLOCK;
}

int main(int count, char **arguments)
{
	static const struct volume volumes[] = {{"home", 8}, {"mail", 12}, {"web", 5}};
	/* A first backup also counts what it finds on the disks before it begins. */
	bool full = count > 1 && strcmp(arguments[1], "healthy") == 0;
	bool good = true;

	if (full)
		count_metric("disks", 2);
	for (size_t i = 0; i < sizeof volumes / sizeof volumes[0]; i++)
		good = back_up(&volumes[i]) && good;
	stop_metrics();
	return good ? 0 : 1;
}
