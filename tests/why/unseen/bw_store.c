/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: object_stat returns without unlocking the bucket when the object has expired. The read lock stays
 *     with the thread "lister", and from then on nobody can put an object, though all can still read.
 *   culprit: object_stat|lister
 *   victim: uploader|object_put|expire_objects|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An object store in memory: one bucket behind a readers-writer lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OBJECTS = 64
};

struct object {
	char key[32];
	size_t size;
	bool used, expired;
};

struct bucket {
	pthread_rwlock_t lock;
	struct object objects[OBJECTS];
};

static struct bucket bucket = {.lock = PTHREAD_RWLOCK_INITIALIZER};
static bool healthy;
static atomic_bool finished;
static atomic_uint gets, puts_done;

static struct object *find(const char *key)
{
	for (int i = 0; i < OBJECTS; i++)
		if (bucket.objects[i].used && !strcmp(bucket.objects[i].key, key))
			return &bucket.objects[i];
	return NULL;
}

static bool object_put(const char *key, size_t size)
{
	struct object *object;

	pthread_rwlock_wrlock(&bucket.lock);
	object = find(key);
	for (int i = 0; !object && i < OBJECTS; i++)
		if (!bucket.objects[i].used)
			object = &bucket.objects[i];
	if (object) {
		snprintf(object->key, sizeof(object->key), "%s", key);
		object->size = size;
		object->used = true;
		object->expired = false;
	}
	pthread_rwlock_unlock(&bucket.lock);
	puts_done++;
	return object;
}

static long object_stat(const char *key)
{
	struct object *object;
	long size = -1;

	pthread_rwlock_rdlock(&bucket.lock);
	object = find(key);
	if (object && object->expired) {
		if (healthy)
			pthread_rwlock_unlock(&bucket.lock);
		return 0;
	}
	if (object)
		size = object->size;
	pthread_rwlock_unlock(&bucket.lock);
	return size;
}

static bool object_get(const char *key)
{
	struct object *object;

	pthread_rwlock_rdlock(&bucket.lock);
	object = find(key);
	usleep(200); /* the copy to the socket */
	pthread_rwlock_unlock(&bucket.lock);
	gets++;
	return object;
}

static void *reader(void *data)
{
	char key[32];

	(void)data;
	for (unsigned i = 0; !finished; i++) {
		snprintf(key, sizeof(key), "photo-%u.jpg", i % 20);
		object_get(key);
		usleep(3000);
	}
	return NULL;
}

/* The web page that lists the bucket. */
static void *lister(void *data)
{
	char key[32];
	long total;

	(void)data;
	while (!finished) {
		total = 0;
		for (int i = 0; i < 20; i++) {
			long size;

			snprintf(key, sizeof(key), "photo-%d.jpg", i);
			size = object_stat(key);
			if (size > 0)
				total += size;
		}
		if (total > 100000000)
			printf("over quota: %ld\n", total);
		usleep(20000);
	}
	return NULL;
}

static void expire_objects(int from, int to)
{
	pthread_rwlock_wrlock(&bucket.lock);
	for (int i = from; i < to; i++)
		bucket.objects[i].expired = true;
	pthread_rwlock_unlock(&bucket.lock);
}

static void *uploader(void *data)
{
	char key[32];

	(void)data;
	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "photo-%d.jpg", i % 30);
		object_put(key, 1000 + i);
		if (i == 60)
			expire_objects(10, 12);
		usleep(3000);
		if (i == 60)
			usleep(200000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&threads[0], NULL, reader, NULL);
	pthread_setname_np(threads[0], "reader 1");
	pthread_create(&threads[1], NULL, reader, NULL);
	pthread_setname_np(threads[1], "reader 2");
	pthread_create(&threads[2], NULL, lister, NULL);
	pthread_setname_np(threads[2], "lister");
	pthread_create(&threads[3], NULL, uploader, NULL);
	pthread_setname_np(threads[3], "uploader");
	pthread_join(threads[3], NULL);
	finished = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%u gets, %u puts\n", gets, puts_done);
	return 0;
}
