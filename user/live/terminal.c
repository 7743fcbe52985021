// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The wide functions; and no macros named clear, move, timeout … */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>

#include "user/base/linkage.h"
#include "user/base/log.h"
#include "user/base/util.h"

#define KEY_CTRL_L 12
#define KEY_ESC	   27

struct terminal {
	SCREEN *screen;
	bool utf8;
	attr_t styles[CANVAS_STYLES];
	short pairs[CANVAS_STYLES];
};

/* Does the environment ask for UTF-8, whether or not the machine has that locale? */
static bool terminal_asks_utf8(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value)
			return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
	}
	return false;
}

/* A container often lacks its user's locale; to the screen all UTF-8 locales are the same. */
static void terminal_set_locale(void)
{
	if (!setlocale(LC_CTYPE, "") && terminal_asks_utf8() && !setlocale(LC_CTYPE, "C.UTF-8") &&
	    !linkage_utf8())
		log_debug("top: no locale of UTF-8");
}

int terminal_prepare(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		log_error(
			"top: needs a terminal, and standard %s is none; memleakbpf -p PID writes "
			"reports to anything",
			isatty(STDIN_FILENO) ? "output" : "input");
		return -ENOTTY;
	}
	if (!term || !*term || !strcmp(term, "dumb") || !strcmp(term, "unknown")) {
		log_error("top: TERM is %s%s%s, a terminal without a screen; memleakbpf -p PID "
			  "writes reports line by line",
			  term && *term ? "'" : "", term && *term ? term : "not set",
			  term && *term ? "'" : "");
		return -EINVAL;
	}
	terminal_set_locale();
	return 0;
}

/* ---- looks -------------------------------------------------------------------------------- */

static void terminal_plain_styles(struct terminal *t)
{
	static const attr_t styles[CANVAS_STYLES] = {
		[CANVAS_BOLD] = A_BOLD,
		[CANVAS_DIM] = A_DIM,
		[CANVAS_GOOD] = A_NORMAL,
		[CANVAS_WARN] = A_BOLD,
		[CANVAS_BAD] = A_BOLD,
		[CANVAS_HEAD] = A_REVERSE,
		[CANVAS_CHOSEN] = A_REVERSE | A_BOLD,
	};

	memcpy(t->styles, styles, sizeof(styles));
}

/*
 * Uses the terminal's own colours, by their names: its theme says what red is, and the background.
 */
static void terminal_choose_styles(struct terminal *t)
{
	static const struct {
		enum canvas_style style;
		short color;
	} colors[] = {
		{CANVAS_GOOD, COLOR_GREEN},
		{CANVAS_WARN, COLOR_YELLOW},
		{CANVAS_BAD, COLOR_RED},
	};
	const char *no_color = getenv("NO_COLOR");

	terminal_plain_styles(t);
	if ((no_color && *no_color) || !has_colors() || start_color() == ERR ||
	    use_default_colors() == ERR)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(colors); i++) {
		short pair = (short)(i + 1);

		if (init_pair(pair, colors[i].color, -1) == ERR)
			continue;
		t->styles[colors[i].style] = colors[i].style == CANVAS_BAD ? A_BOLD : A_NORMAL;
		t->pairs[colors[i].style] = pair;
	}
}

/* ---- beginning and end -------------------------------------------------------------------- */

#define BUTTON_EVENTS(n) (BUTTON##n##_PRESSED | BUTTON##n##_RELEASED | BUTTON##n##_CLICKED)

/*
 * A button's release means nothing to us, but has to be an event. After one that nobody wants
 * ncurses waits for the next, though it is told not to wait (lib_getch.c, 6.4). The screen would
 * then stand still until a key.
 */
static const mmask_t mouse_events = BUTTON_EVENTS(1) | BUTTON_EVENTS(2) | BUTTON_EVENTS(3) |
				    BUTTON_EVENTS(4) | BUTTON_EVENTS(5);

/* curses sets handlers for unblocked signals, which would draw from any thread. */
static void terminal_keep_signals(void)
{
	signal(SIGTSTP, SIG_DFL);
	signal(SIGWINCH, SIG_DFL);
}

static SCREEN *terminal_new_screen(void)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);

	if (!screen && linkage_terminal(getenv("TERM")))
		screen = newterm(NULL, stdout, stdin);
	return screen;
}

int terminal_open(struct terminal **out)
{
	struct terminal *t = calloc(1, sizeof(*t));

	if (!t)
		return log_errno(ENOMEM, "no memory for the screen");
	t->utf8 = !strcasecmp(nl_langinfo(CODESET), "UTF-8");
	t->screen = terminal_new_screen();
	if (!t->screen) {
		log_error("top: the terminal's description ('%s') is not installed, or has no "
			  "screen; set TERM to one that is, e.g. TERM=xterm",
			  getenv("TERM"));
		free(t);
		return -EINVAL;
	}
	set_term(t->screen);
	terminal_keep_signals();
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	mousemask(mouse_events, NULL);
	mouseinterval(0);
	terminal_choose_styles(t);
	*out = t;
	return 0;
}

