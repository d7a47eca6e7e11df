/* SPDX-License-Identifier: ISC */
/* The events that promises record. Each story is a small program and the lines of its trace. Tasks
 * are numbered as they were created; the lane's own task is 0. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <thrum/trace.h>

#include <cmocka.h>

#define SIZE (1 << 20)

static struct thrum_promise *none(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *given(struct thrum_loop *loop, void *value, void *data)
{
	return data;
}

static struct thrum_promise *begin(struct thrum_loop *loop, void *data)
{
	return data ? data : thrum_promise_fail(loop, 5, "no luck");
}

static void on_value(struct thrum_loop *loop, void *value, void *data)
{
	thrum_log("here");
}

#define TASK(resolver) thrum_promise_task(loop, NULL, &resolver)
#define LIST(...) \
	(struct thrum_promise *[]) \
	{ \
		__VA_ARGS__ \
	}

static void run_bind(struct thrum_loop *loop)
{
	struct thrum_resolver *r;
	struct thrum_promise *p = thrum_promise_task(loop, "t", &r);

	p = thrum_promise_label(thrum_promise_bind(p, none, NULL, NULL), "b");
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_promise_unref(p);
}

static void run_become(struct thrum_loop *loop)
{
	struct thrum_resolver *r, *s;
	struct thrum_promise *p = TASK(r), *q;

	q = thrum_promise_bind(p, given, TASK(s), NULL);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_promise_on_success(q, on_value, NULL, NULL);
	thrum_resolver_resolve(s, thrum_value_none());
}

static void run_fail(struct thrum_loop *loop)
{
	struct thrum_resolver *r;
	struct thrum_promise *p = TASK(r);

	p = thrum_promise_bind(p, none, NULL, NULL);
	thrum_resolver_fail(r, 5, "because");
	thrum_promise_unref(p);
}

static void run_cancel(struct thrum_loop *loop)
{
	struct thrum_resolver *r, *s;
	struct thrum_promise *p = TASK(r), *q = thrum_promise_wait(loop, NULL, &s);

	p = thrum_promise_pick(loop, LIST(p, q), 2);
	thrum_resolver_resolve(s, thrum_value_none());
	thrum_resolver_drop(r);
	thrum_promise_unref(p);
}

static void run_too_late(struct thrum_loop *loop)
{
	struct thrum_resolver *r;
	struct thrum_promise *p = TASK(r);

	thrum_promise_cancel(p);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_promise_unref(p);
}

static void run_async(struct thrum_loop *loop)
{
	struct thrum_resolver *r;

	thrum_promise_async(loop, "a", begin, NULL, NULL);
	thrum_promise_async(loop, "b", begin, TASK(r), NULL);
	thrum_resolver_resolve(r, thrum_value_none());
}

static void run_idle_callback(struct thrum_loop *loop)
{
	struct thrum_resolver *r;

	thrum_promise_on_failure(TASK(r), NULL, NULL, NULL);
	thrum_resolver_resolve(r, thrum_value_none());
}

static void run_ended(struct thrum_loop *loop)
{
	struct thrum_promise *p = thrum_promise_return(loop, thrum_value_int(1));

	p = thrum_promise_bind(p, none, NULL, NULL);
	p = thrum_promise_join(loop, LIST(p), 1);
	thrum_promise_unref(p);
}

/* Labels the result of a bind whose source has ended: the promise that the callback returned. */
static void label_given(struct thrum_loop *loop, const char *label, bool is_shared)
{
	struct thrum_promise *source = thrum_promise_return(loop, thrum_value_int(1)), *p, *q;
	struct thrum_resolver *r;

	p = thrum_promise_task(loop, label, &r);
	q = is_shared ? thrum_promise_ref(p) : NULL;
	p = thrum_promise_label(thrum_promise_bind(source, given, p, NULL), "mine");
	p = thrum_promise_labelf(p, "mine %d", 2);
	thrum_promise_unref(p);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_promise_unref(q);
}

