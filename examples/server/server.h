/* SPDX-License-Identifier: ISC */
/* Shared by the parts of the example: its options, a thread's loop, and the functions that parts
 * call in each other. */
#ifndef SERVER_H
#define SERVER_H

/* For uv.h, in strict C11. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <uv.h>

#include <thrum.h>

struct options {
	unsigned seconds, requests, clients, threads;
	bool hang, die;
};
extern struct options options;

extern struct thrum_counter *connections_open, *requests_served, *bytes_sent, *latency_us;

/* A loop, its server and its clients: all that one thread owns. */
struct worker {
	unsigned number;
	uv_thread_t thread;
	uv_loop_t loop;
	uv_tcp_t listener;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	uv_timer_t deadline;
	struct sockaddr_in address; /* of the listener */
	struct lookup *lookups;     /* in the order of their arrival */
	struct lookup *served;      /* the one that has the database */
	struct client *clients;
	unsigned clients_left;
	unsigned long answered; /* number of requests */
	bool asleep, draining;
	thrum_task database, all_done;
};

/* main.c: each callback that libuv may make while the loop polls calls this first. */
void worker_awake(struct worker *worker);
/* main.c: the last client is done. */
void worker_finish(struct worker *worker);
/* Ends the program with a message if `status`, of a call that has to work, is an error. */
void must(int status, const char *what);

/* server.c: listens on a free port of the loopback interface. */
void server_start(struct worker *worker);

/* clients.c */
void clients_start(struct worker *worker);
void clients_hang_up(struct worker *worker);

#endif
