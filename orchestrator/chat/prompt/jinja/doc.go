// Package jinja renders chat templates: Jinja 3 as transformers sets it up
// for them, that is trim_blocks and lstrip_blocks on, no escaping, loop
// controls, {% generation %}, an immutable sandbox and no other files
// (include, import, extends and block do not exist).
//
// It is here because equality with the reference is the point: of the Go
// engines that were tried none gave the reference's text for templates in use
// (an index of -1 on a list of one, the order of dicts, None, conditional
// expressions in a for). testdata of package prompt holds it to Jinja2.
//
// Values are those of Python as far as templates see them: nil is None, bool,
// int, float64, string, []any is a list, [Tuple], [*Dict], [*Namespace],
// [Function] and [Undefined].
//
// The language: https://jinja.palletsprojects.com/en/stable/templates/
package jinja
