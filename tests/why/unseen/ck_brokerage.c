/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=statement
 *   truth: audit_export holds the mutex "ledger" while it sends the whole ledger to the auditor in chunks, about 300 ms.
 *     Statements only need it for 2 ms; those that come meanwhile wait for the ledger until the export has ended.
 *   culprit: audit export|audit_export|send_chunk|send_chunks
 *   victim: statement
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The back office of a broker: it makes statements for clients, and once in a while sends the ledger to an auditor. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	STATEMENTS = 80,
	CHUNKS = 10
};

struct office {
	struct thrum_loop *loop;
	struct thrum_mutex *ledger;
	unsigned chunks_sent;
	unsigned statements;
	bool copy_first;
};

struct statement {
	struct office *office;
	unsigned client;
};

static struct office office;
static struct statement statements[STATEMENTS];

/* Reads the positions of a client. The caller has the ledger. */
static struct thrum_promise *read_positions(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 2), "read positions");
}

static struct thrum_promise *print_statement(struct thrum_loop *loop, void *value, void *data)
{
	struct statement *statement = data;

	(void)value;
	statement->office->statements++;
	return thrum_promise_label(thrum_sleep(loop, 1), "print");
}

static struct thrum_promise *make_statement(struct thrum_loop *loop, void *value, void *data)
{
	struct statement *statement = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_mutex_with(statement->office->ledger, read_positions,
					  statement, NULL),
		print_statement, statement, NULL);
}

/* Clients ask every 10 ms. */
static struct thrum_promise *statement_of(struct thrum_loop *loop, unsigned client)
{
	struct statement *statement = &statements[client];
	struct thrum_promise *asked = thrum_sleep(loop, 5 + client * 10);

	statement->office = &office;
	statement->client = client;
	asked = thrum_promise_label(asked, "client thinks");
	return asked;
}

static struct thrum_promise *begin_statement(struct thrum_loop *loop, void *value, void *data)
{
	struct statement *statement = data;
	struct thrum_promise *gate = thrum_promise_pause(loop);

	(void)value;
	return thrum_promise_should_resolve(
		thrum_promise_labelf(thrum_promise_bind(gate, make_statement, statement, NULL),
			"statement %u", statement->client));
}

/* ---- The auditor ---- */

static struct thrum_promise *send_chunk(struct thrum_loop *loop, void *value, void *data)
{
	struct office *self = data;

	(void)value;
	if (self->chunks_sent == CHUNKS)
		return thrum_promise_return(loop, thrum_value_none());
	self->chunks_sent++;
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(loop, 30), "send chunk %u",
					  self->chunks_sent),
		send_chunk, self, NULL);
}

static struct thrum_promise *send_chunks(struct thrum_loop *loop, void *data)
{
	return send_chunk(loop, NULL, data);
}

static struct thrum_promise *copy_ledger(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 3), "copy the ledger");
}

static struct thrum_promise *audit_export(struct thrum_loop *loop, void *value, void *data)
{
	struct office *self = data;
	struct thrum_promise *sent;

	(void)loop;
	(void)value;
	if (self->copy_first)
		sent = thrum_promise_bind(thrum_mutex_with(self->ledger, copy_ledger, self, NULL),
			send_chunk, self, NULL);
	else
		sent = thrum_mutex_with(self->ledger, send_chunks, self, NULL);
	return thrum_promise_label(sent, "audit export");
}

int main(int argc, char **argv)
{
	struct thrum_promise *parts[STATEMENTS + 1];
	struct thrum_promise *all;
	int error;

	office.copy_first = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_loop_create(uv_default_loop(), &office.loop))
		return 1;
	office.ledger = thrum_mutex_create(office.loop, "ledger");
	for (unsigned i = 0; i < STATEMENTS; i++)
		parts[i] = thrum_promise_bind(statement_of(office.loop, i), begin_statement,
			&statements[i], NULL);
	parts[STATEMENTS] = thrum_promise_bind(thrum_promise_label(thrum_sleep(office.loop, 300),
						       "auditor comes"),
		audit_export, &office, NULL);
	all = thrum_promise_join(office.loop, parts, STATEMENTS + 1);
	error = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_label(all, "day")));
	thrum_stop();
	printf("%u statements, %u chunks\n", office.statements, office.chunks_sent);
	return error != 0;
}
