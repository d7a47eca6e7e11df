/* SPDX-License-Identifier: ISC */
/*
 * Nothing is wrong: two lanes wait for each other's lock, as in deadlock_two_locks.c, but one of
 * them gives up after 20 ms, releases its lock and begins again.
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
	thrum_task_wait(self, journal);
	at(34);
	thrum_lock_acquired(journal);
	at(36);
	thrum_lock_released(journal);
	thrum_lock_released(accounts);
	thrum_task_resolve(self);
}

static void audit(void)
{
	thrum_task self = TASK(FIBER, "audit");

	thrum_task_switch(self);
	at(11);
	thrum_lock_acquired(journal);
	at(13);
	thrum_task_wait(self, accounts);
	at(33);
	thrum_lock_released(journal);
	at(40);
	thrum_lock_acquired(accounts);
	thrum_lock_acquired(journal);
	at(45);
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
	beat_until(1000);
}
