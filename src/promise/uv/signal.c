/* SPDX-License-Identifier: ISC */
/* Signals. */
#include "promise/uv/glue.h"
#include <signal.h>

struct signal_wait {
	struct thrum__promise_held held;
	uv_signal_t signal;
};

static void stop_signal(struct thrum__promise_held *held)
{
	thrum__promise_uv_close((uv_handle_t *)&((struct signal_wait *)held)->signal);
}

static void signal_canceled(struct thrum_resolver *resolver, void *data)
{
	struct signal_wait *wait = data;

	wait->held.resolver = NULL;
	stop_signal(&wait->held);
	thrum_resolver_drop(resolver);
}

static void signal_came(uv_signal_t *signal, int number)
{
	struct signal_wait *wait = signal->data;

	stop_signal(&wait->held);
	thrum__promise_uv_resolve(&wait->held.resolver, thrum_value_int(number));
}

static const char *signal_label(int number, char *buffer, size_t size)
{
	switch (number) {
	case SIGHUP: return "signal HUP";
	case SIGINT: return "signal INT";
	case SIGQUIT: return "signal QUIT";
	case SIGTERM: return "signal TERM";
	case SIGUSR1: return "signal USR1";
	case SIGUSR2: return "signal USR2";
	case SIGCHLD: return "signal CHLD";
	case SIGWINCH: return "signal WINCH";
	default: return thrum__promise_uv_label(buffer, size, "signal %d", number);
	}
}

struct thrum_promise *thrum__signal_wait(struct thrum_site *site, struct thrum_loop *loop,
	int number)
{
	struct signal_wait *wait = loop ? thrum__promise_hold(loop, sizeof(*wait), stop_signal)
					: NULL;
	struct thrum_promise *promise;
	char label[24];
	bool began;
	int code;

	if (!wait)
		return thrum__promise_no_memory(loop);
	promise = thrum__promise_uv_begin(&wait->held, site, THRUM_KIND_REQUEST,
		signal_label(number, label, sizeof(label)), signal_canceled, &began);
	if (!began)
		return promise;
	code = uv_signal_init(thrum_loop_uv(loop), &wait->signal);
	if (code != 0)
		return thrum__promise_uv_refused(&wait->held, promise, code);
	wait->signal.data = wait;
	code = uv_signal_start_oneshot(&wait->signal, signal_came, number);
	if (code != 0) {
		stop_signal(&wait->held);
		thrum__promise_uv_fail(&wait->held.resolver, site, code);
	}
	return promise;
}
