/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: "mail 9" of an unknown sender is deferred, and the list of deferred mails is looked through only
 *     when another mail comes (sweep_deferred, called by take_mail alone); none comes, so it lies there for
 *     ever
 *   culprit: mail 9
 *   victim: mail [1-8]\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A mail server that lets mails of unknown senders wait for a while before it delivers them (greylisting). */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define DEFER_MS 60
#define KNOWN_MAX 16

struct mail {
	struct mail *next;
	unsigned number;
	long due; /* of a deferred one, in ms */
	char sender[32];
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct mail *queue, **queue_end = &queue; /* to be delivered */
static struct mail *deferred;
static char known[KNOWN_MAX][32];
static unsigned known_count, delivered;
static int line[2]; /* the client's end, ours */

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static bool is_known(const char *sender)
{
	for (unsigned i = 0; i < known_count; i++)
		if (!strcmp(known[i], sender))
			return true;
	return false;
}

/* The caller holds the mutex. */
static void enqueue(struct mail *mail)
{
	mail->next = NULL;
	*queue_end = mail;
	queue_end = &mail->next;
	pthread_cond_broadcast(&changed);
}

/* ---- The thread that takes mails ---- */

/* Queues what has waited long enough. The caller holds the mutex. */
static __attribute__((noinline)) void sweep_deferred(void)
{
	struct mail **at = &deferred;
	long now = now_ms();

	while (*at) {
		struct mail *mail = *at;

		if (mail->due > now) {
			at = &mail->next;
			continue;
		}
		*at = mail->next;
		enqueue(mail);
	}
}

/* The caller holds the mutex. */
static __attribute__((noinline)) void defer_mail(struct mail *mail)
{
	if (known_count < KNOWN_MAX)
		strcpy(known[known_count++], mail->sender);
	mail->due = now_ms() + DEFER_MS;
	mail->next = deferred;
	deferred = mail;
}

static __attribute__((noinline)) void take_mail(unsigned number, const char *sender)
{
	struct mail *mail = calloc(1, sizeof(*mail));

	if (!mail)
		abort();
	mail->number = number;
	snprintf(mail->sender, sizeof(mail->sender), "%s", sender);
	mail->task = thrum_task_createf(THRUM_KIND_TASK, "mail %u", number);
	thrum_task_should_resolve(mail->task);
	pthread_mutex_lock(&mutex);
	sweep_deferred();
	if (is_known(sender))
		enqueue(mail);
	else
		defer_mail(mail);
	pthread_mutex_unlock(&mutex);
}

static void *run_intake(void *data)
{
	char sender[32];
	unsigned number = 0;
	ssize_t size;

	(void)data;
	while ((size = recv(line[1], sender, sizeof(sender) - 1, 0)) > 0) {
		sender[size] = '\0';
		take_mail(++number, sender);
	}
	return NULL;
}

/* ---- The thread that delivers ---- */

static __attribute__((noinline)) void deliver_mail(struct mail *mail)
{
	usleep(4000); /* to the mailbox on the disk */
	printf("mail %u from %s\n", mail->number, mail->sender);
	thrum_task_resolve(mail->task);
	free(mail);
}

static void *run_delivery(void *data)
{
	(void)data;
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct mail *mail = queue;

		if (!mail) {
			pthread_cond_wait(&changed, &mutex);
			continue;
		}
		queue = mail->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		deliver_mail(mail);
		pthread_mutex_lock(&mutex);
		delivered++;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

/* ---- The client, and the program ---- */

static const char *const quiet[] = {"anna", "bert", "cleo", "anna", "anna", "bert", "bert", "cleo",
	"anna"};
static const char *const lively[] = {"anna", "bert", "cleo", "anna", "anna", "bert", "bert", "cleo",
	"dora"};
#define MAILS (sizeof(quiet) / sizeof(quiet[0]))

static void send_all(const char *const *senders)
{
	for (unsigned i = 0; i < MAILS; i++) {
		if (send(line[0], senders[i], strlen(senders[i]), MSG_NOSIGNAL) < 0)
			perror("send");
		usleep(40000);
	}
}

int main(int argc, char **argv)
{
	pthread_t intake, delivery;

	thrum_start(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line))
		return 1;
	if (pthread_create(&intake, NULL, run_intake, NULL) ||
		pthread_create(&delivery, NULL, run_delivery, NULL))
		return 1;
	send_all(argc > 1 && !strcmp(argv[1], "broken") ? lively : quiet);
	pthread_mutex_lock(&mutex);
	while (delivered < MAILS)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	shutdown(line[0], SHUT_RDWR);
	pthread_join(intake, NULL);
	thrum_stop();
	return 0;
}
