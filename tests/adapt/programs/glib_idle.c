/* SPDX-License-Identifier: ISC */
/* It is healthy: a thread of the pool and the main loop have nothing to do for a second. A GTask is
 * still open at the end. Before, it calls the system itself: with six arguments, in vain, as a child.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <gio/gio.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
	(void)object, (void)data, (void)cancellable;
	g_task_return_boolean(task, TRUE);
}

static void done(GObject *object, GAsyncResult *result, gpointer data)
{
	(void)object, (void)data;
	g_task_propagate_boolean(G_TASK(result), NULL);
}

static gboolean quit(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

/* Fails at once. */
static int wait_in_vain(void)
{
	int word = 1;

	errno = 0;
	return syscall(SYS_futex, &word, FUTEX_WAIT, 2, NULL, NULL, 0) == -1 ? errno : 0;
}

static void call_system(void)
{
	int ends[2], status = 0;
	char byte = 0;
	long map = syscall(SYS_mmap, NULL, 4096L, (long)(PROT_READ | PROT_WRITE),
		(long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);

	printf("mapped: %d, in vain: %d\n", map > 0, wait_in_vain() == EAGAIN);
	fflush(stdout);
	long child = syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, 0L);

	if (child == 0)
		_exit(wait_in_vain() == EAGAIN ? 5 : 6);
	waitpid((pid_t)child, &status, 0);
	printf("child: %d\n", WEXITSTATUS(status));
	if (pipe(ends) == 0 && write(ends[1], "x", 1) == 1)
		printf("read: %ld", syscall(SYS_read, ends[0], &byte, (size_t)1));
	printf(", %c\n", byte);
}

int main(void)
{
	call_system();
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	GTask *task = g_task_new(NULL, NULL, done, NULL),
	      *open = g_task_new(NULL, NULL, done, NULL);

	g_task_run_in_thread(task, work);
	g_object_unref(task);
	g_timeout_add(1000, quit, loop);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	return open == NULL;
}
