/* SPDX-License-Identifier: ISC */
/* Requests move to another connection when theirs fails. With the bug, one is forgotten when the others
 * are sent again. */
#include "annotate.h"

struct connection {
	thrum_task handle;
	thrum_task requests[4];
	int count;
};

static void send_over(struct connection *connection, thrum_task request)
{
	thrum_task_wait(request, connection->handle);
	connection->requests[connection->count++] = request;
}

static void reconnect(struct connection *old, struct connection *new)
{
	thrum_task_fail(old->handle, "connection reset"); /* ends the waits for it, too */
	new->handle = thrum_task_create(THRUM_KIND_HANDLE, "connection 2");
	for (int i = 0; i < old->count; i++)
		if (!broken || i != 2)
			send_over(new, old->requests[i]);
}

static void answer_all(struct connection *connection)
{
	for (int i = 0; i < connection->count; i++) {
		pause_ms(1);
		THRUM_RUN (connection->requests[i]) {
			thrum_task_read(connection->requests[i], connection->handle);
			thrum_task_resolve(connection->requests[i]);
		}
	}
}

int main(int argc, char **argv)
{
	static struct connection first, second;

	begin(argc);
	first.handle = thrum_task_create(THRUM_KIND_HANDLE, "connection 1");
	for (int i = 0; i < 4; i++) {
		thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "GET /%d", i + 1);

		thrum_task_should_resolve(request);
		send_over(&first, request);
	}
	pause_ms(3);
	reconnect(&first, &second);
	answer_all(&second);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (broken)
		pause();
	thrum_resume();
	thrum_task_resolve(second.handle);
	return 0;
}
