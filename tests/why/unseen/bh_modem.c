/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: modem_command_async keeps one GTask at a time, and on_reply returns it when the modem says
 *     OK. When it says ERROR, on_reply logs that and returns nothing, so that the callback of the command
 *     never runs.
 *   culprit: on_reply|modem_command
 *   victim: ui_clock|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#include <gio/gio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const script[] = {"AT+CSQ", "AT+CREG?", "AT+COPS?", "AT+CPIN?"};

struct modem {
	GInputStream *from;
	GOutputStream *to;
	GTask *command;
	char reply[64];
	gsize sent;
};

static struct modem modem;
static gboolean pass_errors;
static guint commands, refused, ticks, position;

/* ---- A modem, on the other end of a socket pair ---- */

static gpointer run_modem(gpointer data)
{
	int end = GPOINTER_TO_INT(data);
	unsigned count = 0;
	char line[32];

	while (read(end, line, sizeof line) == sizeof line) {
		char reply[32] = "OK";

		g_usleep(4000);
		/* The card is busy now and then. */
		if (!strcmp(line, "AT+CPIN?") && ++count % 8 == 0)
			strcpy(reply, "ERROR");
		if (write(end, reply, sizeof reply) != sizeof reply)
			break;
	}
	return NULL;
}

/* ---- The driver ---- */

static void on_reply(GObject *source, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;
	gsize size = 0;

	(void)data;
	if (!g_input_stream_read_all_finish(G_INPUT_STREAM(source), result, &size, &error) ||
		size < 32) {
		g_printerr("modem: %s\n", error ? error->message : "gone");
		g_clear_error(&error);
		return;
	}
	if (!strcmp(modem.reply, "OK")) {
		GTask *command = modem.command;

		modem.command = NULL;
		g_task_return_boolean(command, TRUE);
		g_object_unref(command);
	} else {
		refused++;
		g_printerr("modem: %s\n", modem.reply);
		if (pass_errors) {
			GTask *command = modem.command;

			modem.command = NULL;
			g_task_return_new_error(command, G_IO_ERROR, G_IO_ERROR_BUSY, "%s",
				modem.reply);
			g_object_unref(command);
		}
	}
}

static void modem_command_async(const char *text, GAsyncReadyCallback callback, gpointer data)
{
	char line[32] = "";

	g_assert(!modem.command);
	modem.command = g_task_new(NULL, NULL, callback, data);
	g_task_set_source_tag(modem.command, modem_command_async);
	g_strlcpy(line, text, sizeof line);
	if (!g_output_stream_write_all(modem.to, line, sizeof line, NULL, NULL, NULL))
		g_error("modem: cannot write");
	g_input_stream_read_all_async(modem.from, modem.reply, 32, G_PRIORITY_DEFAULT, NULL,
		on_reply, NULL);
}

static gboolean modem_command_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_boolean(G_TASK(result), error);
}

/* ---- The program uses it ---- */

static gboolean poll_modem(gpointer data);

static void on_polled(GObject *source, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;

	(void)source;
	(void)data;
	if (!modem_command_finish(result, &error)) {
		g_printerr("%s: %s\n", script[position % G_N_ELEMENTS(script)], error->message);
		g_clear_error(&error);
	}
	commands++;
	position++;
	g_timeout_add(5, poll_modem, NULL);
}

static gboolean poll_modem(gpointer data)
{
	(void)data;
	modem_command_async(script[position % G_N_ELEMENTS(script)], on_polled, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean ui_clock(gpointer data)
{
	(void)data;
	if (++ticks % 5 == 0)
		g_printerr("%u commands, %u refused\n", commands, refused);
	return G_SOURCE_CONTINUE;
}

int main(int count, char **arguments)
{
	GSocketConnection *connection;
	GSocket *socket;
	int ends[2];

	pass_errors = count < 2 || strcmp(arguments[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	socket = g_socket_new_from_fd(ends[0], NULL);
	if (!socket)
		return 1;
	connection = g_socket_connection_factory_create_connection(socket);
	modem.from = g_io_stream_get_input_stream(G_IO_STREAM(connection));
	modem.to = g_io_stream_get_output_stream(G_IO_STREAM(connection));
	g_thread_unref(g_thread_new("modem", run_modem, GINT_TO_POINTER(ends[1])));
	g_timeout_add(100, ui_clock, NULL);
	g_idle_add(poll_modem, NULL);
	g_main_loop_run(g_main_loop_new(NULL, FALSE));
	return 0;
}
