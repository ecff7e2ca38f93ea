package masked

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"retort/chem"
	"retort/chem/safe"
	"retort/orchestrator/wire"
)

// Template is what a request gives: fragments to keep and masks to fill.
type Template struct {
	// Given are the given fragments, canonical SMILES of one component each, stereo kept. A dummy atom is an open
	// position.
	Given []string
	// Masks are the runs of mask tokens. Where there are none, one is added when a row is drawn.
	Masks []Mask

	queries []*chem.Query // find each of the given fragments in a molecule
	drawn   []int         // how long each mask is, where that is drawn already; see withSpares
}

// Mask is a run of Least to Most mask tokens.
type Mask struct {
	Least int
	Most  int
}

// maxMask bounds one mask, in tokens of the API. What fits a model is less.
const maxMask = 1000

// What stands around the two numbers of a mask.
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

// ParseTemplate reads SAFE (plain or with brackets) or SMILES with masks. A mask may be a fragment by itself, or stand
// in the place of an atom, where single bonds outside of rings lead to it. The error names everything that is wrong
// with the masks, or else the first thing that is wrong with the fragments, with its place in the text.
func ParseTemplate(text string) (*Template, error) {
	r := &templateReader{}
	r.read(text)
	if len(r.problems) > 0 {
		return nil, errors.New(strings.Join(r.problems, "; "))
	}
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the template is empty; leave it out, or use a mask such as [*{20-40}], for molecules without given fragments")
	}
	t := &Template{Masks: r.masks}
	if len(r.text) == 0 {
		return t, nil
	}
	fragments, err := r.fragments()
	if err != nil {
		return nil, err
	}
	if err := t.keep(fragments); err != nil {
		return nil, err
	}
	return t, nil
}

// templateReader takes the masks out of a template: a mask between dots leaves nothing in the text, one among atoms
// leaves a placeholder atom.
type templateReader struct {
	masks        []Mask
	text         []byte
	at           []int // for each byte of text, the byte of the template that it comes from
	placeholders bool  // the text has some
	problems     []string
}

// read splits the template at its dots. Nothing in brackets has a dot.
func (r *templateReader) read(template string) {
	at := 0
	for fragment := range strings.SplitSeq(template, ".") {
		r.fragment(fragment, at)
		at += len(fragment) + 1
	}
}

// fragment reads what stands between two dots, from byte at of the template on.
func (r *templateReader) fragment(text string, at int) {
	trimmed := strings.TrimSpace(text)
	alone := strings.HasPrefix(trimmed, maskOpen) && strings.Index(trimmed, maskClose) == len(trimmed)-len(maskClose)
	if !alone && len(r.text) > 0 {
		r.write(".", at)
	}
	for text != "" {
		before, rest, found := strings.Cut(text, maskOpen)
		if !alone {
			r.write(before, at)
		}
		if !found {
			return
		}
		at += len(before)
		numbers, after, closed := strings.Cut(rest, maskClose)
		if !closed {
			r.problem(at, "%q is not closed by %q", maskOpen, maskClose)
			return
		}
		r.mask(numbers, at)
		if !alone {
			r.placeholders = true
			r.write(safe.Placeholder(len(r.masks)), at)
		}
		at += len(maskOpen) + len(numbers) + len(maskClose)
		text = after
	}
}

// write appends to the text what stands at a place of the template.
func (r *templateReader) write(text string, at int) {
	r.text = append(r.text, text...)
	for i := range len(text) {
		r.at = append(r.at, at+i)
	}
}

func (r *templateReader) problem(at int, format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("character %d: ", at+1)+fmt.Sprintf(format, args...))
}

// mask reads the numbers of a mask, "a-b".
func (r *templateReader) mask(numbers string, at int) {
	written := maskOpen + numbers + maskClose
	least, most, _ := strings.Cut(numbers, "-")
	a, errA := strconv.Atoi(least)
	b, errB := strconv.Atoi(most)
	r.masks = append(r.masks, Mask{Least: a, Most: b})
	switch {
	case !digits(least) || !digits(most):
		r.problem(at, "the mask %s is not of the form [*{a-b}] with whole numbers a and b", written)
	case errA != nil || errB != nil || a > maxMask || b > maxMask:
		r.problem(at, "the mask %s is too long, at most %d tokens are possible", written, maxMask)
	case a < 1:
		r.problem(at, "the mask %s must have at least 1 token", written)
	case a > b:
		r.problem(at, "the mask %s has its least length, %d, above its most, %d", written, a, b)
	}
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
