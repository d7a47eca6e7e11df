/* SPDX-License-Identifier: ISC */
/*
 * Limits its memory or its files, and goes on.
 *
 *     limits_memory as|lock|fsize|nofile LIMIT [early]
 *
 * early: something is recorded before that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOMENT 20000 /* us */
#define MUCH (100u << 20)
#define STACK (128 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_bool is_held;

static void *hold(void *unused)
{
	pthread_mutex_lock(&lock);
	is_held = true;
	usleep(10 * MOMENT);
	pthread_mutex_unlock(&lock);
	return unused;
}

/* Waits for another thread. */
static void work(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	error = pthread_create(&thread, &attributes, hold, NULL);
	if (error) {
		printf("no thread: %s\n", strerror(error));
		return;
	}
	while (!is_held)
		usleep(1000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

static void limit(__rlimit_resource_t resource, const char *value)
{
	const struct rlimit wanted = {strtoul(value, NULL, 10), strtoul(value, NULL, 10)};

	if (setrlimit(resource, &wanted) != 0)
		perror("setrlimit");
}

static void allocate(void)
{
	void *block = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	puts(block == MAP_FAILED ? strerror(errno) : "allocated");
}

/* Whether so much is locked in memory that it must be more than the program itself. */
static void tell_locked(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	unsigned long size = 0;

	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, "VmLck:", 6) == 0)
			size = strtoul(line + 6, NULL, 10);
	if (file)
		fclose(file);
	puts(size == 0 ? "not locked" : size < 12 << 10 ? "locked" : "too much is locked");
}

static void lock_all(void)
{
	/* CAP_IPC_LOCK is lost. */
	if (prctl(PR_SET_KEEPCAPS, 0) != 0 || (getuid() == 0 && setuid(65534) != 0))
		perror("setuid");
	puts(mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? "locked" : strerror(errno));
	tell_locked();
}

static void write_file(void)
{
	static const char bytes[4096];
	FILE *file = tmpfile();

	printf("%zd\n", file ? write(fileno(file), bytes, sizeof bytes) : -1);
}

static void open_many(void)
{
	int fd, first = -1, count = 0;

	for (; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0; count++)
		first = first < 0 ? fd : first;
	printf("%d files from %d: %s\n", count, first, strerror(errno));
}

int main(int count, char **words)
{
	static const struct {
		const char *word;
		__rlimit_resource_t resource;
		void (*use)(void);
	} uses[] = {{"as", RLIMIT_AS, allocate}, {"lock", RLIMIT_MEMLOCK, lock_all},
		{"fsize", RLIMIT_FSIZE, write_file}, {"nofile", RLIMIT_NOFILE, open_many}};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count > 3)
		work();
	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
		if (strcmp(words[1], uses[i].word) == 0) {
			limit(uses[i].resource, words[2]);
			uses[i].use();
			work();
			uses[i].use();
		}
	work();
	return 7;
}
