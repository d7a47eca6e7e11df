/* SPDX-License-Identifier: ISC */
/* A library that annotates itself and doesn't depend on libthrum. */
#define THRUM_WEAK
#include <thrum.h>

THRUM_CATEGORY(category, "weak");
THRUM_TAG(work, &category, "weak/work", 0);

int plugin_run(void);

/* Returns whether it was recorded. */
int plugin_run(void)
{
	struct thrum_counter *runs = thrum_counter_create("weak/runs", THRUM_COUNTER_GAUGE);
	thrum_task task = thrum_task_createf(THRUM_KIND_MAP, "weak task %d", 1);
	thrum_task other = thrum_task_create_waiting(THRUM_KIND_BIND, "other", task);

	thrum_counter_add(runs, 1);
	thrum_counter_set(runs, 7);
	thrum_counter_observe(runs, thrum_counter_value(runs));
	THRUM_RUN (task) {
		thrum_span_begin(&work);
		thrum_tag(&work);
		thrum_tag_value(&work, 42);
		thrum_log("weakly said");
		thrum_logf("run by %s", "a library");
		thrum_span_end(&work);
	}
	thrum_task_label(other, "label");
	thrum_task_should_resolve(other);
	thrum_task_due(other, 5);
	thrum_task_wait(other, task);
	thrum_task_read(other, task);
	thrum_task_signal(other, 1);
	thrum_lock_acquired(other);
	thrum_lock_released(other);
	thrum_task_ready(other);
	thrum_link_send("key", 3);
	thrum_link_receive("key", 3);
	thrum_lane_name("weak lane");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	thrum_resume();
	thrum_task_switch(thrum_task_current());
	thrum_task_fail(thrum_task_create_in(task, THRUM_KIND_TASK, NULL), "reason");
	thrum_task_cancel(thrum_task_create(THRUM_KIND_TASK, NULL));
	thrum_task_become(other, task);
	thrum_task_resolve(task);
	return thrum_enabled() && task != THRUM_TASK_NONE;
}
