/* SPDX-License-Identifier: ISC */
/* Forwards pointer, wheel, touchpad and fingers to the stage. */
#include <math.h>

#include "picture/parts.h"

#define WHEEL_STEP 100 /* pixels of a wheel's notch */
#define FRICTION 4.0   /* of kinetic scrolling: its speed falls by exp(-FRICTION) each second */
#define REST 20.0      /* px/s: slower scrolling stops */

static unsigned modifiers(GtkEventController *controller)
{
	GdkModifierType state = gtk_event_controller_get_current_event_state(controller);
	GdkDevice *device = gtk_event_controller_get_current_event_device(controller);
	unsigned with = 0;

	if (state & GDK_SHIFT_MASK)
		with |= THRUM__WITH_SHIFT;
	if (state & GDK_CONTROL_MASK)
		with |= THRUM__WITH_CONTROL;
	if (device && gdk_device_get_source(device) == GDK_SOURCE_TOUCHSCREEN)
		with |= THRUM__WITH_TOUCH;
	return with;
}

static void set_cursor(AppPicture *picture)
{
	const char *name = "default";

	if (picture->measures) {
		gtk_widget_set_cursor_from_name(GTK_WIDGET(picture), "crosshair");
		return;
	}
	switch (thrum__stage_over(picture->stage, (float)picture->x, (float)picture->y)) {
	case THRUM__OVER_TASK: name = "pointer"; break;
	case THRUM__OVER_STRIP: name = "grab"; break;
	case THRUM__OVER_RULER: name = "grab"; break;
	case THRUM__OVER_EDGE: name = "ew-resize"; break;
	case THRUM__OVER_DIVIDER: name = "ns-resize"; break;
	default: break;
	}
	gtk_widget_set_cursor_from_name(GTK_WIDGET(picture), name);
}

void app_picture_measure(AppPicture *picture, bool measures)
{
	if (picture->measures == measures)
		return;
	picture->measures = measures;
	set_cursor(picture);
}

static void move_to(AppPicture *picture, double x, double y, unsigned with)
{
	picture->x = x;
	picture->y = y;
	picture->with = with;
	app_picture_did(picture, thrum__stage_move(picture->stage, (float)x, (float)y, with));
}

static void stop_coasting(AppPicture *picture)
{
	picture->speed_x = picture->speed_y = 0;
}

/* ---- Pointer ------------------------------------------------------------------------------- */

static void on_motion(GtkEventController *motion, double x, double y, AppPicture *picture)
{
	/* A drag tells its own place, also outside of the widget. */
	if (picture->is_dragging || picture->is_pinching)
		return;
	move_to(picture, x, y, modifiers(motion));
	set_cursor(picture);
}

static void on_leave(GtkEventController *motion, AppPicture *picture)
{
	if (!picture->is_dragging)
		app_picture_did(picture, thrum__stage_leave(picture->stage));
}

static void on_drag_begin(GtkGestureDrag *drag, double x, double y, AppPicture *picture)
{
	gtk_widget_grab_focus(GTK_WIDGET(picture));
	stop_coasting(picture);
	picture->is_dragging = true;
	picture->x = x;
	picture->y = y;
	picture->with = modifiers(GTK_EVENT_CONTROLLER(drag));
	if (picture->measures)
		picture->with |= THRUM__WITH_SHIFT;
	app_picture_did(picture,
		thrum__stage_press(picture->stage, (float)x, (float)y, picture->with));
}

static void on_drag_update(GtkGestureDrag *drag, double dx, double dy, AppPicture *picture)
{
	double x, y;

	if (!picture->is_dragging || !gtk_gesture_drag_get_start_point(drag, &x, &y))
		return;
	move_to(picture, x + dx, y + dy, modifiers(GTK_EVENT_CONTROLLER(drag)));
	if (hypot(dx, dy) > 4 &&
		thrum__stage_over(picture->stage, (float)x, (float)y) <= THRUM__OVER_STRIP)
		gtk_widget_set_cursor_from_name(GTK_WIDGET(picture), "grabbing");
}

static void end_drag(AppPicture *picture)
{
	float x = (float)picture->x, y = (float)picture->y;
	int changed;

	if (!picture->is_dragging)
		return;
	picture->is_dragging = picture->measures = false;
	changed = thrum__stage_release(picture->stage, x, y, picture->with);
	app_picture_did(picture, changed);
	if (changed > 0 && changed & THRUM__STAGE_YOURS)
		g_signal_emit_by_name(picture, "note");
	/* A double press comes after the release, as in a browser. */
	if (picture->is_double)
		app_picture_did(picture,
			thrum__stage_double_press(picture->stage, x, y, picture->with));
	picture->is_double = false;
	set_cursor(picture);
}

