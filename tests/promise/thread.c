/* SPDX-License-Identifier: ISC */
/* Calls from the wrong thread abort in a build that checks itself. */
#include "world.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	struct world world;
	struct thrum_promise *promise, *ended;
	struct thrum_resolver *resolver;
};

static struct thrum_promise *never(struct thrum_loop *loop, void *value, void *data)
{
	return NULL;
}

static void *use_ref(void *data)
{
	return thrum_promise_ref(((struct fixture *)data)->promise);
}

static void *use_unref(void *data)
{
	thrum_promise_unref(((struct fixture *)data)->ended);
	return NULL;
}

static void *use_state(void *data)
{
	return thrum_promise_state(((struct fixture *)data)->ended) ? data : NULL;
}

static void *use_bind(void *data)
{
	return thrum_promise_bind(((struct fixture *)data)->promise, never, NULL, NULL);
}

static void *use_cancel(void *data)
{
	thrum_promise_cancel(((struct fixture *)data)->promise);
	return NULL;
}

static void *use_resolve(void *data)
{
	thrum_resolver_resolve(((struct fixture *)data)->resolver, thrum_value_none());
	return NULL;
}

static void *use_task(void *data)
{
	struct thrum_resolver *resolver;

	return thrum_promise_task(((struct fixture *)data)->world.loop, NULL, &resolver);
}

/* Returns the same promise each time; nothing is allocated. */
static void *use_return(void *data)
{
	return thrum_promise_return(((struct fixture *)data)->world.loop, thrum_value_none());
}

static void *use_sleep(void *data)
{
	return thrum_sleep(((struct fixture *)data)->world.loop, 1);
}

static void *use_mutex(void *data)
{
	return thrum_mutex_create(((struct fixture *)data)->world.loop, NULL);
}

static void *(*const uses[])(void *) = {use_ref, use_unref, use_state, use_bind, use_cancel,
	use_resolve, use_task, use_return, use_sleep, use_mutex};

/* Runs in a process of its own. Returns the way it ended. */
static int use_from(bool other, void *(*use)(void *), struct fixture *fixture)
{
	pthread_t thread;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		if (!other)
			use(fixture);
		else if (pthread_create(&thread, NULL, use, fixture) == 0)
			pthread_join(thread, NULL);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void test_wrong_thread(void **state)
{
	struct fixture f;
	size_t i;

#if !defined(THRUM_DEBUG) || THRUM_DEBUG < 1
	puts("skipped: this build doesn't check threads (-Dthrum_debug=1 does)");
	skip();
#endif
	world_init(&f.world);
	f.promise = thrum_promise_task(f.world.loop, NULL, &f.resolver);
	f.ended = thrum_promise_return(f.world.loop, thrum_value_int(1));
	for (i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		int status = use_from(true, uses[i], &f);

		assert_int_equal(use_from(false, uses[i], &f), 0);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
			fail_msg("use %zu from another thread: status %d", i, status);
	}
	thrum_resolver_drop(f.resolver);
	thrum_promise_unref(f.promise);
	thrum_promise_unref(f.ended);
	world_finish(&f.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
