/* SPDX-License-Identifier: ISC */
/* Threads: each is a task of its creator, which runs on the lane of the new thread. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "adapt/look/look.h"
#include "port/port.h"

REAL(pthread_create)
REAL(pthread_join)
REAL(pthread_timedjoin_np)
REAL(pthread_clockjoin_np)
REAL(pthread_setname_np)
REAL(pthread_once)
REAL(call_once)
REAL(thrd_create)
REAL(thrd_join)
REAL(nanosleep)

/* ---- Beginning and end --------------------------------------------------------------------- */

/*
 * A new thread's function. The thread or its creator notes its task under its handle, whichever comes first:
 * the thread may be joined before it runs, or be named as soon as it was created. The other one waits
 * for that, and frees this.
 */
enum start_state {
	START_NEW,
	START_NOTING,
	START_NOTED
};
struct start {
	union {
		void *(*pthread)(void *);
		int (*c11)(void *);
	} routine;
	void *argument;
	thrum_task task;
	int64_t calm_since; /* when the creator heard something last, by rough_time */
	bool is_pools;      /* of libuv, which waits for work in it */
	char label[PLACE_MAX];
	_Atomic int state; /* an enum start_state */
	_Atomic bool is_taken;
};

/* A thread that frees memory gets a heap of its own from the C library, of 64 MB, which it may never need. So
 * most starts are taken from here. */
#define STARTS 64
static struct start starts[STARTS];

static struct start *take_start(void)
{
	bool is_taken;

	for (int i = 0; i < STARTS; i++) {
		is_taken = false;
		if (atomic_compare_exchange_strong(&starts[i].is_taken, &is_taken, true))
			return &starts[i];
	}
	return malloc(sizeof *starts);
}

static void give_start(struct start *start)
{
	if (start >= starts && start < starts + STARTS)
		atomic_store(&start->is_taken, false);
	else
		free(start);
}

