package tools

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// syntax is the syntax of a format.
type syntax struct {
	markers []string
	end     string // may follow a call and is left out
}

var syntaxes = map[Format]syntax{
	Hermes:  {markers: []string{"<tool_call>"}, end: "</tool_call>"},
	Llama:   {markers: []string{"<|python_tag|>", "{"}, end: ";"},
	Mistral: {markers: []string{"[TOOL_CALLS]"}},
}

const (
	argumentsMarker = "[ARGS]" // between name and arguments in newer versions of Mistral's format
	maxLead         = 256      // bytes between a marker and the JSON of its call: blanks and a name
	blanks          = " \t\r\n"
)

// firstNames are the names with which an object may begin in Llama's format, where it is known by nothing else.
var firstNames = []string{`"name"`, `"parameters"`, `"arguments"`, `"type"`, `"id"`}

// parser finds the calls in an answer. It withholds a candidate until it is complete, because what is no valid call is
// text. Its work is linear in the length of the answer.
type parser struct {
	syntax
	format Format
	plan   Plan

	held      []byte // text that is not decided yet
	gap       []byte // blanks before held, which are left out before a call
	lineStart bool   // only blanks precede held and gap in their line, or nothing
	afterCall bool   // only blanks have followed the last call
	ended     bool   // the end of the last call's syntax has been left out
	called    bool
	candidate candidate
	text      []byte // decided since the last delta
	deltas    []Delta
}

func newParser(f Format, p Plan) *parser {
	return &parser{syntax: syntaxes[f], format: f, plan: p, lineStart: true}
}

// verdict is what is known about a candidate.
type verdict int

const (
	undecided verdict = iota
	rejected
	accepted
)

// read returns the deltas that new text decides, and at the end those of all the rest. Blanks at the end are left out
// after a call.
func (p *parser) read(text string, last bool) []Delta {
	p.held = append(p.held, text...)
	p.deltas = nil
	for p.step(last) {
	}
	if last && !p.afterCall {
		p.text = append(p.text, p.gap...)
		p.gap = nil
	}
	p.endText()
	return p.deltas
}

// step takes the next piece of text or the next candidate from held. It reports whether it could.
func (p *parser) step(last bool) bool {
	if p.candidate.marker != "" {
		return p.tryCandidate(last)
	}
	if p.afterCall && !p.skipEnd(last) {
		return false
	}
	at, marker := p.findMarker()
	if at < 0 {
		keep := 0
		if !last {
			keep = p.partialMarker()
		}
		p.take(len(p.held) - keep)
		return false
	}
	p.take(at)
	p.candidate = candidate{marker: marker}
	return true
}

// skipEnd leaves out blanks and the end of the format after a call. It reports whether what follows is known.
func (p *parser) skipEnd(last bool) bool {
	p.held = bytes.TrimLeft(p.held, blanks)
	if !p.ended && p.end != "" {
		if rest, found := bytes.CutPrefix(p.held, []byte(p.end)); found {
			p.ended = true
			p.held = bytes.TrimLeft(rest, blanks)
		}
	}
	isPartial := !p.ended && isStartOf(p.held, p.end)
	return len(p.held) > 0 && (last || !isPartial)
}

// findMarker returns the first marker in held and its place, or -1. In Llama's format, an object begins a call at the
// start of a line only. It reads no further than the marker, because there may be as many markers as bytes.
func (p *parser) findMarker() (at int, marker string) {
	lineStart := p.lineStart
	for i, c := range p.held {
		for _, m := range p.markers {
			if c == m[0] && (m != "{" || lineStart) && hasPrefix(p.held[i:], m) {
				return i, m
			}
		}
		lineStart = continuesLineStart(lineStart, c)
	}
	return -1, ""
}

// continuesLineStart reports whether only blanks precede the byte after c in its line.
func continuesLineStart(lineStart bool, c byte) bool {
	return c == '\n' || lineStart && strings.IndexByte(blanks, c) >= 0
}

// hasPrefix reports whether text begins with prefix. Unlike strings.HasPrefix(string(text), prefix), it copies nothing.
func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

// isStartOf reports whether text is a start of whole, but not all of it.
func isStartOf(text []byte, whole string) bool {
	return len(text) < len(whole) && string(text) == whole[:len(text)]
}

// partialMarker returns the length of the longest suffix of held with which a marker may begin.
func (p *parser) partialMarker() (longest int) {
	for _, marker := range p.markers {
		for n := min(len(marker)-1, len(p.held)); n > longest; n-- {
			if isStartOf(p.held[len(p.held)-n:], marker) {
				longest = n
			}
		}
	}
	return longest
}

// take moves n bytes of held to the text of the answer, but for the blanks at their end, which become the gap.
func (p *parser) take(n int) {
	for _, c := range p.held[:n] {
		p.lineStart = continuesLineStart(p.lineStart, c)
	}
	text := bytes.TrimRight(p.held[:n], blanks)
	if len(text) > 0 {
		p.text = append(p.text, p.gap...)
		p.text = append(p.text, text...)
		p.gap = nil
		p.afterCall = false
	}
	p.gap = append(p.gap, p.held[len(text):n]...)
	p.held = p.held[n:]
}

