/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The stock process sends no answer for a reservation of an article that is sold out. So the thread
 *     reserve waits in ask_stock for the reply to a request id that never comes.
 *   culprit: reserve\b|reserve_articles|ask_stock
 *   victim: main\b|thread bm_stock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A shop and its stock: two processes on a UNIX socket; threads of the shop share it, replies carry the id of their request. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARTICLES 10

enum operation {
	COUNT,
	RESERVE,
	DELIVER
};

struct message {
	int id;
	enum operation operation;
	int article;
	int amount;
};

struct call {
	int id;
	bool answered;
	int result;
	pthread_cond_t arrived;
	struct call *next;
};

static int stock_socket;
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static struct call *calls;
static int next_id = 1;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* ---- the stock ---- */

static void stock_answer(int to, const struct message *request, int amount)
{
	struct message reply = *request;

	reply.amount = amount;
	if (send(to, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void stock_run(int from, bool strict)
{
	int amounts[ARTICLES];
	struct message request;

	for (int i = 0; i < ARTICLES; i++)
		amounts[i] = 12;
	while (recv(from, &request, sizeof request, 0) == sizeof request) {
		int *amount = &amounts[request.article % ARTICLES];

		switch (request.operation) {
		case COUNT: stock_answer(from, &request, *amount); break;
		case RESERVE:
			if (*amount >= request.amount) {
				*amount -= request.amount;
				stock_answer(from, &request, request.amount);
			} else if (strict) {
				stock_answer(from, &request, 0);
			}
			break;
		case DELIVER:
			*amount += request.amount;
			stock_answer(from, &request, *amount);
			break;
		}
	}
	_exit(0);
}

/* ---- the shop ---- */

static void *read_replies(void *data)
{
	struct message reply;

	(void)data;
	while (recv(stock_socket, &reply, sizeof reply, 0) == sizeof reply) {
		pthread_mutex_lock(&calls_lock);
		for (struct call **at = &calls; *at; at = &(*at)->next) {
			struct call *call = *at;

			if (call->id != reply.id)
				continue;
			*at = call->next;
			call->result = reply.amount;
			call->answered = true;
			pthread_cond_signal(&call->arrived);
			break;
		}
		pthread_mutex_unlock(&calls_lock);
	}
	return NULL;
}

static int ask_stock(enum operation operation, int article, int amount)
{
	struct call call = {.arrived = PTHREAD_COND_INITIALIZER};
	struct message request = {.operation = operation, .article = article, .amount = amount};

	pthread_mutex_lock(&calls_lock);
	call.id = request.id = next_id++;
	call.next = calls;
	calls = &call;
	if (send(stock_socket, &request, sizeof request, MSG_NOSIGNAL) < 0)
		exit(1);
	while (!call.answered)
		pthread_cond_wait(&call.arrived, &calls_lock);
	pthread_mutex_unlock(&calls_lock);
	return call.result;
}

static void *show_counts(void *data)
{
	long sum = 0;

	(void)data;
	for (int i = 0; i < 90; i++) {
		sum += ask_stock(COUNT, i, 0);
		pause_ms(5);
	}
	printf("%ld articles seen\n", sum);
	return NULL;
}

static void *reserve_articles(void *data)
{
	int reserved = 0;

	(void)data;
	for (int i = 0; i < 60; i++) {
		reserved += ask_stock(RESERVE, i % 4, 3) > 0;
		pause_ms(3);
	}
	printf("%d reservations\n", reserved);
	return NULL;
}

static void *deliver_articles(void *data)
{
	(void)data;
	for (int i = 0; i < 40; i++) {
		ask_stock(DELIVER, 5 + i % 5, 1);
		pause_ms(8);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const jobs[])(void *) = {show_counts, reserve_articles, deliver_articles};
	static const char *const names[] = {"counts", "reserve", "deliver"};
	pthread_t threads[3];
	pthread_t reader;
	int ends[2];
	pid_t stock;

	if (argc < 2 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 2;
	stock = fork();
	if (!stock) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		stock_run(ends[1], !strcmp(argv[1], "healthy"));
	}
	close(ends[1]);
	stock_socket = ends[0];
	pthread_create(&reader, NULL, read_replies, NULL);
	pthread_setname_np(reader, "replies");
	for (int i = 0; i < 3; i++) {
		pthread_create(&threads[i], NULL, jobs[i], NULL);
		pthread_setname_np(threads[i], names[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	shutdown(stock_socket, SHUT_WR);
	waitpid(stock, NULL, 0);
	pthread_join(reader, NULL);
	return 0;
}
