/* SPDX-License-Identifier: ISC */
/* Forked children that have ended, and for which their parents haven't waited. */
#define _GNU_SOURCE
#include "capture/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "adapt/forks.h"

#define STATUS_FIELD 52 /* of /proc/PID/stat; the state is field 3, behind the name */

/* Whether a process has ended, and its parent hasn't waited for it. Then *status is as of waitpid(). */
static bool is_zombie(pid_t process, int *status)
{
	char path[40], line[1024];
	struct stat file;
	const char *at;
	size_t size;
	FILE *stat_file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	stat_file = fopen(path, "re");
	if (!stat_file)
		return false;
	size = fread(line, 1, sizeof(line) - 1, stat_file);
	line[size] = '\0';
	/* The kernel hides the status of others' processes. */
	bool is_own = fstat(fileno(stat_file), &file) == 0 && file.st_uid == geteuid();

	fclose(stat_file);
	at = strrchr(line, ')');
	if (!is_own || !at || strncmp(at, ") Z ", 4) != 0)
		return false;
	for (int field = 2; at && field < STATUS_FIELD; field++)
		at = strchr(at + 1, ' ');
	*status = at ? atoi(at) : 0;
	return at != NULL;
}

/* One that is seen twice ended while the program lived: it didn't end with it. */
void recorded_note_dead(const struct recorded *recorded)
{
	static int64_t seen[FORKS_MAX];
	struct thrum__adapt_forks *forks = recorded->forks;
	uint32_t count = forks ? atomic_load(&forks->begun) : 0;
	struct timespec now;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (uint32_t i = 0; i < count && i < FORKS_MAX; i++) {
		pid_t process = atomic_load(&forks->child[i].process);

		if (process <= 0 || atomic_load(&forks->child[i].ended) ||
			!is_zombie(process, &status))
			continue;
		if (seen[i]) {
			atomic_store(&forks->child[i].status, status);
			atomic_store(&forks->child[i].ended, seen[i]);
		}
		seen[i] = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	}
}
