/* SPDX-License-Identifier: ISC */
/* Jobs wait in a queue for the one worker, without any event. A report keeps it busy for 300 ms, in
 * the twin for 10 ms. */
#include "timetable.h"

static thrum_task job[8], report;

static void run_job(thrum_task task, unsigned until)
{
	thrum_task_switch(task);
	at(until);
	thrum_task_resolve(task);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void worker(void)
{
	unsigned now = 0, length = broken ? 300 : 10;

	for (unsigned i = 0; i < 8; i++) {
		if (now < 20 * i + 1) {
			now = 20 * i + 1;
			idle_until(now);
		}
		if (i == 3) {
			now += length;
			run_job(report, now);
		}
		now += 5;
		run_job(job[i], now);
	}
	idle_until(600);
}

static void story(void)
{
	char label[16];

	start_lane("worker", worker);
	for (unsigned i = 0; i < 8; i++) {
		at(20 * i);
		if (i == 3)
			report = TASK(TASK, "report");
		snprintf(label, sizeof(label), "job %u", i);
		job[i] = TASK(TASK, label);
	}
	idle_until(600);
}
