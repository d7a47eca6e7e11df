/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: deliver holds the mutex "mailbox anna". The mail of delivery 12 is too large for the quota,
 *     so deliver calls purge_trash, which locks the same mutex once more. So the delivery waits for
 *     itself, and each FETCH behind it.
 *   culprit: purge trash|purge_trash|deliver 12\b
 *   victim: FETCH
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A mail server: deliveries come by SMTP, clients fetch by IMAP. A mutex for each mailbox. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define QUOTA 1000
#define USERS 2

struct mailbox {
	const char *user;
	struct thrum_mutex *mutex;
	int size, trash;
};

struct mail {
	struct mailbox *to;
	int number, size;
};

static struct thrum_loop *loop;
static struct mailbox boxes[USERS] = {{"anna", NULL, 300, 0}, {"ben", NULL, 300, 0}};
static bool purge_locks;
static int delivered, fetched;

static struct thrum_promise *disk(int ms)
{
	return thrum_promise_label(thrum_sleep(loop, (uint64_t)ms), "disk");
}

static struct thrum_promise *trash_removed(struct thrum_loop *l, void *value, void *data)
{
	struct mailbox *box = data;

	(void)value;
	box->size -= box->trash;
	box->trash = 0;
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *remove_trash(struct thrum_loop *l, void *data)
{
	(void)l;
	return thrum_promise_bind(disk(5), trash_removed, data, NULL);
}

/* Makes room. Also called for the nightly run. */
static struct thrum_promise *purge_trash(struct mailbox *box)
{
	struct thrum_promise *done;

	if (purge_locks)
		done = thrum_mutex_with(box->mutex, remove_trash, box, NULL);
	else
		done = remove_trash(loop, box);
	return thrum_promise_labelf(done, "purge trash of %s", box->user);
}

static struct thrum_promise *mail_stored(struct thrum_loop *l, void *value, void *data)
{
	struct mail *mail = data;

	(void)value;
	mail->to->size += mail->size;
	delivered++;
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *store_mail(struct thrum_loop *l, void *value, void *data)
{
	(void)l;
	(void)value;
	return thrum_promise_bind(disk(6), mail_stored, data, NULL);
}

/* The mutex of the mailbox is held. */
static struct thrum_promise *deliver(struct thrum_loop *l, void *data)
{
	struct mail *mail = data;

	if (mail->to->size + mail->size > QUOTA)
		return thrum_promise_bind(purge_trash(mail->to), store_mail, mail, NULL);
	return store_mail(l, NULL, mail);
}

static struct thrum_promise *fetch_done(struct thrum_loop *l, void *value, void *data)
{
	struct mailbox *box = data;
	int moved = box->size > 300 ? 8 : 0;

	(void)value;
	fetched++;
	if (box->trash + moved <= box->size)
		box->trash += moved; /* the user deletes what he has read */
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *fetch(struct thrum_loop *l, void *data)
{
	(void)l;
	return thrum_promise_bind(disk(2), fetch_done, data, NULL);
}

static struct thrum_promise *on_smtp(struct thrum_loop *l, void *value, void *data)
{
	static int number;
	struct mail *mail = calloc(1, sizeof(*mail));
	struct thrum_promise *done;

	(void)value;
	(void)data;
	if (!mail)
		abort();
	mail->number = ++number;
	mail->to = &boxes[number % 2];
	if (number % 12 == 0)
		mail->to = &boxes[0];
	mail->size = number % 12 == 0 ? 600 : 10;
	done = thrum_mutex_with(mail->to->mutex, deliver, mail, free);
	done = thrum_promise_labelf(done, "deliver %d to %s", mail->number, mail->to->user);
	thrum_promise_ignore_result(thrum_promise_should_resolve(done));
	if (number % 12 == 0)
		mail->to->trash = mail->to->size > 700 ? mail->to->size - 350 : mail->to->trash;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(l, 30), "next mail"), on_smtp,
		NULL, NULL);
}

static struct thrum_promise *on_imap(struct thrum_loop *l, void *value, void *data)
{
	static int number;
	struct mailbox *box = &boxes[number % USERS];
	struct thrum_promise *done = thrum_mutex_with(box->mutex, fetch, box, NULL);

	(void)value;
	(void)data;
	done = thrum_promise_labelf(done, "FETCH %d of %s", ++number, box->user);
	thrum_promise_ignore_result(thrum_promise_should_resolve(done));
	if (number % 40 == 0) {
		printf("%d delivered, %d fetched\n", delivered, fetched);
		fflush(stdout);
	}
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(l, 20), "next command"), on_imap,
		NULL, NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();

	purge_locks = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv, &loop))
		return 1;
	for (int i = 0; i < USERS; i++) {
		char label[32];

		snprintf(label, sizeof(label), "mailbox %s", boxes[i].user);
		boxes[i].mutex = thrum_mutex_create(loop, label);
	}
	boxes[0].size = 450;
	boxes[0].trash = 200;
	thrum_promise_ignore_result(on_smtp(loop, NULL, NULL));
	thrum_promise_ignore_result(on_imap(loop, NULL, NULL));
	return uv_run(uv, UV_RUN_DEFAULT);
}
