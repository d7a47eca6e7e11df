/* SPDX-License-Identifier: ISC */
/*
 * After mz-automation/lib60870, issue #134.
 *
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: handleTimeouts, in the thread of the connection, holds conStateLock while it sends a test frame, and then
 *     wants sentASDUsLock to look at the oldest message that isn't acknowledged. sendIMessageAndUpdateSentASDUs, in
 *     the thread of the commands, holds sentASDUsLock and wants conStateLock. The two locks are taken in
 *     different orders, and both threads wait for ever.
 *   culprit: handleTimeouts|sendIMessage|conStateLock|sentASDUsLock
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A control centre: it sends commands to an outstation over IEC 60870-5-104 and supervises the connection. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define K_FRAMES 12
#define COMMANDS 24

typedef sem_t *Semaphore;

static Semaphore Semaphore_create(unsigned permits)
{
	Semaphore self = malloc(sizeof(sem_t));

	sem_init(self, 0, permits);
	return self;
}

static void Semaphore_wait(Semaphore self)
{
	sem_wait(self);
}

static void Semaphore_post(Semaphore self)
{
	sem_post(self);
}

struct sCS104_Connection {
	int socket;
	Semaphore conStateLock;  /* counters, the socket */
	Semaphore sentASDUsLock; /* messages that aren't acknowledged yet */
	unsigned sentTimes[K_FRAMES];
	int oldestSentASDU;
	int newestSentASDU;
	int sendCount;
	int unconfirmed;
	int idleRounds;
	int testFrames;
	bool running;
	bool sameOrder;
};

typedef struct sCS104_Connection *CS104_Connection;

static int alarms[2]; /* an alarm of the plant asks for a command at once */

static void writeFrame(int socket, char type)
{
	if (write(socket, &type, 1) != 1)
		abort();
}

/* The caller holds sentASDUsLock. */
static void sendIMessage(CS104_Connection self)
{
	Semaphore_wait(self->conStateLock);
	writeFrame(self->socket, 'I');
	self->sendCount++;
	self->unconfirmed++;
	self->idleRounds = 0;
	Semaphore_post(self->conStateLock);
}

static void sendIMessageAndUpdateSentASDUs(CS104_Connection self)
{
	Semaphore_wait(self->sentASDUsLock);
	self->newestSentASDU = (self->newestSentASDU + 1) % K_FRAMES;
	self->sentTimes[self->newestSentASDU] = self->sendCount;
	sendIMessage(self);
	Semaphore_post(self->sentASDUsLock);
}

static void checkConfirmations(CS104_Connection self)
{
	Semaphore_wait(self->sentASDUsLock);
	self->oldestSentASDU = self->newestSentASDU;
	Semaphore_post(self->sentASDUsLock);
	Semaphore_wait(self->conStateLock);
	self->unconfirmed = 0;
	Semaphore_post(self->conStateLock);
}

/* The line was idle for T3: a test frame asks whether the outstation is there. */
static void testFrame(CS104_Connection self)
{
	char answer = 0;

	writeFrame(self->socket, 'T');
	while (answer != 't')
		if (read(self->socket, &answer, 1) != 1)
			abort();
	self->idleRounds = 0;
	self->testFrames++;
}

static bool handleTimeouts(CS104_Connection self)
{
	bool isFine = true;

	if (self->sameOrder)
		Semaphore_wait(self->sentASDUsLock);
	Semaphore_wait(self->conStateLock);
	if (++self->idleRounds > 6) {
		testFrame(self);
		if (!self->sameOrder)
			Semaphore_wait(self->sentASDUsLock);
		if (self->oldestSentASDU != self->newestSentASDU)
			isFine = self->sendCount - (int)self->sentTimes[self->newestSentASDU] <
				K_FRAMES;
		if (!self->sameOrder)
			Semaphore_post(self->sentASDUsLock);
	}
	Semaphore_post(self->conStateLock);
	if (self->sameOrder)
		Semaphore_post(self->sentASDUsLock);
	return isFine;
}

static void *handleConnection(void *parameter)
{
	CS104_Connection self = parameter;
	struct pollfd line = {.fd = self->socket, .events = POLLIN};
	char frame;

	while (self->running) {
		if (poll(&line, 1, 10) == 1 && recv(self->socket, &frame, 1, MSG_DONTWAIT) == 1 &&
			frame == 'S')
			checkConfirmations(self);
		if (!handleTimeouts(self))
			break;
	}
	return NULL;
}

/* The other side of the line. */
static void *outstation(void *parameter)
{
	int socket = *(int *)parameter;
	char frame;

	while (read(socket, &frame, 1) == 1) {
		if (frame == 'I') {
			usleep(1000);
			writeFrame(socket, 'S');
		} else if (frame == 'T') {
			/* Changes in the meantime are told first. */
			if (write(alarms[1], "a", 1) != 1)
				abort();
			usleep(30000);
			writeFrame(socket, 't');
		}
	}
	return NULL;
}

static void *commands(void *parameter)
{
	CS104_Connection self = parameter;
	struct pollfd plant = {.fd = alarms[0], .events = POLLIN};
	char event;

	for (int i = 0; i < COMMANDS; i++) {
		/* An operator's commands come in quick groups, then the line is idle until an alarm. */
		if (i % 8 == 7) {
			poll(&plant, 1, -1);
			if (read(alarms[0], &event, 1) != 1)
				abort();
		} else {
			usleep(15000);
		}
		sendIMessageAndUpdateSentASDUs(self);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sCS104_Connection connection = {.running = true};
	pthread_t threads[3];
	int line[2];

	if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, line) || pipe(alarms))
		return 2;
	connection.sameOrder = !strcmp(argv[1], "healthy");
	connection.socket = line[0];
	connection.conStateLock = Semaphore_create(1);
	connection.sentASDUsLock = Semaphore_create(1);
	pthread_create(&threads[0], NULL, outstation, &line[1]);
	pthread_create(&threads[1], NULL, handleConnection, &connection);
	pthread_create(&threads[2], NULL, commands, &connection);
	pthread_join(threads[2], NULL);
	connection.running = false;
	pthread_join(threads[1], NULL);
	close(line[0]);
	pthread_join(threads[0], NULL);
	printf("%d commands, %d test frames\n", connection.sendCount, connection.testFrames);
	return 0;
}
