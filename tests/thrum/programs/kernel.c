/* SPDX-License-Identifier: ISC */
/* For `thrum record --kernel`: "touches" has page faults, "writes" waits for a device if the file named by
 * the first argument is on one, "maps" has page faults that wait for it, and "asks" is blocked, in a way
 * that no adapter sees, until the task "answers" of another thread has worked and wakes it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define PAGES 1000
#define BLOCK 65536

static _Atomic int answered;

static long futex(int operation, int value)
{
	return syscall(SYS_futex, &answered, operation, value, NULL, NULL, 0);
}

static void work(long ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void *answer(void *data)
{
	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "answers")) {
		work(100);
		atomic_store(&answered, 1);
		futex(FUTEX_WAKE_PRIVATE, 1);
		thrum_task_resolve(thrum_task_current());
	}
	return data;
}

static void touch(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	madvise(memory, (size_t)(PAGES * page), MADV_NOHUGEPAGE);
	for (long i = 0; i < PAGES; i++)
		memory[i * page] = 1;
}

static void write_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_DIRECT, 0600);
	void *block;

	if (fd < 0 || posix_memalign(&block, 4096, BLOCK) != 0)
		return;
	memset(block, 1, BLOCK);
	for (int i = 0; i < 10 && write(fd, block, BLOCK) == BLOCK; i++)
		;
	fsync(fd);
	free(block);
	close(fd);
}

static int map_file(const char *name)
{
	int fd = open(name, O_RDONLY), sum = 0;
	volatile char *memory;

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		return 0;
	memory = mmap(NULL, (size_t)10 * BLOCK, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return 0;
	madvise((void *)memory, (size_t)10 * BLOCK, MADV_RANDOM);
	for (int i = 0; i < 10; i++)
		sum += memory[i * BLOCK];
	close(fd);
	return sum;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "touches")) {
		touch();
		thrum_task_resolve(thrum_task_current());
	}
	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "writes")) {
		if (argc > 1)
			write_file(argv[1]);
		thrum_task_resolve(thrum_task_current());
	}
	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "maps")) {
		if (argc > 1)
			map_file(argv[1]);
		thrum_task_resolve(thrum_task_current());
	}
	if (pthread_create(&thread, NULL, answer, NULL) != 0)
		return 1;
	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "asks")) {
		while (!atomic_load(&answered))
			futex(FUTEX_WAIT_PRIVATE, 0);
		thrum_task_resolve(thrum_task_current());
	}
	pthread_join(thread, NULL);
	return 0;
}