static void on_drag_end(GtkGestureDrag *drag, double dx, double dy, AppPicture *picture)
{
	end_drag(picture);
}

static void on_drag_cancel(GtkGesture *drag, GdkEventSequence *sequence, AppPicture *picture)
{
	GdkEvent *event = gtk_event_controller_get_current_event(GTK_EVENT_CONTROLLER(drag));

	/* GTK makes a motion event of its own when widgets have moved. If that cancels the drag,
	 * the button is up and its release is still to come. */
	if (event && gdk_event_get_event_type(event) == GDK_MOTION_NOTIFY) {
		end_drag(picture);
		return;
	}
	picture->is_dragging = picture->is_double = false;
	app_picture_did(picture, thrum__stage_leave(picture->stage));
}

static void on_click(GtkGestureClick *click, int count, double x, double y, AppPicture *picture)
{
	picture->is_double = count == 2;
}

static void on_menu_click(GtkGestureClick *click, int count, double x, double y,
	AppPicture *picture)
{
	gtk_widget_grab_focus(GTK_WIDGET(picture));
	gtk_gesture_set_state(GTK_GESTURE(click), GTK_EVENT_SEQUENCE_CLAIMED);
	g_signal_emit_by_name(picture, "menu", x, y);
}

/* ---- Wheel and touchpad -------------------------------------------------------------------- */

/* Returns the pixels of the event's unit. */
static double scroll_unit(GtkEventControllerScroll *scroll)
{
	return gtk_event_controller_scroll_get_unit(scroll) == GDK_SCROLL_UNIT_WHEEL ? WHEEL_STEP
										     : 1;
}

/* X11 counts the movements of touchpads in notches, too. */
static bool is_wheel(GtkEventControllerScroll *scroll)
{
	GdkDevice *device = gtk_event_controller_get_current_event_device(
		GTK_EVENT_CONTROLLER(scroll));

	return gtk_event_controller_scroll_get_unit(scroll) == GDK_SCROLL_UNIT_WHEEL &&
		!(device && gdk_device_get_source(device) == GDK_SOURCE_TOUCHPAD);
}

static gboolean on_scroll(GtkEventControllerScroll *scroll, double dx, double dy,
	AppPicture *picture)
{
	unsigned with = modifiers(GTK_EVENT_CONTROLLER(scroll));
	float x = (float)picture->x, y = (float)picture->y;
	double unit = scroll_unit(scroll);
	int changed;

	stop_coasting(picture);
	if (is_wheel(scroll) || with & THRUM__WITH_CONTROL)
		changed = thrum__stage_wheel(picture->stage, x, y, (float)(dx * unit),
			(float)(dy * unit), with);
	else
		changed = thrum__stage_pan(picture->stage, x, y, (float)(dx * unit),
			(float)(dy * unit));
	app_picture_did(picture, changed);
	return TRUE;
}

/* The fingers left the touchpad while it scrolled. */
static void on_decelerate(GtkEventControllerScroll *scroll, double vx, double vy,
	AppPicture *picture)
{
	if (is_wheel(scroll) || modifiers(GTK_EVENT_CONTROLLER(scroll)) & THRUM__WITH_CONTROL)
		return;
	picture->speed_x = vx * scroll_unit(scroll);
	picture->speed_y = vy * scroll_unit(scroll);
	picture->last_tick = 0;
	app_picture_did(picture, THRUM__CHANGED_PICTURE);
}

bool picture_coast(AppPicture *picture, int64_t now)
{
	double seconds = picture->last_tick > 0 ? (double)(now - picture->last_tick) / 1e6 : 0;
	double rest;

	picture->last_tick = now;
	if (hypot(picture->speed_x, picture->speed_y) < REST) {
		stop_coasting(picture);
		return false;
	}
	rest = exp(-FRICTION * seconds);
	picture->changes |= (unsigned)MAX(0,
		thrum__stage_pan(picture->stage, (float)picture->x, (float)picture->y,
			(float)(picture->speed_x * (1 - rest) / FRICTION),
			(float)(picture->speed_y * (1 - rest) / FRICTION)));
	picture->speed_x *= rest;
	picture->speed_y *= rest;
	return true;
}

