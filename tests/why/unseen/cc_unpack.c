/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: The unpacker takes archives from one stream and pushes their entries to another; the scanner takes these, and
 *     pushes archives that it finds among them back to the first (scan_entry). Both streams hold only four. With an
 *     archive of many archives both are full: the scanner waits for room among the archives, which only the unpacker
 *     would make, and that waits for room among the entries, which only the scanner would make.
 *   culprit: scan_entry|scanner|push_entry|unpacker|\barchives\b|\bentries\b
 *   victim: main\b|mail [0-9]
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A scanner for mail on promises: it unpacks archives and scans their entries, which may be archives too. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ROOM 4

struct mail {
	unsigned left; /* archives and entries that aren't done */
	struct thrum_resolver *done;
};

struct item {
	struct mail *mail;
	int entries; /* of an archive; 0: a plain file */
	int nested;  /* how many entries are archives themselves */
	int pushed;
};

static struct thrum_stream *archives;
static struct thrum_stream *entries;
static unsigned scanned;

static struct item *item_new(struct mail *mail, int count, int nested)
{
	struct item *item = calloc(1, sizeof(*item));

	item->mail = mail;
	item->entries = count;
	item->nested = nested;
	mail->left++;
	return item;
}

static void item_done(struct item *item)
{
	struct mail *mail = item->mail;

	free(item);
	if (--mail->left == 0)
		thrum_resolver_resolve(mail->done, thrum_value_none());
}

/* ---- The unpacker ---- */

static struct thrum_promise *unpack_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *push_entry(struct thrum_loop *loop, void *value, void *data)
{
	struct item *archive = data;
	struct item *entry;

	(void)value;
	if (archive->pushed == archive->entries) {
		item_done(archive);
		return unpack_next(loop, NULL, NULL);
	}
	/* An archive within an archive has two plain files. */
	entry = item_new(archive->mail, archive->pushed < archive->nested ? 2 : 0, 0);
	archive->pushed++;
	return thrum_promise_bind(thrum_stream_push(entries, thrum_value_own(entry, free)),
		push_entry, archive, NULL);
}

static struct thrum_promise *unpack_archive(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value taken;

	(void)data;
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	if (!thrum_loop_take(loop, &taken))
		abort();
	return thrum_promise_bind(thrum_sleep(loop, 3), push_entry, taken.data, NULL);
}

static struct thrum_promise *unpack_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(archives), unpack_archive, data, NULL);
}

/* ---- The scanner ---- */

static struct thrum_promise *scan_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *scan_entry(struct thrum_loop *loop, void *value, void *data)
{
	struct item *entry = data;

	(void)value;
	scanned++;
	if (entry->entries)
		return thrum_promise_bind(thrum_stream_push(archives, thrum_value_own(entry, free)),
			scan_next, NULL, NULL);
	item_done(entry);
	return scan_next(loop, NULL, NULL);
}

static struct thrum_promise *begin_scan(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value taken;

	(void)data;
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	if (!thrum_loop_take(loop, &taken))
		abort();
	return thrum_promise_bind(thrum_sleep(loop, 1), scan_entry, taken.data, NULL);
}

static struct thrum_promise *scan_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(entries), begin_scan, data, NULL);
}

static struct thrum_promise *begin_unpacker(struct thrum_loop *loop, void *data)
{
	return unpack_next(loop, NULL, data);
}

static struct thrum_promise *begin_scanner(struct thrum_loop *loop, void *data)
{
	return scan_next(loop, NULL, data);
}

/* ---- Mails ---- */

static struct thrum_promise *archive_queued(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return data;
}

static struct thrum_promise *next_mail(struct thrum_loop *loop, void *value, void *data)
{
	static const struct {
		int entries;
		int nested;
	} mails[] = {{3, 0}, {5, 1}, {9, 2}, {4, 1}, {6, 3}, {24, 20}, {3, 1}};
	intptr_t number = thrum_int(data);
	struct thrum_promise *done;
	struct mail *mail;
	struct item *item;

	(void)value;
	if (number == (intptr_t)(sizeof(mails) / sizeof(mails[0])))
		return thrum_promise_return(loop, thrum_value_none());
	mail = calloc(1, sizeof(*mail));
	done = thrum_promise_labelf(thrum_promise_wait(loop, NULL, &mail->done), "mail %d",
		(int)number + 1);
	item = item_new(mail, mails[number].entries, mails[number].nested);
	done = thrum_promise_bind(thrum_stream_push(archives, thrum_value_own(item, free)),
		archive_queued, done, NULL);
	return thrum_promise_bind(done, next_mail, (void *)(number + 1), NULL);
}

static struct thrum_promise *fetch_mail(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 300), fetch_mail, data, NULL);
}

static struct thrum_promise *begin_fetch(struct thrum_loop *loop, void *data)
{
	return fetch_mail(loop, NULL, data);
}

int main(int argc, char **argv)
{
	bool healthy = argc > 1 && !strcmp(argv[1], "healthy");
	struct thrum_promise *program;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	uv_loop_init(&uv);
	if (thrum_start(NULL) || thrum_loop_create(&uv, &loop))
		return 1;
	archives = thrum_stream_create(loop, "archives", healthy ? 10000 : ROOM);
	entries = thrum_stream_create(loop, "entries", ROOM);
	thrum_promise_async(loop, "unpacker", begin_unpacker, NULL, NULL);
	thrum_promise_async(loop, "scanner", begin_scanner, NULL, NULL);
	thrum_promise_async(loop, "fetch mail", begin_fetch, NULL, NULL);
	program = thrum_promise_label(next_mail(loop, NULL, NULL), "main");
	code = thrum_promise_run(thrum_promise_should_resolve(program));
	printf("%u entries scanned\n", scanned);
	thrum_stop();
	thrum_stream_destroy(archives);
	thrum_stream_destroy(entries);
	thrum_loop_destroy(loop);
	return code;
}
