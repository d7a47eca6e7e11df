/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1300
 *   ask: why
 *   truth: on_line runs as the callback of the watch of the server's pipe. For a server's question it calls
 *     ask_server_sync, which asks back over the same pipe and runs a main loop of its own until the answer comes. GLib
 *     doesn't call a source's callback again while it runs, so the answer is never read, and the inner loop never ends.
 *   culprit: ask_server_sync|on_line
 *   victim: language server|server_thread|autosave
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An editor's end of a language server's protocol, on GLib's main loop. The server is a thread at the other end. */
#include <glib-unix.h>
#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef void answered(const char *answer);

static bool broken;
static GMainLoop *main_loop, *inner_loop;
static int ends[2];
static char input[512];
static size_t input_size;
static answered *waiting; /* for the server's answer */
static char last_answer[64];
static int diagnostics, saves;

static void say(int descriptor, const char *line)
{
	if (write(descriptor, line, strlen(line)) < 0)
		perror("write");
}

/* ---- Asks the server ---- */

static void ask_server(const char *question, answered *callback)
{
	waiting = callback;
	say(ends[0], question);
}

static void keep_answer(const char *answer)
{
	g_strlcpy(last_answer, answer, sizeof(last_answer));
	g_main_loop_quit(inner_loop);
}

/* Returns when the server has answered. */
static const char *ask_server_sync(const char *question)
{
	inner_loop = g_main_loop_new(NULL, FALSE);
	ask_server(question, keep_answer);
	g_main_loop_run(inner_loop);
	g_main_loop_unref(inner_loop);
	return last_answer;
}

static void apply_edit(const char *symbols)
{
	char line[96];

	snprintf(line, sizeof(line), "applied %s\n", symbols);
	say(ends[0], line);
}

/* The server wants an edit to be applied. For this the editor has to know the symbols of the file. */
static void on_apply_edit(void)
{
	if (broken)
		apply_edit(ask_server_sync("symbols?\n"));
	else
		ask_server("symbols?\n", apply_edit);
}

static void on_line(const char *line)
{
	if (!strcmp(line, "diagnostic")) {
		diagnostics++;
	} else if (!strcmp(line, "apply edit")) {
		on_apply_edit();
	} else if (!strncmp(line, "answer ", 7) && waiting) {
		answered *callback = waiting;

		waiting = NULL;
		callback(line + 7);
	} else if (!strcmp(line, "bye")) {
		g_main_loop_quit(main_loop);
	}
}

static gboolean on_server(gint descriptor, GIOCondition condition, gpointer data)
{
	ssize_t size = read(descriptor, input + input_size, sizeof(input) - 1 - input_size);
	char *end;

	(void)condition;
	(void)data;
	if (size <= 0)
		return G_SOURCE_REMOVE;
	input_size += (size_t)size;
	input[input_size] = 0;
	while ((end = strchr(input, '\n'))) {
		char line[128];

		*end = 0;
		g_strlcpy(line, input, sizeof(line));
		input_size -= (size_t)(end + 1 - input);
		memmove(input, end + 1, input_size + 1);
		on_line(line);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean on_autosave(gpointer data)
{
	(void)data;
	saves++;
	return G_SOURCE_CONTINUE;
}

/* ---- The server ---- */

static bool server_read(FILE *in, char *line, int size)
{
	if (!fgets(line, size, in))
		return false;
	line[strcspn(line, "\n")] = 0;
	return true;
}

static void *server_thread(void *data)
{
	FILE *in = fdopen(ends[1], "r");
	char line[128];
	int edits = 0;

	(void)data;
	for (int i = 0; i < 20; i++) {
		say(ends[1], "diagnostic\n");
		usleep(1000);
	}
	say(ends[1], "apply edit\n");
	while (server_read(in, line, sizeof(line))) {
		if (!strcmp(line, "symbols?")) {
			usleep(3000); /* looks them up */
			say(ends[1], "answer main,on_line\n");
		} else if (!strncmp(line, "applied ", 8)) {
			say(ends[1], ++edits < 3 ? "apply edit\n" : "bye\n");
		}
	}
	fclose(in);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	main_loop = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(ends[0], G_IO_IN | G_IO_HUP, on_server, NULL);
	g_timeout_add(100, on_autosave, NULL);
	pthread_create(&server, NULL, server_thread, NULL);
	pthread_setname_np(server, "language server");
	g_main_loop_run(main_loop);
	shutdown(ends[0], SHUT_RDWR);
	pthread_join(server, NULL);
	g_main_loop_unref(main_loop);
	printf("%d diagnostics\n", diagnostics);
	return 0;
}
