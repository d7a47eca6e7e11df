/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The signal handler on_sample runs in the main thread and writes a record into notify_pipe with a blocking write. Main reads that pipe only when a whole window of samples has come; the pipe fills before, the handler blocks in the write, and main is the only reader.
 *   culprit: \bmain\b|on_sample|collect_window
 *   victim: sampler|take_samples
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A data logger. The driver's thread tells of each sample by a signal; main collects windows of samples. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	WINDOWS = 3,
	RECORD = 64
};

static int notify_pipe[2];
static sem_t sample_taken, window_full, window_read;
static pthread_t main_thread;
static volatile sig_atomic_t samples, lost;
static int window_size = 48;

static void on_sample(int number)
{
	int saved = errno;
	char record[RECORD] = {0};

	record[0] = (char)number;
	record[1] = (char)samples;
	samples++;
	if (write(notify_pipe[1], record, sizeof record) != sizeof record)
		lost++;
	sem_post(&sample_taken);
	errno = saved;
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		continue;
}

static void *take_samples(void *unused)
{
	sigset_t mask;

	(void)unused;
	pthread_setname_np(pthread_self(), "sampler");
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	for (int window = 0; window < WINDOWS; window++) {
		/* The user asks for a finer last window. */
		int count = window == WINDOWS - 1 ? 2 * window_size : window_size;

		for (int i = 0; i < count; i++) {
			pthread_kill(main_thread, SIGUSR1);
			wait_for(&sample_taken);
			usleep(300);
		}
		sem_post(&window_full);
		wait_for(&window_read);
	}
	return NULL;
}

/* Waits for a window and reads its records. Returns their number. */
static int collect_window(void)
{
	char record[RECORD];
	int count = 0;

	wait_for(&window_full);
	while (read(notify_pipe[0], record, sizeof record) == sizeof record)
		count++;
	sem_post(&window_read);
	return count;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_sample, .sa_flags = SA_RESTART};
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t sampler;

	setvbuf(stdout, NULL, _IOLBF, 0);
	main_thread = pthread_self();
	sem_init(&sample_taken, 0, 0);
	sem_init(&window_full, 0, 0);
	sem_init(&window_read, 0, 0);
	if (pipe2(notify_pipe, O_CLOEXEC))
		return 1;
	fcntl(notify_pipe[1], F_SETPIPE_SZ, 4096);
	fcntl(notify_pipe[0], F_SETFL, O_NONBLOCK);
	if (!broken)
		fcntl(notify_pipe[1], F_SETFL, O_NONBLOCK);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&sampler, NULL, take_samples, NULL);
	for (int window = 0; window < WINDOWS; window++) {
		int records = collect_window();

		printf("window %d: %d records, %d lost\n", window, records, (int)lost);
	}
	pthread_join(sampler, NULL);
	return 0;
}
