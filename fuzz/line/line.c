/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "line.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32

int thrum_main(int argc, char **argv);
/* Tells the sanitizers where to write. They are there in some builds only. */
void __sanitizer_set_report_fd(void *) __attribute__((weak));
const char *__asan_default_options(void);

static char folder[] = "/tmp/thrum-fuzz-XXXXXX";
static int former = -1, own; /* the program's folder, and ours */
static int output, messages; /* files in memory */

/* A command ends with its process, which frees all. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

void require(bool condition)
{
	if (!condition)
		abort();
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	return at->level > 0 ? remove(path) : 0;
}

static void leave(void)
{
	rmdir(folder);
}

static void make(void)
{
	int report = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	if (__sanitizer_set_report_fd)
		__sanitizer_set_report_fd((void *)(intptr_t)report);
	output = memfd_create("output", MFD_CLOEXEC);
	messages = memfd_create("messages", MFD_CLOEXEC);
	former = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(output >= 0 && messages >= 0 && former >= 0 && mkdtemp(folder));
	own = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(own >= 0);
	atexit(leave);
}

void line_begin(void)
{
	if (former < 0)
		make();
	require(fchdir(own) == 0);
}

void line_end(void)
{
	require(fchdir(former) == 0 && nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

void line_put(const char *name, const void *data, size_t size)
{
	FILE *file = fopen(name, "wb");

	require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

uint8_t *line_get(const char *name, size_t *size)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat status;
	uint8_t *data;

	if (fd < 0)
		return NULL;
	require(fstat(fd, &status) == 0);
	*size = (size_t)status.st_size;
	data = malloc(*size + 1);
	require(data && read(fd, data, *size) == (ssize_t)*size);
	close(fd);
	return data;
}

/* Puts an empty file in the place of a descriptor. Returns the former one. */
static int divert(int fd, int to)
{
	int place = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	require(place >= 0 && ftruncate(to, 0) == 0 && lseek(to, 0, SEEK_SET) == 0);
	require(dup2(to, fd) == fd);
	return place;
}

static void restore(int fd, int place)
{
	require(dup2(place, fd) == fd);
	close(place);
}

int line_run(const char *const *arguments)
{
	char *argv[ARGUMENTS_MAX + 2] = {strdup("thrum")};
	int argc = 1, places[2], status;

	for (; arguments[argc - 1] && argc <= ARGUMENTS_MAX; argc++)
		argv[argc] = strdup(arguments[argc - 1]);
	/* Commands put their arguments in another order. */
	char **made = memcpy(malloc(sizeof argv), argv, sizeof argv);

	fflush(stdout);
	places[0] = divert(STDOUT_FILENO, output);
	places[1] = divert(STDERR_FILENO, messages);
	status = thrum_main(argc, argv);
	fflush(stdout);
	fflush(stderr);
	restore(STDOUT_FILENO, places[0]);
	restore(STDERR_FILENO, places[1]);
	for (int i = 0; i < argc; i++)
		free(made[i]);
	free(made);
	require((status >= 0 && status <= 3) || status == 64);
	require(status <= 1 || lseek(messages, 0, SEEK_END) > 0);
	return status;
}
