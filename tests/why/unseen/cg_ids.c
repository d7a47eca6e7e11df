/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: messages have numbers of 8 bits, and 0 stands for a notice, which the helper doesn't answer.
 *     next_id comes to 0 after 255 calls, so send_call sends this call as a notice. handle_message of the
 *     helper reads it and writes no answer; the indexer waits for one for ever.
 *   culprit: handle_message|send_call|next_id
 *   victim: indexer|wait_reply
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An indexer lets a helper process stem words. Another thread sends notices to a second helper. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WORDS = 700,
	NOTICE = 0
};

static bool broken;

struct message {
	uint8_t id;
	char word[15];
};

struct helper {
	pid_t process;
	int socket;
	uint8_t last_id;
};

static struct helper stemmer, statistics;
static atomic_bool is_finished;

/* ---- The helper process ---- */

static unsigned noticed;

static void stem(char *word)
{
	size_t length = strlen(word);

	if (length > 3 && word[length - 1] == 's')
		word[length - 1] = 0;
}

static void handle_message(int socket, struct message *message)
{
	if (message->id == NOTICE) {
		noticed++;
		return;
	}
	stem(message->word);
	if (write(socket, message, sizeof(*message)) != sizeof(*message))
		_exit(1);
}

static void run_helper(int socket)
{
	struct pollfd input = {.fd = socket, .events = POLLIN};
	struct message message;

	for (;;) {
		if (poll(&input, 1, 1000) == 0)
			continue;
		if (read(socket, &message, sizeof(message)) != sizeof(message))
			_exit(0);
		handle_message(socket, &message);
	}
}

static void start_helper(struct helper *helper)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		exit(1);
	helper->process = fork();
	if (helper->process < 0)
		exit(1);
	if (helper->process == 0) {
		close(ends[0]);
		if (helper != &stemmer)
			close(stemmer.socket);
		run_helper(ends[1]);
	}
	close(ends[1]);
	helper->socket = ends[0];
}

static void stop_helper(struct helper *helper)
{
	shutdown(helper->socket, SHUT_RDWR);
	close(helper->socket);
	waitpid(helper->process, NULL, 0);
}

/* ---- Calls ---- */

static uint8_t next_id(struct helper *helper)
{
	helper->last_id++;
	if (!broken && helper->last_id == NOTICE)
		helper->last_id++;
	return helper->last_id;
}

static void send_message(struct helper *helper, uint8_t id, const char *word)
{
	struct message message = {.id = id};

	snprintf(message.word, sizeof(message.word), "%s", word);
	if (write(helper->socket, &message, sizeof(message)) != sizeof(message))
		exit(1);
}

static uint8_t send_call(struct helper *helper, const char *word)
{
	uint8_t id = next_id(helper);

	send_message(helper, id, word);
	return id;
}

static void wait_reply(struct helper *helper, uint8_t id, struct message *reply)
{
	do
		if (read(helper->socket, reply, sizeof(*reply)) != sizeof(*reply))
			exit(1);
	while (reply->id != id);
}

/* ---- The program ---- */

static void *indexer(void *data)
{
	unsigned *shorter = data;

	for (int i = 0; i < WORDS; i++) {
		static const char *const words[] = {"locks", "table", "pages", "mutex", "threads"};
		const char *word = words[i % 5];
		struct message reply;

		wait_reply(&stemmer, send_call(&stemmer, word), &reply);
		*shorter += strcmp(reply.word, word) != 0;
		usleep(500);
	}
	atomic_store(&is_finished, true);
	return NULL;
}

static void *reporter(void *data)
{
	while (!atomic_load(&is_finished)) {
		send_message(&statistics, NOTICE, "alive");
		usleep(50000);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t index, report;
	unsigned shorter = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	start_helper(&stemmer);
	start_helper(&statistics);
	if (pthread_create(&index, NULL, indexer, &shorter) ||
		pthread_create(&report, NULL, reporter, NULL))
		return 1;
	pthread_join(index, NULL);
	pthread_join(report, NULL);
	stop_helper(&stemmer);
	stop_helper(&statistics);
	printf("%d words, %u became shorter\n", WORDS, shorter);
	return 0;
}
