/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: sampler_restart_locked, in the thread "reload", joins the sampler "disk" while it holds the lock
 *     of the registry; the sampler must take that lock once more before it can see that it has to stop
 *   culprit: sampler_restart_locked|\breload\b
 *   victim: disk|cpu|net|sampler_run|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A metrics agent: samplers read counters into a registry, a reload changes their intervals. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLERS 3
#define RELOADS 6
#define EXPORTS 12

struct registry;

struct sampler {
	struct registry *registry;
	const char *name;
	pthread_t thread;
	unsigned interval_ms;
	bool stops;
	long value, readings;
};

struct registry {
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* CLOCK_MONOTONIC */
	struct sampler samplers[SAMPLERS];
	unsigned generation;
};

typedef void restart(struct sampler *sampler, unsigned interval_ms);

struct reload {
	struct registry *registry;
	restart *restart;
};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static struct timespec in_ms(unsigned ms)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += ms * 1000000L;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* Reads a counter of the system; the disk is slow to answer. */
static long read_counter(const struct sampler *sampler)
{
	FILE *file = fopen("/proc/self/stat", "r");
	char line[512];
	long sum = 0;

	if (file) {
		if (fgets(line, sizeof(line), file))
			for (const char *c = line; *c; c++)
				sum += *c;
		fclose(file);
	}
	pause_ms(sampler->name[0] == 'd' ? 4 : 1);
	return sum;
}

static void *sampler_run(void *data)
{
	struct sampler *self = data;
	struct registry *registry = self->registry;

	pthread_setname_np(pthread_self(), self->name);
	pthread_mutex_lock(&registry->mutex);
	while (!self->stops) {
		struct timespec due = in_ms(self->interval_ms);
		long value;

		pthread_mutex_unlock(&registry->mutex);
		value = read_counter(self);
		pthread_mutex_lock(&registry->mutex);
		self->value = value;
		self->readings++;
		while (!self->stops &&
			!pthread_cond_timedwait(&registry->changed, &registry->mutex, &due))
			continue;
	}
	pthread_mutex_unlock(&registry->mutex);
	return NULL;
}

static void sampler_start(struct sampler *sampler, unsigned interval_ms)
{
	sampler->stops = false;
	sampler->interval_ms = interval_ms;
	if (pthread_create(&sampler->thread, NULL, sampler_run, sampler))
		abort();
}

/* Nobody else starts or stops samplers meanwhile: only one reload runs at a time. */
static void sampler_restart(struct sampler *sampler, unsigned interval_ms)
{
	struct registry *registry = sampler->registry;

	pthread_mutex_lock(&registry->mutex);
	sampler->stops = true;
	pthread_cond_broadcast(&registry->changed);
	pthread_mutex_unlock(&registry->mutex);
	pthread_join(sampler->thread, NULL);
	pthread_mutex_lock(&registry->mutex);
	sampler_start(sampler, interval_ms);
	registry->generation++;
	pthread_mutex_unlock(&registry->mutex);
}

/* The exporter must never see a registry in which a sampler is missing. */
static void sampler_restart_locked(struct sampler *sampler, unsigned interval_ms)
{
	struct registry *registry = sampler->registry;

	pthread_mutex_lock(&registry->mutex);
	sampler->stops = true;
	pthread_cond_broadcast(&registry->changed);
	pthread_join(sampler->thread, NULL);
	sampler_start(sampler, interval_ms);
	registry->generation++;
	pthread_mutex_unlock(&registry->mutex);
}

static void *reload_run(void *data)
{
	struct reload *reload = data;

	pthread_setname_np(pthread_self(), "reload");
	for (unsigned i = 0; i < RELOADS; i++) {
		struct sampler *sampler = &reload->registry->samplers[i % SAMPLERS];
		unsigned interval_ms = 15 + 5 * i;

		pause_ms(35);
		/* The third reload changes the disk; so does the sixth. */
		if (sampler->name[0] == 'd')
			reload->restart(sampler, interval_ms);
		else
			sampler_restart(sampler, interval_ms);
	}
	return NULL;
}

static void export_values(struct registry *registry)
{
	char line[256] = "";
	size_t size = 0;

	pthread_mutex_lock(&registry->mutex);
	for (int i = 0; i < SAMPLERS; i++)
		size += (size_t)snprintf(line + size, sizeof(line) - size, "%s=%ld/%ld ",
			registry->samplers[i].name, registry->samplers[i].value,
			registry->samplers[i].readings);
	snprintf(line + size, sizeof(line) - size, "generation=%u", registry->generation);
	pthread_mutex_unlock(&registry->mutex);
	puts(line);
}

int main(int argc, char **argv)
{
	static struct registry registry = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	static const char *const names[SAMPLERS] = {"cpu", "net", "disk"};
	struct reload reload = {&registry, sampler_restart_locked};
	pthread_condattr_t attributes;
	pthread_t thread;

	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "healthy") == 0)
		reload.restart = sampler_restart;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&registry.changed, &attributes);
	for (int i = 0; i < SAMPLERS; i++) {
		registry.samplers[i].registry = &registry;
		registry.samplers[i].name = names[i];
		sampler_start(&registry.samplers[i], 20);
	}
	if (pthread_create(&thread, NULL, reload_run, &reload))
		return 2;
	for (int i = 0; i < EXPORTS; i++) {
		pause_ms(25);
		export_values(&registry);
	}
	pthread_join(thread, NULL);
	pthread_mutex_lock(&registry.mutex);
	for (int i = 0; i < SAMPLERS; i++)
		registry.samplers[i].stops = true;
	pthread_cond_broadcast(&registry.changed);
	pthread_mutex_unlock(&registry.mutex);
	for (int i = 0; i < SAMPLERS; i++)
		pthread_join(registry.samplers[i].thread, NULL);
	return 0;
}
