/* SPDX-License-Identifier: ISC */
/* Why a command did nothing. */
#include "scene/scene.h"

#define NOT_IN_BANDS "not in bands: v shows rows"
#define SELECT_FIRST "select a task first"

const char *thrum__scene_refusal(const struct thrum__scene *scene, int command)
{
	bool is_selected = scene->selected != THRUM__NONE;

	switch (command) {
	case THRUM__COMMAND_SQUEEZE:
	case THRUM__COMMAND_FISHEYE: return NOT_IN_BANDS;
	case THRUM__COMMAND_COUNTERS:
		return scene->model->counter_count > 0 ? NOT_IN_BANDS : "no counter is recorded";
	case THRUM__COMMAND_FOLD: return "no time folds beside a story";
	case THRUM__COMMAND_RELATED:
	case THRUM__COMMAND_ALONE: return SELECT_FIRST ", or find some";
	case THRUM__COMMAND_ZOOM_TO: return SELECT_FIRST ", or choose a range";
	case THRUM__COMMAND_PIN:
	case THRUM__COMMAND_SLOW: return is_selected ? "this task has no story" : SELECT_FIRST;
	case THRUM__COMMAND_NEXT_ALIKE:
	case THRUM__COMMAND_PREVIOUS_ALIKE:
		return is_selected ? "no other task has this label" : SELECT_FIRST;
	case THRUM__COMMAND_CREATOR:
	case THRUM__COMMAND_AWAITED:
	case THRUM__COMMAND_WAKER: return is_selected ? "no such task is known" : SELECT_FIRST;
	case THRUM__COMMAND_NEXT_MATCH:
	case THRUM__COMMAND_PREVIOUS_MATCH: return "no further task is found";
	case THRUM__COMMAND_EXCEPTION:
	case THRUM__COMMAND_PREVIOUS_EXCEPTION: return "no further task failed or took long";
	case THRUM__COMMAND_FINDING: return "there is no finding";
	case THRUM__COMMAND_PAIR: return "open a second recording first";
	case THRUM__COMMAND_OPEN:
		return scene->state.bands.focus[0] ? "it can't be opened"
						   : "choose a band first: ↓";
	default: return NULL;
	}
}
