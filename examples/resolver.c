/* SPDX-License-Identifier: ISC */
/*
 * resolver: finds the addresses of names, with a cache. It asks for each name three times: twice at
 * once, which shares one lookup, and once later, which finds the answer in the cache.
 *
 *   thrum record -o resolver.thrum -- resolver localhost example.org
 *   thrum render resolver.thrum -o resolver.svg
 *
 * The example shows that a table of promises is a cache. While a lookup is pending, all callers get
 * the same promise; when it has ended, they get its value. Neither case needs code of its own.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <thrum/promise.h>

#define KEEP_MS 5000
#define LATER_MS 50

struct options {
	unsigned timeout, slow;
};

struct entry {
	struct entry *next;
	const char *name;
	struct thrum_promise *answer; /* its value is a text */
	uint64_t began;               /* by uv_now */
};

struct cache {
	struct thrum_loop *loop;
	struct options options;
	struct entry *entries;
	unsigned asked, looked_up;
};

/* ---- The cache ------------------------------------------------------------------------------- */

static struct thrum_value to_text(struct thrum_loop *loop, void *value, void *data)
{
	char text[256] = "", one[64];
	size_t used = 0;

	(void)loop, (void)data;
	for (struct addrinfo *info = value; info; info = info->ai_next) {
		if (getnameinfo(info->ai_addr, info->ai_addrlen, one, sizeof one, NULL, 0,
			    NI_NUMERICHOST) == 0 &&
			used + strlen(one) + 2 < sizeof text)
			used += (size_t)sprintf(text + used, "%s%s", used ? " " : "", one);
	}
	return thrum_value_own(strdup(text), free);
}

static struct thrum_promise *ask_system(struct thrum_loop *loop, void *value, void *data)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct entry *entry = data;

	(void)value;
	return thrum_promise_map(thrum_getaddrinfo(loop, entry->name, NULL, &hints), to_text, NULL,
		NULL);
}

static struct thrum_promise *look_up(struct cache *cache, struct entry *entry)
{
	cache->looked_up++;
	entry->began = uv_now(thrum_loop_uv(cache->loop));
	if (cache->options.slow == 0)
		return ask_system(cache->loop, NULL, entry);
	return thrum_promise_bind(thrum_sleep(cache->loop, cache->options.slow), ask_system, entry,
		NULL);
}

static bool is_good(const struct cache *cache, const struct entry *entry)
{
	switch (thrum_promise_state(entry->answer)) {
	case THRUM_PROMISE_PENDING: return true;
	case THRUM_PROMISE_FAILED: return false;
	default: return uv_now(thrum_loop_uv(cache->loop)) - entry->began < KEEP_MS;
	}
}

static struct entry *find(struct cache *cache, const char *name)
{
	struct entry *entry = cache->entries;

	while (entry && strcmp(entry->name, name) != 0)
		entry = entry->next;
	if (entry || !(entry = calloc(1, sizeof *entry)))
		return entry;
	entry->name = name;
	entry->next = cache->entries;
	cache->entries = entry;
	return entry;
}

/* Returns a promise for the addresses as a text. It is protected: a caller that loses patience and
 * cancels it must not take the answer away from the others. */
static struct thrum_promise *cache_resolve(struct cache *cache, const char *name)
{
	struct entry *entry = find(cache, name);

	cache->asked++;
	if (!entry)
		return thrum_promise_fail(cache->loop, -ENOMEM, NULL);
	if (!entry->answer || !is_good(cache, entry)) {
		thrum_promise_unref(entry->answer);
		entry->answer = thrum_promise_labelf(look_up(cache, entry), "lookup %s", name);
	}
	return thrum_promise_protected(thrum_promise_ref(entry->answer));
}

static void cache_finish(struct cache *cache)
{
	struct entry *entry;

	while ((entry = cache->entries)) {
		cache->entries = entry->next;
		/* This fails a lookup that is under way, and closes its handles. */
		thrum_promise_cancel(entry->answer);
		thrum_promise_unref(entry->answer);
		free(entry);
	}
}

/* ---- Callers --------------------------------------------------------------------------------- */

struct asker {
	struct cache *cache;
	const char *name;
};

static struct thrum_promise *tell(struct thrum_loop *loop, void *text, void *data)
{
	struct asker *asker = data;

	printf("%s: %s\n", asker->name, text ? (char *)text : "?");
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *tell_failure(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct asker *asker = data;

	printf("%s: %s\n", asker->name, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *ask(struct thrum_loop *loop, void *value, void *data)
{
	struct asker *asker = data;
	struct thrum_promise *answer = thrum_timeout(cache_resolve(asker->cache, asker->name),
		asker->cache->options.timeout);

	(void)loop, (void)value;
	return thrum_promise_labelf(thrum_promise_try_bind(answer, tell, tell_failure, asker, NULL),
		"ask for %s", asker->name);
}

/* Asks twice at once and once later. */
static struct thrum_promise *ask_three_times(struct asker *asker)
{
	struct thrum_loop *loop = asker->cache->loop;
	struct thrum_promise *later = thrum_sleep(loop, asker->cache->options.slow + LATER_MS);
	struct thrum_promise *asking[] = {
		ask(loop, NULL, asker),
		ask(loop, NULL, asker),
		thrum_promise_bind(later, ask, asker, NULL),
	};

	return thrum_promise_join(loop, asking, 3);
}

static int ask_all(struct cache *cache, char **names, size_t count)
{
	struct asker *askers = calloc(count, sizeof *askers);
	struct thrum_promise **asking = calloc(count, sizeof *asking), *all;
	int status = -ENOMEM;

	if (askers && asking) {
		for (size_t i = 0; i < count; i++) {
			askers[i] = (struct asker){cache, names[i]};
			asking[i] = ask_three_times(&askers[i]);
		}
		all = thrum_promise_join(cache->loop, asking, count);
		thrum_promise_should_resolve(thrum_promise_label(all, "main"));
		status = thrum_promise_run(all);
	}
	free(asking);
	free(askers);
	return status;
}

/* ---- Options --------------------------------------------------------------------------------- */

static void usage(void)
{
	fputs("usage: resolver [--timeout MS] [--slow MS] NAME...\n"
	      "  --timeout MS  wait at most this long for an answer (default: 2000)\n"
	      "  --slow MS     make each lookup take this much longer (default: 0)\n",
		stderr);
	exit(64);
}

int main(int count, char **arguments)
{
	static const struct option known[] = {
		{"timeout", required_argument, NULL, 't'},
		{"slow", required_argument, NULL, 's'},
		{0},
	};
	struct cache cache = {.options = {.timeout = 2000}};
	uv_loop_t uv;
	int option, status;

	while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
		switch (option) {
		case 't': cache.options.timeout = (unsigned)atoi(optarg); break;
		case 's': cache.options.slow = (unsigned)atoi(optarg); break;
		default: usage();
		}
	}
	if (optind == count)
		usage();
	if (uv_loop_init(&uv))
		return 2;
	status = thrum_loop_create(&uv, &cache.loop);
	if (status == 0) {
		status = ask_all(&cache, arguments + optind, (size_t)(count - optind));
		cache_finish(&cache);
		thrum_loop_destroy(cache.loop);
		uv_run(&uv, UV_RUN_DEFAULT);
		printf("asked %u times, looked up %u times\n", cache.asked, cache.looked_up);
	}
	uv_loop_close(&uv);
	return status == 0 ? 0 : 1;
}