static void run_label_named(struct thrum_loop *loop)
{
	label_given(loop, "its own", false);
}

static void run_label_shared(struct thrum_loop *loop)
{
	label_given(loop, NULL, true);
}

static void run_label_fresh(struct thrum_loop *loop)
{
	label_given(loop, NULL, false);
}

/* The last label of a promise is its name. */
static void run_label_waiting(struct thrum_loop *loop)
{
	struct thrum_resolver *r, *s;
	struct thrum_promise *p = TASK(r), *q = TASK(s);

	thrum_promise_unref(thrum_promise_label(q, "q"));
	p = thrum_promise_label(thrum_promise_bind(p, none, NULL, NULL), "first");
	thrum_promise_unref(thrum_promise_label(p, "second"));
	thrum_resolver_drop(s);
	thrum_resolver_resolve(r, thrum_value_none());
}

static struct thrum_value a_value(void)
{
	return thrum_value_static("a");
}

/* A value that waits for room is put in by its own task. */
static void run_mailbox(struct thrum_loop *loop)
{
	struct thrum_mvar *mvar = thrum_mvar_create(loop, "m");
	struct thrum_value value;

	thrum_promise_unref(thrum_mvar_take(mvar));
	thrum_promise_unref(thrum_mvar_put(mvar, a_value()));
	thrum_promise_unref(thrum_mvar_put(mvar, a_value()));
	thrum_promise_unref(thrum_mvar_put(mvar, a_value()));
	assert_true(thrum_mvar_try_take(mvar, &value));
	thrum_mvar_destroy(mvar);
}

static void run_stream(struct thrum_loop *loop)
{
	struct thrum_stream *stream = thrum_stream_create(loop, "s", 1);

	thrum_promise_unref(thrum_stream_push(stream, a_value()));
	thrum_promise_unref(thrum_stream_push(stream, a_value()));
	thrum_promise_unref(thrum_stream_next(stream));
	thrum_promise_unref(thrum_stream_next(stream));
	thrum_promise_unref(thrum_stream_next(stream));
	thrum_stream_close(stream);
	thrum_stream_destroy(stream);
}

/* A switch that is off waits for the children that don't end at once. */
static void run_switch(struct thrum_loop *loop)
{
	struct thrum_switch *scope = thrum_switch_create(loop, "w");
	struct thrum_resolver *r, *s;

	thrum_switch_add(scope, TASK(r));
	thrum_switch_add(scope, thrum_promise_wait(loop, NULL, &s));
	thrum_promise_unref(thrum_switch_off(scope));
	thrum_resolver_resolve(s, thrum_value_none());
	thrum_resolver_drop(r);
	thrum_switch_destroy(scope);
}

static void run_deadlock(struct thrum_loop *loop)
{
	struct thrum_resolver *r;
	struct thrum_promise *p = TASK(r);

	assert_int_equal(thrum_promise_run(p), -EDEADLK);
	thrum_resolver_resolve(r, thrum_value_none());
}

/* The promise of `with` holds the lock, not the task that runs meanwhile. */
static void run_with(struct thrum_loop *loop)
{
	struct thrum_mutex *mutex = thrum_mutex_create(loop, "m");
	struct thrum_resolver *r;
	struct thrum_promise *p = TASK(r);
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "t");

	THRUM_RUN (task)
		thrum_promise_unref(thrum_mutex_with(mutex, begin, p, NULL));
	thrum_task_resolve(task);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_mutex_destroy(mutex);
}

/* A promise that pauses is ready for the next turn. */
static void run_pause(struct thrum_loop *loop)
{
	assert_int_equal(thrum_promise_run(thrum_promise_pause(loop)), 0);
}

/* A loop that calls itself: the call, and the function that runs. */
static void run_call(struct thrum_loop *loop)
{
	struct thrum_inbox *inbox = thrum_inbox_create(loop, "i");
	struct thrum_resolver *r;
	struct thrum_promise *p;

	p = thrum_inbox_call(inbox, loop, "c", begin, TASK(r), NULL);
	uv_run(thrum_loop_uv(loop), UV_RUN_NOWAIT);
	thrum_resolver_resolve(r, thrum_value_none());
	assert_int_equal(thrum_promise_run(p), 0);
	thrum_inbox_close(inbox);
	thrum_inbox_unref(inbox);
}

