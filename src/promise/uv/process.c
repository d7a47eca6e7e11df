/* SPDX-License-Identifier: ISC */
/* Processes. */
#include "promise/uv/glue.h"

struct thrum_process {
	struct thrum__promise_held held;
	uv_process_t handle;
	thrum_task task;
	struct thrum__promise_wait_queue waiters;
	struct thrum_exit end;
	bool has_ended;
};

static void stop_process(struct thrum__promise_held *held)
{
	struct thrum_process *process = (struct thrum_process *)held;

	thrum__promise_uv_close((uv_handle_t *)&process->handle);
	thrum__promise_wait_queue_close(&process->waiters, THRUM_BROKEN);
}

static struct thrum_value exit_value(const struct thrum_process *process)
{
	struct thrum_exit *end = thrum__promise_owned_create(process->held.loop, sizeof(*end));

	if (!end)
		return thrum_value_none();
	*end = process->end;
	return thrum__promise_owned_value(end);
}

static void resolve_with_exit(const struct thrum_process *process, struct thrum_resolver *resolver)
{
	struct thrum_value end = exit_value(process);

	if (end.data)
		thrum__promise_uv_resolve(&resolver, end);
	else
		thrum__promise_uv_fail(&resolver, NULL, -ENOMEM);
}

/* Callbacks may destroy the process. Its block stays until its handle is closed, and its queue is
 * then empty. */
static void process_exited(uv_process_t *handle, int64_t status, int signal)
{
	struct thrum_process *process = handle->data;
	struct thrum_resolver *resolver;

	thrum__promise_loop_resume(process->held.loop);
	process->end = (struct thrum_exit){status, signal};
	process->has_ended = true;
	thrum_task_resolve(process->task);
	while ((resolver = thrum__promise_wait_queue_pop(&process->waiters, NULL)))
		resolve_with_exit(process, resolver);
}

int thrum__process_spawn(struct thrum_site *site, struct thrum_loop *loop,
	const struct uv_process_options_s *options, struct thrum_process **made)
{
	uv_process_options_t copy;
	struct thrum_process *process;
	char label[THRUM__PROMISE_LABEL_SIZE];
	int code;

	if (!loop || !options || !options->file || !made)
		return -EINVAL;
	process = thrum__promise_hold(loop, sizeof(*process), stop_process);
	if (!process)
		return -ENOMEM;
	process->handle.data = process;
	copy = *options;
	copy.exit_cb = process_exited;
	thrum__promise_wait_queue_init(&process->waiters, loop, THRUM_TASK_NONE);
	code = uv_spawn(thrum_loop_uv(loop), &process->handle, &copy);
	if (code != 0) {
		stop_process(&process->held);
		return code;
	}
	process->task = thrum__promise_trace_create(site, THRUM_KIND_HANDLE,
		thrum__promise_uv_label(label, sizeof(label), "process %s", options->file));
	process->waiters.task = process->task;
	*made = process;
	return 0;
}

struct thrum_promise *thrum__process_wait(struct thrum_site *site, struct thrum_process *process)
{
	struct thrum_value end;

	if (!process)
		return NULL;
	if (!process->has_ended)
		return thrum__promise_wait_queue_join(site, &process->waiters, THRUM_KIND_REQUEST,
			"process wait", thrum_value_none());
	end = exit_value(process);
	return end.data ? thrum_promise_return(process->held.loop, end)
			: thrum__promise_no_memory(process->held.loop);
}

int thrum_process_pid(const struct thrum_process *process)
{
	return process ? process->handle.pid : 0;
}

int thrum_process_kill(struct thrum_process *process, int signal)
{
	if (!process)
		return -EINVAL;
	return process->has_ended ? -ESRCH : uv_process_kill(&process->handle, signal);
}

void thrum_process_destroy(struct thrum_process *process)
{
	if (!process)
		return;
	thrum__promise_loop_check(process->held.loop);
	if (!process->has_ended)
		thrum_task_cancel(process->task);
	stop_process(&process->held);
}
