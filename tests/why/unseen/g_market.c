/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A trade locks the bag of the one who offers first, and then the other's. Three trades, ann-bob, bob-cid and cid-ann, each hold their first bag and wait for the second: a deadlock. They should lock bags in one order.
 *   culprit: trade (ann-bob|bob-cid|cid-ann)
 *   victim: save bag|close market
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The market of an online game: players trade things; each player's bag has a lock. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PLAYERS 6
#define TRADES 8

struct player {
	const char *name;
	int things, coins;
	struct thrum_mutex *bag;
};

struct trade {
	int seller, buyer, things, price;
	struct thrum_mutex *first, *second;
	bool done, refused;
};

static struct player players[PLAYERS] = {
	{"ann", 10, 50},
	{"bob", 10, 50},
	{"cid", 10, 50},
	{"dora", 10, 50},
	{"eve", 10, 50},
	{"finn", 0, 50},
};
static struct trade trades[TRADES] = {
	{3, 4, 2, 10},
	{0, 1, 1, 5},
	{1, 2, 3, 20},
	{2, 0, 2, 15},
	{4, 5, 4, 30},
	{3, 5, 1, 5},
	{3, 4, 1, 6},
	{4, 5, 1, 60},
};
static bool sorted;
static int saves, prices_sent;

static struct thrum_promise *pay(struct thrum_loop *loop, void *value, void *data)
{
	struct trade *trade = data;
	struct player *seller = &players[trade->seller], *buyer = &players[trade->buyer];

	if (seller->things < trade->things || buyer->coins < trade->price) {
		trade->refused = true;
		return thrum_promise_return(loop, thrum_value_none());
	}
	seller->things -= trade->things;
	buyer->things += trade->things;
	seller->coins += trade->price;
	buyer->coins -= trade->price;
	trade->done = true;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Runs with both bags locked. */
static struct thrum_promise *exchange(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 4), pay, data, NULL);
}

static struct thrum_promise *open_second(struct thrum_loop *loop, void *value, void *data)
{
	struct trade *trade = data;

	return thrum_mutex_with(trade->second, exchange, trade, NULL);
}

/* Runs with the first bag locked: asks the tax office, then opens the second bag. */
static struct thrum_promise *ask_tax(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *tax = thrum_promise_label(thrum_sleep(loop, 10), "ask tax office");

	return thrum_promise_bind(tax, open_second, data, NULL);
}

static struct thrum_promise *begin_trade(struct thrum_loop *loop, struct trade *trade)
{
	struct player *seller = &players[trade->seller], *buyer = &players[trade->buyer];
	struct thrum_promise *promise;

	trade->first = seller->bag;
	trade->second = buyer->bag;
	if (sorted && buyer < seller) {
		trade->first = buyer->bag;
		trade->second = seller->bag;
	}
	promise = thrum_mutex_with(trade->first, ask_tax, trade, NULL);
	thrum_promise_labelf(promise, "trade %s-%s", seller->name, buyer->name);
	return thrum_promise_should_resolve(promise);
}

static struct thrum_promise *write_bag(struct thrum_loop *loop, void *data)
{
	saves++;
	return thrum_sleep(loop, 2);
}

/* Saves the bags of all players, one after the other. */
static struct thrum_promise *save_next(struct thrum_loop *loop, void *value, void *data)
{
	struct player *player = data;
	struct thrum_promise *saved;

	if (player == players + PLAYERS)
		return thrum_promise_return(loop, thrum_value_none());
	saved = thrum_promise_labelf(thrum_mutex_with(player->bag, write_bag, player, NULL),
		"save bag of %s", player->name);
	return thrum_promise_bind(saved, save_next, player + 1, NULL);
}

static struct thrum_promise *send_prices(struct thrum_loop *loop, void *value, void *data)
{
	prices_sent++;
	return thrum_promise_bind(thrum_sleep(loop, 20), send_prices, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *work[TRADES + 1], *saves_done;
	struct thrum_loop *loop;
	int result, done = 0, refused = 0;
	char label[32];

	sorted = argc < 2 || strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < PLAYERS; i++) {
		snprintf(label, sizeof(label), "bag of %s", players[i].name);
		players[i].bag = thrum_mutex_create(loop, label);
	}
	thrum_promise_ignore_result(
		thrum_promise_label(send_prices(loop, NULL, NULL), "send prices"));
	for (int i = 0; i < TRADES; i++)
		work[i] = begin_trade(loop, &trades[i]);
	saves_done = thrum_promise_bind(thrum_sleep(loop, 15), save_next, players, NULL);
	work[TRADES] = thrum_promise_label(saves_done, "save bags");
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, work, TRADES + 1), "close market"));
	thrum_stop();
	for (int i = 0; i < TRADES; i++) {
		done += trades[i].done;
		refused += trades[i].refused;
	}
	fprintf(stderr, "%d trades, %d refused, %d bags saved\n", done, refused, saves);
	return result == 0 && done + refused == TRADES && saves == PLAYERS ? 0 : 1;
}