/* Tasks that end one inside the other have nothing left to do when they go on. */
static void run_chain(struct thrum_loop *loop)
{
	struct thrum_resolver *r;
	struct thrum_promise *p = TASK(r);

	p = thrum_promise_bind(p, none, NULL, NULL);
	thrum_promise_on_success(thrum_promise_ref(p), on_value, NULL, NULL);
	p = thrum_promise_catch(p, NULL, NULL, NULL);
	p = thrum_promise_pick(loop, LIST(p), 1);
	p = thrum_promise_bind(p, none, NULL, NULL);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_log("after");
	thrum_promise_unref(p);
}

/* A callback goes on after it has ended another promise. */
static struct thrum_promise *end_and_log(struct thrum_loop *loop, void *value, void *data)
{
	thrum_resolver_resolve(data, thrum_value_none());
	thrum_log("goes on");
	return thrum_promise_return(loop, thrum_value_none());
}

static void run_nested(struct thrum_loop *loop)
{
	struct thrum_resolver *r, *s;
	struct thrum_promise *p = TASK(r), *q = TASK(s);

	p = thrum_promise_bind(thrum_promise_bind(p, none, NULL, NULL), end_and_log, s, NULL);
	q = thrum_promise_bind(thrum_promise_bind(q, none, NULL, NULL), none, NULL, NULL);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_promise_unref(p);
	thrum_promise_unref(q);
}

/* A task destroys its promise's value, after others have run inside of its last act. */
static void log_destroyed(void *data)
{
	thrum_log("destroyed");
}

static struct thrum_promise *own(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_return(loop, thrum_value_own(data, log_destroyed));
}

static void run_destroyed(struct thrum_loop *loop)
{
	struct thrum_resolver *r;
	struct thrum_promise *p = TASK(r), *q;

	p = thrum_promise_bind(p, own, loop, NULL);
	q = thrum_promise_bind(thrum_promise_bind(p, none, NULL, NULL), none, NULL, NULL);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_promise_unref(q);
}

