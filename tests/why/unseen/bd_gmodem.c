/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the modem's answer to AT+COPS? comes in two parts. on_port_readable returns G_SOURCE_REMOVE when
 *     it has no whole line yet, so GLib destroys the watch "port"; nobody reads the second part, and the
 *     manager waits for the end of that command for ever.
 *   culprit: on_port_readable|“port”
 *   victim: modem_run|modem\b|g_main_loop_run|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A modem manager: sends commands over a port, and reads the answers line by line. */
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct manager {
	GMainLoop *loop;
	int port;
	GString *input;
	const char *const *command; /* the one under way */
	guint watch;
	guint poll_timer;
	guint answered;
	guint signal_strength;
	gboolean keep_partial;
};

static const char *const commands[] = {
	"ATI",
	"AT+CPIN?",
	"AT+CSQ",
	"AT+CREG?",
	"AT+CSQ",
	"AT+COPS?",
	"AT+CGATT=1",
	"AT+CSQ",
	NULL,
};

/* ---- the modem, at the other end of the port ---- */

static void modem_say(int port, const char *text)
{
	if (write(port, text, strlen(text)) < 0)
		perror("modem");
}

static void modem_answer(int port, const char *command)
{
	g_usleep(8000);
	if (g_str_has_prefix(command, "AT+CSQ")) {
		modem_say(port, "+CSQ: 21,99\r\nOK\r\n");
	} else if (g_str_has_prefix(command, "AT+COPS")) {
		modem_say(port, "+COPS: 0,0,\"Exam");
		g_usleep(30000);
		modem_say(port, "ple Mobile\"\r\nOK\r\n");
	} else if (g_str_has_prefix(command, "ATI")) {
		modem_say(port, "Example LTE 4\r\nOK\r\n");
	} else {
		modem_say(port, "OK\r\n");
	}
}

static gpointer modem_run(gpointer data)
{
	int port = GPOINTER_TO_INT(data);
	char command[64];
	ssize_t got;

	while ((got = read(port, command, sizeof(command) - 1)) > 0) {
		command[got] = '\0';
		modem_answer(port, command);
	}
	close(port);
	return NULL;
}

/* ---- the manager ---- */

static void command_send(struct manager *manager)
{
	g_autofree char *line = g_strdup_printf("%s\r", *manager->command);

	if (write(manager->port, line, strlen(line)) < 0)
		g_warning("port: %s", g_strerror(errno));
}

static gboolean on_next_command(gpointer data)
{
	struct manager *manager = data;

	manager->command++;
	if (*manager->command)
		command_send(manager);
	else
		g_main_loop_quit(manager->loop);
	return G_SOURCE_REMOVE;
}

static void line_received(struct manager *manager, const char *line)
{
	if (g_str_has_prefix(line, "+CSQ: ")) {
		manager->signal_strength = (guint)atoi(line + 6);
	} else if (!strcmp(line, "OK")) {
		manager->answered++;
		g_timeout_add(5, on_next_command, manager); /* modems want a pause */
	} else {
		printf("%s: %s\n", *manager->command, line);
		fflush(stdout);
	}
}

/* Takes a line out of the input; NULL if there is no whole one. */
static char *input_take_line(GString *input)
{
	char *end = strstr(input->str, "\r\n");
	char *line;

	if (!end)
		return NULL;
	line = g_strndup(input->str, (gsize)(end - input->str));
	g_string_erase(input, 0, end - input->str + 2);
	return line;
}

static gboolean on_port_readable(gint port, GIOCondition condition, gpointer data)
{
	struct manager *manager = data;
	gboolean had_line = FALSE;
	char bytes[256];
	ssize_t got;
	char *line;

	if (condition & (G_IO_HUP | G_IO_ERR))
		return G_SOURCE_REMOVE;
	got = read(port, bytes, sizeof(bytes));
	if (got <= 0)
		return G_SOURCE_REMOVE;
	g_string_append_len(manager->input, bytes, got);
	while ((line = input_take_line(manager->input))) {
		had_line = TRUE;
		line_received(manager, line);
		g_free(line);
	}
	if (!had_line && !manager->keep_partial)
		return G_SOURCE_REMOVE;
	return G_SOURCE_CONTINUE;
}

static gboolean on_status(gpointer data)
{
	struct manager *manager = data;

	printf("%u answers, signal %u\n", manager->answered, manager->signal_strength);
	fflush(stdout);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	struct manager manager = {.command = commands};
	GThread *modem;
	GSource *source;
	int ends[2];

	if (argc < 2)
		return 2;
	manager.keep_partial = !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	manager.port = ends[0];
	manager.input = g_string_new(NULL);
	manager.loop = g_main_loop_new(NULL, FALSE);
	modem = g_thread_new("modem", modem_run, GINT_TO_POINTER(ends[1]));

	source = g_unix_fd_source_new(manager.port, G_IO_IN | G_IO_HUP | G_IO_ERR);
	g_source_set_name(source, "port");
	g_source_set_callback(source, G_SOURCE_FUNC(on_port_readable), &manager, NULL);
	manager.watch = g_source_attach(source, NULL);
	g_source_unref(source);
	manager.poll_timer = g_timeout_add(150, on_status, &manager);

	command_send(&manager);
	g_main_loop_run(manager.loop);

	g_source_remove(manager.watch);
	g_source_remove(manager.poll_timer);
	close(manager.port);
	g_thread_join(modem);
	g_main_loop_unref(manager.loop);
	g_string_free(manager.input, TRUE);
	printf("%u commands answered\n", manager.answered);
	return manager.answered == G_N_ELEMENTS(commands) - 1 ? 0 : 1;
}
