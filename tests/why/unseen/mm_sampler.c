/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The samplers inherit a mask that blocks SIGTERM, so they go on; start_sampler should reset it.
 *   culprit: (block|pending|held|hold|mask|ignore).*SIGTERM|SIGTERM.*(block|pending|held|hold|mask|ignore)
 *   victim: stop_samplers|process
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Collects measurements of three sampler processes. A thread takes the signals of the service by sigwait. */
#include <errno.h>
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
	SAMPLERS = 3,
	WANTED = 60
};

struct sample {
	int sampler, number;
	double value;
};

static bool reset_mask;
static sigset_t mask_before;
static volatile sig_atomic_t told_to_stop;
static pid_t samplers[SAMPLERS];
static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;
static double scale = 1.0;
static int reloads;

static void on_term(int number)
{
	(void)number;
	told_to_stop = 1;
}

static double measure(int sampler, int number)
{
	unsigned seed = sampler * 977 + number;

	return (rand_r(&seed) % 1000) / 10.0;
}

static void run_sampler(int sampler, int output)
{
	struct sigaction action = {.sa_handler = on_term};
	struct sample sample = {.sampler = sampler};

	sigaction(SIGTERM, &action, NULL);
	if (reset_mask)
		sigprocmask(SIG_SETMASK, &mask_before, NULL);
	while (!told_to_stop) {
		usleep(3000 + sampler * 500);
		sample.number++;
		sample.value = measure(sampler, sample.number);
		if (write(output, &sample, sizeof(sample)) != sizeof(sample))
			break;
		if (sampler == 0 && sample.number % 6 == 0 && sample.number < 20)
			kill(getppid(), SIGHUP); /* a sensor was plugged in */
	}
	_exit(0);
}

static pid_t start_sampler(int sampler, const int *ends)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	close(ends[0]);
	run_sampler(sampler, ends[1]);
	return 0;
}

static void read_config(void)
{
	pthread_mutex_lock(&config_lock);
	usleep(4000);
	scale += 0.25;
	reloads++;
	pthread_mutex_unlock(&config_lock);
}

static void *take_signals(void *data)
{
	const sigset_t *signals = data;
	int number;

	for (;;) {
		if (sigwait(signals, &number))
			continue;
		if (number == SIGHUP)
			read_config();
		else
			return NULL;
	}
}

static double collect(int input)
{
	struct sample sample;
	double sum = 0;
	int count = 0;

	while (count < WANTED && read(input, &sample, sizeof(sample)) == sizeof(sample)) {
		pthread_mutex_lock(&config_lock);
		sum += sample.value * scale;
		pthread_mutex_unlock(&config_lock);
		count++;
	}
	return count ? sum / count : 0;
}

static int stop_samplers(void)
{
	int bad = 0, status;

	for (int i = 0; i < SAMPLERS; i++)
		kill(samplers[i], SIGTERM);
	for (int i = 0; i < SAMPLERS; i++) {
		while (waitpid(samplers[i], &status, 0) < 0 && errno == EINTR)
			continue;
		bad += status != 0;
	}
	return bad;
}

int main(int argc, char **argv)
{
	sigset_t signals;
	pthread_t signal_thread;
	double mean;
	int ends[2], bad;

	reset_mask = argc > 1 && !strcmp(argv[1], "healthy");
	if (pipe(ends))
		return 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, &mask_before);
	for (int i = 0; i < SAMPLERS; i++) {
		samplers[i] = start_sampler(i, ends);
		if (samplers[i] < 0)
			return 1;
	}
	close(ends[1]);
	if (pthread_create(&signal_thread, NULL, take_signals, &signals))
		return 1;
	mean = collect(ends[0]);
	bad = stop_samplers();
	close(ends[0]);
	pthread_kill(signal_thread, SIGTERM);
	pthread_join(signal_thread, NULL);
	printf("mean %.1f, configuration read %s\n", mean, reloads ? "again" : "once");
	return bad;
}
