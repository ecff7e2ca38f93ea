package masked

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"retort/chem"
	"retort/orchestrator/wire"
)

// Template is what a request gives: fragments to keep and masks to fill.
type Template struct {
	// Given are the given fragments, canonical SMILES of one component each,
	// stereo kept. A dummy atom is an open position.
	Given []string
	// Masks are the runs of mask tokens. None means: add one.
	Masks []Mask

	queries []*chem.Query // the given fragments, to be found in every molecule
}

// Mask is a run of Least to Most mask tokens.
type Mask struct{ Least, Most int }

// mostMasked bounds one mask; what fits a model is less.
const mostMasked = 1000

// maskOpen and maskClose enclose the two numbers of a mask.
const (
	maskOpen  = "[*{"
	maskClose = "}]"
)

// UnmarshalJSON reads the template of a request.
func (t *Template) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return wire.NotString.At()
	}
	parsed, err := ParseTemplate(text)
	if err != nil {
		return &wire.Mismatch{Rule: "value_error", Message: err.Error()}
	}
	*t = *parsed
	return nil
}

// ParseTemplate reads SAFE (of either form) or SMILES with masks. A mask may be
// a fragment of its own, or stand in the place of an atom, where single bonds
// that are in no ring lead to it. The error names everything that is wrong,
// with its place in the text.
func ParseTemplate(text string) (*Template, error) {
	m := &marked{}
	m.read(text)
	if len(m.problems) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(m.problems, "; "))
	}
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("the template is empty; leave it out, or use a mask such as [*{20-40}], for molecules without given fragments")
	}
	t := &Template{Masks: m.masks}
	if len(m.text) == 0 {
		return t, nil
	}
	return t, m.given(t)
}

// marked is a template whose masks are taken out of the text: one between dots
// leaves nothing, one among atoms leaves a marker atom.
type marked struct {
	masks    []Mask
	text     []byte
	at       []int // for each byte of text, its place in the template
	inside   bool  // some mask is among atoms
	problems []string
}

// read splits the template at its dots. No bracket of a template has a dot.
func (m *marked) read(text string) {
	at := 0
	for piece := range strings.SplitSeq(text, ".") {
		m.piece(piece, at)
		at += len(piece) + 1
	}
}

func (m *marked) piece(piece string, at int) {
	trimmed := strings.TrimSpace(piece)
	alone := strings.HasPrefix(trimmed, maskOpen) && strings.Index(trimmed, maskClose) == len(trimmed)-len(maskClose)
	if !alone && len(m.text) > 0 {
		m.put(".", at)
	}
	for piece != "" {
		before, rest, found := strings.Cut(piece, maskOpen)
		if !alone {
			m.put(before, at)
		}
		if !found {
			return
		}
		at += len(before)
		inside, after, closed := strings.Cut(rest, maskClose)
		if !closed {
			m.problem(at, "%q is not closed by %q", maskOpen, maskClose)
			return
		}
		m.mask(inside, at)
		if !alone {
			m.inside = true
			m.put(marker(len(m.masks)), at)
		}
		at += len(maskOpen) + len(inside) + len(maskClose)
		piece = after
	}
}

func (m *marked) put(text string, at int) {
	m.text = append(m.text, text...)
	for i := range len(text) {
		m.at = append(m.at, at+i)
	}
}

func (m *marked) problem(at int, format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf("character %d: ", at+1)+fmt.Sprintf(format, args...))
}

// mask reads "a-b".
func (m *marked) mask(text string, at int) {
	written := maskOpen + text + maskClose
	least, most, two := strings.Cut(text, "-")
	a, errA := strconv.Atoi(least)
	b, errB := strconv.Atoi(most)
	m.masks = append(m.masks, Mask{Least: a, Most: b})
	switch digits := strings.Trim(least+most, "0123456789") == "" && least != "" && most != ""; {
	case !two || !digits:
		m.problem(at, "the mask %s is not of the form [*{a-b}] with whole numbers a and b", written)
	case errA != nil || errB != nil || a > mostMasked || b > mostMasked:
		m.problem(at, "the mask %s is too long, at most %d tokens are possible", written, mostMasked)
	case a < 1:
		m.problem(at, "the mask %s must have at least 1 token", written)
	case a > b:
		m.problem(at, "the mask %s has its least length, %d, above its most, %d", written, a, b)
	}
}
