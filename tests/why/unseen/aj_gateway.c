/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Four requests share one login at the token server. It is refused, and on_refused() fails only the first
 *     waiter, the one that began the login. The promises “token for stock”, “… prices” and “… users”, made by
 *     get_token(), stay in the list, and nobody ever ends them.
 *   culprit: token for (stock|prices|users)|on_refused|get_token
 *   victim: GET /(stock|prices|users)|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A gateway that needs a token from a token server before it may ask its backends. Requests that come while a login is
 * under way share it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <thrum/promise.h>

#define REQUESTS 4

struct waiter {
	struct waiter *next;
	struct thrum_resolver *resolver;
};

struct gateway {
	struct thrum_loop *loop;
	struct thrum_listener *tokens; /* of the token server */
	struct thrum_connection *login;
	const char *secret;
	char token[32];
	struct waiter *waiters, **waiters_end;
	unsigned served, refused;
};

struct request {
	struct gateway *gateway;
	const char *name;
};

/* ---- The token server ------------------------------------------------------------------------ */

struct client {
	struct thrum_connection *connection;
	char answer[32];
};

static void client_free(void *data)
{
	struct client *client = data;

	thrum_promise_unref(thrum_connection_close(client->connection));
	free(client);
}

static struct thrum_promise *do_nothing(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *answer_login(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)loop, (void)value;
	return thrum_connection_write(client->connection, thrum_value_static(client->answer),
		strlen(client->answer));
}

static struct thrum_promise *check_secret(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	struct client *client = data;
	bool good = bytes && bytes->size >= 6 && memcmp(bytes->data, "sesame", 6) == 0;

	strcpy(client->answer, good ? "token 7f3a\n" : "refused\n");
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 60), "check the secret"),
		answer_login, client, NULL);
}

static struct thrum_promise *serve_login(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = calloc(1, sizeof *client);
	struct thrum_value taken;
	struct thrum_promise *done;

	(void)value, (void)data;
	if (!client || !thrum_loop_take(loop, &taken))
		abort();
	client->connection = taken.data;
	done = thrum_promise_bind(thrum_connection_read(client->connection), check_secret, client,
		NULL);
	return thrum_promise_finalize(done, do_nothing, client, client_free);
}

static struct thrum_promise *run_token_server(struct thrum_loop *loop, void *data)
{
	struct gateway *gateway = data;

	(void)loop;
	return thrum_promise_bind(thrum_listener_accept(gateway->tokens), serve_login, NULL, NULL);
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

static void on_token(struct thrum_loop *loop, void *value, void *data)
{
	struct gateway *gateway = data;
	struct waiter *waiter;

	(void)loop, (void)value;
	while ((waiter = gateway->waiters)) {
		gateway->waiters = waiter->next;
		thrum_resolver_resolve(waiter->resolver, thrum_value_static(gateway->token));
		free(waiter);
	}
	gateway->waiters_end = &gateway->waiters;
}

static void on_refused(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	struct gateway *gateway = data;
	struct waiter *waiter = gateway->waiters;

	(void)loop;
	gateway->waiters = waiter->next;
	if (!gateway->waiters)
		gateway->waiters_end = &gateway->waiters;
	thrum_resolver_fail_again(waiter->resolver, failure);
	free(waiter);
}

static struct thrum_promise *parse_token(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	struct gateway *gateway = data;

	if (!bytes || bytes->size < 6 || memcmp(bytes->data, "token ", 6) != 0)
		return thrum_promise_fail(loop, -EACCES, "the token server refused the login");
	snprintf(gateway->token, sizeof gateway->token, "%.*s", (int)bytes->size - 7,
		bytes->data + 6);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *read_token(struct thrum_loop *loop, void *value, void *data)
{
	struct gateway *gateway = data;

	(void)loop, (void)value;
	return thrum_promise_bind(thrum_connection_read(gateway->login), parse_token, gateway,
		NULL);
}

static struct thrum_promise *send_secret(struct thrum_loop *loop, void *value, void *data)
{
	struct gateway *gateway = data;
	struct thrum_value taken;

	(void)value;
	if (!thrum_loop_take(loop, &taken))
		abort();
	gateway->login = taken.data;
	return thrum_promise_bind(thrum_connection_write(gateway->login,
					  thrum_value_static(gateway->secret),
					  strlen(gateway->secret)),
		read_token, gateway, NULL);
}

static void log_in(struct gateway *gateway)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)thrum_listener_port(gateway->tokens)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_promise *promise;

	promise = thrum_promise_bind(thrum_tcp_connect(gateway->loop, (struct sockaddr *)&address),
		send_secret, gateway, NULL);
	thrum_promise_on_any(thrum_promise_label(promise, "log in"), on_token, on_refused, gateway,
		NULL);
}

/* Returns a promise for the token. */
static struct thrum_promise *get_token(struct gateway *gateway, const char *name)
{
	struct waiter *waiter;
	struct thrum_promise *promise;
	bool first = !gateway->waiters;

	if (gateway->token[0])
		return thrum_promise_return(gateway->loop, thrum_value_static(gateway->token));
	waiter = calloc(1, sizeof *waiter);
	if (!waiter)
		return thrum_promise_fail(gateway->loop, -ENOMEM, NULL);
	promise = thrum_promise_wait(gateway->loop, NULL, &waiter->resolver);
	thrum_promise_labelf(promise, "token for %s", name);
	*gateway->waiters_end = waiter;
	gateway->waiters_end = &waiter->next;
	if (first)
		log_in(gateway);
	return promise;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static struct thrum_value count_served(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)loop, (void)value;
	request->gateway->served++;
	return thrum_value_none();
}

static struct thrum_promise *ask_backend(struct thrum_loop *loop, void *token, void *data)
{
	(void)token;
	return thrum_promise_map(thrum_promise_label(thrum_sleep(loop, 20), "backend"),
		count_served, data, NULL);
}

static struct thrum_promise *reply_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct request *request = data;

	request->gateway->refused++;
	fprintf(stderr, "GET /%s: 401 %s\n", request->name, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve_request(struct request *request)
{
	struct thrum_promise *promise;

	promise = thrum_promise_try_bind(get_token(request->gateway, request->name), ask_backend,
		reply_refused, request, NULL);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(promise, "GET /%s", request->name));
}

int main(int argc, char **argv)
{
	static const char *const names[REQUESTS] = {"orders", "stock", "prices", "users"};
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct gateway gateway = {
		.secret = argc > 1 && !strcmp(argv[1], "broken") ? "swordfish" : "sesame"};
	struct request requests[REQUESTS];
	struct thrum_promise *promises[REQUESTS];
	uv_loop_t uv;
	int result;

	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &gateway.loop) ||
		thrum_tcp_listen(gateway.loop, (struct sockaddr *)&any, 8, &gateway.tokens))
		return 2;
	gateway.waiters_end = &gateway.waiters;
	thrum_promise_async(gateway.loop, "token server", run_token_server, &gateway, NULL);
	for (int i = 0; i < REQUESTS; i++) {
		requests[i] = (struct request){&gateway, names[i]};
		promises[i] = serve_request(&requests[i]);
	}
	result = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(gateway.loop, promises, REQUESTS), "main")));
	thrum_stop();
	printf("%u served, %u refused\n", gateway.served, gateway.refused);
	if (gateway.login)
		thrum_promise_unref(thrum_connection_close(gateway.login));
	thrum_promise_unref(thrum_listener_close(gateway.tokens));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(gateway.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result || gateway.served < REQUESTS;
}