static void end_thread(void *task)
{
	if (thrum__adapt_self)
		thrum__adapt_spin_end(&thrum__adapt_self->spin);
	if (!thrum__adapt_is_beside) {
		thrum_task_resolve(*(thrum_task *)task);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	thrum__adapt_thread_end();
}

/* A thread that is cancelled before it has begun ends in its own function, not here. */
static void wait_a_little(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	real_nanosleep(NULL)(&(struct timespec){.tv_nsec = 20000}, NULL);
	pthread_setcancelstate(before, NULL);
}

/* Returns false if the other one has noted the task. The memory for the handle is surely the creator's only
 * until the thread runs: so it isn't read then. */
static bool note_first(struct start *start, const pthread_t *handle, thrum_task task)
{
	int state = START_NEW;

	if (!atomic_compare_exchange_strong(&start->state, &state, START_NOTING)) {
		while (atomic_load(&start->state) == START_NOTING)
			wait_a_little();
		give_start(start);
		return false;
	}
	thrum__adapt_object_note(KEY_OF_HANDLE(*handle), task);
	/* The other one may free it from now on. */
	atomic_store(&start->state, START_NOTED);
	return true;
}

static struct start begin_thread(void *argument)
{
	struct start *given = argument;
	struct start start = {.routine = given->routine,
		.argument = given->argument,
		.task = given->task,
		.calm_since = given->calm_since,
		.is_pools = given->is_pools};
	pthread_t handle = pthread_self();

	/* The program knows the thread by the recorder's task for it. */
	if (thrum__adapt_is_beside) {
		start.task = thrum__own();
		thrum_lane_name(given->label);
		thrum_task_become(given->task, start.task);
	} else {
		thrum_task_switch(start.task);
	}
	if (!note_first(given, &handle, start.task) && thrum__adapt_is_beside)
		thrum__adapt_object_note(KEY_OF_HANDLE(handle), start.task);
	struct thread *self = thrum__adapt_thread_begin(start.task);

	if (self) {
		if (!thrum__adapt_is_beside && start.task && is_on(ADAPTER_PTHREAD))
			atomic_store(&self->own, thrum__own());
		self->tells = start.is_pools && thrum__adapt_is_beside;
		atomic_store(&self->is_idle, start.is_pools);
		atomic_store(&self->calm_since, start.calm_since);
	}
	return start;
}

static void *run_pthread(void *argument)
{
	struct start start = begin_thread(argument);
	void *result;

	/* Also if the thread is cancelled or calls pthread_exit. */
	pthread_cleanup_push(end_thread, &start.task);
	result = start.routine.pthread(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

static int run_c11(void *argument)
{
	struct start start = begin_thread(argument);
	int result;

	pthread_cleanup_push(end_thread, &start.task);
	result = start.routine.c11(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

/* Whether a class is std::thread's for a pointer to a function, or to a member function, that is called
 * in the new thread with arguments which are no such pointers. Its name is mangled. */
static bool runs_pointer(const char *class)
{
	static const char prefix[] = "NSt6thread11_State_implINS_8_InvokerISt5tupleIJ";
	size_t length = sizeof prefix - 1;

	class += class[0] == '*'; /* a class of one file */
	if (strncmp(class, prefix, length) != 0)
		return false;
	class += length;
	return (class[0] == 'M' || strncmp(class, "PF", 2) == 0) && !strstr(class + 1, "PF");
}

/* The function among the words of an object of std::thread, whose last member it is. It follows its
 * arguments, of which there are few. */
static const void *find_pointer(const uintptr_t *words)
{
	/* Not on another page: that may not be there. */
	for (int i = 1; i < 8 && (uintptr_t)&words[i] % 4096 != 0; i++)
		if (thrum__port_is_code((const void *)words[i]))
			return (const void *)words[i];
	return NULL;
}

/* The address that tells most of what a thread does: of its function. All threads of std::thread have
 * one function; there it is the function that their object calls, or its virtual table, behind which
 * lies the class's name. */
static const void *address_of_work(const void *routine, const void *argument)
{
	struct thrum__port_module module;

	if (!argument || !thrum__port_find_module(routine, &module) ||
		!strstr(module.path, "/libstdc++.so"))
		return routine;
	const uintptr_t *table = *(const uintptr_t *const *)argument;
	const struct {
		const void *table;
		const char *name;
	} *class = (const void *)table[-1];
	const void *function = NULL;

	if (class && runs_pointer(class->name))
		function = find_pointer(argument);
	return function ? function : table;
}

/* Whether a function is libuv's own: the promises tell of the work in its pool. */
static bool is_libuvs(const void *routine)
{
	struct thrum__port_module module;

	return thrum__port_find_module(routine, &module) && strstr(module.path, "/libuv.so");
}

/* Creates the task of a thread. Returns NULL if nothing is recorded. */
static struct start *make_start(const void *routine, void *argument, const void *caller)
{
	if (is_chosen(ADAPTER_PTHREAD))
		thrum__adapt_start();
	struct start *start = is_on(ADAPTER_PTHREAD) ? take_start() : NULL;

	if (!start)
		return NULL;
	start->calm_since = thrum__adapt_calm_since(thrum__adapt_thread());
	thrum__adapt_label(start->label, "thread", address_of_work(routine, argument));
	start->is_pools = is_libuvs(routine);
	start->argument = argument;
	atomic_init(&start->state, START_NEW);
	start->task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_THREAD, start->label);
	return start;
}

/* The thread was created, or not. */
static void end_start(struct start *start, bool is_created, const pthread_t *thread)
{
	if (is_created) {
		note_first(start, thread, start->task);
		return;
	}
	thrum_task_cancel(start->task);
	give_start(start);
}

STAND_IN int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
	void *(*routine)(void *), void *restrict argument)
{
	struct start *start = make_start((const void *)(uintptr_t)routine, argument, CALLER);
	int result;

	if (!start)
		return real_pthread_create(CALLER)(thread, attributes, routine, argument);
	start->routine.pthread = routine;
	result = real_pthread_create(CALLER)(thread, attributes, run_pthread, start);
	end_start(start, result == 0, thread);
	return result;
}

STAND_IN int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct start *start = make_start((const void *)(uintptr_t)routine, argument, CALLER);
	int result;

	if (!start)
		return real_thrd_create(CALLER)(thread, routine, argument);
	start->routine.c11 = routine;
	result = real_thrd_create(CALLER)(thread, run_c11, start);
	end_start(start, result == thrd_success, thread);
	return result;
}

/* Names a thread, and the lane on which it runs. */
static void label_thread(thrum_task task, const char *name)
{
	thrum_task_label(task, name);
	for (struct thread *t = thrum__adapt_threads(); t && task; t = t->next)
		if (atomic_load(&t->task) == task && atomic_load(&t->tid) != 0 &&
			atomic_load(&t->own) != 0) {
			thrum_task_label(atomic_load(&t->own), name);
			return;
		}
}

STAND_IN int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = real_pthread_setname_np(CALLER)(thread, name);

	if (result != 0 || !is_on(ADAPTER_PTHREAD))
		return result;
	struct object *object = thrum__adapt_object(KEY_OF_HANDLE(thread));

	if (object)
		label_thread(atomic_load(&object->task), name);
	if (pthread_equal(thread, pthread_self()))
		thrum_lane_name(name);
	return result;
}

/* ---- Joining ------------------------------------------------------------------------------- */

static void begin_join(struct wait *wait, pthread_t thread, const void *caller, bool is_timed)
{
	struct object *object = is_on(ADAPTER_PTHREAD) ? thrum__adapt_object(KEY_OF_HANDLE(thread))
						       : NULL;

	/* A loop's own task may rest when the program ends. */
	if (object && !thrum__adapt_is_beside)
		thrum_task_should_resolve(atomic_load(&object->task));
	thrum__adapt_wait_begin(wait, object, NULL, caller, is_timed);
}

#define JOIN(name, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		struct wait wait __attribute__((cleanup(thrum__adapt_wait_end))); \
\
		begin_join(&wait, thread, thrum__adapt_spawns_at(CHAIN), IS_TIMED(name)); \
		return real_##name(CALLER) arguments; \
	}
