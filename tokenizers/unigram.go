package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unigram finds the most probable segmentation of a text, with the largest sum of the log-probabilities of its tokens
// (Kudo 2018, arXiv:1804.10959), with the Viterbi algorithm over byte positions.
type unigram struct {
	vocabulary
	words        *trie
	scores       []float64
	unknown      int32
	unknownScore float64     // of a character that is not a token
	fallback     *[256]int32 // tokens <0x00> … <0xFF> for unknown text, or nil
}

// unknownPenalty is subtracted from the lowest score of a token for unknown characters (sentencepiece,
// unigram_model.cc, kUnkPenalty).
const unknownPenalty = 10

// path is the best segmentation up to a position: its score and its last token.
type path struct {
	score float64
	from  int32 // start of the last token; -1 if there is no segmentation yet
	id    int32
}

func newUnigram(tokens []string, scores []float64, unknown int32) (*unigram, error) {
	v := vocabulary{}
	for i, token := range tokens {
		v[token] = int32(i)
	}
	if unknown < 0 || int(unknown) >= len(tokens) {
		return nil, fmt.Errorf("Unigram: unk_id %d is not in the vocabulary of %d", unknown, len(tokens))
	}
	return &unigram{
		vocabulary:   v,
		words:        newTrie(v),
		scores:       scores,
		unknown:      unknown,
		unknownScore: slices.Min(scores) - unknownPenalty,
	}, nil
}

func (m *unigram) size() int { return len(m.scores) }

func (m *unigram) tokenize(p *pass, word []byte, ids []int32) []int32 {
	p.paths = slices.Grow(p.paths[:0], len(word)+1)[:len(word)+1]
	for i := range p.paths {
		p.paths[i] = path{from: -1}
	}
	for i := 0; i < len(word); {
		_, n := utf8.DecodeRune(word[i:])
		if !m.extend(p.paths, word, i, n) {
			improve(&p.paths[i+n], p.paths[i].score+m.unknownScore, i, m.unknown)
		}
		i += n
	}
	return m.trace(p, word, ids)
}

// extend tries every token that starts at i. covered is true if the character there, of n bytes, is a token.
func (m *unigram) extend(paths []path, b []byte, i, n int) (covered bool) {
	units := m.words.units
	node := int32(0)
	score := paths[i].score
	for j := i; j < len(b); j++ {
		next := units[node].base + int32(b[j])
		if units[next].check != node {
			break
		}
		node = next
		if id := units[node].value; id >= 0 {
			improve(&paths[j+1], score+m.scores[id], i, id)
			covered = covered || j+1-i == n
		}
	}
	return covered
}

// improve replaces a path with a better one.
func improve(at *path, score float64, from int, id int32) {
	if at.from < 0 || score > at.score {
		*at = path{score, int32(from), id}
	}
}

// trace appends the tokens of the best path. Consecutive unknown characters are one token.
func (m *unigram) trace(p *pass, word []byte, ids []int32) []int32 {
	p.next = p.next[:0] // free: all stages are done
	for end := int32(len(word)); end > 0; {
		at := p.paths[end]
		if n := len(p.next); at.id == m.unknown && n > 0 && p.next[n-1].id == m.unknown {
			p.next[n-1].lo = at.from
		} else {
			p.next = append(p.next, piece{at.from, end, at.id})
		}
		end = at.from
	}
	for _, pc := range slices.Backward(p.next) {
		if pc.id == m.unknown {
			ids = m.appendUnknown(ids, word[pc.lo:pc.hi])
		} else {
			ids = append(ids, pc.id)
		}
	}
	return ids
}

// appendUnknown appends the tokens of a run of unknown characters: together they may be a token.
func (m *unigram) appendUnknown(ids []int32, run []byte) []int32 {
	if id, ok := m.vocabulary[string(run)]; ok {
		return append(ids, id)
	}
	if m.fallback == nil {
		return append(ids, m.unknown)
	}
	for _, c := range run {
		ids = append(ids, m.fallback[c])
	}
	return ids
}

// parseScore parses a number like the reference's JSON library (serde_json, f64_from_parts): as many digits as fit in
// 64 bits, divided or multiplied by a power of ten. That rounds twice, so the last bit may differ from the nearest
// number. It decides between segmentations that are equally probable, as of "aaaaaa".
func parseScore(number string) (float64, error) {
	exact, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, err
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	power := 0
	if exponent != "" {
		if power, err = strconv.Atoi(exponent); err != nil {
			return 0, err
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	var digits uint64
	for i, c := range whole + fraction {
		next := digits*10 + uint64(c-'0')
		if digits > math.MaxUint64/10 || next < digits*10 {
			power += max(0, len(whole)-i)
			break
		}
		digits = next
		if i >= len(whole) {
			power--
		}
	}
	if power < -308 || power > 308 {
		return exact, nil // beyond any log-probability
	}
	scale, err := strconv.ParseFloat("1e"+strconv.Itoa(max(power, -power)), 64)
	value := float64(digits) * scale
	if power < 0 {
		value = float64(digits) / scale
	}
	return math.Copysign(value, exact), err
}

// parseUnigram refuses a file without unk_id, with which the reference fails at the first unknown character.
func parseUnigram(raw json.RawMessage) (model, error) {
	var c struct {
		component
		Unknown  *int32      `json:"unk_id"`
		Vocab    []scoredRow `json:"vocab"`
		Fallback bool        `json:"byte_fallback,omitempty"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	if c.Unknown == nil || len(c.Vocab) == 0 {
		return nil, errors.New("Unigram: unk_id is null, or the vocabulary is empty")
	}
	tokens := make([]string, len(c.Vocab))
	scores := make([]float64, len(c.Vocab))
	for i, row := range c.Vocab {
		tokens[i] = row.token
		scores[i] = row.score
	}
	m, err := newUnigram(tokens, scores, *c.Unknown)
	if err != nil {
		return nil, err
	}
	if c.Fallback {
		m.fallback = m.vocabulary.byteTokens()
	}
	return m, nil
}

// scoredRow is a token with its log-probability: ["a", -1.5].
type scoredRow struct {
	token string
	score float64
}

func (r *scoredRow) UnmarshalJSON(b []byte) error {
	var number json.Number
	if err := parseTuple(b, &r.token, &number); err != nil {
		return err
	}
	var err error
	r.score, err = parseScore(number.String())
	return err
}