// endText adds the text since the last call to the deltas.
func (p *parser) endText() {
	if len(p.text) > 0 {
		p.deltas = append(p.deltas, Delta{Text: string(p.text)})
	}
	p.text = nil
}

// tryCandidate takes the candidate from held as calls or as text. It reports whether the candidate is decided. An
// answer that ends within a candidate ends with text.
func (p *parser) tryCandidate(last bool) bool {
	what, n := p.candidate.scan(p.held, p.format)
	var calls []Delta
	if what == accepted {
		calls = p.candidate.calls(p.held[:n], p.plan.Tools)
	}
	switch {
	case what == undecided && !last:
		return false
	case what == undecided:
		n = len(p.held)
	}
	p.candidate = candidate{}
	if calls == nil {
		p.take(n)
		return len(p.held) > 0
	}
	p.endText()
	p.held = p.held[n:]
	p.gap = nil
	p.lineStart = true
	p.afterCall = true
	p.ended = false
	if p.plan.Single {
		calls = calls[:1]
	}
	if !p.plan.Single || !p.called {
		p.deltas = append(p.deltas, calls...)
	}
	p.called = true
	return true
}

// candidate is the state of the scan of a candidate, which goes on where it stopped.
type candidate struct {
	marker string
	name   string // of the tool, where it precedes the arguments
	begun  bool   // the JSON has begun, at start
	start  int
	at     int  // next byte of the JSON
	depth  int  // of brackets
	quoted bool // within a string
	escape bool // after a backslash within a string
}

// scan reads on in the text, which begins with the marker. It returns the bytes of a complete candidate, or of a
// rejected one.
func (c *candidate) scan(text []byte, f Format) (what verdict, bytes int) {
	if !c.begun {
		if what = c.findStart(text, f); what != accepted {
			return what, len(c.marker)
		}
		c.begun = true
		c.at = c.start
	}
	if f == Llama {
		if what = checkFirstName(text[c.start:]); what != accepted {
			return what, c.start + 1
		}
	}
	for ; c.at < len(text); c.at++ {
		switch b := text[c.at]; {
		case c.escape:
			c.escape = false
		case c.quoted:
			c.escape = b == '\\'
			c.quoted = b != '"'
		case b == '"':
			c.quoted = true
		case b == '{' || b == '[':
			c.depth++
		case b == '}' || b == ']':
			if c.depth--; c.depth == 0 {
				return accepted, c.at + 1
			}
		}
	}
	return undecided, 0
}

// findStart finds the JSON after the marker and, in Mistral's format, a name.
func (c *candidate) findStart(text []byte, f Format) verdict {
	lead := text[len(c.marker):]
	if c.marker == "{" {
		lead = text
	}
	brackets := "{"
	if f == Mistral {
		brackets = "{["
	}
	at := bytes.IndexAny(lead[:min(len(lead), maxLead+1)], brackets)
	name := lead
	if at >= 0 {
		name = lead[:at]
	}
	if len(name) > maxLead || f != Mistral && len(bytes.TrimLeft(name, blanks)) > 0 {
		return rejected
	}
	if at < 0 {
		return undecided
	}
	name = bytes.Trim(name, blanks)
	if f == Mistral && len(name) > 0 && lead[at] == '[' {
		rest := lead[at:]
		switch {
		case hasPrefix(rest, argumentsMarker):
		case isStartOf(rest, argumentsMarker):
			return undecided
		default:
			return rejected
		}
		rest = rest[len(argumentsMarker):]
		blank := len(rest) - len(bytes.TrimLeft(rest, blanks))
		switch {
		case blank > maxLead:
			return rejected
		case blank == len(rest):
			return undecided
		case rest[blank] != '{':
			return rejected
		}
		at += len(argumentsMarker) + blank
	}
	c.name = string(name)
	c.start = len(text) - len(lead) + at
	return accepted
}

// checkFirstName checks the first name of an object.
func checkFirstName(object []byte) verdict {
	first := bytes.TrimLeft(object[1:], blanks)
	if len(object)-len(first) > maxLead {
		return rejected
	}
	for _, name := range firstNames {
		switch {
		case hasPrefix(first, name):
			return accepted
		case isStartOf(first, name):
			return undecided
		}
	}
	return rejected
}

// calls returns the calls of a complete candidate, nil if it has none or an invalid one.
func (c *candidate) calls(text []byte, tools []Tool) (calls []Delta) {
	value := jsontext.Value(slices.Clone(text[c.start:]))
	if c.name != "" {
		if call, ok := newCall(c.name, value, tools); ok {
			return []Delta{call}
		}
		return nil
	}
	if value.Kind() != '[' {
		if call, ok := readCall(value, tools); ok {
			return []Delta{call}
		}
		return nil
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	if _, err := decoder.ReadToken(); err != nil {
		return nil
	}
	for decoder.PeekKind() != ']' {
		item, err := decoder.ReadValue()
		if err != nil {
			return nil
		}
		call, ok := readCall(item, tools)
		if !ok {
			return nil
		}
		calls = append(calls, call)
	}
	return calls
}
