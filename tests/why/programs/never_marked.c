/* SPDX-License-Identifier: ISC */
/*
 * Nobody marked a task as one that should resolve. A batch has 30 jobs, and for each a helper that
 * resolves it. The helper of job 17 is cancelled before it does so, and the batch waits for the job
 * for ever.
 */
#include "timetable.h"

#define JOBS 30
#define ODD 17

static void story(void)
{
	thrum_task batch = TASK(TASK, "batch"), job[JOBS], helper;
	char label[16];

	for (unsigned i = 0; i < JOBS; i++) {
		bool odd = broken && i == ODD;

		at(20 * i + 5);
		snprintf(label, sizeof label, "job %u", i);
		job[i] = TASK(TASK, label);
		thrum_task_wait(batch, job[i]);
		snprintf(label, sizeof label, "helper %u", i);
		helper = TASK(TASK, label);
		at(20 * i + 10);
		if (odd) {
			thrum_task_cancel(helper);
			continue;
		}
		thrum_task_switch(helper);
		thrum_task_resolve(job[i]);
		thrum_task_resolve(helper);
		thrum_task_switch(THRUM_TASK_NONE);
		thrum_task_read(batch, job[i]);
	}
	if (!broken)
		thrum_task_resolve(batch);
	beat_until(2500);
	if (broken)
		killed();
}
