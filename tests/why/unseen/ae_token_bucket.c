/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The timer refill_bucket ends when the bucket is full, and take_tokens starts it again only if
 *     exactly one token is gone. A heavy letter takes three at once, so nothing refills the bucket any more.
 *   culprit: refill_bucket|take_tokens
 *   victim: await_campaign|run_campaign
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A mailer with a rate limit: each letter costs tokens by its weight, a timer of GLib brings new ones. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BURST 8

struct letter {
	int weight;
	GSource *deadline;
	struct campaign *campaign;
};

struct campaign {
	const char *name;
	int letters, weight, delivered;
	bool done;
};

static struct {
	int tokens;
	GSource *refill;
	GQueue waiting;
} bucket = {.tokens = BURST, .waiting = G_QUEUE_INIT};

static GMainContext *context;
static GMainLoop *loop;
static GMutex lock;
static GCond campaign_done;
static bool exact;
static int late;

static void send_waiting(void);

/* Starts a timer of the mailer's own loop. */
static GSource *start_timer(guint ms, GSourceFunc callback, gpointer data, const char *name)
{
	GSource *source = g_timeout_source_new(ms);

	g_source_set_callback(source, callback, data, NULL);
	g_source_set_name(source, name);
	g_source_attach(source, context);
	return source;
}

static gboolean refill_bucket(gpointer unused)
{
	(void)unused;
	bucket.tokens++;
	send_waiting();
	if (bucket.tokens < BURST)
		return G_SOURCE_CONTINUE;
	g_clear_pointer(&bucket.refill, g_source_unref);
	return G_SOURCE_REMOVE;
}

static bool take_tokens(int weight)
{
	bool needs_refill;

	if (bucket.tokens < weight)
		return false;
	bucket.tokens -= weight;
	needs_refill = exact ? !bucket.refill : bucket.tokens == BURST - 1;
	if (needs_refill)
		bucket.refill = start_timer(2, refill_bucket, NULL, "refill");
	return true;
}

static gboolean deadline_passed(gpointer data)
{
	(void)data;
	late++;
	return G_SOURCE_REMOVE;
}

static gboolean letter_delivered(gpointer data)
{
	struct letter *letter = data;
	struct campaign *campaign = letter->campaign;

	g_source_destroy(letter->deadline);
	g_source_unref(letter->deadline);
	g_free(letter);
	g_mutex_lock(&lock);
	if (++campaign->delivered == campaign->letters) {
		campaign->done = true;
		g_cond_signal(&campaign_done);
	}
	g_mutex_unlock(&lock);
	return G_SOURCE_REMOVE;
}

static void send_waiting(void)
{
	struct letter *letter;

	while ((letter = g_queue_peek_head(&bucket.waiting)) && take_tokens(letter->weight)) {
		g_queue_pop_head(&bucket.waiting);
		g_source_unref(start_timer(1, letter_delivered, letter, "smtp"));
	}
}

/* The mailer's loop calls this for each campaign. */
static gboolean queue_campaign(gpointer data)
{
	struct campaign *campaign = data;

	for (int i = 0; i < campaign->letters; i++) {
		struct letter *letter = g_new0(struct letter, 1);

		letter->weight = campaign->weight;
		letter->campaign = campaign;
		letter->deadline = start_timer(5000, deadline_passed, letter, "deadline");
		g_queue_push_tail(&bucket.waiting, letter);
	}
	send_waiting();
	return G_SOURCE_REMOVE;
}

static gboolean show_stats(gpointer unused)
{
	(void)unused;
	if (late > 0)
		fprintf(stderr, "%d letters are late\n", late);
	return G_SOURCE_CONTINUE;
}

static gpointer run_mailer(gpointer unused)
{
	g_main_context_push_thread_default(context);
	g_source_unref(start_timer(20, show_stats, NULL, "stats"));
	g_main_loop_run(loop);
	g_main_context_pop_thread_default(context);
	return unused;
}

static void await_campaign(struct campaign *campaign)
{
	g_mutex_lock(&lock);
	while (!campaign->done)
		g_cond_wait(&campaign_done, &lock);
	g_mutex_unlock(&lock);
	printf("%s: %d letters\n", campaign->name, campaign->delivered);
}

static void run_campaign(const char *name, int letters, int weight)
{
	struct campaign campaign = {.name = name, .letters = letters, .weight = weight};

	g_main_context_invoke(context, queue_campaign, &campaign);
	await_campaign(&campaign);
	g_usleep(75000); /* the bucket is full again after this */
}

int main(int argc, char **argv)
{
	GThread *mailer;

	exact = argc > 1 && !strcmp(argv[1], "healthy");
	context = g_main_context_new();
	loop = g_main_loop_new(context, FALSE);
	mailer = g_thread_new("mailer", run_mailer, NULL);
	run_campaign("welcome", 20, 1);
	run_campaign("reminder", 16, 1);
	run_campaign("invoices", 9, 3);
	run_campaign("newsletter", 14, 1);
	g_main_loop_quit(loop);
	g_thread_join(mailer);
	return 0;
}
