/* SPDX-License-Identifier: ISC */
/* The window's style sheet. Its colours are the theme's tokens (draw/theme.h), by their names. */
#ifndef DESKTOP_STYLE_H
#define DESKTOP_STYLE_H

/* clang-format off */
#define STYLE_SHEET \
	"window.thrum { background: @bg; color: @ink; }\n" \
	"window.thrum, .thrum popover { font-size: 13px;" \
	" font-family: Inter, 'Segoe UI', Roboto, Cantarell, 'Noto Sans', 'DejaVu Sans', sans-serif;" \
	" font-feature-settings: 'tnum'; }\n" \
	"window.thrum > .bar { min-height: 43px; padding: 0 12px; background: @bg; box-shadow: none;" \
	" border-bottom: 1px solid @rule; }\n" \
	".bar .name { font-size: 15px; font-weight: 600; }\n" \
	".muted, .bar .words { color: @muted; }\n" \
	".bad, .bar .findings { color: @bad; }\n" \
	".bar .words { margin-right: -4px; }\n" /* a dot, then the findings */ \
	".live { color: @sel; font-weight: 600; margin-left: 4px; }\n" \
	/* Controls */ \
	".thrum button.control, .thrum .control > button, .thrum .search {" \
	" min-height: 26px; min-width: 0; padding: 0 10px; border: 1px solid @create;" \
	" border-radius: 4px; background: @bg; color: @ink; box-shadow: none; text-shadow: none;" \
	" -gtk-icon-shadow: none; font-weight: 400; outline-offset: 1px; }\n" \
	".thrum button.control:hover, .thrum .control > button:hover { background: @panel; }\n" \
	".thrum button.control:active, .thrum button.control:checked," \
	" .thrum .control > button:checked { background: @selBg; border-color: @sel; color: @sel;" \
	" font-weight: 600; }\n" \
	".thrum button.control:disabled, .thrum .control > button:disabled { color: @create;" \
	" border-color: @rule; background: @bg; }\n" \
	".thrum button:focus-visible, .thrum .control > button:focus-visible {" \
	" outline: 2px solid @sel; outline-offset: 1px; }\n" \
	".thrum .control > button arrow { min-width: 12px; min-height: 12px; -gtk-icon-size: 12px;" \
	" margin-left: 2px; }\n" \
	".thrum .joined > button.control { border-radius: 0; margin-left: -1px; padding: 0 9px; }\n" \
	".thrum .joined > button.control:first-child { border-radius: 4px 0 0 4px;" \
	" margin-left: 0; }\n" \
	".thrum .joined > button.control:last-child { border-radius: 0 4px 4px 0; }\n" \
	".thrum .search { padding: 0 6px 0 8px; }\n" \
	".thrum .search:focus-within { border-color: @sel; outline: 1px solid @sel;" \
	" outline-offset: 0; }\n" \
	".thrum .search > text { background: none; color: @ink; caret-color: @ink; }\n" \
	".thrum .search > text > placeholder { color: @muted; opacity: 1; }\n" \
	".thrum .search > .count { color: @muted; font-size: 11px; }\n" \
	".thrum .search.missed > .count { color: @bad; }\n" \
	".thrum .cap { border: 1px solid @rule; border-radius: 4px; padding: 0 4px;" \
	" min-height: 16px; background: @bg; color: @muted; font-size: 11px; }\n" \
	".bar windowcontrols > button { min-width: 28px; min-height: 28px; padding: 0; margin: 0;" \
	" color: @ink; background: none; box-shadow: none; border: none; }\n" \
	".bar windowcontrols > button:hover { background: @panel; }\n" \
	".bar windowcontrols > button > image { background: none; box-shadow: none; color: @ink; }\n" \
	/* Below the bar */ \
	".thrum progressbar.loading, .thrum progressbar.loading > trough," \
	" .thrum progressbar.loading > trough > progress { min-height: 2px; border: none;" \
	" border-radius: 0; box-shadow: none; padding: 0; margin: 0; }\n" \
	".thrum progressbar.loading > trough { background: @panel; }\n" \
	".thrum progressbar.loading > trough > progress { background: @sel; }\n" \
	".thrum .notice { padding: 4px 12px; border-bottom: 1px solid @rule; background: @panel; }\n" \
	".thrum .message { padding: 0 12px; background: @badBg; color: @ink;" \
	" border-left: 2px solid @bad; }\n" \
	".thrum .message slider { min-height: 8px; }\n" \
	".thrum .message button.control { min-height: 20px; margin: 2px 0; }\n" \
	".thrum .empty { font-size: 13px; }\n" \
	".thrum .empty .code { font-family: monospace; }\n" \
	".thrum .empty .title { font-size: 15px; font-weight: 600; }\n" \
	".thrum stage { background: @bg; outline: none; }\n" \
	".thrum stage:focus-visible { outline: 2px solid @sel; outline-offset: -2px; }\n" \
	".thrum:drop(active) .ground { outline: 2px solid @sel; outline-offset: -2px; }\n" \
	".thrum .status { min-height: 25px; padding: 0 12px; background: @panel; color: @muted;" \
	" border-top: 1px solid @rule; font-size: 11px; }\n" \
	".thrum paned > separator { min-width: 1px; min-height: 1px; margin: 0; padding: 0;" \
	" background: @rule; border: none; box-shadow: none; }\n" \
	".thrum paned > separator:hover { background: @sel; }\n" \
	".thrum .over, .thrum .over trough { background: none; border: none; box-shadow: none; }\n" \
	".thrum .over slider { background: @create; background-clip: padding-box;" \
	" border: 2px solid transparent; border-radius: 5px; margin: 0; min-width: 6px;" \
	" min-height: 6px; }\n" \
	".thrum .over slider:hover, .thrum .over slider:active { background-color: @muted; }\n" \
	".thrum .over.horizontal slider { min-width: 30px; }\n" \
	".thrum .over.vertical slider { min-height: 30px; }\n" \
	/* Popovers and dialogs */ \
	".thrum popover > contents { background: @bg; color: @ink; border: 1px solid @rule;" \
	" border-radius: 0; box-shadow: none; padding: 4px; }\n" \
	".thrum .checks { padding: 4px 8px; }\n" \
	".thrum popover > arrow { background: @bg; border: 1px solid @rule; }\n" \
	".thrum popover modelbutton { min-height: 26px; padding: 0 8px; border-radius: 2px;" \
	" color: @ink; }\n" \
	".thrum popover modelbutton:hover, .thrum popover modelbutton:focus { background: @selBg; }\n" \
	".thrum popover modelbutton:disabled { color: @create; }\n" \
	".thrum popover modelbutton accelerator { color: @muted; }\n" \
	".thrum popover separator { background: @rule; margin: 4px 0; }\n" \
	".thrum check, .thrum radio { background: @bg; border: 1px solid @create; color: @bg;" \
	" box-shadow: none; -gtk-icon-shadow: none; }\n" \
	".thrum check:checked, .thrum radio:checked { background: @sel; border-color: @sel; }\n" \
	".thrum.dialog entry { min-height: 28px; border: 1px solid @create; border-radius: 4px;" \
	" background: @bg; color: @ink; box-shadow: none; caret-color: @ink; }\n" \
	".thrum.dialog entry:focus-within { border-color: @sel; outline: 1px solid @sel; }\n" \
	".thrum.dialog > headerbar { background: @bg; color: @ink; box-shadow: none;" \
	" border-bottom: 1px solid @rule; min-height: 38px; }\n" \
	".thrum selection { background: @sel; color: @bg; }\n"
/* clang-format on */

#endif
