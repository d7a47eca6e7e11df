/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A worker process dies in cache_insert while it holds the mutex of the shared zone, and the mutex
 *   	isn't robust. The worker should have refused the long key before it took the mutex.
 *   culprit: cache_insert
 *   victim: cache_lookup|serve_requests
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 3
#define SLOTS 64
#define KEY_MAX 32
#define REQUESTS 200

struct slot {
	char key[KEY_MAX];
	uint32_t body;
};

struct zone {
	pthread_mutex_t mutex;
	unsigned hits, misses, refused;
	struct slot slots[SLOTS];
};

static struct zone *zone;
static bool broken;

static struct zone *create_zone(void)
{
	struct zone *z = mmap(NULL, sizeof *z, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (z == MAP_FAILED)
		return NULL;
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&z->mutex, &attr);
	return z;
}

static unsigned hash_key(const char *key)
{
	unsigned h = 5381;
	while (*key)
		h = h * 33 + (unsigned char)*key++;
	return h % SLOTS;
}

static bool cache_lookup(const char *key, uint32_t *body)
{
	pthread_mutex_lock(&zone->mutex);
	struct slot *s = &zone->slots[hash_key(key)];
	bool hit = !strncmp(s->key, key, KEY_MAX);
	if (hit) {
		zone->hits++;
		*body = s->body;
	} else {
		zone->misses++;
	}
	pthread_mutex_unlock(&zone->mutex);
	return hit;
}

static void copy_key(struct slot *s, const char *key)
{
	size_t len = strlen(key);
	if (len >= KEY_MAX) {
		fprintf(stderr, "[alert] key of %zu bytes in zone\n", len);
		abort();
	}
	memcpy(s->key, key, len + 1);
}

static void cache_insert(const char *key, uint32_t body)
{
	if (!broken && strlen(key) >= KEY_MAX) {
		__atomic_add_fetch(&zone->refused, 1, __ATOMIC_RELAXED);
		return;
	}
	pthread_mutex_lock(&zone->mutex);
	struct slot *s = &zone->slots[hash_key(key)];
	copy_key(s, key);
	s->body = body;
	pthread_mutex_unlock(&zone->mutex);
}

static uint32_t fetch_from_upstream(const char *uri)
{
	usleep(800);
	return (uint32_t)strlen(uri) * 2654435761u;
}

static void serve_requests(int worker)
{
	char name[16];
	snprintf(name, sizeof name, "worker-%d", worker);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int i = 0; i < REQUESTS; i++) {
		char uri[96];
		snprintf(uri, sizeof uri, "/img/%d.png", (i * 7 + worker) % 90);
		if (worker == 1 && i == 60)
			strcat(uri, "?utm_source=newsletter&utm_campaign=autumn");
		uint32_t body;
		if (!cache_lookup(uri, &body)) {
			body = fetch_from_upstream(uri);
			cache_insert(uri, body);
		}
		usleep(300);
	}
	_exit(0);
}

static int reap_workers(void)
{
	int died = 0, status;
	for (int left = WORKERS; left > 0;) {
		pid_t pid = waitpid(-1, &status, 0);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		left--;
		if (WIFSIGNALED(status)) {
			fprintf(stderr, "[alert] worker %d exited on signal %d\n", (int)pid,
				WTERMSIG(status));
			died++;
		}
	}
	return died;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	zone = create_zone();
	if (!zone)
		return 1;
	for (int i = 0; i < WORKERS; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0)
			serve_requests(i);
	}
	int died = reap_workers();
	printf("%u hits, %u misses, %u refused\n", zone->hits, zone->misses, zone->refused);
	return died != 0;
}
