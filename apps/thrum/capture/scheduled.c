/* SPDX-License-Identifier: ISC */
/* Listens to the kernel in a thread of its own. */
#define _GNU_SOURCE
#include "capture/scheduled.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "line/command.h"

#define LOOK_MS 500 /* at most between looks */

/* The setting that decides who may listen; -1: there is none. */
static int read_paranoid(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = -1;

	if (file && fscanf(file, "%d", &level) != 1)
		level = -1;
	if (file)
		fclose(file);
	return level;
}

static int refuse(int error)
{
	int level = read_paranoid();

	if ((error == EACCES || error == EPERM) && level > 2)
		complain("--sched: only root may record the scheduler on this machine "
			 "(kernel.perf_event_paranoid is %d): as root, run sysctl "
			 "kernel.perf_event_paranoid=2",
			level);
	else if (error == EACCES || error == EPERM)
		complain("--sched: the kernel doesn't permit it, although "
			 "kernel.perf_event_paranoid is %d: a container may forbid "
			 "perf_event_open; docker takes --cap-add=PERFMON",
			level);
	else if (error == ENOSYS || error == ENOENT || error == EOPNOTSUPP || error == EINVAL)
		complain("--sched: this kernel doesn't report when threads are switched "
			 "(perf_event_open: %s); Linux 4.17 or later does",
			strerror(error));
	else
		complain("--sched: perf_event_open: %s", strerror(error));
	return STATUS_FAILED;
}

static int refuse_machine(int error, const char *option)
{
	if (error == EACCES || error == EPERM)
		complain("%s: only root may record a whole machine, or a program with "
			 "CAP_PERFMON that may read tracefs",
			option);
	else if (error == EXDEV)
		complain("%s: the kernel reports the machine's thread ids, and this container "
			 "has others: take --sched here, or record from outside of it",
			option);
	else if (error == EMFILE || error == ENFILE)
		complain("%s: it needs more open files than are permitted: %s", option,
			strerror(error));
	else
		complain("%s: this kernel doesn't report who wakes threads (sched_waking of "
			 "tracefs: %s)",
			option, strerror(error));
	return STATUS_FAILED;
}

static int open_all(struct thrum__source_switches *switches, pid_t pid,
	const struct scheduled_options *options)
{
	int error = thrum__source_switches_open(switches, pid, options->faults || options->kernel);

	if (error != 0)
		return refuse(-error);
	if (options->wakes || options->kernel)
		error = thrum__source_switches_open_machine(switches, options->kernel);
	return error == 0 ? STATUS_OK
			  : refuse_machine(-error, options->kernel ? "--kernel" : "--wakes");
}

/* Each event of the machine is an open file for each processor. */
static void permit_files(struct rlimit *before)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, before) != 0)
		return;
	most = (struct rlimit){before->rlim_max, before->rlim_max};
	setrlimit(RLIMIT_NOFILE, &most);
}

int scheduled_check(const struct scheduled_options *options)
{
	struct thrum__source_switches switches = {0};
	struct rlimit before;
	int status;

	permit_files(&before);
	status = open_all(&switches, 0, options);
	thrum__source_switches_close(&switches);
	setrlimit(RLIMIT_NOFILE, &before); /* the program gets it as it was */
	return status;
}

static void *run(void *data)
{
	struct scheduled *scheduled = data;
	uint64_t stopped = 0;

	while (read(scheduled->stop, &stopped, sizeof(stopped)) < 0) {
		thrum__source_switches_wait(&scheduled->switches, scheduled->stop, LOOK_MS);
		pthread_mutex_lock(&scheduled->lock);
		thrum__source_switches_take(&scheduled->switches);
		pthread_mutex_unlock(&scheduled->lock);
	}
	return NULL;
}

int scheduled_start(struct scheduled *scheduled, pid_t pid, const struct scheduled_options *options)
{
	struct rlimit before;

	permit_files(&before);
	if (open_all(&scheduled->switches, pid, options) != STATUS_OK)
		return STATUS_FAILED;
	pthread_mutex_init(&scheduled->lock, NULL);
	scheduled->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	scheduled->is_running = scheduled->stop >= 0 &&
		pthread_create(&scheduled->thread, NULL, run, scheduled) == 0;
	if (scheduled->is_running)
		return STATUS_OK;
	complain("--sched: no thread can be started that records the scheduler");
	return STATUS_FAILED;
}

void scheduled_stop(struct scheduled *scheduled)
{
	uint64_t one = 1;

	if (!scheduled->is_running)
		return;
	if (write(scheduled->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(scheduled->thread, NULL);
	scheduled->is_running = false;
	close(scheduled->stop);
}

/* The thread goes on to listen meanwhile: the kernel's rings have room for less than that takes. */
int scheduled_write(struct scheduled *scheduled, const char *file, struct thrum_error_info *info)
{
	struct thrum__source_switches kept;
	int error;

	pthread_mutex_lock(&scheduled->lock);
	thrum__source_switches_take(&scheduled->switches);
	error = thrum__source_switches_split(&scheduled->switches, &kept);
	pthread_mutex_unlock(&scheduled->lock);
	if (error)
		return error;
	error = thrum__source_switches_write(&kept, file, info);
	pthread_mutex_lock(&scheduled->lock);
	thrum__source_switches_join(&scheduled->switches, &kept);
	pthread_mutex_unlock(&scheduled->lock);
	return error;
}

void scheduled_finish(struct scheduled *scheduled)
{
	scheduled_stop(scheduled);
	thrum__source_switches_close(&scheduled->switches);
}
