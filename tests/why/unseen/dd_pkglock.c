/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: install holds the lock of the package database while it waits for the hook; the hook calls the package manager again, whose lock_database waits for that lock.
 *   culprit: lock_database|run_hook|hook|install
 *   victim: progress|show_progress
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A package manager: packages bring hooks, which run as processes when the package is unpacked. The hook of
 * a kernel registers itself with the package manager.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;
static char database_path[64];

/* A file without a name stands for the database. */
static bool make_database(void)
{
	int file = memfd_create("packages.db", 0);

	snprintf(database_path, sizeof(database_path), "/proc/self/fd/%d", file);
	return file >= 0;
}

/* Returns a descriptor that holds the lock until it is closed. */
static int lock_database(void)
{
	int file = open(database_path, O_RDWR | O_CLOEXEC);

	if (file < 0)
		exit(1);
	while (flock(file, LOCK_EX))
		if (errno != EINTR)
			exit(1);
	return file;
}

static void record_package(const char *name)
{
	int file = open(database_path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (file < 0 || write(file, name, strlen(name)) < 0)
		exit(1);
	close(file);
}

/* Does the work of `pkg register`, also when a hook calls it. */
static void register_package(const char *name)
{
	int lock = -1;

	/* Below an installation it must not lock again. */
	if (broken || !getenv("PKG_LOCKED"))
		lock = lock_database();
	record_package(name);
	if (lock >= 0)
		close(lock);
}

static void run_hook(const char *package)
{
	pid_t parent = getpid(), hook = fork();
	int status;

	if (!hook) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "postinst hook");
		if (getppid() != parent)
			_exit(1);
		setenv("PKG_LOCKED", "1", 1);
		register_package("initrd of ");
		register_package(package);
		_exit(0);
	}
	if (hook < 0 || waitpid(hook, &status, 0) != hook || status)
		exit(1);
}

static void install(const char *package, bool has_hook)
{
	int lock = lock_database();

	record_package(package);
	if (has_hook)
		run_hook(package);
	close(lock);
}

/* Draws a dot at times. */
static void *show_progress(void *flag)
{
	while (!__atomic_load_n((bool *)flag, __ATOMIC_ACQUIRE))
		usleep(20000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t progress;
	bool done = false;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	if (!make_database() || pthread_create(&progress, NULL, show_progress, &done))
		return 1;
	pthread_setname_np(progress, "progress");
	install("libwarp 1.2\n", false);
	install("weft-tools 0.9\n", false);
	install("kernel 6.1\n", true);
	install("heddle 3\n", false);
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(progress, NULL);
	return 0;
}
