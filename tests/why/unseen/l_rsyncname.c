/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=rsync session
 *   truth: The slow "rsync session" waits for the "reverse lookup" of an address without a name, which takes 350 ms until its time-out.
 *   culprit: reverse lookup|client_name
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about rsync: the client connects to the daemon and blocks for nearly ten seconds before the file list
 * comes, however small the file is; the daemon looks up the client's name, and the name server doesn't answer.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	SESSIONS = 12,
	NAMELESS = 8
};

static bool broken;
static unsigned files;

/* Blocks for a while, as a call that waits for the network or the disk. */
static void block(unsigned milliseconds)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(milliseconds * 1000);
	thrum_resume();
}

/* Looks up the name of the client, for the log and for "hosts allow". */
static void client_name(int session)
{
	thrum_task lookup = thrum_task_create(THRUM_KIND_REQUEST, "reverse lookup");

	thrum_task_wait(thrum_task_current(), lookup);
	block(session == NAMELESS ? 350 : 3);
	if (session == NAMELESS)
		thrum_task_fail(lookup, "timed out");
	else
		thrum_task_resolve(lookup);
	thrum_task_read(thrum_task_current(), lookup);
}

static void send_file_list(void)
{
	thrum_task list = thrum_task_create(THRUM_KIND_REQUEST, "file list");

	thrum_task_wait(thrum_task_current(), list);
	block(6);
	files += 10;
	thrum_task_resolve(list);
	thrum_task_read(thrum_task_current(), list);
}

static void serve_session(int session)
{
	/* "reverse lookup = no" in the healthy daemon's configuration. */
	if (broken)
		client_name(session);
	send_file_list();
}

int main(int argc, char **argv)
{
	thrum_task session;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < SESSIONS; i++) {
		session = thrum_task_create(THRUM_KIND_TASK, "rsync session");
		thrum_task_should_resolve(session);
		THRUM_RUN (session) {
			serve_session(i);
			thrum_task_resolve(session);
		}
	}
	printf("%u files\n", files);
	return 0;
}
