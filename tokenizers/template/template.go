package template

import (
	"fmt"
	"strings"
)

// Error is what is wrong with a template, found while it is parsed or run.
type Error struct {
	Line    int
	Message string
	// Raised is set when the template said so itself, by raise_exception.
	Raised bool
}

func (e *Error) Error() string {
	if e.Raised {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Limits of one rendering, so that a template cannot hold a request without end.
const (
	mostSteps  = 10_000_000 // see eval
	mostOutput = 64 << 20   // bytes written
	mostRange  = 100_000    // as in Jinja's sandbox
	mostDepth  = 200        // of macro calls, and of nested values
	mostSource = 1 << 20    // bytes of a template, which also limit how deep statements and expressions nest
)

// bytesPerStep is how much text one step pays for: mostSteps limit a rendering to 320 MB of text.
const bytesPerStep = 32

const (
	longPart        = 63      // bytes; package strings finds shorter parts in linear time
	comparedPerStep = 4 << 10 // bytes compared by one step, which are faster than bytes read
	decimalSteps    = 50      // of an operation that computes with all digits of a number, some microseconds
)

// Template is a parsed template. It is safe for use by many goroutines.
type Template struct{ body []statement }

// Parse parses the text of a template. The error is an *Error.
func Parse(source string) (t *Template, err error) {
	defer catch(&err)
	if len(source) > mostSource {
		fail(1, "the template has %d bytes, and at most %d are allowed", len(source), mostSource)
	}
	p := &parser{tokens: lex(source)}
	return &Template{body: p.template()}, nil
}

// Render runs the template with the given names beside the global ones. The error is an *Error.
func (t *Template) Render(variables map[string]any) (text string, err error) {
	return t.render(newRun(mostSteps), variables)
}

func (t *Template) render(r *run, variables map[string]any) (text string, err error) {
	defer catch(&err)
	var out strings.Builder
	s := &state{out: &out, run: r, vars: &frame{names: map[string]any{}}}
	for name, value := range variables {
		s.vars.names[name] = From(value)
	}
	execute(t.body, s)
	return out.String(), nil
}

// catch turns a panic with an *Error into an error, as text/template does: evaluation goes deep, and nearly every step
// of it can fail.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case *Error:
		*err = p
	default:
		panic(p)
	}
}

// run is what all scopes of one rendering share.
type run struct {
	steps int // charged so far
	limit int // of steps
	depth int
}

func newRun(limit int) *run { return &run{limit: limit} }

// eval is one evaluation: the rendering that pays for it, and the line for errors.
//
// A statement or expression costs one step. Work that grows with the size of a value costs more, charged before it is done: one step for
// each element of a list or dict, and one for bytesPerStep bytes of text, that it reads or creates.
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

// chargeSearch charges for looking for a part in a text. Package strings reads the text once for a short part, but may compare most of a
// long one at every place.
func (e eval) chargeSearch(text, part string) {
	e.chargeText(len(text))
	if places := len(text) - len(part) + 1; len(part) > longPart && places > 0 {
		e.charge(places * len(part) / comparedPerStep)
	}
}

func (e eval) fail(format string, args ...any) { fail(e.line, format, args...) }

// checkDepth limits the depth of nested values.
func (e eval) checkDepth(depth int) {
	if depth > mostDepth {
		e.fail("value is nested too deeply")
	}
}

// state is where a statement runs: its output and its names.
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

// inner returns a state with a new scope inside this one, writing to out.
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
	if s.out.Len()+len(text) > mostOutput {
		panic(&Error{Line: line, Message: "the template writes too much"})
	}
	s.out.WriteString(text)
}

// fail ends parsing or rendering.
func fail(line int, format string, args ...any) {
	panic(&Error{Line: line, Message: fmt.Sprintf(format, args...)})
}

// signal is how a statement ends: a loop is left or goes on.
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
