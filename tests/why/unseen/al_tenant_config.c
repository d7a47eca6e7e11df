/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the token of tenant delta was revoked, but hasn't expired, so renew_token hands out the same one again:
 *     "sync delta" is refused, renews, backs off and asks again for ever (retry_sync), and the start of the service waits.
 *   culprit: sync delta|renew_token|retry_sync|renew delta
 *   victim: start service
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A service on GLib's main loop that fetches its tenants' configurations before it starts; promises over an embedded uv loop. */
#include <glib-unix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <uv.h>

/* ---- The uv loop as a source of GLib's loop ----------------------------------------------------- */

struct uv_source {
	GSource source;
	uv_loop_t *uv;
	gpointer tag;
};

static gboolean uv_source_prepare(GSource *base, gint *timeout)
{
	struct uv_source *source = (struct uv_source *)base;

	uv_update_time(source->uv);
	*timeout = uv_loop_alive(source->uv) ? uv_backend_timeout(source->uv) : -1;
	return *timeout == 0;
}

static gboolean uv_source_check(GSource *base)
{
	struct uv_source *source = (struct uv_source *)base;

	uv_update_time(source->uv);
	return g_source_query_unix_fd(base, source->tag) != 0 ||
		(uv_loop_alive(source->uv) && uv_backend_timeout(source->uv) == 0);
}

static gboolean uv_source_dispatch(GSource *base, GSourceFunc callback, gpointer data)
{
	(void)callback;
	(void)data;
	uv_run(((struct uv_source *)base)->uv, UV_RUN_NOWAIT);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs uv_source_functions = {uv_source_prepare, uv_source_check, uv_source_dispatch,
	NULL, NULL, NULL};

/* GLib's loop sleeps here: nothing runs on this thread meanwhile. */
static gint poll_suspended(GPollFD *descriptors, guint count, gint timeout)
{
	gint result;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	result = g_poll(descriptors, count, timeout);
	thrum_resume();
	return result;
}

/* ---- The configuration server ------------------------------------------------------------------ */

struct query {
	struct thrum_resolver *resolver;
	int status;
};

static gboolean on_reply(gpointer data)
{
	struct query *query = data;

	thrum_resolver_resolve(query->resolver, thrum_value_int(query->status));
	free(query);
	return G_SOURCE_REMOVE;
}

/* Sends a question; the promise is resolved with the status of the reply. */
static struct thrum_promise *send_query(struct thrum_loop *loop, const char *tenant, int status,
	unsigned ms)
{
	struct query *query = calloc(1, sizeof(*query));
	struct thrum_promise *reply = thrum_promise_wait(loop, NULL, &query->resolver);

	query->status = status;
	g_timeout_add(ms, on_reply, query);
	return thrum_promise_labelf(reply, "query config of %s", tenant);
}

/* ---- Tokens -------------------------------------------------------------------------------------- */

struct tenant {
	const char *name;
	int token, valid_token; /* the server takes valid_token */
	unsigned expires_ms;    /* after the start, as the client knows */
	unsigned tries;
};

static unsigned now_ms(void)
{
	static gint64 start;

	if (!start)
		start = g_get_monotonic_time();
	return (unsigned)((g_get_monotonic_time() - start) / 1000);
}

static struct thrum_value store_token(struct thrum_loop *loop, void *value, void *data)
{
	struct tenant *tenant = data;

	(void)loop;
	(void)value;
	tenant->token = tenant->valid_token;
	tenant->expires_ms = now_ms() + 60000;
	return thrum_value_none();
}

static struct thrum_promise *renew_token(struct thrum_loop *loop, struct tenant *tenant)
{
	if (tenant->expires_ms > now_ms()) /* still good */
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_labelf(thrum_promise_map(thrum_sleep(loop, 20), store_token, tenant,
					    NULL),
		"renew %s", tenant->name);
}

/* ---- Synchronizing ------------------------------------------------------------------------------- */

static struct thrum_promise *sync_tenant(struct thrum_loop *loop, struct tenant *tenant);

static struct thrum_promise *retry_sync(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return sync_tenant(loop, data);
}

static struct thrum_promise *back_off(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 30), retry_sync, data, NULL);
}

static struct thrum_promise *apply_config(struct thrum_loop *loop, void *value, void *data)
{
	struct tenant *tenant = data;

	switch (thrum_int(value)) {
	case 200:
		printf("%s: configured, %u tries\n", tenant->name, tenant->tries);
		return thrum_promise_return(loop, thrum_value_none());
	case 401: return thrum_promise_bind(renew_token(loop, tenant), back_off, tenant, NULL);
	default: return thrum_promise_fail(loop, 1, "status %d", (int)thrum_int(value));
	}
}

static struct thrum_promise *sync_tenant(struct thrum_loop *loop, struct tenant *tenant)
{
	int status = tenant->token == tenant->valid_token ? 200 : 401;

	tenant->tries++;
	return thrum_promise_bind(send_query(loop, tenant->name, status, 10), apply_config, tenant,
		NULL);
}

static struct thrum_promise *sync_first(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return sync_tenant(loop, data);
}

static void on_started(struct thrum_loop *loop, void *data)
{
	(void)loop;
	g_main_loop_quit(data);
}

#define TENANTS 5

int main(int argc, char **argv)
{
	static struct tenant tenants[TENANTS] = {
		{.name = "alpha", .token = 11, .valid_token = 11, .expires_ms = 60000},
		{.name = "bravo",
			.token = 20,
			.valid_token = 21,
			.expires_ms = 0}, /* expired: renewed */
		{.name = "charlie", .token = 31, .valid_token = 31, .expires_ms = 60000},
		{.name = "delta", .token = 41, .valid_token = 41, .expires_ms = 60000},
		{.name = "echo", .token = 50, .valid_token = 51, .expires_ms = 0},
	};
	struct thrum_promise *syncs[TENANTS], *started;
	GMainLoop *main_loop = g_main_loop_new(NULL, FALSE);
	struct thrum_loop *loop;
	GSource *source;
	uv_loop_t uv;
	bool ok;

	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 2;
	if (argc > 1 && !strcmp(argv[1], "broken"))
		tenants[3].valid_token = 42; /* delta's was revoked */
	source = g_source_new(&uv_source_functions, sizeof(struct uv_source));
	((struct uv_source *)source)->uv = &uv;
	((struct uv_source *)source)->tag = g_source_add_unix_fd(source, uv_backend_fd(&uv),
		G_IO_IN);
	g_source_attach(source, NULL);
	g_main_context_set_poll_func(NULL, poll_suspended);
	now_ms();
	for (int i = 0; i < TENANTS; i++) {
		syncs[i] = thrum_promise_bind(thrum_sleep(loop, 5 * (unsigned)i), sync_first,
			&tenants[i], NULL);
		syncs[i] = thrum_promise_labelf(syncs[i], "sync %s", tenants[i].name);
	}
	started = thrum_promise_label(thrum_promise_join(loop, syncs, TENANTS), "start service");
	thrum_promise_should_resolve(started);
	thrum_promise_on_termination(thrum_promise_ref(started), on_started, main_loop, NULL);
	g_main_loop_run(main_loop);
	ok = thrum_promise_state(started) == THRUM_PROMISE_RESOLVED;
	thrum_stop();
	thrum_promise_unref(started);
	g_source_destroy(source);
	g_source_unref(source);
	g_main_loop_unref(main_loop);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) || !ok ? 1 : 0;
}
