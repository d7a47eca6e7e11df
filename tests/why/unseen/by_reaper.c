/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: catatonit issue #4 ("catatonit hangs due to signal coalescing"): two children have ended while run_service
 *     rotated its log, and only one SIGCHLD was kept for both, the one of the helper. reap_children takes both
 *     children, but run_service looks only at the signal's own process to learn that the service has ended. So it
 *     waits in sigwaitinfo for a SIGCHLD that can't come, as no child is left. The heartbeat goes on.
 *   culprit: run_service|sigwaitinfo|SIGCHLD
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A little init for containers: it starts a service, reaps all children, and does the next thing when the
 * service has ended. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct service {
	const char *name;
	int helper_ms;  /* how long its helper lives, */
	int service_ms; /* and how long itself */
	bool rotate;    /* its log has grown: rotate that first */
};

static const struct service services[] = {
	{"migrate", 20, 120, false},
	{"warm-up", 90, 30, false},
	{"import", 25, 140, true},
	{"web", 40, 160, false},
	{"report", 50, 110, true},
	{"cleanup", 30, 100, false},
};

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *running = "nothing";
static unsigned beats;
static unsigned reaped;
static atomic_bool quit;
static bool careful;
static sigset_t child_signal;

static void sleep_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static void set_running(const char *name)
{
	pthread_mutex_lock(&state_lock);
	running = name;
	pthread_mutex_unlock(&state_lock);
}

static pid_t spawn(int lifetime_ms)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (!pid) {
		usleep((useconds_t)lifetime_ms * 1000);
		_exit(0);
	}
	return pid;
}

static void rotate_log(const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, "/tmp/init-%d-%s.log", (int)getpid(), name);
	file = fopen(path, "w");
	if (!file)
		return;
	for (int i = 0; i < 20; i++) {
		fprintf(file, "%d\n", i);
		fflush(file);
		sleep_ms(name[0] == 'r' ? 15 : 3); /* much to compress */
	}
	fclose(file);
	unlink(path);
}

/* Takes all children that have ended. Tells whether `service` was one of them. */
static bool reap_children(pid_t service)
{
	bool ended = false;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		reaped++;
		if (pid == service)
			ended = true;
	}
	return ended;
}

static void run_service(const struct service *service)
{
	pid_t helper = spawn(service->helper_ms);
	pid_t pid = spawn(service->service_ms);

	(void)helper;
	set_running(service->name);
	if (service->rotate)
		rotate_log(service->name);
	for (;;) {
		siginfo_t info;
		bool ended;

		if (sigwaitinfo(&child_signal, &info) != SIGCHLD)
			continue;
		ended = reap_children(pid);
		if (careful ? ended : info.si_pid == pid)
			break;
	}
	set_running("nothing");
}

/* Tells the container's manager that init is alive. */
static void *heartbeat_thread(void *data)
{
	FILE *manager = fopen("/dev/null", "w");

	(void)data;
	pthread_setname_np(pthread_self(), "heartbeat");
	while (manager && !atomic_load(&quit)) {
		pthread_mutex_lock(&state_lock);
		fprintf(manager, "%u %s\n", ++beats, running);
		pthread_mutex_unlock(&state_lock);
		fflush(manager);
		sleep_ms(40);
	}
	if (manager)
		fclose(manager);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t heartbeat;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, NULL);
	pthread_create(&heartbeat, NULL, heartbeat_thread, NULL);
	for (size_t i = 0; i < sizeof services / sizeof *services; i++)
		run_service(&services[i]);
	while (waitpid(-1, NULL, 0) > 0)
		reaped++;
	atomic_store(&quit, true);
	pthread_join(heartbeat, NULL);
	printf("reaped %u children\n", reaped);
	return 0;
}
