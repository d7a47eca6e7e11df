/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: on_reply takes the reply 450 of a server that greylists for a lasting refusal, and bounces the mail to its sender.
 *     It should queue the mail again (requeue) and deliver it later.
 *   culprit: bounce|requeue|on_reply
 *   victim: mail \d+
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* The delivery agent of a mail server: a few mails at a time, each over a connection of its own. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define MAILS 40
#define LANES 4

struct mail {
	unsigned number, tries;
};

static bool fixed;
static struct mail mails[MAILS];
static unsigned next_mail, delivered, bounced;

static struct thrum_promise *mail_send(struct thrum_loop *loop, struct mail *mail);

/* Stands for the server of the other side. */
static int server_reply(const struct mail *mail)
{
	if (mail->number % 20 == 19)
		return 550; /* no such user */
	if (mail->number % 4 == 1 && mail->tries == 1)
		return 450; /* come again */
	return 250;
}

static struct thrum_promise *mail_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return mail_send(loop, data);
}

static struct thrum_promise *requeue(struct thrum_loop *loop, struct mail *mail)
{
	struct thrum_promise *pause = thrum_promise_label(thrum_sleep(loop, 30), "requeue");

	return thrum_promise_bind(pause, mail_again, mail, NULL);
}

static struct thrum_promise *bounce(struct thrum_loop *loop, struct mail *mail)
{
	(void)mail;
	bounced++;
	return thrum_promise_label(thrum_sleep(loop, 6), "bounce");
}

static struct thrum_promise *on_reply(struct thrum_loop *loop, void *value, void *data)
{
	struct mail *mail = data;
	int reply = server_reply(mail);

	(void)value;
	if (reply / 100 == 2) {
		delivered++;
		return thrum_promise_return(loop, thrum_value_none());
	}
	if (fixed ? reply / 100 == 4 : reply < 450)
		return requeue(loop, mail);
	return bounce(loop, mail);
}

static struct thrum_promise *on_connected(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *reply = thrum_promise_label(thrum_sleep(loop, 5), "transfer");

	(void)value;
	return thrum_promise_bind(reply, on_reply, data, NULL);
}

static struct thrum_promise *mail_send(struct thrum_loop *loop, struct mail *mail)
{
	struct thrum_promise *connection = thrum_promise_label(thrum_sleep(loop, 3), "connect");

	mail->tries++;
	return thrum_promise_bind(connection, on_connected, mail, NULL);
}

static struct thrum_promise *lane_run(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *sent;
	struct mail *mail;

	(void)value;
	if (next_mail == MAILS)
		return thrum_promise_return(loop, thrum_value_none());
	mail = &mails[next_mail];
	mail->number = next_mail++;
	sent = thrum_promise_labelf(mail_send(loop, mail), "mail %u", mail->number);
	sent = thrum_promise_should_resolve(sent);
	return thrum_promise_bind(sent, lane_run, data, NULL);
}

static void on_statistics(uv_timer_t *timer)
{
	(void)timer;
	printf("%u of %u delivered\n", delivered, next_mail);
}

int main(int argc, char **argv)
{
	struct thrum_promise *lanes[LANES];
	struct thrum_loop *loop;
	uv_timer_t statistics;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &statistics);
	uv_timer_start(&statistics, on_statistics, 50, 50);
	uv_unref((uv_handle_t *)&statistics);
	for (int i = 0; i < LANES; i++)
		lanes[i] = thrum_promise_labelf(lane_run(loop, NULL, NULL), "lane %d", i);
	if (thrum_promise_run(thrum_promise_label(thrum_promise_join(loop, lanes, LANES), "queue")))
		return 1;
	printf("%u delivered, %u bounced\n", delivered, bounced);
	thrum_stop();
	return 0;
}
