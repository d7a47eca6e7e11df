/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The lookup "geocode 3" takes the only API token and fails. It should have put the token back
 *     also after a failure; all later lookups wait for it.
 *   culprit: geocode 3
 *   victim: geocode [4-7]|import addresses|api token
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/*
 * Imports addresses: asks a geocoding service for each. The service allows one call at a time, so a
 * token in a mailbox is taken before a call and put back after it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ADDRESSES 8

struct lookup {
	struct thrum_loop *loop;
	int number;
	const char *address;
};

static const char *const addresses[ADDRESSES] = {
	"Torstr. 12",
	"Hauptstr. 4",
	"Am Markt 1",
	"",
	"Kirchgasse 9",
	"Seeweg 31",
	"Ring 2",
	"Allee 77",
};
static struct thrum_mvar *token;
static bool broken;
static int found, rejected;

/* The service's answer. It refuses an empty address. */
static struct thrum_promise *on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct lookup *lookup = data;

	(void)value;
	if (!*lookup->address)
		return thrum_promise_fail(loop, -EINVAL, "400 Bad Request");
	found++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *call_service(struct lookup *lookup)
{
	struct thrum_promise *reply;

	reply = thrum_promise_label(thrum_sleep(lookup->loop, 6 + lookup->number % 3),
		"POST /geocode");
	return thrum_promise_bind(reply, on_answer, lookup, NULL);
}

static struct thrum_promise *put_token_back(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	return thrum_mvar_put(token, thrum_value_static("token"));
}

static struct thrum_promise *then_put_token_back(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return put_token_back(loop, data);
}

static struct thrum_promise *with_token(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	/* The bug: bind isn't called after a failure. */
	if (broken)
		return thrum_promise_bind(call_service(data), then_put_token_back, NULL, NULL);
	return thrum_promise_finalize(call_service(data), put_token_back, NULL, NULL);
}

/* A wrong address is no reason to stop the import. */
static struct thrum_promise *count_rejected(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	if (failure->code != -EINVAL)
		return thrum_promise_fail_again(loop, failure);
	rejected++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *geocode(struct lookup *lookup)
{
	struct thrum_promise *done;

	done = thrum_promise_bind(thrum_mvar_take(token), with_token, lookup, NULL);
	thrum_promise_labelf(done, "geocode %d", lookup->number);
	return thrum_promise_catch(done, count_rejected, NULL, NULL);
}

/* Prints progress for the operator as long as the program runs. */
static struct thrum_promise *progress(struct thrum_loop *loop, void *value, void *data)
{
	int *shown = data;

	(void)value;
	*shown = found + rejected;
	return thrum_promise_bind(thrum_sleep(loop, 20), progress, data, NULL);
}

static struct thrum_promise *begin_progress(struct thrum_loop *loop, void *data)
{
	return progress(loop, NULL, data);
}

int main(int argc, char **argv)
{
	static struct lookup lookups[ADDRESSES];
	static int shown;
	struct thrum_promise *all[ADDRESSES], *import;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	token = thrum_mvar_create(loop, "api token");
	if (!token || !thrum_mvar_try_put(token, thrum_value_static("token")))
		return 1;
	thrum_promise_async(loop, "progress", begin_progress, &shown, NULL);
	for (int i = 0; i < ADDRESSES; i++) {
		lookups[i] = (struct lookup){loop, i, addresses[i]};
		all[i] = geocode(&lookups[i]);
	}
	import = thrum_promise_join(loop, all, ADDRESSES);
	thrum_promise_label(import, "import addresses");
	error = thrum_promise_run(thrum_promise_should_resolve(import));
	thrum_stop();
	printf("%d found, %d rejected\n", found, rejected);
	return error ? 1 : 0;
}
