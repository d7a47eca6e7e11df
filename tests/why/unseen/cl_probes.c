/* SPDX-License-Identifier: ISC */
/*
 * After sheredom/subprocess.h #114.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The pipes of subprocess_create aren't close-on-exec. The decoder, which is started while a probe runs,
 *     inherits the writing end of the probe's standard input and keeps it as long as it lives. So the probe never
 *     sees the end of its input, though the scanner has closed its own end; the scanner waits for the probe's answer.
 *   culprit: decoder|subprocess_create|player
 *   victim: scanner|main\b|probe
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A video player: short probes look into files, and a decoder runs as long as a film is open. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FILES = 6,
	FILM = 3
};

struct subprocess {
	pid_t child;
	int stdin_file;
	int stdout_file;
};

static int pipe_flags; /* O_CLOEXEC in the fixed program */

static void subprocess_create(struct subprocess *process, const char *what)
{
	int in[2], out[2];

	if (pipe2(in, pipe_flags) || pipe2(out, pipe_flags))
		exit(2);
	process->child = fork();
	if (process->child < 0)
		exit(2);
	if (!process->child) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		execl("/proc/self/exe", what, what, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	process->stdin_file = in[1];
	process->stdout_file = out[0];
}

static void subprocess_close_stdin(struct subprocess *process)
{
	close(process->stdin_file);
	process->stdin_file = -1;
}

static int subprocess_join(struct subprocess *process)
{
	int status;

	if (process->stdin_file >= 0)
		subprocess_close_stdin(process);
	close(process->stdout_file);
	waitpid(process->child, &status, 0);
	return status;
}

/* ---- The children --------------------------------------------------------------------------- */

/* Reads the whole head of a file and says what it is. */
static int probe(void)
{
	char part[256];
	ssize_t size;
	int total = 0;

	prctl(PR_SET_NAME, "probe");
	while ((size = read(STDIN_FILENO, part, sizeof(part))) > 0)
		total += (int)size;
	usleep(2000);
	dprintf(STDOUT_FILENO, "h264 %d bytes\n", total);
	return 0;
}

/* Sends a frame for each line "next", until the input ends. */
static int decoder(void)
{
	char command[32];
	ssize_t size;

	prctl(PR_SET_NAME, "decoder");
	while ((size = read(STDIN_FILENO, command, sizeof(command))) > 0) {
		usleep(4000);
		if (write(STDOUT_FILENO, "frame", 5) != 5)
			return 1;
	}
	return 0;
}

/* ---- The player ----------------------------------------------------------------------------- */

static struct film {
	pthread_mutex_t mutex;
	pthread_cond_t opened;
	struct subprocess decoder;
	bool wanted, open;
	_Atomic bool ended;
	unsigned frames;
} film = {.mutex = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static void *player(void *data)
{
	char frame[16];

	(void)data;
	pthread_setname_np(pthread_self(), "player");
	pthread_mutex_lock(&film.mutex);
	while (!film.wanted)
		pthread_cond_wait(&film.opened, &film.mutex);
	subprocess_create(&film.decoder, "decoder");
	film.open = true;
	pthread_cond_broadcast(&film.opened);
	pthread_mutex_unlock(&film.mutex);
	while (!film.ended) {
		if (write(film.decoder.stdin_file, "next\n", 5) != 5)
			break;
		if (read(film.decoder.stdout_file, frame, sizeof(frame)) <= 0)
			break;
		film.frames++;
		usleep(10000);
	}
	subprocess_join(&film.decoder);
	return NULL;
}

/* The user opens a film while the library is scanned. */
static void open_film(void)
{
	pthread_mutex_lock(&film.mutex);
	film.wanted = true;
	pthread_cond_broadcast(&film.opened);
	while (!film.open)
		pthread_cond_wait(&film.opened, &film.mutex);
	pthread_mutex_unlock(&film.mutex);
}

static void *scanner(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "scanner");
	for (int i = 0; i < FILES; i++) {
		struct subprocess process;
		char head[512], answer[64] = "";
		ssize_t size;

		subprocess_create(&process, "probe");
		memset(head, i, sizeof(head));
		if (write(process.stdin_file, head, sizeof(head)) != (ssize_t)sizeof(head))
			exit(2);
		if (i == FILM)
			open_film();
		subprocess_close_stdin(&process);
		while ((size = read(process.stdout_file, answer, sizeof(answer) - 1)) > 0)
			answer[size] = 0;
		subprocess_join(&process);
		printf("file %d: %s", i, answer);
		usleep(5000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t scan, play;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "probe"))
		return probe();
	if (!strcmp(argv[1], "decoder"))
		return decoder();
	if (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy"))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	pipe_flags = strcmp(argv[1], "broken") ? O_CLOEXEC : 0;
	if (pthread_create(&play, NULL, player, NULL) || pthread_create(&scan, NULL, scanner, NULL))
		return 2;
	pthread_join(scan, NULL);
	usleep(50000);
	film.ended = true;
	pthread_join(play, NULL);
	printf("%u frames shown\n", film.frames);
	return 0;
}
