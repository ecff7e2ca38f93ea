package molecules

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Vocabulary is a vocab.txt: one token a line; the line number, counted from 0, is its id. The special tokens are
// written [PAD], [BOS], [EOS], [MASK] and [UNK]; a file need not have all of them. Some models have further special
// tokens that tell them what kind of molecule is wanted: [QUALITY] and, for several n, [LENGTH n].
type Vocabulary struct {
	PAD, BOS, EOS, MASK, UNK int32    // ids of the special tokens; -1 for one the file does not have
	QUALITY                  int32    // the same
	Lengths                  []Length // by rising N; nil for a file without

	tokens    []string
	ids       map[string]int32
	isSpecial []bool
}

// Length is a special token that says how long a molecule is: N or more, but fewer than the next token's N.
type Length struct {
	N  int
	ID int32
}

// absentID is the id of a special token that a vocabulary does not have.
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
		if first, twice := v.ids[line]; twice || line == "" {
			return nil, fmt.Errorf("vocabulary: line %d, %q, is empty or the same as line %d", i+1, line, first+1)
		}
		v.ids[line] = int32(i)
	}
	v.PAD = v.special("[PAD]")
	v.BOS = v.special("[BOS]")
	v.EOS = v.special("[EOS]")
	v.MASK = v.special("[MASK]")
	v.UNK = v.special("[UNK]")
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

// Words are the ids of all tokens but the special ones.
func (v *Vocabulary) Words() []int32 {
	var words []int32
	for id, special := range v.isSpecial {
		if !special {
			words = append(words, int32(id))
		}
	}
	return words
}

// Size is the number of tokens, special ones included.
func (v *Vocabulary) Size() int { return len(v.tokens) }

// ID looks a token up.
func (v *Vocabulary) ID(token string) (int32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// Token is the text of an id, and empty for an id outside the vocabulary.
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
