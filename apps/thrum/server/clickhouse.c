/* SPDX-License-Identifier: ISC */
/* Speaks to ClickHouse over HTTP. libcurl is loaded when it is needed: it brings many others with it. */
#define _GNU_SOURCE
#include "server/clickhouse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line/text.h"
#include "trace/load.h"

#ifdef HAVE_CURL

/* Else functions are macros. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

#define LIBRARY "libcurl.so.4"
#define PATIENCE 10000L /* ms, to connect */
#define SILENCE 300L    /* s, in which nothing comes or goes */
/* In a database's name they would mean something else, in a query or in a URL. */
#define SPECIAL "/?`\\@&#%+ "

#define FUNCTIONS(X) \
	X(curl_easy_init) \
	X(curl_easy_cleanup) \
	X(curl_easy_setopt) \
	X(curl_easy_perform) \
	X(curl_easy_getinfo) \
	X(curl_easy_escape) \
	X(curl_easy_unescape) \
	X(curl_easy_strerror) \
	X(curl_free)

struct clickhouse {
#define X(name) __typeof__(&(name)) name;
	FUNCTIONS(X)
#undef X
	CURL *curl;
	char base[300];                  /* http://HOST:PORT/ */
	char user[200], password[200];   /* "": none */
	char database[100];              /* "": not yet chosen */
	struct thrum__base_text replied; /* to the latest request */
	char error[CURL_ERROR_SIZE];
};

static bool load_library(struct clickhouse *c)
{
	void *library = dlopen(LIBRARY, RTLD_NOW);

#define X(function) \
	c->function = library ? (__typeof__(c->function))dlsym(library, #function) : NULL; \
	if (!c->function) \
		return false;
	FUNCTIONS(X)
#undef X
	return true;
}

/* Takes over a part of an address, in which %40 stands for @. */
static bool decode(const struct clickhouse *c, const char *from, const char *end, char *to,
	size_t room)
{
	int size = 0;
	char *text = c->curl_easy_unescape(c->curl, from, (int)(end - from), &size);
	bool fits = text && (size_t)size < room && !memchr(text, 0, (size_t)size);

	if (fits)
		snprintf(to, room, "%s", text);
	c->curl_free(text);
	return fits;
}

/* Takes USER or USER:PASSWORD. */
static bool take_user(struct clickhouse *c, const char *user, const char *end)
{
	const char *colon = memchr(user, ':', (size_t)(end - user));

	return decode(c, user, colon ? colon : end, c->user, sizeof(c->user)) &&
		(!colon || decode(c, colon + 1, end, c->password, sizeof(c->password)));
}

/* Takes an address apart. */
static bool parse(const char *address, struct clickhouse *c, char database[100])
{
	bool is_safe = strncmp(address, "clickhouses:", 12) == 0;
	const char *host = strstr(address, "://"), *at, *end, *port;

	if (!host || (!is_safe && strncmp(address, "clickhouse:", 11) != 0))
		return false;
	host += 3;
	end = host + strcspn(host, "/");
	at = memrchr(host, '@', (size_t)(end - host));
	if (at && !take_user(c, host, at))
		return false;
	host = at ? at + 1 : host;
	if (end == host || strlen(end) >= 100)
		return false;
	snprintf(database, 100, "%s", *end && end[1] ? end + 1 : "default");
	/* An address of IPv6 stands in brackets. */
	port = memrchr(host, ':', (size_t)(end - host));
	if (port && memchr(port, ']', (size_t)(end - port)))
		port = NULL;
	return strcspn(database, SPECIAL) == strlen(database) &&
		snprintf(c->base, sizeof(c->base), "%s://%.*s%s/", is_safe ? "https" : "http",
			(int)(end - host), host,
			port              ? ""
				: is_safe ? ":8443"
					  : ":8123") < (int)sizeof(c->base);
}

static size_t take_reply(char *bytes, size_t size, size_t count, void *to)
{
	struct clickhouse *c = to;

	/* The beginning of what it says is enough. */
	if (c->replied.size < 1000)
		thrum__base_text_bytes(&c->replied, bytes,
			size * count < 1000 ? size * count : 1000);
	return size * count;
}

/* Reports a failure by the first line of the server's words. */
static int fail(struct clickhouse *c, const char *words)
{
	complain("%s: %.*s", strstr(c->base, "://") + 3, (int)strcspn(words, "\n"), words);
	return STATUS_FAILED;
}

/* Sends a query, and `size` bytes that belong to it. */
static int request(struct clickhouse *c, const char *query, const char *bytes, size_t size)
{
	char *escaped = c->curl_easy_escape(c->curl, query, 0), url[4096];
	long status = 0;
	int length = escaped ? snprintf(url, sizeof(url), "%s?database=%s&query=%s", c->base,
				       *c->database ? c->database : "default", escaped)
			     : -1;

	c->curl_free(escaped);
	if (length < 0 || length >= (int)sizeof(url))
		return load_no_memory();
	thrum__base_text_clear(&c->replied);
	c->error[0] = '\0';
	c->curl_easy_setopt(c->curl, CURLOPT_URL, url);
	c->curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, bytes);
	c->curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	CURLcode code = c->curl_easy_perform(c->curl);

	if (code != CURLE_OK)
		return fail(c, *c->error ? c->error : c->curl_easy_strerror(code));
	c->curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return STATUS_OK;
	return fail(c, c->replied.size > 0 ? c->replied.bytes : "it refuses, and doesn't say why");
}

