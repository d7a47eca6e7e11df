/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: author_of remembers an author under the number of the post instead of that of the author, so that
 *     it hardly ever finds one again, and sends a query "select author" for each post
 *   culprit: select author|author_of
 *   victim: page [0-9]+|select posts|connection [0-9]+
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Renders the pages of a blog. Two connections to the database serve all queries from one queue. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define PAGES 12
#define POSTS 8
#define AUTHORS 5
#define CONNECTIONS 2

struct query {
	const char *text;
	int argument;
	unsigned us;
	thrum_task task;
	struct query *next;
	bool is_done;
};

struct post {
	int number, author;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static struct query *queue, **queue_end = &queue;
static bool closing, key_by_post;
static char *authors[PAGES * POSTS]; /* the cache */
static size_t rendered;
static int queries;

static void *connection_run(void *data)
{
	char name[24];

	snprintf(name, sizeof(name), "connection %d", *(int *)data);
	thrum_lane_name(name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct query *query;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !closing)
			pthread_cond_wait(&more, &mutex);
		thrum_resume();
		query = queue;
		if (!query)
			break;
		queue = query->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (query->task) {
			thrum_suspend(THRUM_BLOCKED_OUTSIDE);
			usleep(query->us);
			thrum_resume();
		}
		pthread_mutex_lock(&mutex);
		query->is_done = true;
		thrum_task_resolve(query->task);
		pthread_cond_broadcast(&done);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void query_run(const char *text, int argument, unsigned us)
{
	struct query query = {.text = text, .argument = argument, .us = us};

	query.task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", text, argument);
	thrum_task_wait(thrum_task_current(), query.task);
	thrum_task_ready(query.task);
	pthread_mutex_lock(&mutex);
	queries++;
	*queue_end = &query;
	queue_end = &query.next;
	pthread_cond_signal(&more);
	thrum_suspend(THRUM_BLOCKED);
	while (!query.is_done)
		pthread_cond_wait(&done, &mutex);
	thrum_resume();
	pthread_mutex_unlock(&mutex);
	thrum_task_read(thrum_task_current(), query.task);
}

static void posts_of(int page, struct post *posts)
{
	query_run("select posts", page, 2000);
	for (int i = 0; i < POSTS; i++) {
		posts[i].number = page * POSTS + i;
		posts[i].author = (page + i * i) % AUTHORS;
	}
}

static const char *author_of(const struct post *post)
{
	int key = key_by_post ? post->number : post->author;
	char name[24];

	if (authors[key])
		return authors[key];
	query_run("select author", post->author, 800);
	snprintf(name, sizeof(name), "author%d", post->author);
	authors[key] = strdup(name);
	return authors[key];
}

static void comments_of(int page)
{
	query_run("count comments", page, 1200);
}

static void page_render(int page)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "page %d", page);
	struct post posts[POSTS];
	char line[64];

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		posts_of(page, posts);
		for (int i = 0; i < POSTS; i++)
			rendered += (size_t)snprintf(line, sizeof(line), "<h2>%d</h2><p>by %s</p>",
				posts[i].number, author_of(&posts[i]));
		comments_of(page);
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[CONNECTIONS];
	int numbers[CONNECTIONS];

	key_by_post = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("renderer");
	for (int i = 0; i < CONNECTIONS; i++) {
		numbers[i] = i + 1;
		pthread_create(&threads[i], NULL, connection_run, &numbers[i]);
	}
	for (int page = 0; page < PAGES; page++) {
		page_render(page);
		thrum_suspend(THRUM_WAIT_FOR_WORK); /* until the next request */
		usleep(3000);
		thrum_resume();
	}
	pthread_mutex_lock(&mutex);
	closing = true;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	printf("%d pages, %d queries, %zu bytes\n", PAGES, queries, rendered);
	for (int i = 0; i < PAGES * POSTS; i++)
		free(authors[i]);
	return 0;
}
