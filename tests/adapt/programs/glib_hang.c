/* SPDX-License-Identifier: ISC */
/* It hangs: a GTask is forgotten when there is nothing to do, so it never returns. */
#include <gio/gio.h>
#include <stdio.h>
#include <unistd.h>

#include "patience.h"

static void settled(GObject *object, GAsyncResult *result, gpointer loop)
{
	(void)object, (void)result;
	g_main_loop_quit(loop);
}

static void settle_account(int balance, GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data); /* never returns */

	g_task_set_source_tag(task, settle_account);
	if (balance != 0)
		g_task_return_int(task, balance);
	g_object_unref(task);
}

int main(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	settle_account(5, settled, loop);
	g_main_loop_run(loop);
	settle_account(0, settled, loop);
	end_after(1);
	g_main_loop_run(loop);
	printf("never\n");
	return 0;
}
