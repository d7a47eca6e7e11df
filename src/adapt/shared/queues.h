/* SPDX-License-Identifier: ISC */
/*
 * queues.c: the processes that send to queues of messages, and receive from them: those of msgget() and of
 * mq_open(). All under one `thrum record` note it in the memory that they share, whether or not they record.
 * Async-signal-safe.
 */
#ifndef ADAPT_QUEUES_H
#define ADAPT_QUEUES_H

#include "adapt/base/base.h"
#include "adapt/forks.h"

enum {
	QUEUE_SENDS = 1,
	QUEUE_RECEIVES = 2,
	QUEUE_ASKS = 4,  /* it sent to this queue, and had received from none */
	QUEUE_KILLED = 8 /* a signal killed it, as the one knows that waited for it */
};

/* Tells a queue from all others of this machine, also from one of the other sort; 0: that can't be told. */
enum queue_sort {
	QUEUE_OF_MSGGET,
	QUEUE_OF_MQ_OPEN
};
uint64_t thrum__adapt_queue_key(enum queue_sort, uint64_t number);

/* This process sends to a queue, or receives from it, or is about to. Returns its key. Keeps errno. */
uint64_t thrum__adapt_queue_used(enum queue_sort, uint64_t number, unsigned bit);
/* A signal has killed this process, as the one knows that waited for it. */
void thrum__adapt_queue_killed(pid_t process);

/* Processes that use a queue, but for the calling one. */
struct queue_users {
	unsigned living, ended;
	bool is_whole;  /* all are noted */
	pid_t one;      /* of those that have ended; 0: there is none */
	char name[16];  /* its name */
	bool is_killed; /* one of them, by a signal */
	bool also;      /* one of them has used the other queue in the other way */
};
/* Finds those that have sent to a queue, or received from it. other: as `also` needs it, or 0. */
void thrum__adapt_queue_users(uint64_t key, unsigned bit, uint64_t other, struct queue_users *);
/* Whether a process has, as far as is noted. */
bool thrum__adapt_queue_is_user(uint64_t key, unsigned bit, pid_t);

/* Finds all of them. Returns how many there are; more than FORKS_USERS: some aren't noted. */
unsigned thrum__adapt_queue_list(uint64_t key, unsigned bit, pid_t[FORKS_USERS]);
/* The name of one of them. */
void thrum__adapt_queue_name(uint64_t key, pid_t, char name[16]);
/* A queue to which a process sent before it ever received a message; 0: there is none. */
uint64_t thrum__adapt_queue_asked_by(pid_t);

/* The queue to which this process has sent last, if it sent before it ever received; 0: it did not. */
uint64_t thrum__adapt_queue_asked(void);

/* A process is about to be started, which may have the queues of mq_open() that this one had alone. Those who
 * wait for such a queue wait for the outside from now on. */
void thrum__adapt_queues_shared(void);

#endif
