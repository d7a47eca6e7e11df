/* SPDX-License-Identifier: ISC */
/*
 * A model of the table of live tasks, for the model checker spin. tools/verify.sh runs it.
 *
 * It describes src/record/live.c, with live_fill(), live_is_in(), live_wait(), live_store() and live_end()
 * in src/record/record.h, and the readers: thrum__format_live_read() in src/format/live.c and copy_cells() in
 * src/format/copy.c. Names are those of the code. One statement, or one d_step, is one access to
 * shared memory; anything else may happen between any two of them.
 *
 * Scope
 * - Lanes create tasks, make them wait and end them, each lane also tasks of others. A task is
 *   ended once, and no lane makes it wait at that time: that is the program's duty, and mutations 9
 *   and 10 show the consequences of neglecting it.
 * - Other lanes may see a stored tag earlier than the reader does. A reader that sees a store
 *   behind a release fence also sees all stores before the fence; of other stores it may see a
 *   later one without an earlier one.
 * - SIGKILL needs no statement: the checker tries every order, also those in which only the reader
 *   goes on after some time.
 * - A note of a lock or a timer is stored as a wait is. That of a lock may be stored by several lanes at
 *   once, which isn't described here: each of its words is right by itself, and a sum ties the label to it.
 * - Ids don't wrap here. In the code tags are their low 32 bits, and ids have 64.
 *
 * Claims
 * - No cell is filled in while it holds another task, or one that is being created.
 * - A lane that makes a task with a cell wait, or ends it, finds the task in its cell and touches
 *   no other task.
 * - The content that the reader accepts belongs to one task. The reader never combines the time of
 *   one wait with the source of an earlier one.
 *
 * MUTATION=n breaks the protocol in one place. The checker has to find each, or it proves nothing:
 *   1  a region is taken without compare-and-swap
 *   2  a lane doesn't test whether a cell is free
 *   3  the reader doesn't read the tag again
 *   4  the reader may see a cell's new content with the tag of the task before (no fence)
 *   5  the tag can be seen before the rest of the cell
 *   6  the cleared tag can be seen before the last wait of the task that ends
 *   7  a region is given back when its last id is taken, not when the next one is needed
 *   8  the reader reads the two words of a wait only once
 *   9  two lanes end the same task
 *  10  a lane makes a task wait while another one ends it
 */

#ifndef LANES
#define LANES 2
#endif
#ifndef REGIONS
#define REGIONS 2
#endif
#ifndef BLOCK
#define BLOCK 1		/* ids in a block, and cells in a region; 32 in the code */
#endif
#ifndef STEPS
#define STEPS 3		/* of each lane: creations, waits and ends of tasks */
#endif
#ifndef TRIES
#define TRIES 2		/* blocks that a lane tries to find one with room */
#endif
#ifndef READERS
#define READERS 1	/* 0: the recorder alone, which a reader doesn't disturb */
#endif
#ifndef MUTATION
#define MUTATION 0
#endif

#define CELLS (REGIONS * BLOCK)
#define NONE 255

/* ---- Memory -------------------------------------------------------------------------------- */

byte tag[CELLS];	/* as lanes see it */
byte shown[CELLS];	/* the same as the reader sees it: equal sooner or later */
byte content[CELLS];	/* the words that are written only at creation: the task's id */
#define WAIT(id, number) ((id) * 8 + (number))
/* The source and the time of a wait; both hold the task's id and the number of the wait. */
short waiting[CELLS];
short waited[CELLS];

byte regions[REGIONS];	/* the lane that has it; 0: none */
byte id_blocks = REGIONS;	/* the first block, with id 0, is left out */

/* Not in the code: knowledge of the program and of the checker. */
byte occupant[CELLS];	/* the task that is in the cell, or being created in it */
byte alive[CELLS];	/* a task that may be made to wait or be ended; 0: none */
byte waits[CELLS];	/* the number of its waits */
bit making_wait[CELLS];	/* a lane makes it wait at this time */

/* ---- Creating: live.c ---------------------------------------------------------------------- */

inline take_region()
{
	at = block % REGIONS;
	if
	:: region == at + 1 -> mine = true
	:: else ->
#if MUTATION == 1
		if
		:: regions[at] == 0 -> regions[at] = me; mine = true
		:: else
		fi;
#else
		d_step {
			if
			:: regions[at] == 0 -> regions[at] = me; mine = true
			:: else
			fi
		};
#endif
		if
		:: mine ->
			if
			:: region != 0 -> regions[region - 1] = 0
			:: else
			fi;
			region = at + 1
		:: else
		fi
	fi;
	at = 0
}

/* A first look; next_id() tests the cell again. */
inline look_for_room()
{
	at = 0;
	do
	:: at < BLOCK ->
		if
		:: tag[(block * BLOCK + at) % CELLS] == 0 || MUTATION == 2 ->
			has_cells = true;
			break
		:: else -> at++
		fi
	:: else -> break
	od;
	at = 0
}

