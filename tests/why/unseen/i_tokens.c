/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The server says in seconds how long a token is good, and remember_token adds them to a clock of milliseconds. So each token seems to have run out already, and every request fetches a new one ("refresh token") before it does its work.
 *   culprit: refresh token
 *   victim: GET /items/
 */
/*
 * A client that mirrors the items of a shop's API. The API wants a token, which another server gives
 * out and which is good for an hour.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define ITEMS 24
#define MARGIN_MS 60000 /* a token is renewed a minute before its end */

struct answer {
	char text[64];
	int expires_in; /* s */
};

static bool broken;
static struct {
	char text[64];
	int64_t expires; /* ms */
} token;
static unsigned stored;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The work of the servers, and the way there and back. */
static void exchange(useconds_t us, struct answer *answer, const char *text, int expires_in)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(us);
	thrum_resume();
	snprintf(answer->text, sizeof(answer->text), "%s", text);
	answer->expires_in = expires_in;
}

static void remember_token(const struct answer *answer)
{
	memcpy(token.text, answer->text, sizeof(token.text));
	if (broken)
		token.expires = now_ms() + answer->expires_in - MARGIN_MS;
	else
		token.expires = now_ms() + answer->expires_in * 1000ll - MARGIN_MS;
}

static const char *get_token(void)
{
	struct answer answer;
	thrum_task refresh;

	if (token.text[0] && token.expires > now_ms())
		return token.text;
	refresh = thrum_task_create(THRUM_KIND_REQUEST, "refresh token");
	thrum_task_should_resolve(refresh);
	thrum_task_wait(thrum_task_current(), refresh);
	exchange(9000, &answer, "c2hvcDptaXJyb3I", 3600);
	thrum_task_resolve(refresh);
	thrum_task_read(thrum_task_current(), refresh);
	remember_token(&answer);
	return token.text;
}

static void store_item(const struct answer *answer)
{
	for (const char *p = answer->text; *p; p++)
		stored = stored * 31 + (unsigned char)*p;
}

static bool mirror_item(int number)
{
	thrum_task get = thrum_task_createf(THRUM_KIND_TASK, "GET /items/%d", number);
	struct answer answer;
	char text[32];
	bool good = false;

	thrum_task_should_resolve(get);
	THRUM_RUN (get) {
		const char *bearer = get_token();

		snprintf(text, sizeof(text), "{\"id\":%d}", number);
		exchange(3000, &answer, text, 0);
		good = bearer[0] && answer.text[0] == '{';
		if (good)
			thrum_task_resolve(get);
		else
			thrum_task_fail(get, "401");
	}
	if (good)
		store_item(&answer);
	return good;
}

int main(int argc, char **argv)
{
	int mirrored = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 1; i <= ITEMS; i++)
		mirrored += mirror_item(i);
	printf("%d items, %08x\n", mirrored, stored);
	thrum_stop();
	return 0;
}
