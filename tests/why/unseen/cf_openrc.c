/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: OpenRC issue #895 ("child sometimes not reaped properly in openrc-run svc_exec(), signal_pipe never
 *     written to"). handle_signal takes the ended children and writes to signal_pipe only if the child is
 *     service_pid. The service "modules" has nothing to do and ends before service_pid is set, so the handler takes
 *     it and writes nothing. svc_exec polls signal_pipe for ever, though no child is left to end. The boot goes no
 *     further. The thread "rotate" goes on.
 *   culprit: svc_exec|handle_signal|signal_pipe|SIGCHLD
 *   victim: boot|login
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Starts the services of a run level one after the other, and shows what they print. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct service {
	const char *name;
	unsigned lines;    /* that it prints */
	unsigned pause_us; /* before each */
};

static const struct service boot_level[] = {
	{"sysfs", 2, 20000},
	{"devfs", 3, 20000},
	{"fsck", 4, 30000},
	{"root", 2, 20000},
	{"localmount", 2, 25000},
	{"modules", 0, 0},
	{"hostname", 1, 20000},
	{"loopback", 1, 20000},
	{"urandom", 2, 25000},
};

static pid_t service_pid;
static int signal_pipe[2] = {-1, -1};
static bool fixed;
static atomic_uint rotations;
static atomic_bool stopped;

static void handle_signal(int number)
{
	int saved = errno, status;
	pid_t pid;

	(void)number;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (signal_pipe[1] > -1 && pid == service_pid &&
			write(signal_pipe[1], &status, sizeof(status)) < 0)
			_exit(1);
	}
	errno = saved;
}

/* Puts the new process into its control group. */
static void cgroup_add(pid_t pid)
{
	char line[32];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	unsigned i;

	for (i = 0; fd >= 0 && i < 8; i++) { /* memory, pids, io, ... */
		snprintf(line, sizeof(line), "%d\n", pid);
		if (write(fd, line, strlen(line)) < 0)
			break;
		usleep(2000);
	}
	close(fd);
}

static void run_service(const struct service *service, int out)
{
	char line[64];
	unsigned i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < service->lines; i++) {
		usleep(service->pause_us);
		snprintf(line, sizeof(line), "%s: step %u\n", service->name, i + 1);
		if (write(out, line, strlen(line)) < 0)
			break;
	}
	_exit(0);
}

static pid_t spawn_service(const struct service *service, int out)
{
	pid_t pid = fork();

	if (!pid)
		run_service(service, out);
	if (pid > 0)
		cgroup_add(pid);
	return pid;
}

static int svc_exec(const struct service *service)
{
	sigset_t child, before;
	struct pollfd fds[2];
	char buffer[256];
	int output[2], status = -1;
	ssize_t bytes;

	if (pipe2(signal_pipe, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
		exit(1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (fixed)
		pthread_sigmask(SIG_BLOCK, &child, &before);
	service_pid = spawn_service(service, output[1]);
	if (fixed)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(output[1]);

	fds[0] = (struct pollfd){.fd = signal_pipe[0], .events = POLLIN};
	fds[1] = (struct pollfd){.fd = output[0], .events = POLLIN};
	for (;;) {
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			exit(1);
		}
		if (fds[1].revents) {
			bytes = read(output[0], buffer, sizeof(buffer));
			if (bytes <= 0)
				fds[1].fd = -1;
			else
				printf(" * %.*s", (int)bytes, buffer);
			fds[1].revents = 0;
		}
		/* Only the end of the service comes down this pipe. */
		if (fds[0].revents & POLLIN) {
			if (read(signal_pipe[0], &status, sizeof(status)) != sizeof(status))
				exit(1);
			break;
		}
	}
	service_pid = 0;
	close(output[0]);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
	signal_pipe[0] = signal_pipe[1] = -1;
	return status;
}

/* Rotates the boot log. */
static void *rotate_log(void *arg)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	while (!stopped) {
		usleep(40000);
		rotations++;
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle_signal};
	sigset_t child;
	pthread_t rotate;
	unsigned i;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	pthread_create(&rotate, NULL, rotate_log, NULL);
	pthread_setname_np(rotate, "rotate");
	pthread_sigmask(SIG_UNBLOCK, &child, NULL);
	sigaction(SIGCHLD, &action, NULL);
	for (i = 0; i < sizeof(boot_level) / sizeof(boot_level[0]); i++) {
		printf("%s: %d\n", boot_level[i].name, svc_exec(&boot_level[i]));
		fflush(stdout);
	}
	stopped = true;
	pthread_join(rotate, NULL);
	puts("login");
	return 0;
}
