/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: flush_digest returns G_SOURCE_REMOVE when there is nothing to send, but digest->flush_id stays set.
 *     So subscriber_add never starts the timer again: the digest of the late mails is never sent.
 *   culprit: flush_digest|subscriber_add|flush_id
 *   victim: main\b|fetcher
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Collects mails into digests and sends each digest some time after its first mail. Built with GLib. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	MAILS = 12
};

struct digest {
	GPtrArray *mails;
	guint flush_id;
	unsigned sent;
};

struct mail {
	struct digest *digest;
	char *subject;
};

static GMainLoop *loop;
static bool healthy;
static unsigned beats;

static void send_digest(struct digest *digest)
{
	g_print("digest of %u mails\n", digest->mails->len);
	digest->sent += digest->mails->len;
	g_ptr_array_set_size(digest->mails, 0);
	if (digest->sent == MAILS)
		g_main_loop_quit(loop);
}

static gboolean flush_digest(gpointer data)
{
	struct digest *digest = data;

	if (digest->mails->len == 0) {
		if (healthy)
			digest->flush_id = 0;
		return G_SOURCE_REMOVE;
	}
	send_digest(digest);
	return G_SOURCE_CONTINUE;
}

static void subscriber_add(struct digest *digest, const char *subject)
{
	g_ptr_array_add(digest->mails, g_strdup(subject));
	if (digest->flush_id == 0)
		digest->flush_id = g_timeout_add(60, flush_digest, digest);
}

static gboolean on_mail(gpointer data)
{
	struct mail *mail = data;

	subscriber_add(mail->digest, mail->subject);
	g_free(mail->subject);
	g_free(mail);
	return G_SOURCE_REMOVE;
}

static gboolean on_heartbeat(gpointer data)
{
	(void)data;
	if (++beats % 20 == 0)
		g_print("alive for %u beats\n", beats);
	return G_SOURCE_CONTINUE;
}

/* Polls the mail box of the list. Mails come in groups. */
static gpointer fetch_mails(gpointer data)
{
	struct digest *digest = data;

	for (int i = 0; i < MAILS; i++) {
		struct mail *mail = g_new0(struct mail, 1);

		mail->digest = digest;
		mail->subject = g_strdup_printf("Re: release plan (%d)", i);
		g_idle_add(on_mail, mail);
		g_usleep(i == 7 ? 400000 : 5000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct digest digest = {0};
	GThread *fetcher;
	guint beat;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	digest.mails = g_ptr_array_new_with_free_func(g_free);
	loop = g_main_loop_new(NULL, FALSE);
	beat = g_timeout_add(50, on_heartbeat, NULL);
	fetcher = g_thread_new("fetcher", fetch_mails, &digest);
	g_main_loop_run(loop);
	g_thread_join(fetcher);
	g_source_remove(beat);
	if (digest.flush_id)
		g_source_remove(digest.flush_id);
	g_ptr_array_unref(digest.mails);
	g_main_loop_unref(loop);
	return 0;
}
