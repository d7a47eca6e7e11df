/* SPDX-License-Identifier: ISC */
/*
 * Two views wait for the same picture. One is closed and cancels the picture, for which the other
 * still waits. In the twin each view has a protected promise of the picture.
 */
#include "promises.h"

static struct thrum_promise *draw(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *view(struct thrum_promise *picture, const char *label)
{
	struct thrum_promise *mine = thrum_promise_ref(picture);

	if (!broken)
		mine = thrum_promise_protected(mine);
	return thrum_promise_label(thrum_promise_bind(mine, draw, NULL, NULL), name(label));
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_resolver *resolver;
	struct thrum_promise *picture, *list, *detail;
	thrum_task closing;

	at(5);
	picture = thrum_promise_task(loop, name("load picture"), &resolver);
	list = view(picture, "list view");
	detail = thrum_promise_should_resolve(view(picture, "detail view"));
	at(20);
	closing = TASK(TASK, "close list");
	THRUM_RUN (closing) {
		thrum_promise_cancel(list);
		thrum_task_resolve(closing);
	}
	at(40);
	thrum_resolver_resolve(resolver, thrum_value_none());
	beat_until(1000);
	thrum_promise_unref(list);
	thrum_promise_unref(detail);
	thrum_promise_unref(picture);
	end_loop(loop);
}
