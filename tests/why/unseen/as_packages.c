/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the service "watchd" that the installer of the second package has started inherits the descriptor
 *     of packages.lock (lock_database opens it without O_CLOEXEC), so the flock stays when the installer has
 *     ended; the next installer waits for it for ever
 *   culprit: watchd|start_service|lock_database|packages.*\.lock
 *   victim: run_installer|waitpid|install editor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A package manager: runs an installer for each package, which locks the database and runs the package's hook. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct package {
	const char *name, *hook; /* NULL: none */
};

static const struct package desktop[] = {{"fonts", NULL}, {"manuals", "index"}, {"editor", NULL},
	{NULL, NULL}};
static const struct package server[] = {{"fonts", NULL}, {"watcher", "service watchd"},
	{"editor", NULL}, {NULL, NULL}};
static char program[512];

/* ---- The hooks' programs ---- */

/* A service. It is started again when somebody asks for it, and ends after 3 s of rest. */
__attribute__((noinline)) int run_service(const char *name)
{
	struct pollfd request = {.events = POLLIN};
	int null = open("/dev/null", O_RDWR), pair[2];
	char byte;

	prctl(PR_SET_NAME, name);
	setsid();
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return 1;
	request.fd = pair[0];
	while (poll(&request, 1, 3000) > 0)
		if (read(request.fd, &byte, 1) <= 0)
			break;
	return 0;
}

__attribute__((noinline)) int run_index(void)
{
	prctl(PR_SET_NAME, "index");
	usleep(60000);
	return 0;
}

/* ---- The installer ---- */

__attribute__((noinline)) int lock_database(const char *path)
{
	int lock = open(path, O_RDWR | O_CREAT, 0600);

	if (lock < 0 || flock(lock, LOCK_EX)) {
		perror(path);
		exit(1);
	}
	return lock;
}

__attribute__((noinline)) void unpack_files(int database, const char *package)
{
	usleep(30000);
	if (lseek(database, 0, SEEK_END) < 0 || dprintf(database, "%s installed\n", package) < 0)
		perror("database");
}

static pid_t spawn(const char *const *arguments)
{
	pid_t child = fork();

	if (child)
		return child;
	execv(program, (char **)(uintptr_t)arguments);
	_exit(127);
}

__attribute__((noinline)) void start_service(const char *name)
{
	const char *arguments[] = {name, "service", name, NULL};

	if (spawn(arguments) < 0)
		perror("fork");
}

__attribute__((noinline)) void run_hook(const char *hook)
{
	const char *arguments[] = {hook, hook, NULL};
	int status;

	if (!strncmp(hook, "service ", 8)) {
		start_service(hook + 8); /* it stays */
		return;
	}
	waitpid(spawn(arguments), &status, 0);
}

__attribute__((noinline)) int install_package(const char *path, const char *package,
	const char *hook)
{
	int lock;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	lock = lock_database(path);
	unpack_files(lock, package);
	if (*hook)
		run_hook(hook);
	/* The hooks are part of the transaction: only now others may begin. */
	close(lock);
	return 0;
}

/* ---- The manager ---- */

__attribute__((noinline)) int run_installer(const char *path, const struct package *package)
{
	const char *arguments[] = {"installer", "install", path, package->name,
		package->hook ? package->hook : "", NULL};
	pid_t child = spawn(arguments);
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	printf("%s: %s\n", package->name, status ? "failed" : "installed");
	return status != 0;
}

int main(int argc, char **argv)
{
	const struct package *package;
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char path[64];
	int failed = 0;

	if (size <= 0 || argc < 2)
		return 1;
	if (argc == 5 && !strcmp(argv[1], "install"))
		return install_package(argv[2], argv[3], argv[4]);
	if (argc == 3 && !strcmp(argv[1], "service"))
		return run_service(argv[2]);
	if (!strcmp(argv[1], "index"))
		return run_index();
	snprintf(path, sizeof(path), "/tmp/as-packages-%d.lock", (int)getpid());
	for (package = !strcmp(argv[1], "broken") ? server : desktop; package->name; package++) {
		usleep(50000);
		failed |= run_installer(path, package);
	}
	unlink(path);
	return failed;
}
