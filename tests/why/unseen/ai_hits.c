/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=handle_request
 *   truth: dump_stats (thread stats) writes its snapshot to a pipe while it holds hits_lock. The snapshot is larger than
 *     the pipe, and the thread dashboard reads it slowly; so requests that count their hit wait for the lock.
 *   culprit: dump_stats|\bstats\b|dashboard
 *   victim: handle_request|count_hit
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* hits: a server that counts hits of each page, and now and then sends all counts to a dashboard through a pipe. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS 14
#define PAGES_MAX 6000
#define ROW 32
#define DUMP_AT_MS 200

struct hits {
	pthread_mutex_t hits_lock;
	unsigned pages;
	unsigned counts[PAGES_MAX];
};

struct server {
	struct hits hits;
	int dashboard_in, dashboard_out; /* the ends of the pipe */
	size_t shown;
};

struct request {
	struct server *server;
	unsigned page;
	pthread_t thread;
};

static struct server server = {.hits.hits_lock = PTHREAD_MUTEX_INITIALIZER};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- Counting ---- */

__attribute__((noinline)) void count_hit(struct hits *hits, unsigned page)
{
	pthread_mutex_lock(&hits->hits_lock);
	hits->counts[page % hits->pages]++;
	pthread_mutex_unlock(&hits->hits_lock);
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n <= 0)
			return -1;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Sends a row for each page. The lock is held, for the rows should be of the same moment. */
__attribute__((noinline)) int dump_stats(struct hits *hits, int fd)
{
	char rows[64 * ROW];
	size_t used = 0;
	int result = 0;

	pthread_mutex_lock(&hits->hits_lock);
	for (unsigned i = 0; i < hits->pages && result == 0; i++) {
		used += (size_t)snprintf(rows + used, sizeof rows - used, "page %-10u %14u\n", i,
			hits->counts[i]);
		if (used + ROW >= sizeof rows || i + 1 == hits->pages) {
			result = write_all(fd, rows, used);
			used = 0;
		}
	}
	pthread_mutex_unlock(&hits->hits_lock);
	return result;
}

/* ---- The threads ---- */

__attribute__((noinline)) void send_reply(void)
{
	pause_ms(8);
}

void *handle_request(void *data)
{
	struct request *request = data;

	send_reply();
	count_hit(&request->server->hits, request->page);
	return NULL;
}

void *run_stats(void *data)
{
	struct server *s = data;

	pause_ms(DUMP_AT_MS);
	if (dump_stats(&s->hits, s->dashboard_in) != 0)
		perror("hits: dashboard");
	close(s->dashboard_in);
	return NULL;
}

/* Draws the rows as they come. */
__attribute__((noinline)) void draw_rows(const char *rows, size_t size, size_t *shown)
{
	for (size_t i = 0; i < size; i++)
		*shown += rows[i] == '\n';
	pause_ms(60);
}

void *run_dashboard(void *data)
{
	struct server *s = data;
	static char rows[16384];
	ssize_t n;

	while ((n = read(s->dashboard_out, rows, sizeof rows)) > 0)
		draw_rows(rows, (size_t)n, &s->shown);
	close(s->dashboard_out);
	return NULL;
}

/* ---- The server ---- */

static pthread_t start_thread(const char *name, void *(*run)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, data) != 0) {
		fprintf(stderr, "hits: no thread\n");
		exit(1);
	}
	pthread_setname_np(thread, name);
	return thread;
}

/* A request every 45 ms. */
__attribute__((noinline)) void accept_requests(struct server *s, struct request *requests)
{
	for (unsigned i = 0; i < REQUESTS; i++) {
		requests[i].server = s;
		requests[i].page = i * 7;
		requests[i].thread = start_thread("handle_request", handle_request, &requests[i]);
		pause_ms(45);
	}
}

int main(int argc, char **argv)
{
	static struct request requests[REQUESTS];
	pthread_t stats, dashboard;
	int ends[2];

	if (argc != 2) {
		fprintf(stderr, "usage: hits broken|healthy\n");
		return 2;
	}
	server.hits.pages = strcmp(argv[1], "broken") == 0 ? PAGES_MAX : 100;
	if (pipe(ends) != 0)
		return 1;
	server.dashboard_out = ends[0];
	server.dashboard_in = ends[1];
	dashboard = start_thread("dashboard", run_dashboard, &server);
	stats = start_thread("stats", run_stats, &server);
	accept_requests(&server, requests);
	for (unsigned i = 0; i < REQUESTS; i++)
		pthread_join(requests[i].thread, NULL);
	pthread_join(stats, NULL);
	pthread_join(dashboard, NULL);
	printf("%u requests, the dashboard shows %zu pages\n", REQUESTS, server.shown);
	return 0;
}
