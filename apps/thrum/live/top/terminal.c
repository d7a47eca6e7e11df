/* SPDX-License-Identifier: ISC */
/* The terminal of `thrum top`, by ncurses. */
#define _GNU_SOURCE
#include "live/top/top.h"

#ifdef HAVE_NCURSES

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static chtype styles[TOP_STYLES];
static chtype selected;
static bool has_started;

/* Chooses the colours: few, and none that say more than the text does. */
static void set_styles(bool want_color)
{
	styles[TOP_STRONG] = A_BOLD;
	styles[TOP_ALARM] = A_BOLD;
	styles[TOP_HEAD] = styles[TOP_DIM] = A_DIM;
	selected = A_REVERSE;
	if (!want_color || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(1, COLOR_CYAN, -1);
	init_pair(2, COLOR_RED, -1);
	styles[TOP_BAR] = COLOR_PAIR(1);
	styles[TOP_ALARM] = COLOR_PAIR(2) | A_BOLD;
	if (COLORS < 256)
		return;
	init_pair(3, 244, -1);
	init_pair(4, 67, -1);
	styles[TOP_HEAD] = styles[TOP_DIM] = COLOR_PAIR(3);
	styles[TOP_BAR] = COLOR_PAIR(4);
}

int top_terminal_start(struct top_screen *screen, bool want_color)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		complain("top needs a terminal; --once prints the same once");
		return STATUS_FAILED;
	}
	/* Only the encoding: numbers are written as ever. */
	setlocale(LC_CTYPE, "");
	screen->is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	set_escdelay(50);
	if (!newterm(NULL, stdout, stdin)) {
		complain("the terminal \"%s\" is unknown, or can't place text; --once prints the "
			 "same once",
			getenv("TERM") ? getenv("TERM") : "");
		return STATUS_FAILED;
	}
	has_started = true;
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	mousemask(BUTTON1_CLICKED | BUTTON1_PRESSED | BUTTON1_DOUBLE_CLICKED | BUTTON4_PRESSED |
			BUTTON5_PRESSED,
		NULL);
	mouseinterval(200);
	set_styles(want_color);
	if (top_screen_resize(screen, COLS, LINES) < 0) {
		top_terminal_end();
		complain("out of memory");
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

void top_terminal_end(void)
{
	if (has_started)
		endwin();
	has_started = false;
}

void top_terminal_show(const struct top_screen *screen)
{
	for (int y = 0; y < screen->height; y++) {
		const struct top_cell *line = &screen->cells[(size_t)y * (size_t)screen->width];

		move(y, 0);
		for (int x = 0; x < screen->width; x++) {
			bool is_wide = false;

			/* The last cell of a terminal can't be written without scrolling. */
			if (y == screen->height - 1 && x == screen->width - 1)
				break;
			attrset(styles[line[x].style] | (line[x].is_selected ? selected : 0));
			addstr(line[x].text[0] ? line[x].text : " ");
			is_wide = getcurx(stdscr) > x + 1;
			x += is_wide;
		}
	}
	refresh();
}

static struct top_input read_mouse(void)
{
	struct top_input input = {.key = TOP_KEY_NONE};
	MEVENT event;

	if (getmouse(&event) != OK)
		return input;
	input.x = event.x;
	input.y = event.y;
	if (event.bstate & BUTTON4_PRESSED)
		input.key = TOP_KEY_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		input.key = TOP_KEY_WHEEL_DOWN;
	else if (event.bstate & BUTTON1_DOUBLE_CLICKED)
		input.key = TOP_KEY_DOUBLE_CLICK;
	else if (event.bstate & (BUTTON1_CLICKED | BUTTON1_PRESSED))
		input.key = TOP_KEY_CLICK;
	return input;
}

struct top_input top_terminal_read(struct top_screen *screen, int64_t ns)
{
	struct top_input input = {.key = TOP_KEY_NONE};
	int key;

	timeout(ns > 0 ? (int)(ns / 1000000) + 1 : 0);
	key = getch();
	switch (key) {
	case ERR: break;
	case KEY_UP: input.key = TOP_KEY_UP; break;
	case KEY_DOWN: input.key = TOP_KEY_DOWN; break;
	case KEY_LEFT: input.key = TOP_KEY_LEFT; break;
	case KEY_RIGHT: input.key = TOP_KEY_RIGHT; break;
	case KEY_PPAGE: input.key = TOP_KEY_PAGE_UP; break;
	case KEY_NPAGE: input.key = TOP_KEY_PAGE_DOWN; break;
	case KEY_HOME: input.key = TOP_KEY_HOME; break;
	case KEY_END: input.key = TOP_KEY_END; break;
	case '\n':
	case '\r':
	case KEY_ENTER: input.key = TOP_KEY_ENTER; break;
	case 127:
	case '\b':
	case KEY_BACKSPACE: input.key = TOP_KEY_BACK; break;
	case 27: input.key = TOP_KEY_ESCAPE; break;
	case '\t': input.key = TOP_KEY_TAB; break;
	case KEY_BTAB: input.key = TOP_KEY_BACK_TAB; break;
	case KEY_MOUSE: return read_mouse();
	case KEY_RESIZE:
		if (top_screen_resize(screen, COLS, LINES) == 0)
			input.key = TOP_KEY_RESIZE;
		clear();
		break;
	default:
		if (key >= ' ' && key < 127) {
			input.key = TOP_KEY_CHARACTER;
			input.character = (char)key;
		}
	}
	return input;
}

#else

int top_terminal_start(struct top_screen *screen, bool want_color)
{
	complain("this thrum was built without ncurses (Debian: libncurses-dev): only top --once "
		 "works");
	return STATUS_FAILED;
}

void top_terminal_end(void)
{
}

void top_terminal_show(const struct top_screen *screen)
{
}

struct top_input top_terminal_read(struct top_screen *screen, int64_t ns)
{
	return (struct top_input){.key = TOP_KEY_NONE};
}

#endif
