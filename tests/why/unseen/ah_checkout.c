/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: the bank takes 600 ms for order 3 in place of 40. After 250 ms on_charge_timeout, which never
 *     runs in the healthy case, sends the charge once more without cancelling the first: charge_card
 *     runs five times for four orders, and order 3 is paid twice.
 *   culprit: on_charge_timeout|charge_card
 *   victim: on_next_order
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The checkout of a shop: GLib's main loop takes orders, and threads of a GThreadPool charge cards at the
 * bank. A charge that takes too long is tried again. */
#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ORDERS 4
#define PATIENCE_MS 250

struct order {
	int number, cents, attempts, paid;
	guint timeout;
	unsigned first_takes_ms;
};

struct charge {
	struct order *order;
	int attempt;
};

static GMainLoop *loop;
static GThreadPool *gateway;
static struct order orders[ORDERS];
static int next_order, charges_under_way, total;

/* ---- The bank -------------------------------------------------------------------------------- */

static gboolean on_charged(gpointer data);

static __attribute__((noinline)) void charge_card(const struct charge *charge)
{
	unsigned takes = charge->attempt == 1 ? charge->order->first_takes_ms : 40;

	g_usleep(takes * 1000);
}

/* Runs in a thread of the pool. */
static void run_charge(gpointer data, gpointer user_data)
{
	struct charge *charge = data;

	(void)user_data;
	pthread_setname_np(pthread_self(), "gateway");
	charge_card(charge);
	g_idle_add(on_charged, charge);
}

/* ---- Orders ---------------------------------------------------------------------------------- */

static gboolean on_charge_timeout(gpointer data);

static void send_charge(struct order *order)
{
	struct charge *charge = g_new0(struct charge, 1);

	charge->order = order;
	charge->attempt = ++order->attempts;
	charges_under_way++;
	order->timeout = g_timeout_add(PATIENCE_MS, on_charge_timeout, order);
	g_thread_pool_push(gateway, charge, NULL);
}

/* The bank doesn't answer: try again. */
static gboolean on_charge_timeout(gpointer data)
{
	struct order *order = data;

	order->timeout = 0;
	fprintf(stderr, "order %d: no answer, trying again\n", order->number);
	send_charge(order);
	return G_SOURCE_REMOVE;
}

static gboolean on_charged(gpointer data)
{
	struct charge *charge = data;
	struct order *order = charge->order;

	if (order->timeout)
		g_source_remove(order->timeout);
	order->timeout = 0;
	order->paid += order->cents;
	total += order->cents;
	printf("order %d: charged %d cents\n", order->number, order->cents);
	g_free(charge);
	if (--charges_under_way == 0 && next_order == ORDERS)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gboolean on_next_order(gpointer data)
{
	(void)data;
	send_charge(&orders[next_order++]);
	return next_order < ORDERS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

int main(int count, char **arguments)
{
	bool healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	int wrong = 0;

	for (int i = 0; i < ORDERS; i++) {
		orders[i].number = i + 1;
		orders[i].cents = 1000 + 250 * i;
		orders[i].first_takes_ms = 40;
	}
	if (!healthy)
		orders[2].first_takes_ms = 600;
	loop = g_main_loop_new(NULL, FALSE);
	gateway = g_thread_pool_new(run_charge, NULL, 3, TRUE, NULL);
	g_timeout_add(100, on_next_order, NULL);
	g_main_loop_run(loop);
	g_thread_pool_free(gateway, FALSE, TRUE);
	g_main_loop_unref(loop);
	for (int i = 0; i < ORDERS; i++)
		wrong += orders[i].paid != orders[i].cents;
	printf("%d cents, %d orders paid wrong\n", total, wrong);
	return 0;
}
