/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=get_quote
 *   truth: answers to get_quote are given by answer_quote, a source of idle priority. When the market opens, the journal
 *     has a long backlog; its source flush_journal has a higher priority, blocks for 45 ms each time and is always
 *     ready, so that the main loop dispatches nothing else for more than half a second.
 *   culprit: flush_journal|sync_record
 *   victim: get_quote|answer_quote|trader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* quotefeed answers the questions of traders (threads) for prices in a GLib main loop, and keeps a journal of trades. */

#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define QUOTES 10

struct quote {
	const char *symbol;
	guint cents;
	gboolean answered;
	GMutex mutex;
	GCond cond;
};

struct trader {
	const char *name;
	const char *const *symbols;
	GThread *thread;
};

static const char *const wool[] = {"WOOL", "ALPC", "MOHR", NULL};
static const char *const plant[] = {"LINN", "COTN", "HEMP", "JUTE", NULL};

static struct trader traders[] = {
	{.name = "trader-wool", .symbols = wool},
	{.name = "trader-plant", .symbols = plant},
};

static GMainLoop *loop;
static GOutputStream *journal;
static guint backlog, opening_trades, journalled;
static gint open_traders = G_N_ELEMENTS(traders);

/* The journal: each record must be on the disk before the next one. */

__attribute__((noinline)) void sync_record(const char *record)
{
	GError *error = NULL;

	if (!g_output_stream_write_all(journal, record, strlen(record), NULL, NULL, &error))
		g_error("quotefeed: %s", error->message);
	g_usleep(45 * 1000); /* a disk with barriers */
}

gboolean flush_journal(gpointer data)
{
	char record[64];

	(void)data;
	g_snprintf(record, sizeof record, "trade %u of the opening\n", journalled);
	sync_record(record);
	journalled++;
	return --backlog ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void journal_trades(guint trades)
{
	if (!backlog)
		g_idle_add_full(G_PRIORITY_HIGH, flush_journal, NULL, NULL);
	backlog += trades;
}

gboolean on_market_opens(gpointer data)
{
	(void)data;
	journal_trades(opening_trades);
	return G_SOURCE_REMOVE;
}

/* Quotes */

gboolean answer_quote(gpointer data)
{
	struct quote *quote = data;

	g_mutex_lock(&quote->mutex);
	quote->cents = g_str_hash(quote->symbol) % 10000;
	quote->answered = TRUE;
	g_cond_signal(&quote->cond);
	g_mutex_unlock(&quote->mutex);
	return G_SOURCE_REMOVE;
}

__attribute__((noinline)) guint get_quote(const char *symbol)
{
	struct quote quote = {.symbol = symbol};

	g_mutex_init(&quote.mutex);
	g_cond_init(&quote.cond);
	g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, answer_quote, &quote, NULL);
	g_mutex_lock(&quote.mutex);
	while (!quote.answered)
		g_cond_wait(&quote.cond, &quote.mutex);
	g_mutex_unlock(&quote.mutex);
	g_mutex_clear(&quote.mutex);
	g_cond_clear(&quote.cond);
	return quote.cents;
}

gboolean on_trader_left(gpointer data)
{
	(void)data;
	if (!--open_traders)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer run_trader(gpointer data)
{
	struct trader *trader = data;
	guint64 sum = 0;

	for (int i = 0, next = 0; i < QUOTES; i++) {
		sum += get_quote(trader->symbols[next]);
		if (!trader->symbols[++next])
			next = 0;
		g_usleep(30 * 1000);
	}
	g_debug("%s: %" G_GUINT64_FORMAT, trader->name, sum);
	g_idle_add_full(G_PRIORITY_DEFAULT, on_trader_left, NULL, NULL);
	return NULL;
}

static GFile *open_journal(GFileIOStream **stream)
{
	GError *error = NULL;
	GFile *file = g_file_new_tmp("quotefeed-XXXXXX.journal", stream, &error);

	if (!file)
		g_error("quotefeed: %s", error->message);
	journal = g_io_stream_get_output_stream(G_IO_STREAM(*stream));
	return file;
}

int main(int argc, char **argv)
{
	GFileIOStream *stream;
	GFile *file;

	opening_trades = argc > 1 && !strcmp(argv[1], "broken") ? 13 : 1;
	loop = g_main_loop_new(NULL, FALSE);
	file = open_journal(&stream);
	g_file_delete(file, NULL, NULL);
	g_timeout_add(150, on_market_opens, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(traders); i++)
		traders[i].thread = g_thread_new(traders[i].name, run_trader, &traders[i]);
	g_main_loop_run(loop);
	for (guint i = 0; i < G_N_ELEMENTS(traders); i++)
		g_thread_join(traders[i].thread);
	printf("%u trades in the journal\n", journalled);
	g_object_unref(stream);
	g_object_unref(file);
	g_main_loop_unref(loop);
	return 0;
}
