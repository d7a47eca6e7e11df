/* SPDX-License-Identifier: ISC */
/*
 * A model of the table of live tasks. For the model checker spin; tools/verify.sh runs it.
 *
 * It describes src/record/live.c with live_cell(), live_wait() and live_end() in
 * src/record/record.h, and the readers: load_chunk() in src/read/thrum/live.c and copy_cells() in
 * src/format/copy.c. Names are those of the code. One statement, or one d_step, is one access to
 * shared memory; between any two of them everything else may happen.
 *
 * What is in it and isn't
 * - Lanes create tasks, wait for them and end them, each also those of others. Whoever ends a task
 *   does so once, and not while somebody else makes it wait: that is the program's to see to, and
 *   mutations 9 and 10 show what happens otherwise.
 * - A stored tag may be seen by other lanes earlier than by the reader. What is stored behind a
 *   release fence is seen by nobody who doesn't see what came before the fence; of other stores the
 *   reader may see the later one only.
 * - SIGKILL needs no statement: the checker tries every order, also those in which from some
 *   moment on only the reader goes on.
 * - Ids don't come round again here. Tags are their low 32 bits, ids have 64.
 *
 * What must hold
 * - No cell is begun while another task is in it or on its way there.
 * - Whoever makes a task that has a cell wait, or ends it, finds it there and touches no other.
 * - What the reader accepts is of one task; and it never says that a task waits since a certain
 *   moment for what it waited for before that.
 *
 * MUTATION=n breaks the protocol in one place. The checker has to find each, or it proves nothing:
 *   1  a region is taken without compare-and-swap
 *   2  a lane doesn't look whether a cell is free
 *   3  the reader doesn't look at the tag again
 *   4  the reader may see a cell's new content, but still the tag of the task before (no fence)
 *   5  the tag can be seen before the rest of the cell
 *   6  the cleared tag can be seen before the last wait of the task that ends
 *   7  a region is given back when its last id is taken, not when the next one is needed
 *   8  the reader looks at the two words of a wait but once
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
#define STEPS 3		/* of each lane: tasks created, waits, ends */
#endif
#ifndef TRIES
#define TRIES 2		/* blocks to look at for one with room */
#endif
#ifndef READERS
#define READERS 1	/* 0: just the recorder, which a reader doesn't disturb */
#endif
#ifndef MUTATION
#define MUTATION 0
#endif

#define CELLS (REGIONS * BLOCK)
#define NONE 255

/* ---- Memory -------------------------------------------------------------------------------- */

byte tag[CELLS];	/* as lanes see it */
byte shown[CELLS];	/* as the reader sees it: sooner or later the same */
byte content[CELLS];	/* the words that are only written when a cell is begun: the task's id */
#define WAIT(id, number) ((id) * 8 + (number))
short waiting[CELLS];	/* for what, and since when: the task's id, and which of its waits it is */
short waited[CELLS];

byte regions[REGIONS];	/* its lane; 0: nobody's */
byte id_blocks = REGIONS;	/* the first block, with id 0, is left out */

/* Not in the code: what the program and the checker know. */
byte occupant[CELLS];	/* the task that is in a cell or on its way there */
byte alive[CELLS];	/* a task that may be made to wait or be ended; 0: none */
byte waits[CELLS];	/* how often it has waited */
bit making_wait[CELLS];	/* somebody makes it wait right now */

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

/* Just a glance; next_id() looks again. */
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

/* The next id; its cell is free, or it has none. */
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
	/* The fence: the reader sees what this lane has seen so far before what follows. */
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

/* Any task that has a cell; 0: not this one now. */
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

/* A tag's way to the reader may take its time. */
proctype memory(byte cell)
{
end:
	do
	:: atomic { shown[cell] != tag[cell] -> shown[cell] = tag[cell] }
	od
}

/* The two words of a wait, in either order. */
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
