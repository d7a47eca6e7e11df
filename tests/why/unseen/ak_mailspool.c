/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_spool_wakeup, the callback of uv_async_send, takes one message for each call, but libuv merges wake-ups
 *     that are sent while one is pending. A mail to a list is queued for four recipients at once, the loop is woken at
 *     most twice, and the rest stays in the queue; the thread smtp-in waits in await_delivery for ever.
 *   culprit: on_spool_wakeup
 *   victim: smtp-in|await_delivery
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* mailspool takes mail from several inlets (threads) and delivers it to the local mailbox from a loop of libuv. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define INLETS 2
#define MAX_RECIPIENTS 4

struct mail {
	const char *subject;
	const char *recipients[MAX_RECIPIENTS + 1];
};

struct message {
	struct inlet *inlet;
	struct message *next;
	bool delivered;
	uv_write_t write;
	char text[96];
};

struct inlet {
	const char *name;
	const struct mail *mails;
	pthread_t thread;
	atomic_bool ended;
	pthread_mutex_t lock;
	pthread_cond_t delivered;
	struct message *first, **last;
	uv_async_t wakeup;
};

static const struct mail smtp_broken[] = {
	{"minutes", {"ada", NULL}},
	{"invoice 204", {"bert", NULL}},
	{"[all] water is off", {"ada", "bert", "cleo", "dan", NULL}},
	{"lunch?", {"cleo", NULL}},
	{NULL, {NULL}},
};
static const struct mail smtp_healthy[] = {
	{"minutes", {"ada", NULL}},
	{"invoice 204", {"bert", NULL}},
	{"water is off", {"ada", NULL}},
	{"lunch?", {"cleo", NULL}},
	{NULL, {NULL}},
};
static const struct mail cron_mails[] = {
	{"backup ok", {"root", NULL}},
	{"disk 81 %", {"root", NULL}},
	{"backup ok", {"root", NULL}},
	{NULL, {NULL}},
};

static uv_loop_t *loop;
static uv_pipe_t mailbox;
static struct inlet inlets[INLETS];
static uv_async_t inlet_ended;

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&left, NULL);
}

/* The inlets' threads */

__attribute__((noinline)) void queue_mail(struct inlet *inlet, const struct mail *mail,
	struct message *messages)
{
	pthread_mutex_lock(&inlet->lock);
	for (int i = 0; mail->recipients[i]; i++) {
		struct message *message = &messages[i];

		memset(message, 0, sizeof *message);
		message->inlet = inlet;
		snprintf(message->text, sizeof message->text, "To: %s\nSubject: %s\n\n",
			mail->recipients[i], mail->subject);
		*inlet->last = message;
		inlet->last = &message->next;
		uv_async_send(&inlet->wakeup);
	}
	pthread_mutex_unlock(&inlet->lock);
}

__attribute__((noinline)) void await_delivery(struct inlet *inlet, struct message *message)
{
	pthread_mutex_lock(&inlet->lock);
	while (!message->delivered)
		pthread_cond_wait(&inlet->delivered, &inlet->lock);
	pthread_mutex_unlock(&inlet->lock);
}

static void *accept_mail(void *data)
{
	struct message messages[MAX_RECIPIENTS];
	struct inlet *inlet = data;

	pthread_setname_np(pthread_self(), inlet->name);
	for (const struct mail *mail = inlet->mails; mail->subject; mail++) {
		pause_ms(40);
		queue_mail(inlet, mail, messages);
		for (int i = 0; mail->recipients[i]; i++)
			await_delivery(inlet, &messages[i]);
	}
	atomic_store(&inlet->ended, true);
	uv_async_send(&inlet_ended);
	return NULL;
}

/* The loop */

static void message_written(uv_write_t *write, int status)
{
	struct message *message = write->data;
	struct inlet *inlet = message->inlet;

	if (status < 0)
		fprintf(stderr, "mailspool: mailbox: %s\n", uv_strerror(status));
	pthread_mutex_lock(&inlet->lock);
	message->delivered = true;
	pthread_cond_broadcast(&inlet->delivered);
	pthread_mutex_unlock(&inlet->lock);
}

__attribute__((noinline)) void deliver_message(struct message *message)
{
	uv_buf_t buffer = uv_buf_init(message->text, (unsigned)strlen(message->text));
	int status;

	message->write.data = message;
	status = uv_write(&message->write, (uv_stream_t *)&mailbox, &buffer, 1, message_written);
	if (status < 0) {
		fprintf(stderr, "mailspool: %s\n", uv_strerror(status));
		abort();
	}
}

void on_spool_wakeup(uv_async_t *async)
{
	struct inlet *inlet = async->data;
	struct message *message;

	pthread_mutex_lock(&inlet->lock);
	message = inlet->first;
	if (message) {
		inlet->first = message->next;
		if (!inlet->first)
			inlet->last = &inlet->first;
	}
	pthread_mutex_unlock(&inlet->lock);
	if (message)
		deliver_message(message);
}

void on_inlet_ended(uv_async_t *async)
{
	(void)async;
	/* Wake-ups may be merged: look at all. */
	for (int i = 0; i < INLETS; i++)
		if (!atomic_load(&inlets[i].ended))
			return;
	for (int i = 0; i < INLETS; i++)
		uv_close((uv_handle_t *)&inlets[i].wakeup, NULL);
	uv_close((uv_handle_t *)&inlet_ended, NULL);
	uv_close((uv_handle_t *)&mailbox, NULL);
}

static void open_inlet(struct inlet *inlet, const char *name, const struct mail *mails)
{
	inlet->name = name;
	inlet->mails = mails;
	inlet->last = &inlet->first;
	pthread_mutex_init(&inlet->lock, NULL);
	pthread_cond_init(&inlet->delivered, NULL);
	uv_async_init(loop, &inlet->wakeup, on_spool_wakeup);
	inlet->wakeup.data = inlet;
}

/* The mailbox's thread keeps what it gets, and counts it. */
static void *keep_mail(void *data)
{
	char text[512];
	unsigned mails = 0;
	ssize_t length;
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "mailbox");
	while ((length = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i + 1 < length; i++)
			mails += text[i] == '\n' && text[i + 1] == '\n';
	printf("%u mails in the mailbox\n", mails);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t keeper;
	int ends[2];
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	loop = uv_default_loop();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		perror("mailspool: socketpair");
		return 1;
	}
	uv_pipe_init(loop, &mailbox, 0);
	uv_pipe_open(&mailbox, ends[0]);
	uv_async_init(loop, &inlet_ended, on_inlet_ended);
	open_inlet(&inlets[0], "smtp-in", broken ? smtp_broken : smtp_healthy);
	open_inlet(&inlets[1], "cron-in", cron_mails);

	pthread_create(&keeper, NULL, keep_mail, &ends[1]);
	for (int i = 0; i < INLETS; i++)
		pthread_create(&inlets[i].thread, NULL, accept_mail, &inlets[i]);
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < INLETS; i++)
		pthread_join(inlets[i].thread, NULL);
	pthread_join(keeper, NULL);
	return uv_loop_close(loop) != 0;
}
