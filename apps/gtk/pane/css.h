/* SPDX-License-Identifier: ISC */
/* The style sheet of the side panel. Its colours are the theme's tokens, which desktop/theme.c defines. */
#ifndef PANE_CSS_H
#define PANE_CSS_H

/* clang-format off */
#define PANE_CSS \
	".pane { background: @bg; color: @ink; font-size: 13px; border-left: 1px solid @rule; }" \
	".pane .tabs { background: @bg; border-bottom: 1px solid @rule; padding: 0 8px; }" \
	".pane stackswitcher button { background: none; border: none; box-shadow: none;" \
	"  outline-offset: -4px;" \
	"  border-radius: 0; padding: 8px 6px 6px; color: @muted;" \
	"  border-bottom: 2px solid transparent;" \
	"  font-weight: 400; min-height: 20px; min-width: 0; }" \
	".pane stackswitcher button label { padding: 0; margin: 0; }" \
	".pane stackswitcher button:hover { color: @ink; }" \
	".pane stackswitcher button:checked { color: @ink; font-weight: 600;" \
	"  border-bottom-color: @sel; }" \
	".pane scrolledwindow, .pane viewport { background: @bg; }" \
	".pane link { color: @run; text-decoration: none; }" \
	".pane .value link, .pane .remark link, .pane .step link {" \
	"  text-decoration: underline alpha(currentColor, 0.45); }" \
	"#chart:focus-visible { outline: 2px solid @sel; }" \
	".pane link:hover, .pane label:focus link { text-decoration: underline; }" \
	".pane .details > * { padding: 0 16px; }" \
	".pane .title { font-size: 15px; font-weight: 600; padding: 12px 0 2px; }" \
	".pane .remark { color: @muted; padding-bottom: 6px; }" \
	".pane .waiting { color: @muted; font-size: 11px; padding: 6px 16px;" \
	"  border-bottom: 1px solid @rule; }" \
	".pane .key { color: @muted; padding: 2px 0; }" \
	".pane .value, .pane .line, .pane .aside { padding: 2px 0;" \
	"  font-feature-settings: \"tnum\"; }" \
	".pane .aside link { color: @ink; }" \
	".pane .whole { color: @muted; font-size: 11px; padding: 0 12px 4px; }" \
	".pane .marked { background: @selBg; }" \
	".pane .more { color: @muted; padding: 2px 0; }" \
	".pane .section { color: @muted; font-size: 11px; font-weight: 600; margin-top: 10px;" \
	"  padding: 12px 0 4px; border-top: 1px solid @rule; }" \
	".pane .details > .section { margin: 10px 16px 0; padding-left: 0; }" \
	".pane .bad { color: @bad; font-weight: 600; }" \
	".pane .finding { background: @badBg; border-left: 2px solid @bad;" \
	"  padding: 8px 12px 12px; }" \
	".pane .finding .title { color: @bad; padding-top: 0; }" \
	".pane .finding .remark { font-size: 11px; padding-bottom: 6px; }" \
	".pane .finding .step { padding: 2px 0; }" \
	".pane .finding .number { min-width: 14px; min-height: 14px; border-radius: 9px;" \
	"  margin-top: 3px;" \
	"  border: 2px solid @bad; color: @bad; background: @bg; font-size: 11px;" \
	"  font-weight: 700; padding: 0; }" \
	".pane .details > .slow-picture { padding: 0 6px; }" \
	".pane .step { padding: 3px 0; }" \
	".pane .number { min-width: 14px; min-height: 14px; border-radius: 9px; margin-top: 3px;" \
	"  border: 2px solid @pend; color: @muted; font-size: 11px; font-weight: 700;" \
	"  padding: 0; }" \
	".pane .empty { color: @muted; padding: 12px 16px; }" \
	".pane .differences .line { padding-top: 10px; }" \
	".pane .differences .bad link { color: @bad; }" \
	".pane .finding .cause { background: @bad; color: @bg; }" \
	".pane button { min-height: 24px; padding: 1px 8px; border-radius: 4px;" \
	"  background: @bg; color: @ink;" \
	"  border: 1px solid @create; box-shadow: none; font-weight: 400; }" \
	".pane button:hover { background: @selBg; }" \
	".pane .head { padding: 8px 12px; }" \
	".pane .head .remark { padding: 0; font-size: 11px; }" \
	".pane .range { color: @run; background: @selBg; border-color: @sel; }" \
	".pane .chart { padding: 0 12px 8px; }" \
	".pane .chart .remark { padding: 0; font-size: 11px; }" \
	".pane .unnamed { color: @muted; }" \
	".pane .finding button { margin-top: 6px; }" \
	".pane .details > .buttons { margin-top: 16px; }" \
	".pane progressbar trough, .pane progressbar progress { min-height: 3px; min-width: 0;" \
	"  border: none; border-radius: 0; background: @grid; }" \
	".pane progressbar.run progress { background: @run; }" \
	".pane progressbar.bad progress { background: @bad; }" \
	".pane progressbar.pend progress { background: @pend; }" \
	".pane list { background: @bg; }" \
	".pane list row { padding: 8px 12px; color: @ink; }" \
	".pane list row:hover, .pane list row:selected { background: @selBg; color: @ink; }" \
	".pane list .remark { padding: 0; font-size: 11px; }" \
	".pane columnview, .pane listview { background: @bg; color: @ink; }" \
	".pane columnview header { background: @panel; }" \
	".pane columnview header button { background: none; border: none;" \
	"  border-radius: 0; font-size: 11px;" \
	"  font-weight: 600; color: @muted; padding: 2px 6px; border-bottom: 1px solid @rule; }" \
	".pane columnview listview row { background: none; color: @ink; border: none; }" \
	".pane columnview listview row:hover," \
	"  .pane columnview listview row:selected { background: @selBg; color: @ink; }" \
	".pane columnview listview row cell { padding: 3px 6px; border: none;" \
	"  font-feature-settings: \"tnum\"; }"
/* clang-format on */

#endif
