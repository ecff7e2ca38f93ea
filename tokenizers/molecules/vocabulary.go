package molecules

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Vocabulary is a vocab.txt with one token per line. The id of a token is its line number, from 0. The special tokens
// are [PAD], [BOS], [EOS], [MASK] and [UNK], all optional. Some models have more special tokens, which condition what
// they generate: [QUALITY] and, for several n, [LENGTH n].
type Vocabulary struct {
	PAD, BOS, EOS, MASK int32    // ids of special tokens; -1 if absent
	QUALITY             int32    // likewise
	Lengths             []Length // by ascending N

	tokens    []string
	ids       map[string]int32
	isSpecial []bool
}

// Length is a special token for molecules of at least N tokens, and fewer than N of the next Length.
type Length struct {
	N  int
	ID int32
}

// absentID is the id of a special token that is not in the vocabulary.
const absentID = -1

// LoadVocabulary reads a vocab.txt.
func LoadVocabulary(path string) (*Vocabulary, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := ParseVocabulary(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// ParseVocabulary reads the contents of a vocab.txt.
func ParseVocabulary(text string) (*Vocabulary, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	v := &Vocabulary{tokens: lines, ids: make(map[string]int32, len(lines)), isSpecial: make([]bool, len(lines))}
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		lines[i] = line
		if first, ok := v.ids[line]; ok || line == "" {
			return nil, fmt.Errorf("vocabulary: line %d, %q, is empty or repeats line %d", i+1, line, first+1)
		}
		v.ids[line] = int32(i)
	}
	v.PAD = v.special("[PAD]")
	v.BOS = v.special("[BOS]")
	v.EOS = v.special("[EOS]")
	v.MASK = v.special("[MASK]")
	v.special("[UNK]")
	v.QUALITY = v.special("[QUALITY]")
	for i, line := range lines {
		var n int
		if count, _ := fmt.Sscanf(line, "[LENGTH %d]", &n); count == 1 && line == fmt.Sprintf("[LENGTH %d]", n) {
			v.Lengths = append(v.Lengths, Length{N: n, ID: int32(i)})
			v.isSpecial[i] = true
		}
	}
	slices.SortFunc(v.Lengths, func(a, b Length) int { return a.N - b.N })
	return v, nil
}

// special marks a token as special and returns its id.
func (v *Vocabulary) special(name string) int32 {
	id, ok := v.ids[name]
	if !ok {
		return absentID
	}
	v.isSpecial[id] = true
	return id
}

// Words returns the ids of all tokens that are not special.
func (v *Vocabulary) Words() []int32 {
	var words []int32
	for id, special := range v.isSpecial {
		if !special {
			words = append(words, int32(id))
		}
	}
	return words
}

// Size returns the number of tokens, special tokens included.
func (v *Vocabulary) Size() int { return len(v.tokens) }

// ID looks up a token.
func (v *Vocabulary) ID(token string) (int32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// Token returns the text of an id, or "" for an id outside the vocabulary.
func (v *Vocabulary) Token(id int32) string {
	if id < 0 || int(id) >= len(v.tokens) {
		return ""
	}
	return v.tokens[id]
}

// require refuses a vocabulary that lacks special tokens.
func (v *Vocabulary) require(names ...string) error {
	for _, name := range names {
		if _, ok := v.ids[name]; !ok {
			return fmt.Errorf("vocabulary: special token %s is missing", name)
		}
	}
	return nil
}