static const struct {
	const char *name;
	void (*run)(struct thrum_loop *);
	const char *lines;
} stories[] = {
	{"bind", run_bind,
		"0 create 1 task; 1 label t; 0 create 2 bind; 2 wait 1; 2 label b; "
		"0 resolve 1; 2 switch; 2 read 1; 2 resolve 2; 0 switch"},
	{"become", run_become,
		"0 create 1 task; 0 create 2 task; 0 create 3 bind; 3 wait 1; 0 resolve 1; "
		"3 switch; 3 read 1; 3 become 2; 0 switch; 0 create 4 on_success; 4 wait 2; "
		"0 resolve 2; 4 switch; 4 read 2; 4 log here; 4 resolve 4; 0 switch"},
	{"fail", run_fail,
		"0 create 1 task; 0 create 2 bind; 2 wait 1; 0 fail 1 because; 2 switch; "
		"2 read 1; 2 fail 2 because; 0 switch"},
	{"cancel", run_cancel,
		"0 create 1 task; 0 create 2 wait; 0 create 3 pick; 3 wait 2; 3 wait 1; "
		"0 resolve 2; 3 switch; 3 read 2; 3 cancel 1; 3 resolve 3; 0 switch"},
	{"a promise that was cancelled is ready when it would be resolved", run_too_late,
		"0 create 1 task; 0 cancel 1; 0 ready 1"},
	{"async", run_async,
		"0 create 1 async; 1 label a; 1 switch; 1 fail 1 no luck; "
		"1 log unhandled failure: no luck; 0 switch; 0 create 2 task; 0 create 3 async; "
		"3 label b; 3 switch; 3 wait 2; 0 switch; 0 resolve 2; 3 switch; 3 read 2; "
		"3 resolve 3; 0 switch"},
	{"a callback with nothing to do ends", run_idle_callback,
		"0 create 1 task; 0 create 2 on_failure; 2 wait 1; 0 resolve 1; 2 switch; "
		"2 read 1; 2 resolve 2; 0 switch"},
	{"what has ended is no task", run_ended, ""},
	{"a promise keeps its name when a callback passes it on", run_label_named,
		"0 create 1 task; 1 label its own; 0 resolve 1"},
	{"a shared promise gets no name when a callback passes it on", run_label_shared,
		"0 create 1 task; 0 resolve 1"},
	{"a new promise without a name gets one", run_label_fresh,
		"0 create 1 task; 1 label mine; 1 label mine 2; 0 resolve 1"},
	{"a promise may be labelled twice", run_label_waiting,
		"0 create 1 task; 0 create 2 task; 2 label q; 0 create 3 bind; 3 wait 1; "
		"3 label first; 3 label second; 0 fail 2 broken pipe; 0 resolve 1; 3 switch; "
		"3 read 1; 3 resolve 3; 0 switch"},
	{"mailbox", run_mailbox,
		"0 create 1 mailbox; 1 label m; 0 create 2 wait; 2 wait 1; 0 signal 1; 2 read 1; "
		"0 resolve 2; 0 signal 1; 0 create 3 wait; 3 wait 1; 0 read 1; 3 switch; "
		"3 signal 1; 0 switch; 0 resolve 3; 0 resolve 1"},
	{"stream", run_stream,
		"0 create 1 stream; 1 label s; 0 signal 1; 0 create 2 wait; 2 wait 1; 0 read 1; "
		"2 switch; 2 signal 1; 0 switch; 0 resolve 2; 0 read 1; 0 create 3 wait; "
		"3 wait 1; 0 signal 1; 3 read 1; 0 resolve 3; 0 resolve 1"},
	{"switch", run_switch,
		"0 create 1 switch; 1 label w; 0 create 2 task; 0 create 3 wait; 0 create 4 wait; "
		"4 wait 1; 1 wait 3; 1 wait 2; 0 cancel 2; 0 resolve 3; 0 resolve 1; "
		"0 resolve 4"},
	{"deadlock", run_deadlock,
		"0 create 1 task; 1 should-resolve; 0 suspend deadlocked; 0 resume deadlocked; "
		"0 resolve 1"},
	{"with", run_with,
		"0 create 1 lock; 1 label m; 0 create 2 task; 0 create 3 task; 3 label t; "
		"3 switch; 3 create 4 wait; 3 create 5 try; 5 wait 4; 5 switch; 5 lock 1; 5 wait 4; "
		"3 switch; 4 become 2; 0 switch; 0 resolve 3; 0 resolve 2; 5 switch; 5 read 2; "
		"5 unlock 1; 5 resolve 5; 0 switch; 0 resolve 1"},
	{"chain", run_chain,
		"0 create 1 task; 0 create 2 bind; 2 wait 1; 0 create 3 on_success; 3 "
		"wait 2; 0 create 4 try; 4 wait 2; 0 create 5 pick; 5 wait 4; 0 create 6 "
		"bind; 6 wait 5; 0 resolve 1; 2 switch; 2 read 1; 2 resolve 2; 3 switch; "
		"3 read 2; 3 log here; 3 resolve 3; 4 switch; 4 read 2; 4 resolve 4; 5 "
		"switch; 5 read 4; 5 resolve 5; 6 switch; 6 read 5; 6 resolve 6; 0 "
		"switch; 0 log after"},
	{"nested", run_nested,
		"0 create 1 task; 0 create 2 task; 0 create 3 bind; 3 wait 1; 0 create 4 "
		"bind; 4 wait 3; 0 create 5 bind; 5 wait 2; 0 create 6 bind; 6 wait 5; 0 "
		"resolve 1; 3 switch; 3 read 1; 3 resolve 3; 4 switch; 4 read 3; 4 "
		"resolve 2; 5 switch; 5 read 2; 5 resolve 5; 6 switch; 6 read 5; 6 "
		"resolve 6; 4 switch; 4 log goes on; 4 resolve 4; 0 switch"},
	{"destroyed", run_destroyed,
		"0 create 1 task; 0 create 2 bind; 2 wait 1; 0 create 3 bind; 3 wait 2; 0 "
		"create 4 bind; 4 wait 3; 0 resolve 1; 2 switch; 2 read 1; 2 resolve 2; 3 "
		"switch; 3 read 2; 3 resolve 3; 4 switch; 4 read 3; 4 resolve 4; 2 "
		"switch; 2 log destroyed; 0 switch"},
	{"pause", run_pause, "0 create 1 wait; 1 label pause; 0 ready 1; 0 resolve 1"},
	{"call", run_call,
		"0 create 1 mailbox; 1 label i; 0 create 2 task; 0 create 3 promise; 3 label c; "
		"3 switch; 3 create 4 task; 4 label c; 4 wait 1; 3 wait 4; 3 link-send; "
		"3 ready 4; 0 switch; 0 signal 1; 4 switch; 4 link-receive; 4 read 1; "
		"4 become 2; 0 switch; 0 resolve 2; 0 link-send; 3 switch; 3 link-receive; "
		"3 read 4; 3 resolve 3; 0 switch; 0 resolve 1"},
};

