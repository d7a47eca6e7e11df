/* SPDX-License-Identifier: ISC */
/* Signals. */
#include "promise/uv_glue.h"
#include <signal.h>

struct listening {
	struct thrum__held held;
	uv_signal_t signal;
};

static void stop(struct thrum__held *held)
{
	thrum__uv_close((uv_handle_t *)&((struct listening *)held)->signal);
}

static void canceled(struct thrum_resolver *resolver, void *data)
{
	struct listening *listening = data;

	listening->held.resolver = NULL;
	stop(&listening->held);
	thrum_resolver_drop(resolver);
}

static void came(uv_signal_t *signal, int number)
{
	struct listening *listening = signal->data;

	stop(&listening->held);
	thrum__uv_resolve(&listening->held.resolver, thrum_value_int(number));
}

static const char *name_of(int number, char *buffer, size_t size)
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
	default: return thrum__uv_label(buffer, size, "signal %d", number);
	}
}

struct thrum_promise *thrum__signal_wait(struct thrum_site *site, struct thrum_loop *loop,
	int number)
{
	struct listening *listening = loop ? thrum__hold(loop, sizeof(*listening), stop) : NULL;
	struct thrum_promise *promise;
	char label[24];
	bool began;
	int code;

	if (!listening)
		return thrum__promise_no_memory(loop);
	promise = thrum__uv_begin(&listening->held, site, THRUM_KIND_REQUEST,
		name_of(number, label, sizeof(label)), canceled, &began);
	if (!began)
		return promise;
	code = uv_signal_init(thrum_loop_uv(loop), &listening->signal);
	if (code != 0)
		return thrum__uv_refused(&listening->held, promise, code);
	listening->signal.data = listening;
	code = uv_signal_start_oneshot(&listening->signal, came, number);
	if (code != 0) {
		stop(&listening->held);
		thrum__uv_fail(&listening->held.resolver, site, code);
	}
	return promise;
}
