/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When the directory answers a lookup with an error, on_answer forgets the question without failing its promise. So the promise “look up nobody” (made in directory_ask) never ends, and “deliver mail 6” waits for it for ever.
 *   culprit: look up nobody|directory_ask
 *   victim: deliver mail 6|deliver all
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A mail server: looks up the recipients of mails in a directory service, over one connection, and puts
 * the mails into their boxes. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define MAILS 10

struct question {
	struct question *next;
	int id;
	struct thrum_resolver *resolver;
};

static const char *recipients[MAILS] = {"ann", "bob", "cid", "dora", "ann", "eve", "nobody", "bob",
	"frank", "dora"};

static struct thrum_connection *directory;
static struct question *questions;
static int last_id, delivered, returned;
static bool refuse;
static int listening;

/* The directory service: a program of its own, here a thread. Answers "ID NAME" with "ID ok", or with
 * "ID unknown". */
static void *run_directory(void *data)
{
	int id, socket = accept(listening, NULL, NULL);
	FILE *input = fdopen(socket, "r");
	char name[32];

	while (fscanf(input, "%d %31s", &id, name) == 2) {
		usleep(2000 + id % 3 * 1000);
		dprintf(socket, "%d %s\n", id, strcmp(name, "nobody") ? "ok" : "unknown");
	}
	fclose(input);
	return NULL;
}

/* Returns a promise for the end of the question; it fails if the directory doesn't know the name. */
static struct thrum_promise *directory_ask(struct thrum_loop *loop, const char *name)
{
	struct question *question = malloc(sizeof(*question));
	struct thrum_promise *answer = thrum_promise_wait(loop, NULL, &question->resolver);
	char *line;
	int size;

	thrum_promise_labelf(answer, "look up %s", name);
	question->id = ++last_id;
	question->next = questions;
	questions = question;
	size = asprintf(&line, "%d %s\n", question->id, name);
	thrum_promise_ignore_result(
		thrum_connection_write(directory, thrum_value_own(line, free), size));
	return answer;
}

static void on_answer(int id, const char *text)
{
	struct question **place = &questions, *question;

	while (*place && (*place)->id != id)
		place = &(*place)->next;
	question = *place;
	if (!question)
		return;
	*place = question->next;
	if (!strcmp(text, "ok"))
		thrum_resolver_resolve(question->resolver, thrum_value_none());
	else if (refuse)
		thrum_resolver_fail(question->resolver, ENOENT, "the directory says: %s", text);
	else
		fprintf(stderr, "question %d: %s\n", id, text);
	free(question);
}

static struct thrum_promise *read_answers(struct thrum_loop *loop, void *value, void *data)
{
	static char text[512];
	static size_t have;
	struct thrum_bytes *bytes = value;
	char *end, word[32];
	int id;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	memcpy(text + have, bytes->data, bytes->size);
	have += bytes->size;
	while ((end = memchr(text, '\n', have))) {
		*end = '\0';
		if (sscanf(text, "%d %31s", &id, word) == 2)
			on_answer(id, word);
		have -= end + 1 - text;
		memmove(text, end + 1, have);
	}
	return thrum_promise_bind(thrum_connection_read(directory), read_answers, NULL, NULL);
}

static struct thrum_value put_into_box(struct thrum_loop *loop, void *value, void *data)
{
	delivered++;
	return thrum_value_none();
}

static struct thrum_promise *write_box(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_map(thrum_sleep(loop, 5), put_into_box, NULL, NULL);
}

/* Mails for unknown people go back to their senders. */
static struct thrum_promise *return_mail(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	if (failure->code != ENOENT)
		return thrum_promise_fail_again(loop, failure);
	returned++;
	return thrum_sleep(loop, 8);
}

static struct thrum_promise *deliver(struct thrum_loop *loop, int number)
{
	struct thrum_promise *known = directory_ask(loop, recipients[number]);
	struct thrum_promise *mail = thrum_promise_try_bind(known, write_box, return_mail, NULL,
		NULL);

	return thrum_promise_should_resolve(thrum_promise_labelf(mail, "deliver mail %d", number));
}

/* Looks every 40 ms whether there is a new mail. */
static struct thrum_promise *scan_spool(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 40), scan_spool, NULL, NULL);
}

static struct thrum_promise *deliver_all(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *mails[MAILS], *spool, *reading;
	struct thrum_value connection;

	if (!thrum_loop_take(loop, &connection))
		abort();
	directory = connection.data;
	reading = thrum_promise_bind(thrum_connection_read(directory), read_answers, NULL, NULL);
	thrum_promise_ignore_result(thrum_promise_label(reading, "answers of the directory"));
	spool = scan_spool(loop, NULL, NULL);
	thrum_promise_ignore_result(thrum_promise_label(spool, "scan spool"));
	for (int i = 0; i < MAILS; i++)
		mails[i] = deliver(loop, i);
	return thrum_promise_join(loop, mails, MAILS);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	struct thrum_promise *all;
	struct thrum_loop *loop;
	pthread_t service;
	int result;

	refuse = argc < 2 || strcmp(argv[1], "broken");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listening, (struct sockaddr *)&address, size) || listen(listening, 4) ||
		getsockname(listening, (struct sockaddr *)&address, &size) ||
		thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	pthread_create(&service, NULL, run_directory, NULL);
	all = thrum_promise_bind(thrum_tcp_connect(loop, (struct sockaddr *)&address), deliver_all,
		NULL, NULL);
	result = thrum_promise_run(thrum_promise_label(all, "deliver all"));
	thrum_stop();
	fprintf(stderr, "%d delivered, %d returned\n", delivered, returned);
	return result == 0 && delivered == MAILS - 1 && returned == 1 ? 0 : 1;
}
