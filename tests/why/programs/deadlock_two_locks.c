/* SPDX-License-Identifier: ISC */
/*
 * Two lanes take the same two locks, in different orders; in the twin, in the same order.
 */
#include "timetable.h"

static thrum_task accounts, journal;

static void transfer(void)
{
	thrum_task self = TASK(FIBER, "transfer");

	thrum_task_switch(self);
	at(10);
	thrum_lock_acquired(accounts);
	at(12);
	if (broken) {
		thrum_task_wait(self, journal);
		stay();
	}
	thrum_lock_acquired(journal);
	at(14);
	thrum_lock_released(journal);
	thrum_lock_released(accounts);
	thrum_task_resolve(self);
}

static void audit(void)
{
	thrum_task self = TASK(FIBER, "audit");

	thrum_task_switch(self);
	at(11);
	if (broken) {
		thrum_lock_acquired(journal);
		at(13);
		thrum_task_wait(self, accounts);
		stay();
	}
	thrum_task_wait(self, accounts);
	at(15);
	thrum_lock_acquired(accounts);
	thrum_lock_acquired(journal);
	at(16);
	thrum_lock_released(journal);
	thrum_lock_released(accounts);
	thrum_task_resolve(self);
}

static void story(void)
{
	accounts = TASK(LOCK, "accounts");
	journal = TASK(LOCK, "journal");
	start_lane("lane 1", transfer);
	start_lane("lane 2", audit);
	beat_until(2000);
	if (broken)
		killed();
}
