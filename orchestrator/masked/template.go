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

// Template has the fragments to keep and the masks to fill.
type Template struct {
	given       []string      // fragments: canonical SMILES of one component each, with stereo and open positions
	queries     []*chem.Query // match the given fragments
	masks       []maskRange   // if none, drawing a row adds one: see Request.MinAddLen
	maskLengths []int         // of each mask, in API tokens; nil until drawn: see oversample
}

// maskRange has the bounds of the length of a mask, in API tokens.
type maskRange struct {
	least int
	most  int
}

// maxMask bounds one mask, in API tokens. The bound of a model is lower.
const maxMask = 1000

// The delimiters of a mask.
const (
	maskOpen  = "[*{"
	maskClose = "}]"
)

// UnmarshalJSON parses a JSON string with parseTemplate.
func (t *Template) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return wire.NotString.At()
	}
	parsed, err := parseTemplate(text)
	if err != nil {
		return &wire.Mismatch{Rule: "value_error", Message: err.Error()}
	}
	*t = *parsed
	return nil
}

// parseTemplate parses SAFE (plain or bracket form) or SMILES with masks. A mask may be a fragment by itself or replace
// an atom whose bonds are single and not in a ring. The error lists all problems of the masks or, if there are none,
// the first problem of the fragments, each with its position in the text.
func parseTemplate(text string) (*Template, error) {
	r := &templateReader{}
	r.read(text)
	if len(r.problems) > 0 {
		return nil, errors.New(strings.Join(r.problems, "; "))
	}
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the template is empty; leave it out, or use a mask such as [*{20-40}], " +
			"for molecules without given fragments")
	}
	t := &Template{masks: r.masks}
	if len(r.text) == 0 {
		return t, nil
	}
	fragments, err := r.fragments()
	if err != nil {
		return nil, err
	}
	if err := t.setGiven(fragments); err != nil {
		return nil, err
	}
	return t, nil
}

// maxMaskTokens is the sum of the upper bounds of all masks, in API tokens.
func (t *Template) maxMaskTokens() int {
	total := 0
	for _, mask := range t.masks {
		total += mask.most
	}
	return total
}

// templateReader separates the masks of a template from its SAFE or SMILES text. It removes a mask between dots, and
// replaces a mask among atoms by a placeholder atom.
type templateReader struct {
	masks           []maskRange
	text            []byte
	offsets         []int // of each byte of text in the template
	hasPlaceholders bool
	problems        []string
}

// read reads the fragments of a template. Dots always separate fragments: bracket atoms have none.
func (r *templateReader) read(template string) {
	at := 0
	for fragment := range strings.SplitSeq(template, ".") {
		r.readFragment(fragment, at)
		at += len(fragment) + 1
	}
}

// readFragment reads the text between two dots, which begins at byte at of the template.
func (r *templateReader) readFragment(text string, at int) {
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
		r.readMask(numbers, at)
		if !alone {
			r.hasPlaceholders = true
			r.write(safe.Placeholder(len(r.masks)), at)
		}
		at += len(maskOpen) + len(numbers) + len(maskClose)
		text = after
	}
}

// write appends text that begins at byte at of the template.
func (r *templateReader) write(text string, at int) {
	r.text = append(r.text, text...)
	for i := range len(text) {
		r.offsets = append(r.offsets, at+i)
	}
}

func (r *templateReader) problem(at int, format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("character %d: ", at+1)+fmt.Sprintf(format, args...))
}

// readMask parses the numbers of a mask, "a-b".
func (r *templateReader) readMask(numbers string, at int) {
	written := maskOpen + numbers + maskClose
	least, most, _ := strings.Cut(numbers, "-")
	a, errA := strconv.Atoi(least)
	b, errB := strconv.Atoi(most)
	r.masks = append(r.masks, maskRange{least: a, most: b})
	switch {
	case !isNumber(least) || !isNumber(most):
		r.problem(at, "the mask %s is not of the form [*{a-b}] with whole numbers a and b", written)
	case errA != nil || errB != nil || a > maxMask || b > maxMask:
		r.problem(at, "the mask %s is too long, at most %d tokens are possible", written, maxMask)
	case a < 1:
		r.problem(at, "the mask %s must have at least 1 token", written)
	case a > b:
		r.problem(at, "the mask %s has its least length, %d, above its most, %d", written, a, b)
	}
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
