package template

import (
	"fmt"
	"strings"
)

// Error is an error in parsing or rendering a template.
type Error struct {
	Line    int // counted from 1
	Message string
	Raised  bool // by the template itself, with raise_exception
}

func (e *Error) Error() string {
	if e.Raised {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Limits of a template and of one rendering.
const (
	maxSteps  = 10_000_000 // see eval
	maxOutput = 64 << 20   // bytes written
	maxRange  = 100_000    // elements of range(), as in Jinja's sandbox
	maxDepth  = 200        // of macro calls, nested values and nested expressions
	maxSource = 1 << 20    // bytes of a template; also bounds the nesting of statements
)

// Prices of work. maxSteps pay for 320 MB of text.
const (
	bytesPerStep         = 32      // bytes read or written
	comparedBytesPerStep = 4 << 10 // bytes compared, which is faster than reading them
	maxShortPart         = 63      // bytes; package strings finds a part of at most this length in linear time
	decimalSteps         = 50      // steps of an operation on all digits of a number, which takes microseconds
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct{ body []statement }

// Parse parses the text of a template. The error is an *Error.
func Parse(source string) (t *Template, err error) {
	defer catch(&err)
	if len(source) > maxSource {
		fail(1, "the template has %d bytes, and at most %d are allowed", len(source), maxSource)
	}
	p := &parser{tokens: lex(source)}
	return &Template{body: p.template()}, nil
}

// Render runs the template with variables, which shadow the global functions. Maps among them become dicts with sorted
// keys, and a func(string) string becomes a function. The error is an *Error.
func (t *Template) Render(variables map[string]any) (text string, err error) {
	return t.render(newRun(maxSteps), variables)
}

func (t *Template) render(r *run, variables map[string]any) (text string, err error) {
	defer catch(&err)
	var out strings.Builder
	s := &state{out: &out, run: r, vars: &frame{names: map[string]any{}}}
	for name, value := range variables {
		s.vars.names[name] = fromGo(value)
	}
	execute(t.body, s)
	return out.String(), nil
}

// catch turns a panic with an *Error into an error, as text/template does: nearly every step of a deep evaluation can
// fail.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case *Error:
		*err = p
	default:
		panic(p)
	}
}

// run is one rendering: the work that all its scopes share.
type run struct {
	steps int // charged so far
	limit int // of steps
	depth int // of macro calls and recursive loops
}

func newRun(limit int) *run { return &run{limit: limit} }

// eval is the evaluation of one statement or expression: the rendering that is charged for it, and its line for errors.
//
// Each costs one step. Work that grows with the size of a value costs more, charged before it is done: a step for each
// element of a list or dict, and for every bytesPerStep bytes of text, that it reads or creates.
type eval struct {
	run  *run
	line int
}

func (e eval) charge(steps int) {
	if steps > e.run.limit-e.run.steps {
		e.fail("the template runs too long")
	}
	e.run.steps += steps
}

func (e eval) chargeText(bytes int) { e.charge(bytes / bytesPerStep) }

// chargeSearch charges for searching a text for part. Package strings reads the text once for a short part, but may
// compare most of a long one at every position.
func (e eval) chargeSearch(text, part string) {
	e.chargeText(len(text))
	if positions := len(text) - len(part) + 1; len(part) > maxShortPart && positions > 0 {
		e.charge(positions * len(part) / comparedBytesPerStep)
	}
}

func (e eval) fail(format string, args ...any) { fail(e.line, format, args...) }

// checkDepth bounds the depth of nested values.
func (e eval) checkDepth(depth int) {
	if depth > maxDepth {
		e.fail("value is nested too deeply")
	}
}

// state is what a statement runs with: its output and its scope.
type state struct {
	out  *strings.Builder
	run  *run
	vars *frame
}

// frame is one scope of names.
type frame struct {
	names  map[string]any
	parent *frame
}

func (f *frame) find(name string) (any, bool) {
	for ; f != nil; f = f.parent {
		if v, ok := f.names[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// inner returns a state with a new scope inside s, writing to out.
func (s *state) inner(out *strings.Builder) *state {
	return &state{out: out, run: s.run, vars: &frame{names: map[string]any{}, parent: s.vars}}
}

// step charges for a statement or expression and returns its eval.
func (s *state) step(line int) eval {
	e := eval{s.run, line}
	e.charge(1)
	return e
}

func (s *state) write(line int, text string) {
	s.step(line).chargeText(len(text))
	if s.out.Len()+len(text) > maxOutput {
		panic(&Error{Line: line, Message: "the template writes too much"})
	}
	s.out.WriteString(text)
}

// fail ends parsing or rendering with an *Error.
func fail(line int, format string, args ...any) {
	panic(&Error{Line: line, Message: fmt.Sprintf(format, args...)})
}

// signal is how a statement ended.
type signal uint8

const (
	done signal = iota
	breaking
	continuing
)

type (
	statement  func(*state) signal
	expression func(*state) any
)

func execute(body []statement, s *state) signal {
	for _, run := range body {
		if sig := run(s); sig != done {
			return sig
		}
	}
	return done
}