/* ---- Two fingers --------------------------------------------------------------------------- */

static void on_pinch_begin(GtkGesture *zoom, GdkEventSequence *sequence, AppPicture *picture)
{
	stop_coasting(picture);
	picture->is_dragging = false;
	picture->is_pinching = true;
	app_picture_did(picture, thrum__stage_leave(picture->stage));
	picture->spread = 1;
	gtk_gesture_get_bounding_box_center(zoom, &picture->middle_x, &picture->middle_y);
}

static void on_pinch(GtkGestureZoom *zoom, double scale, AppPicture *picture)
{
	double x = picture->middle_x, y = picture->middle_y;

	gtk_gesture_get_bounding_box_center(GTK_GESTURE(zoom), &x, &y);
	app_picture_did(picture,
		thrum__stage_pinch(picture->stage, (float)picture->middle_x,
			(float)picture->middle_y, (float)(x - picture->middle_x),
			(float)(y - picture->middle_y), scale / picture->spread));
	picture->spread = scale;
	picture->middle_x = x;
	picture->middle_y = y;
}

static void on_pinch_end(GtkGesture *zoom, GdkEventSequence *sequence, AppPicture *picture)
{
	picture->is_pinching = false;
}

/* ---- Controllers --------------------------------------------------------------------------- */

static GtkEventController *add_controller(AppPicture *picture, void *controller)
{
	gtk_widget_add_controller(GTK_WIDGET(picture), controller);
	return controller;
}

static void listen_to_buttons(AppPicture *picture)
{
	GtkEventController *drag = add_controller(picture, gtk_gesture_drag_new());
	GtkEventController *click = add_controller(picture, gtk_gesture_click_new());
	GtkEventController *menu = add_controller(picture, gtk_gesture_click_new());

	g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), picture);
	g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), picture);
	g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), picture);
	g_signal_connect(drag, "cancel", G_CALLBACK(on_drag_cancel), picture);
	g_signal_connect(click, "pressed", G_CALLBACK(on_click), picture);
	gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(menu), GDK_BUTTON_SECONDARY);
	/* GTK 4.8's menus take no click when they appear while a button is down. */
	g_signal_connect(menu, "released", G_CALLBACK(on_menu_click), picture);
}

/* ---- The card about the task below the pointer ---------------------------------------------- */

static gboolean tell_task(GtkWidget *widget, int x, int y, gboolean by_keyboard,
	GtkTooltip *tooltip, gpointer data)
{
	AppPicture *picture = APP_PICTURE(widget);
	char words[1200];

	if (by_keyboard || picture->is_dragging || picture->is_pinching ||
		thrum__stage_card_words(picture->stage, words, sizeof words) == 0)
		return FALSE;
	gtk_tooltip_set_text(tooltip, words);
	/* Elsewhere it disappears, and another one may come. */
	gtk_tooltip_set_tip_area(tooltip, &(GdkRectangle){x - 2, y - 2, 4, 4});
	return TRUE;
}

void picture_listen(AppPicture *picture)
{
	GtkEventController *motion = add_controller(picture, gtk_event_controller_motion_new());
	GtkEventController *pinch = add_controller(picture, gtk_gesture_zoom_new());
	GtkEventController *scroll = add_controller(picture,
		gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES |
			GTK_EVENT_CONTROLLER_SCROLL_KINETIC));

	listen_to_buttons(picture);
	gtk_widget_set_has_tooltip(GTK_WIDGET(picture), TRUE);
	g_signal_connect(picture, "query-tooltip", G_CALLBACK(tell_task), NULL);
	g_signal_connect(motion, "enter", G_CALLBACK(on_motion), picture);
	g_signal_connect(motion, "motion", G_CALLBACK(on_motion), picture);
	g_signal_connect(motion, "leave", G_CALLBACK(on_leave), picture);
	g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), picture);
	g_signal_connect(scroll, "decelerate", G_CALLBACK(on_decelerate), picture);
	g_signal_connect(pinch, "begin", G_CALLBACK(on_pinch_begin), picture);
	g_signal_connect(pinch, "scale-changed", G_CALLBACK(on_pinch), picture);
	g_signal_connect(pinch, "end", G_CALLBACK(on_pinch_end), picture);
	g_signal_connect(pinch, "cancel", G_CALLBACK(on_pinch_end), picture);
}
