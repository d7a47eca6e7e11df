/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: give_back keeps a connection to the courier only if the reply says exactly "keep-alive"; the courier writes
 *     "Keep-Alive". So each label connects anew (connect to courier), which takes longer than all the rest.
 *   culprit: connect to courier|connect_courier|give_back
 *   victim: label
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A shop's printer of parcel labels: it asks the courier for the tariff of each parcel, over connections that it keeps. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	LABELS = 60,
	LINES = 2,
	KEPT = 4
};

struct connection {
	unsigned number;
	unsigned uses;
};

struct reply {
	const char *persistence; /* the header "Connection" */
	unsigned cents;
};

struct label {
	struct shop *shop;
	unsigned number;
	unsigned weight;
	struct connection *connection;
	struct reply reply;
};

struct shop {
	struct thrum_loop *loop;
	struct connection *kept[KEPT];
	unsigned kept_count;
	unsigned connects;
	unsigned next_label;
	unsigned cents;
	bool any_case;
};

static struct label labels[LABELS];

static struct thrum_value connected(struct thrum_loop *loop, void *value, void *data)
{
	struct label *label = data;

	(void)loop;
	(void)value;
	label->connection = calloc(1, sizeof *label->connection);
	if (!label->connection)
		abort();
	label->connection->number = label->shop->connects++;
	return thrum_value_none();
}

/* Three messages and a certificate. */
static struct thrum_promise *connect_courier(struct label *label)
{
	struct thrum_promise *handshake = thrum_sleep(label->shop->loop, 12);

	return thrum_promise_label(thrum_promise_map(thrum_promise_label(handshake, "handshake"),
					   connected, label, NULL),
		"connect to courier");
}

static struct thrum_promise *get_connection(struct label *label)
{
	struct shop *shop = label->shop;

	if (shop->kept_count == 0)
		return connect_courier(label);
	label->connection = shop->kept[--shop->kept_count];
	return thrum_promise_return(shop->loop, thrum_value_none());
}

static void give_back(struct label *label)
{
	struct shop *shop = label->shop;
	const char *wish = label->reply.persistence;
	bool keep = shop->any_case ? !strcasecmp(wish, "keep-alive") : !strcmp(wish, "keep-alive");

	label->connection->uses++;
	if (keep && shop->kept_count < KEPT)
		shop->kept[shop->kept_count++] = label->connection;
	else
		free(label->connection);
	label->connection = NULL;
}

static struct thrum_promise *print_label(struct thrum_loop *loop, void *value, void *data)
{
	struct label *label = data;

	(void)value;
	label->reply = (struct reply){"Keep-Alive", 390 + label->weight * 25};
	label->shop->cents += label->reply.cents;
	give_back(label);
	return thrum_promise_label(thrum_sleep(loop, 2), "print");
}

static struct thrum_promise *ask_tariff(struct thrum_loop *loop, void *value, void *data)
{
	struct label *label = data;
	struct thrum_promise *tariff = thrum_sleep(loop, 3);

	(void)value;
	return thrum_promise_bind(thrum_promise_label(tariff, "ask tariff"), print_label, label,
		NULL);
}

static struct thrum_promise *run_label(struct thrum_loop *loop, void *value, void *data)
{
	struct label *label = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(get_connection(label), ask_tariff, label, NULL);
}

static struct thrum_promise *make_label(struct shop *shop)
{
	struct label *label = &labels[shop->next_label];

	label->shop = shop;
	label->number = ++shop->next_label;
	label->weight = label->number % 9;
	return thrum_promise_should_resolve(
		thrum_promise_labelf(thrum_promise_bind(thrum_promise_pause(shop->loop), run_label,
					     label, NULL),
			"label %u", label->number));
}

/* A line of packers: when a label is printed, they take the next parcel. */
static struct thrum_promise *next_parcel(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;

	(void)value;
	if (shop->next_label == LABELS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(make_label(shop), next_parcel, shop, NULL);
}

int main(int argc, char **argv)
{
	static struct shop shop;
	struct thrum_promise *lines[LINES];
	struct thrum_promise *all;
	int error;

	shop.any_case = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_loop_create(uv_default_loop(), &shop.loop))
		return 1;
	for (int i = 0; i < LINES; i++)
		lines[i] = thrum_promise_labelf(next_parcel(shop.loop, NULL, &shop), "line %d",
			i + 1);
	all = thrum_promise_join(shop.loop, lines, LINES);
	error = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_label(all, "shift")));
	thrum_stop();
	printf("%u labels, %u cents\n", shop.next_label, shop.cents);
	return error != 0;
}
