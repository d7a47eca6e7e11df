/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: deadlock of three jobs: train holds gpu and wants disk, backup holds disk and wants net, sync holds net
 *     and wants gpu. The scheduler finds nothing runnable and gives up.
 *   culprit: \btrain\b|\bbackup\b|\bsync\b
 *   victim: preview
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A job runner with stackless coroutines: each job is a list of steps, each step takes or gives back a device or
 * works. Sparsely annotated: no job is marked as one that must end. */
struct device {
	const char *name;
	thrum_task lock;
	struct job *owner;
};
static struct device gpu = {"gpu"}, disk = {"disk"}, net = {"net"};
enum what {
	TAKE,
	GIVE,
	WORK,
	END
};
struct step {
	enum what what;
	struct device *device;
};
struct job {
	const char *name;
	const struct step *step;
	struct device *wants;
	thrum_task task;
};

static const struct step train[] = {{TAKE, &gpu}, {WORK}, {TAKE, &disk}, {WORK}, {GIVE, &disk},
	{GIVE, &gpu}, {END}};
static const struct step backup[] = {{TAKE, &disk}, {WORK}, {TAKE, &net}, {WORK}, {GIVE, &net},
	{GIVE, &disk}, {END}};
static const struct step sync_bad[] = {{TAKE, &net}, {WORK}, {TAKE, &gpu}, {WORK}, {GIVE, &gpu},
	{GIVE, &net}, {END}};
static const struct step sync_good[] = {{TAKE, &gpu}, {WORK}, {TAKE, &net}, {WORK}, {GIVE, &net},
	{GIVE, &gpu}, {END}};
static const struct step preview[] = {{WORK}, {WORK}, {TAKE, &gpu}, {WORK}, {GIVE, &gpu}, {END}};
static const struct step tidy[] = {{WORK}, {WORK}, {WORK}, {WORK}, {END}};

/* Returns false if the job can't go on. */
static bool run_step(struct job *job)
{
	struct device *device = job->step->device;

	switch (job->step->what) {
	case TAKE:
		if (device->owner) {
			if (!job->wants)
				thrum_task_wait(job->task, device->lock);
			job->wants = device;
			return false;
		}
		job->wants = NULL;
		device->owner = job;
		thrum_lock_acquired(device->lock);
		break;
	case GIVE:
		thrum_lock_released(device->lock);
		device->owner = NULL;
		break;
	case WORK: usleep(6000); break;
	case END: return false;
	}
	job->step++;
	if (job->step->what == END)
		thrum_task_resolve(job->task);
	return true;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	struct job jobs[] = {{"train", train}, {"backup", backup},
		{"sync", broken ? sync_bad : sync_good}, {"preview", preview}, {"tidy", tidy}};
	int left, progress = 1;

	gpu.lock = thrum_task_create(THRUM_KIND_LOCK, "gpu");
	disk.lock = thrum_task_create(THRUM_KIND_LOCK, "disk");
	net.lock = thrum_task_create(THRUM_KIND_LOCK, "net");
	for (int i = 0; i < 5; i++)
		jobs[i].task = thrum_task_create(THRUM_KIND_FIBER, jobs[i].name);
	for (left = 5; progress && left;) {
		progress = left = 0;
		for (int i = 0; i < 5; i++) {
			if (jobs[i].step->what == END)
				continue;
			if (jobs[i].wants && jobs[i].wants->owner) {
				left++;
				continue;
			}
			THRUM_RUN (jobs[i].task)
				progress += run_step(&jobs[i]);
			left += jobs[i].step->what != END;
		}
	}
	if (left)
		thrum_suspend(THRUM_DEADLOCKED);
	thrum_stop();
	printf("%d jobs left\n", left);
	return left > 0;
}
