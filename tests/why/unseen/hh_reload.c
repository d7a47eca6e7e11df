/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread report_metrics was started before SIGHUP was blocked, so the kernel gives it the
 *     signal. Its handler on_hangup swallows the signal, and reload_config waits in sigwait for ever.
 *   culprit: report_metrics|on_hangup
 *   victim: reload_config|await_generation|config_loaded
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 2

static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t generation_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t config_loaded = PTHREAD_COND_INITIALIZER;
static int generation;
static int limit = 100;
static atomic_long served;
static atomic_bool quitting;
static volatile sig_atomic_t hangups;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* A terminal that goes away must not end the server. */
static void on_hangup(int number)
{
	(void)number;
	hangups++;
}

static void *report_metrics(void *unused)
{
	static char report[64];

	while (!atomic_load(&quitting)) {
		snprintf(report, sizeof(report), "served %ld hangups %d\n", atomic_load(&served),
			(int)hangups);
		pause_ms(15);
	}
	return unused;
}

static void load_config(void)
{
	int new_limit = 0;

	for (int i = 0; i < 100000; i++)
		new_limit = (new_limit + i) % 977;
	pthread_rwlock_wrlock(&config_lock);
	limit = new_limit + 1;
	pthread_rwlock_unlock(&config_lock);
}

/* It loads the configuration once for each SIGHUP; SIGTERM ends it. */
static void *reload_config(void *data)
{
	const sigset_t *signals = data;
	int number;

	while (sigwait(signals, &number) == 0 && number == SIGHUP) {
		load_config();
		pthread_mutex_lock(&generation_lock);
		generation++;
		pthread_cond_broadcast(&config_loaded);
		pthread_mutex_unlock(&generation_lock);
	}
	return NULL;
}

static void *serve_requests(void *unused)
{
	long sum = 0;

	while (!atomic_load(&quitting)) {
		pthread_rwlock_rdlock(&config_lock);
		for (int i = 0; i < limit * 20; i++)
			sum += i ^ sum >> 3;
		pthread_rwlock_unlock(&config_lock);
		atomic_fetch_add(&served, 1);
		pause_ms(2);
	}
	return sum == 1 ? &served : unused;
}

/* The same as the command "hhctl reload". */
static void run_control(void)
{
	pid_t server = getpid();
	pid_t child = fork();

	if (child == 0) {
		kill(server, SIGHUP);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void await_generation(int wanted)
{
	pthread_mutex_lock(&generation_lock);
	while (generation < wanted)
		pthread_cond_wait(&config_loaded, &generation_lock);
	pthread_mutex_unlock(&generation_lock);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_hangup, .sa_flags = SA_RESTART};
	pthread_t metrics, reloader, workers[WORKERS];
	sigset_t signals;
	bool early;

	if (argc != 2)
		return 2;
	early = !strcmp(argv[1], "broken");
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaction(SIGHUP, &action, NULL);
	if (early)
		pthread_create(&metrics, NULL, report_metrics, NULL);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (!early)
		pthread_create(&metrics, NULL, report_metrics, NULL);
	pthread_create(&reloader, NULL, reload_config, &signals);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, serve_requests, NULL);
	pause_ms(60);
	for (int wanted = 1; wanted <= 3; wanted++) {
		run_control();
		await_generation(wanted);
		pause_ms(40);
	}
	atomic_store(&quitting, true);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(metrics, NULL);
	pthread_kill(reloader, SIGTERM);
	pthread_join(reloader, NULL);
	printf("generation %d, limit %d\n", generation, limit);
	return 0;
}
