/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: merge-a and merge-b both hold "graph" for reading and both upgrade to writing in
 *     graph_upgrade; each waits until the other has given up its reading.
 *   culprit: merge-[ab]|graph_upgrade|merge_nodes
 *   victim: query-\d|answer_queries
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about a graph database: two threads that hold a read lock and ask for its upgrade wait
 * for each other. Two threads merge duplicate nodes, others answer queries.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define QUERIES 2

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int readers, writers_waiting;
	bool writing;
	thrum_task task;
	unsigned version;
	int nodes;
} graph = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .nodes = 40};

static pthread_barrier_t scanned;
static bool broken;

static void work(long microseconds)
{
	struct timespec pause = {0, microseconds * 1000};

	nanosleep(&pause, NULL);
}

/* The caller holds the mutex. */
static void graph_wait(void)
{
	thrum_task_wait(thrum_task_current(), graph.task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&graph.changed, &graph.mutex);
	thrum_resume();
}

static void graph_read(void)
{
	pthread_mutex_lock(&graph.mutex);
	while (graph.writing || graph.writers_waiting)
		graph_wait();
	graph.readers++;
	thrum_lock_acquired(graph.task);
	pthread_mutex_unlock(&graph.mutex);
}

static void graph_unlock(void)
{
	pthread_mutex_lock(&graph.mutex);
	if (graph.writing) {
		graph.writing = false;
		graph.version++;
	} else {
		graph.readers--;
	}
	thrum_lock_released(graph.task);
	pthread_cond_broadcast(&graph.changed);
	pthread_mutex_unlock(&graph.mutex);
}

/* Makes a reader the writer. Returns false if the graph may have changed before that. */
static bool graph_upgrade(void)
{
	unsigned version;

	pthread_mutex_lock(&graph.mutex);
	version = graph.version;
	if (!broken) {
		graph.readers--;
		thrum_lock_released(graph.task);
		pthread_cond_broadcast(&graph.changed);
	}
	graph.writers_waiting++;
	while (graph.writing || graph.readers > (broken ? 1 : 0))
		graph_wait();
	graph.writers_waiting--;
	if (broken)
		graph.readers--;
	else
		thrum_lock_acquired(graph.task);
	graph.writing = true;
	pthread_mutex_unlock(&graph.mutex);
	return version == graph.version;
}

static int find_duplicates(int part)
{
	work(4000);
	return graph.nodes > 10 ? 2 + part : 0;
}

static void *merge_nodes(void *data)
{
	int part = (int)(long)data;

	thrum_lane_name(part ? "merge-b" : "merge-a");
	thrum_task_should_resolve(thrum_task_current());
	for (int pass = 0; pass < 3; pass++) {
		int duplicates;

		graph_read();
		duplicates = find_duplicates(part);
		/* Both halves are scanned before one of them is changed, since edges cross them. */
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_barrier_wait(&scanned);
		thrum_resume();
		if (!graph_upgrade())
			duplicates = find_duplicates(part);
		graph.nodes -= duplicates;
		work(2000);
		graph_unlock();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_barrier_wait(&scanned);
		thrum_resume();
	}
	return NULL;
}

static void *answer_queries(void *data)
{
	char name[16];
	long nodes = 0;

	snprintf(name, sizeof(name), "query-%d", (int)(long)data);
	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < 30; i++) {
		graph_read();
		nodes += graph.nodes;
		work(300);
		graph_unlock();
		work(1500);
	}
	printf("%s: %ld nodes seen\n", name, nodes);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t merges[2], queries[QUERIES];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "not recorded\n");
	graph.task = thrum_task_create(THRUM_KIND_LOCK, "graph");
	pthread_barrier_init(&scanned, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&merges[i], NULL, merge_nodes, (void *)i);
	for (long i = 0; i < QUERIES; i++)
		pthread_create(&queries[i], NULL, answer_queries, (void *)i);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < 2; i++)
		pthread_join(merges[i], NULL);
	for (int i = 0; i < QUERIES; i++)
		pthread_join(queries[i], NULL);
	thrum_resume();
	printf("%d nodes\n", graph.nodes);
	thrum_stop();
	return EXIT_SUCCESS;
}
