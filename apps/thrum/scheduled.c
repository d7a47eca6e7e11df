/* SPDX-License-Identifier: ISC */
/* Listens to the kernel's scheduler in a thread of its own. */
#define _GNU_SOURCE
#include "scheduled.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "command.h"

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
		complain("--sched: this machine permits nobody but root to listen to the scheduler "
			 "(kernel.perf_event_paranoid is %d): as root, run sysctl "
			 "kernel.perf_event_paranoid=2",
			level);
	else if (error == EACCES || error == EPERM)
		complain("--sched: the kernel doesn't permit it, although "
			 "kernel.perf_event_paranoid is %d: a container may forbid "
			 "perf_event_open; docker takes --cap-add=PERFMON",
			level);
	else if (error == ENOSYS || error == ENOENT || error == EOPNOTSUPP || error == EINVAL)
		complain("--sched: this kernel can't tell when threads are switched "
			 "(perf_event_open: %s); Linux 4.17 or later can",
			strerror(error));
	else
		complain("--sched: perf_event_open: %s", strerror(error));
	return STATUS_FAILED;
}

static int refuse_wakes(int error)
{
	if (error == EACCES || error == EPERM)
		complain("--wakes: only root may listen to the wake-ups of a whole machine, or a "
			 "program with CAP_PERFMON that may read tracefs");
	else if (error == EXDEV)
		complain("--wakes: the kernel tells who is woken by the machine's numbers of "
			 "threads, and this container has others: take --sched here, or record "
			 "from outside of it");
	else
		complain("--wakes: this kernel can't tell who wakes threads (sched_waking of "
			 "tracefs: %s)",
			strerror(error));
	return STATUS_FAILED;
}

int scheduled_check(bool has_wakes)
{
	struct thrum__source_switches switches;
	int error = thrum__source_switches_open(&switches, 0);

	if (error != 0)
		return refuse(-error);
	if (has_wakes)
		error = thrum__source_switches_open_wakes(&switches);
	thrum__source_switches_close(&switches);
	return error == 0 ? STATUS_OK : refuse_wakes(-error);
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

int scheduled_start(struct scheduled *scheduled, pid_t pid, bool has_wakes)
{
	int error = thrum__source_switches_open(&scheduled->switches, pid);

	if (error != 0)
		return refuse(-error);
	if (has_wakes && (error = thrum__source_switches_open_wakes(&scheduled->switches)) != 0)
		return refuse_wakes(-error);
	pthread_mutex_init(&scheduled->lock, NULL);
	scheduled->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	scheduled->is_running = scheduled->stop >= 0 &&
		pthread_create(&scheduled->thread, NULL, run, scheduled) == 0;
	if (scheduled->is_running)
		return STATUS_OK;
	complain("--sched: no thread can be started that listens to the scheduler");
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

int scheduled_write(struct scheduled *scheduled, const char *file, struct thrum_error_info *info)
{
	pthread_mutex_lock(&scheduled->lock);
	thrum__source_switches_take(&scheduled->switches);
	int error = thrum__source_switches_write(&scheduled->switches, file, info);

	pthread_mutex_unlock(&scheduled->lock);
	return error;
}

void scheduled_finish(struct scheduled *scheduled)
{
	scheduled_stop(scheduled);
	thrum__source_switches_close(&scheduled->switches);
}
