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
	maxSteps  = 10_000_000 // see evaluation
	maxOutput = 64 << 20   // bytes
	maxRange  = 100_000    // elements of range(), as in Jinja's sandbox
	maxDepth  = 200        // of macro calls, nested values and nested expressions
	maxSource = 1 << 20    // bytes of a template; this bounds the nesting of statements too
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
	return t.render(&rendering{limit: maxSteps}, variables)
}

func (t *Template) render(r *rendering, variables map[string]any) (text string, err error) {
	defer catch(&err)
	var out strings.Builder
	s := &state{out: &out, rendering: r, scope: &scope{names: map[string]any{}}}
	for name, value := range variables {
		s.scope.names[name] = fromGo(value)
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

// rendering counts the work of one call of Render.
type rendering struct {
	steps int // charged so far
	limit int // of steps
	depth int // of macro calls and recursive loops
}

// evaluation is the evaluation of one statement or expression. It charges a step for each element of a list or dict,
// and for every bytesPerStep bytes of text, that it reads or creates.
type evaluation struct {
	rendering *rendering
	line      int
}

func (e evaluation) charge(steps int) {
	if steps > e.rendering.limit-e.rendering.steps {
		e.fail("the template runs too long")
	}
	e.rendering.steps += steps
}

func (e evaluation) chargeText(bytes int) { e.charge(bytes / bytesPerStep) }

// chargeSearch charges for searching a text for part. Package strings reads the text once for a short part, but may
// compare most of a long one at every position.
func (e evaluation) chargeSearch(text, part string) {
	e.chargeText(len(text))
	if positions := len(text) - len(part) + 1; len(part) > maxShortPart && positions > 0 {
		e.charge(positions * len(part) / comparedBytesPerStep)
	}
}

func (e evaluation) fail(format string, args ...any) { fail(e.line, format, args...) }

// checkDepth bounds the depth of nested values.
func (e evaluation) checkDepth(depth int) {
	if depth > maxDepth {
		e.fail("value is nested too deeply")
	}
}

// state is what a statement runs with: its rendering, its output and its scope.
type state struct {
	out       *strings.Builder
	rendering *rendering
	scope     *scope
}

// scope has the variables of a statement. Those of the scopes around it are visible too.
type scope struct {
	names  map[string]any
	parent *scope
}

func (s *scope) find(name string) (any, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// inner returns a state with a new scope inside that of s. Its statements write to out.
func (s *state) inner(out *strings.Builder) *state {
	return &state{out: out, rendering: s.rendering, scope: &scope{names: map[string]any{}, parent: s.scope}}
}

// step starts the evaluation of a statement or expression: it charges one step.
func (s *state) step(line int) evaluation {
	e := evaluation{s.rendering, line}
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

// completion is how a statement ended.
type completion uint8

const (
	normal completion = iota
	breakLoop
	continueLoop
)

type (
	statement  func(*state) completion
	expression func(*state) any
)

func execute(body []statement, s *state) completion {
	for _, run := range body {
		if c := run(s); c != normal {
			return c
		}
	}
	return normal
}
