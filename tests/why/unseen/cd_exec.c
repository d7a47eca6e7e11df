/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: collectd issue #3440 ("Deadlock in exec plugin after failed execvpe()"): the exec plugin forks while the
 *     thread "disk" holds file_lock, as it writes to the log. The child has a copy of the locked file_lock, and no
 *     thread that would unlock it. execvp fails, as the script is missing, and the child wants to log that: log_print
 *     waits for file_lock for ever. The thread "exec" waits in waitpid for that child, and further notifications
 *     for the thread.
 *   culprit: file_lock|log_print|exec_child
 *   victim: dispatch_notification|stop_exec|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Collects statistics. A value over its threshold is logged, and a script is run for it by the exec plugin. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 14
#define QUEUE 32

static bool fixed;

/* ---- the log ---- */

static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file;

static void log_line(const char *format, va_list arguments)
{
	char line[160];
	int size = vsnprintf(line, sizeof(line) - 1, format, arguments);

	line[size++] = '\n';
	if (write(log_file, line, (size_t)size) != size)
		exit(1);
}

static void log_print(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	pthread_mutex_lock(&file_lock);
	log_line(format, arguments);
	pthread_mutex_unlock(&file_lock);
	va_end(arguments);
}

static void log_part(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_line(format, arguments);
	va_end(arguments);
}

/* A report stays in one piece. The log's disk is slow. */
static void log_report(int round)
{
	int part;

	pthread_mutex_lock(&file_lock);
	for (part = 0; part < 8; part++) {
		log_part("round %d: /dev/sd%c is %d %% full", round, 'a' + part, 90 + part);
		usleep(10000);
	}
	pthread_mutex_unlock(&file_lock);
}

/* ---- the exec plugin ---- */

struct notification {
	const char *script;
	int round;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct notification queue[QUEUE];
	int head, tail;
	bool stopping;
	pthread_t thread;
	int run, failed;
} exec = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void exec_child(const struct notification *notification)
{
	char *arguments[] = {(char *)notification->script, NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvp(notification->script, arguments);
	if (fixed)
		dprintf(2, "exec: %s: %s\n", notification->script, strerror(errno));
	else
		log_print("exec: %s: %s", notification->script, strerror(errno));
	_exit(127);
}

static void run_script(const struct notification *notification)
{
	int status;
	pid_t pid;

	usleep(20000); /* finds the user as whom it runs */
	pid = fork();
	if (!pid)
		exec_child(notification);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(1);
	exec.run++;
	exec.failed += status != 0;
}

static void *exec_main(void *data)
{
	struct notification notification;

	(void)data;
	pthread_setname_np(pthread_self(), "exec");
	pthread_mutex_lock(&exec.mutex);
	for (;;) {
		while (exec.head == exec.tail && !exec.stopping)
			pthread_cond_wait(&exec.changed, &exec.mutex);
		if (exec.head == exec.tail)
			break;
		notification = exec.queue[exec.head++ % QUEUE];
		pthread_mutex_unlock(&exec.mutex);
		run_script(&notification);
		pthread_mutex_lock(&exec.mutex);
	}
	pthread_mutex_unlock(&exec.mutex);
	return NULL;
}

static void dispatch_notification(const char *script, int round)
{
	pthread_mutex_lock(&exec.mutex);
	exec.queue[exec.tail++ % QUEUE] = (struct notification){script, round};
	pthread_cond_signal(&exec.changed);
	pthread_mutex_unlock(&exec.mutex);
}

static void stop_exec(void)
{
	pthread_mutex_lock(&exec.mutex);
	exec.stopping = true;
	pthread_cond_signal(&exec.changed);
	pthread_mutex_unlock(&exec.mutex);
	pthread_join(exec.thread, NULL);
}

/* ---- plugins that read ---- */

static void *disk_main(void *data)
{
	int round;

	(void)data;
	pthread_setname_np(pthread_self(), "disk");
	for (round = 1; round <= ROUNDS; round++) {
		usleep(30000);
		if (round % 2)
			continue;
		dispatch_notification(round == 10 ? "/usr/lib/collect/page-admin" : "true", round);
		log_report(round);
	}
	return NULL;
}

static void *cpu_main(void *data)
{
	int round;

	(void)data;
	pthread_setname_np(pthread_self(), "cpu");
	for (round = 1; round <= ROUNDS; round++) {
		usleep(50000);
		log_print("round %d: cpu %d %%", round, 10 + round);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t disk, cpu;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	log_file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (log_file < 0)
		return 1;
	if (pthread_create(&exec.thread, NULL, exec_main, NULL) ||
		pthread_create(&disk, NULL, disk_main, NULL) ||
		pthread_create(&cpu, NULL, cpu_main, NULL))
		return 1;
	pthread_join(disk, NULL);
	pthread_join(cpu, NULL);
	log_print("stopping");
	stop_exec();
	printf("%d scripts run, %d failed\n", exec.run, exec.failed);
	return 0;
}
