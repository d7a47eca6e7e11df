/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_hook() calls g_spawn_sync() in a callback of the main loop. The hook of vpn0 asks this daemon
 *     for its address, and the loop that should answer waits in run_hook() for the hook to end.
 *   culprit: run_hook
 *   victim: plug_cables|ask_daemon
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A network daemon: when a link comes up it runs that link's hook program; hooks may ask it for addresses. */
#include <glib-unix.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct caller {
	int fd;
	char link[32];
};

static const char *const links[] = {"eth0", "eth1", "wlan0", "vpn0", "eth2"};
#define LINKS (sizeof links / sizeof *links)

static GMainLoop *loop;
static char socket_path[64];
static int hooks_run, questions;
static bool fixed;

/* For callers: one question, one line back. */
static void ask_daemon(const char *path, const char *verb, const char *name, char *answer,
	size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strncpy(address.sun_path, path, sizeof address.sun_path - 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof address))
		exit(1);
	dprintf(fd, "%s %s\n", verb, name);
	ssize_t length = read(fd, answer, size - 1);
	answer[length < 0 ? 0 : length] = 0;
	close(fd);
}

/* The hook program: that of a VPN needs the address, to set up its routes. */
static int be_hook(const char *path, const char *name)
{
	char answer[64] = "";
	if (strncmp(name, "vpn", 3) == 0) {
		ask_daemon(path, "address", name, answer, sizeof answer);
		return strncmp(answer, "10.", 3) != 0;
	}
	g_usleep(3000);
	return 0;
}

/* The driver of the switch tells of each link that comes up, and waits until it is set up. */
static gpointer plug_cables(gpointer argument)
{
	(void)argument;
	for (size_t i = 0; i < LINKS; i++) {
		char answer[64];
		ask_daemon(socket_path, "up", links[i], answer, sizeof answer);
		if (strcmp(answer, "ok\n") != 0)
			exit(1);
	}
	g_main_loop_quit(loop);
	return NULL;
}

static void answer_caller(struct caller *caller, const char *text)
{
	if (write(caller->fd, text, strlen(text)) < 0)
		g_warning("caller went away");
	close(caller->fd);
	g_free(caller);
}

static void on_hook_ended(GPid pid, gint status, gpointer data)
{
	g_spawn_close_pid(pid);
	hooks_run++;
	answer_caller(data, g_spawn_check_wait_status(status, NULL) ? "ok\n" : "failed\n");
}

static void run_hook(struct caller *caller)
{
	gchar *arguments[] = {"/proc/self/exe", "hook", socket_path, caller->link, NULL};
	GError *error = NULL;
	if (fixed) {
		GPid pid;
		const GSpawnFlags flags = G_SPAWN_DO_NOT_REAP_CHILD;
		if (!g_spawn_async(NULL, arguments, NULL, flags, NULL, NULL, &pid, &error)) {
			g_error("%s", error->message);
		}
		g_child_watch_add(pid, on_hook_ended, caller);
		return;
	}
	gint status;
	if (!g_spawn_sync(NULL, arguments, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status,
		    &error)) {
		g_error("%s", error->message);
	}
	hooks_run++;
	answer_caller(caller, g_spawn_check_wait_status(status, NULL) ? "ok\n" : "failed\n");
}

static gboolean on_question(gint fd, GIOCondition condition, gpointer data)
{
	struct caller *caller = data;
	char line[64], verb[16];
	ssize_t length = read(fd, line, sizeof line - 1);
	if (length <= 0 || !(condition & G_IO_IN)) {
		answer_caller(caller, "");
		return G_SOURCE_REMOVE;
	}
	line[length] = 0;
	if (sscanf(line, "%15s %31s", verb, caller->link) != 2) {
		answer_caller(caller, "what?\n");
	} else if (strcmp(verb, "up") == 0) {
		run_hook(caller);
	} else {
		questions++;
		answer_caller(caller, "10.8.0.2\n");
	}
	return G_SOURCE_REMOVE;
}

static gboolean on_caller(gint fd, GIOCondition condition, gpointer data)
{
	(void)condition;
	(void)data;
	struct caller *caller = g_new0(struct caller, 1);
	caller->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (caller->fd < 0)
		g_error("accept: %s", g_strerror(errno));
	g_unix_fd_add(caller->fd, G_IO_IN, on_question, caller);
	return G_SOURCE_CONTINUE;
}

static gboolean on_statistics(gpointer data)
{
	unsigned *rounds = data;
	++*rounds;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "hook") == 0)
		return be_hook(argv[2], argv[3]);
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	unsigned rounds = 0;
	snprintf(socket_path, sizeof socket_path, "/tmp/linkd-%d", (int)getpid());
	strcpy(address.sun_path, socket_path);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8))
		return 1;
	loop = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(listener, G_IO_IN, on_caller, NULL);
	g_timeout_add(5, on_statistics, &rounds);
	GThread *driver = g_thread_new("switch", plug_cables, NULL);
	g_main_loop_run(loop);
	g_thread_join(driver);
	unlink(socket_path);
	printf("%d hooks run, %d questions answered, %u rounds\n", hooks_run, questions, rounds);
	return 0;
}