struct telling {
	bool is_busy; /* waits for work are left out: libuv says when it polls */
	uint64_t ids[64];
	size_t count;
	char lines[4096];
};

static int number(struct telling *telling, uint64_t id)
{
	for (size_t i = 0; i < telling->count; i++)
		if (telling->ids[i] == id)
			return (int)i;
	assert_true(telling->count < 64);
	telling->ids[telling->count] = id;
	return (int)telling->count++;
}

static bool names_other(int type)
{
	switch (type) {
	case THRUM_EVENT_CREATE:
	case THRUM_EVENT_READ:
	case THRUM_EVENT_WAIT:
	case THRUM_EVENT_RESOLVE:
	case THRUM_EVENT_FAIL:
	case THRUM_EVENT_CANCEL:
	case THRUM_EVENT_LOCK:
	case THRUM_EVENT_UNLOCK:
	case THRUM_EVENT_READY:
	case THRUM_EVENT_SIGNAL:
	case THRUM_EVENT_BECOME: return true;
	default: return false;
	}
}

static void tell(struct telling *telling, const struct thrum_event *event)
{
	char line[200];
	bool lanes = event->type == THRUM_EVENT_SUSPEND || event->type == THRUM_EVENT_RESUME;
	int task = lanes ? 0 : number(telling, event->task), used;

	if (telling->is_busy && strcmp(event->text, "wait for work") == 0)
		return;
	used = snprintf(line, sizeof(line), "%s%d %s", *telling->lines ? "; " : "", task,
		thrum_event_name(event->type));
	if (names_other(event->type))
		used += snprintf(line + used, sizeof(line) - (size_t)used, " %d",
			number(telling, event->other));
	if (event->type == THRUM_EVENT_CREATE)
		snprintf(line + used, sizeof(line) - (size_t)used, " %s",
			thrum_kind_name(event->kind));
	else if (*event->text && event->type != THRUM_EVENT_LINK_SEND &&
		event->type != THRUM_EVENT_LINK_RECEIVE)
		snprintf(line + used, sizeof(line) - (size_t)used, " %s", event->text);
	strncat(telling->lines, line, sizeof(telling->lines) - strlen(telling->lines) - 1);
}

