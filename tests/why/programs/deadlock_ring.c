/* SPDX-License-Identifier: ISC */
/*
 * The config needs the database, the database needs the secrets, and the secrets need the config.
 * In the twin the secrets need nothing.
 */
#include "timetable.h"

static void need(thrum_task what, thrum_task other, unsigned when)
{
	at(when);
	thrum_task_switch(what);
	thrum_task_wait(what, other);
}

static void end(thrum_task what, thrum_task source, unsigned when)
{
	at(when);
	thrum_task_switch(what);
	if (source)
		thrum_task_read(what, source);
	thrum_task_resolve(what);
}

static void story(void)
{
	thrum_task config = TASK(PROMISE, "config"), database = TASK(PROMISE, "database"),
		   secrets = TASK(PROMISE, "secrets");

	thrum_task_should_resolve(config);
	need(config, database, 3);
	need(database, secrets, 4);
	if (broken) {
		need(secrets, config, 5);
	} else {
		end(secrets, THRUM_TASK_NONE, 6);
		end(database, secrets, 7);
		end(config, database, 8);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
	if (broken)
		_exit(1);
}
