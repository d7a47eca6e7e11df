/* SPDX-License-Identifier: ISC */
/* Work in libuv's thread pool. */
#include "promise/uv/glue.h"

struct job {
	struct thrum__promise_held held;
	uv_work_t request;
	thrum_task task;
	thrum_worker *work;
	void *data;
	thrum_destroy *destroy;
	struct thrum_value result;
	int code;
};

static void work_canceled(struct thrum_resolver *resolver, void *data)
{
	struct job *job = data;

	/* libuv refuses this if the work has begun. work_done uses the resolver up in either
	 * case. */
	uv_cancel((uv_req_t *)&job->request);
}

/* Runs in a thread of the pool. */
static void run_work(uv_work_t *request)
{
	struct job *job = request->data;
	thrum_task before = thrum__promise_trace_enter(job->task);

	job->code = job->work(job->data, &job->result);
	thrum__promise_trace_leave(before);
}

static void work_done(uv_work_t *request, int status)
{
	struct job *job = request->data;
	thrum_destroy *destroy = job->destroy;
	void *data = job->data;

	thrum__promise_uv_end(&job->held, status ? status : job->code, job->result);
	if (destroy)
		destroy(data);
}

struct thrum_promise *thrum__work(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, thrum_worker *worker, void *data, thrum_destroy *destroy)
{
	struct job *job = loop ? thrum__promise_hold(loop, sizeof(*job), NULL) : NULL;
	struct thrum_promise *promise = NULL;
	bool began = false;

	if (job)
		promise = thrum__promise_uv_begin(&job->held, site, THRUM_KIND_REQUEST,
			label ? label : "work", work_canceled, &began);
	if (!began) {
		if (destroy)
			destroy(data);
		return promise ? promise : thrum__promise_no_memory(loop);
	}
	job->task = thrum_promise_task_id(promise);
	job->work = worker;
	job->data = data;
	job->destroy = destroy;
	job->request.data = job;
	thrum_task_ready(job->task);
	/* This fails only without a function. */
	uv_queue_work(thrum_loop_uv(loop), &job->request, run_work, work_done);
	return promise;
}
