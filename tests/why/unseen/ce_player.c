/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: on_player_line handles the event TRACK by call_player, which sends a question and runs a nested main loop
 *     until the reply comes. The reply would come to on_player_line, but GLib doesn't dispatch a source again while
 *     its callback runs. So the reply lies in the socket, unread, and the nested loop never quits.
 *   culprit: on_player_line
 *   victim: call_player|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The panel of a music player on a desktop. It asks the player, which is a thread here, and hears of events. */
#include <glib-unix.h>
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct panel {
	int fd;
	GString *input;
	GMainLoop *loop; /* of the panel */
	GMainLoop *call; /* the loop of the call that waits, if any */
	char reply[64];
	char title[64];
	unsigned position; /* as the clock shows it */
	unsigned tracks;
	gboolean later; /* whether events only start work */
};

/* ---- The player ---- */

static void *play(void *data)
{
	int fd = *(int *)data;
	FILE *questions = fdopen(dup(fd), "r");
	char line[64];
	unsigned asked = 0;

	pthread_setname_np(pthread_self(), "player");
	while (fgets(line, sizeof line, questions)) {
		usleep(2000);
		if (!strncmp(line, "POSITION", 8)) {
			asked++;
			dprintf(fd, "REPLY %u\n", asked * 3);
			if (asked == 4)
				dprintf(fd, "VOLUME 7\n");
			if (asked == 8) {
				usleep(10000);
				dprintf(fd, "TRACK 2\n");
			}
		} else if (!strncmp(line, "TITLE", 5)) {
			dprintf(fd, "REPLY Goldberg Variations, 2\n");
		}
	}
	fclose(questions);
	close(fd);
	return NULL;
}

/* ---- The panel ---- */

static const char *call_player(struct panel *panel, const char *question)
{
	panel->call = g_main_loop_new(NULL, FALSE);
	dprintf(panel->fd, "%s\n", question);
	g_main_loop_run(panel->call);
	g_main_loop_unref(panel->call);
	panel->call = NULL;
	return panel->reply;
}

static gboolean fetch_title(gpointer data)
{
	struct panel *panel = data;

	if (panel->call)
		return G_SOURCE_CONTINUE;
	g_strlcpy(panel->title, call_player(panel, "TITLE"), sizeof panel->title);
	panel->tracks++;
	return G_SOURCE_REMOVE;
}

static void handle_line(struct panel *panel, const char *line)
{
	if (g_str_has_prefix(line, "REPLY ")) {
		g_strlcpy(panel->reply, line + 6, sizeof panel->reply);
		if (panel->call)
			g_main_loop_quit(panel->call);
	} else if (g_str_has_prefix(line, "TRACK ")) {
		if (panel->later)
			g_idle_add(fetch_title, panel);
		else
			fetch_title(panel);
	} else if (g_str_has_prefix(line, "VOLUME ")) {
		printf("panel: volume %s\n", line + 7);
	}
}

static gboolean on_player_line(gint fd, GIOCondition condition, gpointer data)
{
	struct panel *panel = data;
	char bytes[128];
	char *end;
	ssize_t size = read(fd, bytes, sizeof bytes);

	(void)condition;
	if (size <= 0)
		return G_SOURCE_REMOVE;
	g_string_append_len(panel->input, bytes, size);
	while ((end = strchr(panel->input->str, '\n'))) {
		char *line = g_strndup(panel->input->str, (gsize)(end - panel->input->str));

		g_string_erase(panel->input, 0, end - panel->input->str + 1);
		handle_line(panel, line);
		g_free(line);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean refresh_position(gpointer data)
{
	struct panel *panel = data;

	if (panel->call)
		return G_SOURCE_CONTINUE; /* one question at a time */
	panel->position = (unsigned)atoi(call_player(panel, "POSITION"));
	if (panel->tracks > 0)
		g_main_loop_quit(panel->loop);
	return G_SOURCE_CONTINUE;
}

static gboolean draw_clock(gpointer data)
{
	struct panel *panel = data;

	panel->position++;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	struct panel panel = {.later = argc < 2 || strcmp(argv[1], "broken")};
	pthread_t player;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	panel.fd = ends[0];
	panel.input = g_string_new(NULL);
	panel.loop = g_main_loop_new(NULL, FALSE);
	pthread_create(&player, NULL, play, &ends[1]);
	g_unix_fd_add(panel.fd, G_IO_IN, on_player_line, &panel);
	g_timeout_add(100, refresh_position, &panel);
	g_timeout_add(70, draw_clock, &panel);
	g_main_loop_run(panel.loop);
	close(panel.fd);
	pthread_join(player, NULL);
	printf("panel: %s at %u\n", panel.title, panel.position);
	g_main_loop_unref(panel.loop);
	g_string_free(panel.input, TRUE);
	return 0;
}
