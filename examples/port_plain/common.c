/* SPDX-License-Identifier: ISC */
/* Lines, and a table of values by key. */
#include "port.h"

#include <stdlib.h>
#include <string.h>

bool lines_take(struct lines *lines, char line[LINE_SIZE])
{
	char *end = memchr(lines->text, '\n', lines->used);
	size_t length;

	if (!end)
		return false;
	length = (size_t)(end - lines->text);
	length = length < LINE_SIZE - 1 ? length : LINE_SIZE - 1;
	memcpy(line, lines->text, length);
	line[length] = 0;
	end++;
	lines->used -= (size_t)(end - lines->text);
	memmove(lines->text, end, lines->used);
	return true;
}

#define BUCKETS 256

struct item {
	struct item *next;
	char key[LINE_SIZE], value[LINE_SIZE];
};

struct store {
	struct item *buckets[BUCKETS];
};

static struct item **find(const struct store *store, const char *key)
{
	unsigned hash = 5381;
	struct item **link;

	for (const char *c = key; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	link = (struct item **)&store->buckets[hash % BUCKETS];
	while (*link && strcmp((*link)->key, key) != 0)
		link = &(*link)->next;
	return link;
}

struct store *store_create(void)
{
	return calloc(1, sizeof(struct store));
}

void store_destroy(struct store *store)
{
	for (size_t i = 0; store && i < BUCKETS; i++) {
		struct item *item;

		while ((item = store->buckets[i])) {
			store->buckets[i] = item->next;
			free(item);
		}
	}
	free(store);
}

const char *store_find(const struct store *store, const char *key)
{
	const struct item *item = *find(store, key);

	return item ? item->value : NULL;
}

int store_put(struct store *store, const char *key, const char *value)
{
	struct item **link = find(store, key);

	if (!*link && !(*link = calloc(1, sizeof(struct item))))
		return -ENOMEM;
	strncpy((*link)->key, key, LINE_SIZE - 1);
	strncpy((*link)->value, value, LINE_SIZE - 1);
	return 0;
}

int listen_somewhere(uv_loop_t *loop, uv_tcp_t *tcp, struct sockaddr_in *address,
	uv_connection_cb accept)
{
	int size = sizeof *address, status;

	uv_ip4_addr("127.0.0.1", 0, address);
	if ((status = uv_tcp_init(loop, tcp)))
		return status;
	if ((status = uv_tcp_bind(tcp, (struct sockaddr *)address, 0)) ||
		(status = uv_listen((uv_stream_t *)tcp, 128, accept)))
		return status;
	return uv_tcp_getsockname(tcp, (struct sockaddr *)address, &size);
}