/* Reads the whole recording. Its first event must be about the lane's own task. */
static void read_all(const void *memory, struct telling *telling, bool each_has_a_site)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;

	assert_int_equal(thrum_trace_open_memory(memory, SIZE, &trace, NULL), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			const struct thrum_event *event = &events[i];
			const struct thrum_trace_site *site;

			if (event->type == THRUM_EVENT_CREATE && event->kind == THRUM_KIND_THREAD) {
				number(telling, event->other);
				continue;
			}
			/* The thread's name comes as its label. */
			if (telling->count == 0 ||
				(event->type == THRUM_EVENT_LABEL &&
					event->task == telling->ids[0]))
				continue;
			if (event->type == THRUM_EVENT_CREATE && each_has_a_site) {
				site = thrum_trace_site(trace, event->site);
				assert_non_null(site);
				assert_non_null(strstr(site->file, "trace.c"));
				assert_true(site->line > 0);
			}
			tell(telling, event);
		}
	thrum_trace_close(trace);
}

/* The recorder keeps the memory. */
static void *record(void)
{
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct thrum_config config = {.memory = memory, .size = SIZE};

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(thrum_start(&config), 0);
	return memory;
}

static void test_stories(void **state)
{
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		struct telling *telling = calloc(1, sizeof(*telling));
		struct world world;
		void *memory;

		assert_non_null(telling);
		telling->is_busy = true;
		world_init(&world);
		memory = record();
		stories[i].run(world.loop);
		thrum_stop();
		read_all(memory, telling, true);
		if (strcmp(telling->lines, stories[i].lines) != 0)
			fail_msg("%s:\n%s\nnot\n%s", stories[i].name, telling->lines,
				stories[i].lines);
		assert_int_equal(thrum_loop_promises(world.loop), 0);
		world_finish(&world);
		free(telling);
	}
}

/* Promises from before the recording, or from a part of the program without tracing, record
 * nothing. */
static void test_unknown(void **state)
{
	struct telling *telling = calloc(1, sizeof(*telling));
	struct thrum_resolver *r, *s;
	struct thrum_promise *p, *q;
	struct world world;
	void *memory;

	assert_non_null(telling);
	world_init(&world);
	p = thrum_promise_task(world.loop, NULL, &r);
	p = thrum_promise_bind(p, none, NULL, NULL);
	memory = record();
	q = thrum__promise_task(NULL, world.loop, NULL, &s);
	q = thrum__promise_bind(NULL, q, none, NULL, NULL);
	thrum_resolver_resolve(r, thrum_value_none());
	thrum_resolver_resolve(s, thrum_value_none());
	assert_int_equal(thrum_promise_state(p), THRUM_PROMISE_RESOLVED);
	assert_int_equal(thrum_promise_task_id(q), THRUM_TASK_NONE);
	thrum_stop();
	read_all(memory, telling, false);
	assert_string_equal(telling->lines, "");
	thrum_promise_unref(p);
	thrum_promise_unref(q);
	world_finish(&world);
	free(telling);
}

/* The loop records when it waits; callbacks that it runs then do not wait. */
static void expire(uv_timer_t *timer)
{
	thrum_resolver_resolve(timer->data, thrum_value_none());
	uv_close((uv_handle_t *)timer, NULL);
}

static void test_suspension(void **state)
{
	struct telling *telling = calloc(1, sizeof(*telling));
	struct thrum_promise *p;
	struct thrum_resolver *r;
	struct world world;
	uv_timer_t timer;
	void *memory;

	assert_non_null(telling);
	world_init(&world);
	memory = record();
	p = thrum_promise_wait(world.loop, NULL, &r);
	timer.data = r;
	uv_update_time(&world.uv);
	uv_timer_init(&world.uv, &timer);
	uv_timer_start(&timer, expire, 5, 0);
	uv_run(&world.uv, UV_RUN_DEFAULT);
	thrum_stop();
	read_all(memory, telling, true);
	/* libuv goes round once more for the handles that were closed. */
	assert_ptr_equal(telling->lines,
		strstr(telling->lines,
			"0 create 1 wait; 0 suspend wait for work; 0 resume wait for work; "
			"0 resolve 1"));
	thrum_promise_unref(p);
	world_finish(&world);
	free(telling);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_suspension),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
