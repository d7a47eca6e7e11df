/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: feed_replied arms the timer of the next poll_feed (schedule_poll) after it has read an article,
 *     but returns before that when the server says "unchanged". The feed is never polled again; the main
 *     loop has nothing left to do, and the thread "digest" waits for articles for ever.
 *   culprit: feed_replied|schedule_poll|poll_feed
 *   victim: digest|articles_came|next_article
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Polls news feeds with a GLib main loop, and makes a digest of their articles in a thread. */

#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NFEEDS 2

struct feed {
	const char *name;
	const char *const *answers; /* what the server will say, one after the other */
	guint pause_ms;
	int ours, theirs;
	guint wanted, articles;
	gboolean asked;
};

static const char *const weather_answers[] = {"article rain", "article sun", "article fog", NULL};
static const char *const harbour_answers[] = {"article Anna arrives", "article Berta leaves",
	"article Clara arrives", NULL};
static const char *const quiet_answers[] = {"article Anna arrives", "unchanged",
	"article Berta leaves", "article Clara arrives", NULL};

static struct feed feeds[NFEEDS] = {
	{.name = "weather", .answers = weather_answers, .pause_ms = 60, .wanted = 3},
	{.name = "harbour", .answers = harbour_answers, .pause_ms = 90, .wanted = 3},
};
static GMainLoop *loop;
static GMutex articles_lock;
static GCond articles_came;
static GQueue articles = G_QUEUE_INIT;

static void schedule_poll(struct feed *feed);

/* The timer of a feed: asks its server for what is new. */
static __attribute__((noinline)) gboolean poll_feed(gpointer argument)
{
	struct feed *feed = argument;

	if (write(feed->ours, "news?\n", 6) != 6)
		g_warning("%s: %s", feed->name, g_strerror(errno));
	feed->asked = TRUE;
	return G_SOURCE_REMOVE;
}

static __attribute__((noinline)) void schedule_poll(struct feed *feed)
{
	g_timeout_add(feed->pause_ms, poll_feed, feed);
}

static __attribute__((noinline)) void add_article(const char *title)
{
	g_mutex_lock(&articles_lock);
	g_queue_push_tail(&articles, g_strdup(title));
	g_cond_signal(&articles_came);
	g_mutex_unlock(&articles_lock);
}

/* The server of a feed has replied. */
static __attribute__((noinline)) gboolean feed_replied(gint fd, GIOCondition condition,
	gpointer argument)
{
	struct feed *feed = argument;
	char line[128];
	ssize_t n;

	(void)condition;
	n = read(fd, line, sizeof(line) - 1);
	if (n <= 0)
		return G_SOURCE_REMOVE;
	line[n] = '\0';
	g_strchomp(line);
	if (!feed->asked) {
		g_warning("%s: nobody asked", feed->name);
		return G_SOURCE_CONTINUE;
	}
	feed->asked = FALSE;
	if (!strcmp(line, "unchanged"))
		return G_SOURCE_CONTINUE;
	if (!g_str_has_prefix(line, "article ")) {
		g_warning("%s: what is “%s”?", feed->name, line);
	} else {
		add_article(line + strlen("article "));
		feed->articles++;
	}
	if (feed->articles < feed->wanted)
		schedule_poll(feed);
	return G_SOURCE_CONTINUE;
}

/* The server of a feed, far away. */
static void *serve_feed(void *argument)
{
	struct feed *feed = argument;
	const char *const *answer = feed->answers;
	char request[32], name[16];

	snprintf(name, sizeof(name), "%s-server", feed->name);
	pthread_setname_np(pthread_self(), name);
	while (read(feed->theirs, request, sizeof(request)) > 0) {
		g_usleep(20000);
		if (!*answer)
			break;
		if (dprintf(feed->theirs, "%s\n", *answer++) < 0)
			break;
	}
	close(feed->theirs);
	return NULL;
}

static gboolean quit_loop(gpointer unused)
{
	(void)unused;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static __attribute__((noinline)) char *next_article(void)
{
	char *title;

	g_mutex_lock(&articles_lock);
	while (!(title = g_queue_pop_head(&articles)))
		g_cond_wait(&articles_came, &articles_lock);
	g_mutex_unlock(&articles_lock);
	return title;
}

/* Makes one page of all articles. */
static void *write_digest(void *argument)
{
	GString *page = argument;
	char *title;
	guint i;

	pthread_setname_np(pthread_self(), "digest");
	for (i = 0; i < feeds[0].wanted + feeds[1].wanted; i++) {
		title = next_article();
		g_string_append_printf(page, "  * %s\n", title);
		g_free(title);
	}
	g_idle_add(quit_loop, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t servers[NFEEDS], digest;
	GString *page;
	int i, pair[2];

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "broken"))
		feeds[1].answers = quiet_answers;
	loop = g_main_loop_new(NULL, FALSE);
	page = g_string_new("today:\n");
	for (i = 0; i < NFEEDS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
			perror("feeds: socketpair");
			return 1;
		}
		feeds[i].ours = pair[0];
		feeds[i].theirs = pair[1];
		pthread_create(&servers[i], NULL, serve_feed, &feeds[i]);
		g_unix_fd_add(feeds[i].ours, G_IO_IN, feed_replied, &feeds[i]);
		schedule_poll(&feeds[i]);
	}
	pthread_create(&digest, NULL, write_digest, page);
	g_main_loop_run(loop);

	pthread_join(digest, NULL);
	for (i = 0; i < NFEEDS; i++) {
		close(feeds[i].ours);
		pthread_join(servers[i], NULL);
	}
	fputs(page->str, stdout);
	g_string_free(page, TRUE);
	g_main_loop_unref(loop);
	return 0;
}