void terminal_close(struct terminal *t)
{
	if (!t)
		return;
	mousemask(0, NULL);
	endwin();
	delscreen(t->screen);
	free(t);
}

bool terminal_utf8(const struct terminal *t)
{
	return t->utf8;
}

void terminal_size(struct terminal *t, unsigned *rows, unsigned *cols)
{
	struct winsize size;
	int y, x;

	(void)t;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col) {
		if (size.ws_row > CANVAS_SIDE_MAX)
			size.ws_row = CANVAS_SIDE_MAX;
		if (size.ws_col > CANVAS_SIDE_MAX)
			size.ws_col = CANVAS_SIDE_MAX;
		resizeterm(size.ws_row, size.ws_col);
	}
	getmaxyx(stdscr, y, x);
	*rows = y > 0 ? (unsigned)y : 0;
	*cols = x > 0 ? (unsigned)x : 0;
}

void terminal_redraw(struct terminal *t)
{
	(void)t;
	clearok(curscr, TRUE);
}

void terminal_suspend(struct terminal *t)
{
	sigset_t stop, before;

	endwin();
	/*
	 * Like the terminal's own Ctrl-Z: nothing happens without a shell that could continue us.
	 */
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &stop, &before);
	/* Here we stop, and go on. */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	reset_prog_mode();
	terminal_redraw(t);
}

/* ---- out ---------------------------------------------------------------------------------- */

void terminal_show(struct terminal *t, const struct canvas *canvas)
{
	for (unsigned row = 0; row < canvas->rows; row++) {
		for (unsigned col = 0; col < canvas->cols; col++) {
			const struct canvas_cell *cell =
				&canvas->cells[(size_t)row * canvas->cols + col];
			wchar_t text[2] = {(wchar_t)cell->point, L'\0'};
			cchar_t out;

			if (!cell->point) /* the right half of a wide one */
				continue;
			setcchar(&out, text, t->styles[cell->style], t->pairs[cell->style], NULL);
			mvadd_wch((int)row, (int)col, &out);
		}
	}
	refresh();
}

/* ---- in ----------------------------------------------------------------------------------- */

static bool terminal_mouse(struct live_event *event)
{
	MEVENT mouse;

	if (getmouse(&mouse) == ERR || mouse.y < 0 || mouse.x < 0)
		return false;
	event->row = (unsigned)mouse.y;
	event->col = (unsigned)mouse.x;
	if (mouse.bstate & BUTTON4_PRESSED)
		event->key = LIVE_KEY_WHEEL_UP;
	else if (mouse.bstate & BUTTON5_PRESSED)
		event->key = LIVE_KEY_WHEEL_DOWN;
	else if (mouse.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
		event->key = LIVE_KEY_CLICK;
	else
		return false;
	return true;
}

static enum live_input terminal_key(wint_t key)
{
	static const struct {
		int from;
		enum live_input to;
	} keys[] = {
		{KEY_UP, LIVE_KEY_UP},	       {KEY_DOWN, LIVE_KEY_DOWN},
		{KEY_LEFT, LIVE_KEY_LEFT},     {KEY_RIGHT, LIVE_KEY_RIGHT},
		{KEY_PPAGE, LIVE_KEY_PAGE_UP}, {KEY_NPAGE, LIVE_KEY_PAGE_DOWN},
		{KEY_HOME, LIVE_KEY_HOME},     {KEY_END, LIVE_KEY_END},
		{KEY_ENTER, LIVE_KEY_ENTER},   {KEY_BACKSPACE, LIVE_KEY_BACKSPACE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if ((wint_t)keys[i].from == key)
			return keys[i].to;
	}
	return LIVE_KEY_NONE;
}

static void terminal_character(wint_t key, struct live_event *event)
{
	switch (key) {
	case '\r':
	case '\n':
		event->key = LIVE_KEY_ENTER;
		break;
	case KEY_ESC:
		event->key = LIVE_KEY_ESCAPE;
		break;
	case '\b':
	case 0x7f:
		event->key = LIVE_KEY_BACKSPACE;
		break;
	default:
		event->key = LIVE_KEY_CHAR;
		event->point = key;
	}
}

bool terminal_event(struct terminal *t, struct live_event *event)
{
	wint_t key;
	int kind;

	*event = (struct live_event){0};
	kind = wget_wch(stdscr, &key);
	if (kind == ERR)
		return false;
	if (kind == OK && key == KEY_CTRL_L)
		terminal_redraw(t);
	else if (kind == OK)
		terminal_character(key, event);
	else if (key == KEY_MOUSE)
		terminal_mouse(event);
	else
		event->key = terminal_key(key);
	return true;
}
