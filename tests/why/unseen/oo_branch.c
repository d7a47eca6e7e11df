/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The auditor takes the lock of the branch's file when the audit opens, and keeps it while it
 *     waits for the till's message that ends the day. It should take the lock only to count. The stock
 *     process waits for that lock, the broker for the stock process, and the till for the broker.
 *   culprit: auditor
 *   victim: broker|stock_keeper|sell
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A shop's branch: the till sells, a broker asks the stock keeper, and an auditor counts at the end. */

enum {
	SALES = 24,
	AUDIT_AT = 6
};
enum action {
	SELL = 's',
	OPEN_AUDIT = 'o',
	END_DAY = 'e'
};

struct message {
	int action;
	int item;
	int left;
};

static char lock_path[64];
static int inherited[8], inherited_count;
static bool lock_late;

static bool send_message(int to, int action, int item, int left)
{
	struct message message = {action, item, left};

	return send(to, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
}

static bool next_message(int from, struct message *message)
{
	return recv(from, message, sizeof(*message), 0) == sizeof(*message);
}

/* Makes a child and a connection to it. Returns the parent's end; in the child -1, and its end in `end`. */
static int split(const char *name, int *end)
{
	int ends[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) || (child = fork()) < 0)
		exit(1);
	if (child) {
		close(ends[1]);
		inherited[inherited_count++] = ends[0];
		return ends[0];
	}
	close(ends[0]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	*end = ends[1];
	return -1;
}

/* The till's other connections are none of this process's business; `keep` is. */
static void drop_inherited(int keep)
{
	for (int i = 0; i < inherited_count; i++)
		if (inherited[i] != keep)
			close(inherited[i]);
}

static int open_file(void)
{
	int file = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (file < 0)
		exit(1);
	return file;
}

static int start_stock_keeper(void)
{
	int till, left[4] = {40, 40, 40, 40}, parent = split("stock_keeper", &till), file;
	struct message order;

	if (parent >= 0)
		return parent;
	drop_inherited(-1);
	file = open_file();
	while (next_message(till, &order)) {
		flock(file, LOCK_EX);
		usleep(700);
		left[order.item]--;
		flock(file, LOCK_UN);
		send_message(till, order.action, order.item, left[order.item]);
	}
	exit(0);
}

static int start_broker(int stock)
{
	int till, parent = split("broker", &till);
	struct message order;

	if (parent >= 0)
		return parent;
	drop_inherited(stock);
	while (next_message(till, &order)) {
		if (!send_message(stock, order.action, order.item, 0) ||
			!next_message(stock, &order))
			exit(1);
		send_message(till, order.action, order.item, order.left);
	}
	exit(0);
}

static int start_auditor(void)
{
	int till, parent = split("auditor", &till), file;
	struct message order;

	if (parent >= 0)
		return parent;
	drop_inherited(-1);
	file = open_file();
	while (next_message(till, &order)) {
		if (order.action == OPEN_AUDIT && !lock_late)
			flock(file, LOCK_EX);
		if (order.action == END_DAY) {
			if (lock_late)
				flock(file, LOCK_EX);
			usleep(2000);
			flock(file, LOCK_UN);
		}
		send_message(till, order.action, 0, 0);
	}
	exit(0);
}

static int sell(int broker, int item)
{
	struct message answer;

	if (!send_message(broker, SELL, item, 0) || !next_message(broker, &answer))
		exit(1);
	return answer.left;
}

static void tell(int auditor, enum action action)
{
	struct message answer;

	if (!send_message(auditor, action, 0, 0) || !next_message(auditor, &answer))
		exit(1);
}

int main(int count, char **arguments)
{
	int stock, broker, auditor, left = 0;

	if (count != 2)
		return 2;
	lock_late = strcmp(arguments[1], "healthy") == 0;
	snprintf(lock_path, sizeof(lock_path), "/tmp/branch-%.20s.db", arguments[1]);
	stock = start_stock_keeper();
	broker = start_broker(stock);
	close(stock); /* from now on the broker's */
	inherited[0] = -1;
	auditor = start_auditor();
	for (int i = 0; i < SALES; i++) {
		if (i == AUDIT_AT)
			tell(auditor, OPEN_AUDIT);
		left = sell(broker, i % 4);
		usleep(1000);
	}
	tell(auditor, END_DAY);
	close(broker);
	close(auditor);
	while (wait(NULL) > 0)
		continue;
	unlink(lock_path);
	printf("%d sales, %d left of the last item\n", SALES, left);
	return 0;
}
