// Package template renders chat templates: Jinja 3 as transformers sets it up for them, that is trim_blocks and
// lstrip_blocks on, no escaping, loop controls, {% generation %}, an immutable sandbox and no other files (include,
// import, extends and block do not exist).
//
// The reference is Jinja2 in Python: for every template in use the text must be the same to the last space. testdata
// holds small templates with the text that Jinja2 gives, package orchestrator/chat/prompt the templates of models. Why
// no engine that exists for Go is used, and on which templates they fail:
// orchestrator/decisions/0012-chat-templates.md.
//
// Values are those of Python as far as templates see them: nil is None, bool, int, float64, string, []any is a list,
// [Tuple], [*Dict], [*Namespace], [Function] and [Undefined].
//
// Numbers behave as in Python, with three differences. Integers have 64 bits: an operation, literal or conversion whose result needs more
// fails with "integer overflow". A power with a fractional exponent may differ in its last digits. A power that is a complex number in
// Python fails. testdata/numbers.txt holds ten thousand results of Jinja2 (scripts/golden/template_numbers.py).
//
// A rendering has a budget of steps (see eval). Work that grows with the size of a value is charged in proportion, before it is done, so
// that neither a template nor a client's text can hold a request or much memory for long.
//
// Where to read: [Parse] cuts the source into tokens (lexer.go, token.go) and makes a tree of functions of it
// (parser.go, statements.go, expressions.go); [Template.Render] runs them with a state (template.go). Filters, tests,
// methods and global functions have a table each, in the files of that name.
//
// The language: https://jinja.palletsprojects.com/en/stable/templates/
package template
