/* SPDX-License-Identifier: ISC */
/* For benchmarks that start programs. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sets `path` to that of a program of this build, by its path in the build's folder. A benchmark is a file
 * two folders below that one. */
static inline void bench_program(char path[4096], const char *program)
{
	ssize_t length = readlink("/proc/self/exe", path, 4000);
	size_t used;

	path[length > 0 ? length : 0] = '\0';
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = '\0';
	}
	used = strlen(path);
	snprintf(path + used, 4096 - used, "/%s", program);
}

/* The CPU time in s, the system's included. */
static inline double bench_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
		(double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

#endif
