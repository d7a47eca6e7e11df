/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: rate_key makes the cache's key of the currency and the invoice's number, where the currency alone would
 *     do. So the cache is never hit, and each invoice loads its rate anew ("load rate"): many more loads than in the healthy
 *     program, and each invoice takes longer.
 *   culprit: load rate|load_rate|get_rate|rate_key
 *   victim: invoice
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Invoices in foreign currencies, on promises. Rates come from the central bank, and are kept in a cache. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define INVOICES 30
#define CACHE 64

struct rate {
	char key[32];
	int value;
};

struct invoice {
	int number;
	const char *currency;
	char key[32];
};

static struct rate cache[CACHE];
static unsigned cached, loads;
static bool by_currency;
static long total;

static void rate_key(struct invoice *invoice)
{
	if (by_currency)
		snprintf(invoice->key, sizeof(invoice->key), "%s", invoice->currency);
	else
		snprintf(invoice->key, sizeof(invoice->key), "%s/%d", invoice->currency,
			invoice->number);
}

static struct rate *cache_find(const char *key)
{
	for (unsigned i = 0; i < cached; i++)
		if (!strcmp(cache[i].key, key))
			return &cache[i];
	return NULL;
}

static struct thrum_promise *rate_loaded(struct thrum_loop *loop, void *value, void *data)
{
	struct invoice *invoice = data;
	struct rate *rate = &cache[cached++ % CACHE];

	(void)value;
	loads++;
	memcpy(rate->key, invoice->key, sizeof(rate->key));
	rate->value = 90 + invoice->currency[0] % 20;
	return thrum_promise_return(loop, thrum_value_int(rate->value));
}

/* Asks the central bank. */
static struct thrum_promise *load_rate(struct thrum_loop *loop, struct invoice *invoice)
{
	struct thrum_promise *rate = thrum_promise_bind(thrum_sleep(loop, 25), rate_loaded, invoice,
		NULL);

	return thrum_promise_labelf(rate, "load rate");
}

static struct thrum_promise *get_rate(struct thrum_loop *loop, struct invoice *invoice)
{
	struct rate *rate;

	rate_key(invoice);
	rate = cache_find(invoice->key);
	if (rate)
		return thrum_promise_return(loop, thrum_value_int(rate->value));
	return load_rate(loop, invoice);
}

static struct thrum_promise *write_pdf(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	total += thrum_int(value);
	return thrum_promise_label(thrum_sleep(loop, 5), "write pdf");
}

static struct thrum_promise *address_found(struct thrum_loop *loop, void *value, void *data)
{
	struct invoice *invoice = data;

	(void)value;
	return thrum_promise_bind(get_rate(loop, invoice), write_pdf, invoice, NULL);
}

static struct thrum_promise *make_invoice(struct thrum_loop *loop, struct invoice *invoice)
{
	struct thrum_promise *promise = thrum_promise_label(thrum_sleep(loop, 3), "find address");

	promise = thrum_promise_bind(promise, address_found, invoice, NULL);
	return thrum_promise_labelf(promise, "invoice %d", invoice->number);
}

static struct thrum_promise *free_invoice(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *next_invoice(struct thrum_loop *loop, void *value, void *data)
{
	static const char *const currencies[] = {"CHF", "USD", "SEK"};
	intptr_t number = thrum_int(data);
	struct thrum_promise *promise;
	struct invoice *invoice;

	(void)value;
	if (number > INVOICES)
		return thrum_promise_return(loop, thrum_value_none());
	invoice = calloc(1, sizeof(*invoice));
	invoice->number = (int)number;
	invoice->currency = currencies[number % 3];
	promise = thrum_promise_should_resolve(make_invoice(loop, invoice));
	promise = thrum_promise_finalize(promise, free_invoice, invoice, free);
	return thrum_promise_bind(promise, next_invoice, (void *)(number + 1), NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *program;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	by_currency = argc > 1 && !strcmp(argv[1], "healthy");
	uv_loop_init(&uv);
	if (thrum_start(NULL) || thrum_loop_create(&uv, &loop))
		return 1;
	program = thrum_promise_label(next_invoice(loop, NULL, (void *)1), "main");
	code = thrum_promise_run(thrum_promise_should_resolve(program));
	printf("%d invoices, total %ld, %u loads\n", INVOICES, total, loads);
	thrum_stop();
	thrum_loop_destroy(loop);
	return code;
}
