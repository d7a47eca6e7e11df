/* SPDX-License-Identifier: ISC */
/* A loop around epoll, with requests, a handle and timers. With the bug, the loop forgets to watch
 * for the answer. */
#include "annotate.h"

#include <sys/epoll.h>
#include <sys/socket.h>

struct source {
	int descriptor;
	thrum_task handle;  /* THRUM_KIND_HANDLE: may stay open for ever */
	thrum_task request; /* THRUM_KIND_REQUEST: the answer that must come */
};

static void ask(struct source *source, const char *question)
{
	source->request = thrum_task_create(THRUM_KIND_REQUEST, question);
	thrum_task_should_resolve(source->request);
	thrum_task_wait(source->request, source->handle);
	if (write(source->descriptor, question, 1) != 1)
		thrum_task_fail(source->request, "write");
}

static void on_answer(struct source *source)
{
	char answer;

	THRUM_RUN (source->request) {
		if (read(source->descriptor, &answer, 1) != 1) {
			thrum_task_fail(source->request, "read");
			break; /* leaves the task, as return and goto do */
		}
		thrum_task_read(source->request, source->handle);
		thrum_task_resolve(source->request);
	}
}

static struct epoll_event wait_for_event(int epoll)
{
	struct epoll_event event = {.events = 0};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	epoll_wait(epoll, &event, 1, -1);
	thrum_resume();
	return event;
}

static void *server(void *data)
{
	int descriptor = *(int *)data;
	char question;

	for (int i = 0; i < 5; i++)
		if (read(descriptor, &question, 1) == 1 && write(descriptor, &question, 1) != 1)
			abort();
	return NULL;
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
	int pair[2], epoll = epoll_create1(0);
	struct source source;

	begin(argc);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	start(server, &pair[1]);
	source.descriptor = pair[0];
	source.handle = thrum_task_create(THRUM_KIND_HANDLE, "socket");
	event.data.ptr = &source;
	epoll_ctl(epoll, EPOLL_CTL_ADD, source.descriptor, &event);
	for (int i = 0; i < 5; i++) {
		ask(&source, "price");
		if (!broken || i < 4)
			epoll_ctl(epoll, EPOLL_CTL_MOD, source.descriptor, &event);
		on_answer(wait_for_event(epoll).data.ptr);
	}
	thrum_task_resolve(source.handle);
	return 0;
}
