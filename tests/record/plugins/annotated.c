/* SPDX-License-Identifier: ISC */
/* A plugin that records, linked with libthrum. */
#include <thrum.h>

THRUM_CATEGORY(category, "plugin");
THRUM_TAG(work, &category, "plugin/work", 1);

int plugin_run(void);

/* Returns whether it was recorded. */
int plugin_run(void)
{
	struct thrum_counter *runs = thrum_counter_create("plugin/runs", THRUM_COUNTER_CUMULATIVE);
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "the plugin's task");

	thrum_counter_add(runs, 1);
	THRUM_RUN (task) {
		thrum_span_begin(&work);
		thrum_tag_value(&work, 42);
		thrum_logf("run by %s", "a plugin");
		thrum_span_end(&work);
	}
	thrum_suspend(&work);
	thrum_resume();
	thrum_task_resolve(task);
	return task != THRUM_TASK_NONE;
}
