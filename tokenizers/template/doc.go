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
// Numbers are computed as Python computes them, with two differences. Integers have 64 bits: an operation, literal or conversion whose
// result lies beyond them fails with an "integer overflow", where Python goes on. A power with a fractional exponent may differ in its last
// digits. Where Python has a complex number, ours fails. testdata/numbers.txt holds ten thousand results of Jinja2, which
// scripts/golden/template_numbers.py computes.
//
// A rendering has a budget of steps. Work that grows with the size of a value is charged in proportion to the size and before it is done
// (see eval in template.go), so that no text of a client and no template holds a request, or the process's memory, for long.
//
// Where to read: [Parse] cuts the source into tokens (lexer.go, token.go) and makes a tree of functions of it
// (parser.go, statements.go, expressions.go); [Template.Render] runs them with a state (template.go). Filters, tests,
// methods and global functions have a table each, in the files of that name.
//
// The language: https://jinja.palletsprojects.com/en/stable/templates/
package template