JOIN(pthread_join, (pthread_t thread, void **result), (thread, result))
JOIN(pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *until),
	(thread, result, until))
JOIN(pthread_clockjoin_np,
	(pthread_t thread, void **result, clockid_t clock, const struct timespec *until),
	(thread, result, clock, until))
JOIN(thrd_join, (thrd_t thread, int *result), (thread, result))

/* ---- Once ---------------------------------------------------------------------------------- */

/* The routine that this thread runs once, for run_once. */
static __thread struct once {
	void (*routine)(void);
	const void *control, *caller;
} once __attribute__((tls_model("initial-exec")));

/* The thread that runs the routine holds a lock. */
static void end_once(const struct once *ended)
{
	drop_lock(ended->control, "once");
}

static void run_once(void)
{
	/* Also if the routine throws an exception. */
	struct once now __attribute__((cleanup(end_once))) = once;

	take_lock(now.control, now.caller);
	now.routine();
}

/* glibc's values of pthread_once_t. */
enum {
	ONCE_RUNNING = 1,
	ONCE_DONE = 2
};

typedef int once_function(void *control, void (*routine)(void));

static int pthread_once_really(void *control, void (*routine)(void))
{
	return real_pthread_once(NULL)(control, routine);
}

static int call_once_really(void *control, void (*routine)(void))
{
	real_call_once(NULL)(control, routine);
	return 0;
}

static int do_once(once_function *really, void *control, void (*routine)(void), const void *caller)
{
	int state = __atomic_load_n((int *)control, __ATOMIC_ACQUIRE);
	struct once before = once;
	struct wait wait;

	if (LIKELY(state & ONCE_DONE) || !is_on(ADAPTER_PTHREAD))
		return really(control, routine);
	if (state & ONCE_RUNNING)
		thrum__adapt_wait_lock(&wait, control, NULL, "once", caller, false);
	once = (struct once){routine, control, caller};
	int result = really(control, run_once);

	once = before;
	if (state & ONCE_RUNNING)
		thrum__adapt_wait_lock_end(&wait, false);
	return result;
}

STAND_IN int pthread_once(pthread_once_t *control, void (*routine)(void))
{
	return do_once(pthread_once_really, control, routine, CALLER);
}

STAND_IN void call_once(once_flag *control, void (*routine)(void))
{
	do_once(call_once_really, control, routine, CALLER);
}