static void set_options(struct clickhouse *c)
{
	c->curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	c->curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, PATIENCE);
	c->curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	c->curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, SILENCE);
	c->curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->error);
	c->curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_reply);
	c->curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
	if (*c->user) {
		c->curl_easy_setopt(c->curl, CURLOPT_USERNAME, c->user);
		c->curl_easy_setopt(c->curl, CURLOPT_PASSWORD, c->password);
		c->curl_easy_setopt(c->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	}
}

/* Sends what makes a table or a view, unless it is empty. */
static int make(struct clickhouse *c, struct thrum__base_text query)
{
	int status = query.failed ? load_no_memory()
		: query.size > 0  ? request(c, query.bytes, "", 0)
				  : STATUS_OK;

	thrum__base_text_free(&query);
	return status;
}

static int make_tables(struct clickhouse *c, const char *database)
{
	char query[200];
	int status;

	snprintf(query, sizeof(query), "CREATE DATABASE IF NOT EXISTS `%s`", database);
	status = strcmp(database, "default") == 0 ? STATUS_OK : request(c, query, "", 0);
	snprintf(c->database, sizeof(c->database), "%s", database);
	for (int i = 0; i < THRUM__STORE_TABLE_COUNT && status == STATUS_OK; i++)
		status = make(c, thrum__store_schema((enum thrum__store_table)i));
	for (int i = 0; i < THRUM__STORE_TABLE_COUNT && status == STATUS_OK; i++)
		status = make(c, thrum__store_view((enum thrum__store_table)i));
	return status;
}

int clickhouse_open(const char *address, struct clickhouse **to)
{
	struct clickhouse *c = calloc(1, sizeof(*c));
	char database[100];
	int status = STATUS_OK;

	if (!c)
		return load_no_memory();
	c->replied = thrum__base_text_growing();
	if (!load_library(c)) {
		complain("--to needs the library %s (Debian: libcurl4)", LIBRARY);
		status = STATUS_FAILED;
	} else if (!(c->curl = c->curl_easy_init())) {
		status = load_no_memory();
	} else if (!parse(address, c, database)) {
		/* Text between :// and @ is left out of messages, as it may be a password. */
		complain(
			"--to is clickhouse://HOST[:PORT][/DATABASE], with USER:PASSWORD@ before HOST if "
			"it asks for that");
		status = STATUS_USAGE;
	}
	if (status == STATUS_OK) {
		set_options(c);
		status = make_tables(c, database);
	}
	if (status == STATUS_OK)
		*to = c;
	else
		clickhouse_close(c);
	return status;
}

int clickhouse_insert(struct clickhouse *c, const struct thrum__store_file *file)
{
	char query[100];

	snprintf(query, sizeof(query), "INSERT INTO %s FORMAT TabSeparated",
		thrum__store_names[file->table]);
	return request(c, query, file->bytes, file->size);
}

void clickhouse_close(struct clickhouse *c)
{
	if (!c)
		return;
	if (c->curl)
		c->curl_easy_cleanup(c->curl);
	thrum__base_text_free(&c->replied);
	free(c);
}

#else

int clickhouse_open(const char *address, struct clickhouse **to)
{
	(void)address, (void)to;
	complain(
		"this thrum was built without libcurl: install libcurl4-openssl-dev and build it again");
	return STATUS_FAILED;
}

int clickhouse_insert(struct clickhouse *c, const struct thrum__store_file *file)
{
	(void)c, (void)file;
	return STATUS_FAILED;
}

void clickhouse_close(struct clickhouse *c)
{
	(void)c;
}

#endif
