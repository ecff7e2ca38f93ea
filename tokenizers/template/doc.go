// Package template renders chat templates. The language is Jinja 3 as transformers configures it: trim_blocks and
// lstrip_blocks are on, nothing is escaped, loop controls and {% generation %} exist, the sandbox is immutable, and no
// template can load another (there is no include, import, extends or block).
//
// The reference is Jinja2 in Python: for every template in use, the text must be equal to the last space. The folder
// testdata has small templates with the output of Jinja2; package orchestrator/chat/prompt has the templates of models.
// orchestrator/decisions/0012-chat-templates.md says why no existing Go engine is used.
//
// Values are Python's as far as templates see them: nil is None; bool, int, float64 and string are themselves; []any is
// a list. Tuples, namespaces, functions and undefined values have types of this package, and so have dicts ([Dict]).
//
// Numbers behave as in Python, with three differences. Integers have 64 bits: a literal, operation or conversion whose
// result needs more fails with "integer overflow". A power with a fractional exponent may differ in its last digits. A
// power that is a complex number in Python fails. testdata/numbers.txt holds ten thousand results of Jinja2
// (scripts/golden/template_numbers.py).
//
// Terms:
//
//	rendering   one call of [Template.Render], which may take maxSteps steps
//	evaluation  the evaluation of one statement or expression in a rendering, on one line of the template: work for it
//	            is charged to the rendering, and its errors name the line
//	step        the unit of work: each evaluation costs one. Work that grows with the size of a value costs more and is
//	            charged before it is done, so that neither a template nor a client's text can take much time or memory
//	elements    what a for statement visits: the items of a list or tuple, the keys of a dict, the characters of a text
//	sequence    a list or a tuple
//
// [Parse] splits the source into tokens (lexer.go) and builds a tree of closures (parser.go for statements,
// expressions.go and operands.go for expressions); [Template.Render] runs them. Filters, tests and global functions,
// and the methods of strings, each have a table (filters.go, tests.go, strings.go).
//
// The language: https://jinja.palletsprojects.com/en/stable/templates/
package template