inline take_ids()
{
	has_cells = false;
	tries = 0;
	do
	:: tries < TRIES ->
		d_step { tries++; block = id_blocks; id_blocks++ };
		take_region();
		if
		:: mine -> mine = false; look_for_room()
		:: else
		fi;
		if
		:: has_cells -> break
		:: else
		fi
	:: else -> break
	od;
	atomic { next = block * BLOCK; last = next + BLOCK - 1; tries = 0; block = 0 }
}

/* Takes the next id whose cell is free, or that has none. */
inline next_id()
{
	do
	:: id != 0 -> break
	:: id == 0 ->
		if
		:: next > last -> take_ids()
		:: else
		fi;
		if
		:: !has_cells || tag[next % CELLS] == 0 || MUTATION == 2 -> id = next
		:: else
		fi;
		next++
	od
}

inline begin()
{
	d_step { cell = id % CELLS; assert(occupant[cell] == 0); occupant[cell] = id };
#if MUTATION != 4
	/* The fence: a reader that sees the stores below sees the tag that this lane has seen. */
	shown[cell] = tag[cell];
#endif
#if MUTATION == 5
	tag[cell] = id;
#endif
	content[cell] = id;
	waiting[cell] = WAIT(id, 0);
	waited[cell] = WAIT(id, 0);
	tag[cell] = id;
	d_step { alive[cell] = id; waits[cell] = 0 }
}

inline create()
{
	next_id();
#if MUTATION == 7
	if
	:: next > last && region != 0 -> regions[region - 1] = 0; region = 0
	:: else
	fi;
#endif
	if
	:: has_cells -> begin()
	:: else
	fi;
	atomic { id = 0; cell = 0 }
}

/* ---- Waiting and ending: record.h ----------------------------------------------------------- */

/* Chooses any task that has a cell. id stays 0 if the chosen cell has none, or not now. */
inline choose_task(may)
{
	do
	:: cell < CELLS - 1 -> cell++
	:: break
	od;
	if
	:: alive[cell] != 0 && may -> id = alive[cell]; steps++
	:: else -> cell = 0
	fi
}

#define ALONE (!making_wait[cell])

inline wait()
{
	atomic {
		steps < STEPS ->
		choose_task(ALONE);
		if
		:: id != 0 -> making_wait[cell] = true; waits[cell]++; number = waits[cell]
		:: else
		fi
	};
	if
	:: id != 0 ->
		if
		:: tag[cell] == id ->
			d_step { assert(occupant[cell] == id); waiting[cell] = WAIT(id, number) };
			waited[cell] = WAIT(id, number)
		:: else -> assert(MUTATION >= 9)
		fi;
		atomic { making_wait[cell] = false; id = 0; cell = 0; number = 0 }
	:: else
	fi
}

inline end_task()
{
	atomic {
		steps < STEPS ->
		choose_task(ALONE || MUTATION == 10);
		if
		:: id != 0 && MUTATION != 9 -> alive[cell] = 0
		:: else
		fi
	};
	if
	:: id != 0 ->
		if
		:: tag[cell] == id ->
			d_step { assert(occupant[cell] == id); occupant[cell] = 0; tag[cell] = 0 };
#if MUTATION == 6
			waiting[cell] = WAIT(id, 7);
			waited[cell] = WAIT(id, 7)
#endif
		:: else -> assert(MUTATION >= 9)
		fi;
		atomic { id = 0; cell = 0 }
	:: else
	fi
}

proctype lane(byte me)
{
	byte next = 1, last, region, block, id, cell, at, tries, number, steps;
	bit has_cells, mine;

	do
	:: steps < STEPS -> steps++; create()
	:: wait()
	:: end_task()
	:: steps == STEPS -> break
	od
}

/* ---- The reader ----------------------------------------------------------------------------- */

/* Shows a tag to the reader, at any time after it was stored. */
proctype memory(byte cell)
{
end:
	do
	:: atomic { shown[cell] != tag[cell] -> shown[cell] = tag[cell] }
	od
}

/* Reads the two words of a wait, in either order. */
inline look_at_wait(source, since)
{
	if
	:: source = waiting[cell]; since = waited[cell]
	:: since = waited[cell]; source = waiting[cell]
	fi
}

proctype reader()
{
	byte cell, before, word;
	short source, since, again, since_again;

	atomic {
		do
		:: cell < CELLS - 1 -> cell++
		:: break
		od;
		before = shown[cell]
	};
	if
	:: before == 0
	:: before != 0 ->
		word = content[cell];
		assert(word == before || (shown[cell] != before && MUTATION != 3))
	:: before != 0 ->
		look_at_wait(source, since);
#if MUTATION == 8
		atomic { again = source; since_again = since };
#else
		look_at_wait(again, since_again);
#endif
		if
		:: source == again && since == since_again &&
			(shown[cell] == before || MUTATION == 3) ->
			assert(source / 8 == before && since / 8 == before);
			assert(since <= source)
		:: else
		fi
	fi
}

init
{
	byte at = 1;

	atomic {
		do
		:: at <= LANES -> run lane(at); at++
		:: else -> at = 0; break
		od;
#if READERS
		do
		:: at < CELLS -> run memory(at); at++
		:: else -> break
		od;
		run reader()
#endif
	}
}
