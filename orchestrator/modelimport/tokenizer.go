package modelimport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// tokenizer returns the folder's tokenizer.json with the given new members, and without truncation and padding. These
// two record how the author last called the library; the gateway sets lengths itself.
func (f *folder) tokenizer(changes map[string]any) ([]byte, error) {
	data, err := f.read("tokenizer.json")
	if err != nil {
		return nil, err
	}
	in := jsontext.NewDecoder(bytes.NewReader(data),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out bytes.Buffer
	if token, err := in.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, cmp.Or(err, errors.New("not a JSON object"))
	}
	for in.PeekKind() != '}' {
		name, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		name = name.Clone()
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		key := strings.Trim(string(name), `"`)
		if key == "truncation" || key == "padding" {
			value = jsontext.Value("null")
		}
		if change, ok := changes[key]; ok {
			if value, err = json.Marshal(change); err != nil {
				return nil, err
			}
		}
		separator := ","
		if out.Len() == 0 {
			separator = "{"
		}
		fmt.Fprintf(&out, "%s%s:%s", separator, name, value)
	}
	out.WriteString("}\n")
	return out.Bytes(), nil
}

// The texts that checkTokenizer encodes.
const (
	checkQuery   = "What is a retort?"
	checkPassage = "A retort is a vessel in which substances are distilled; Größe, 分子, naïve."
)

// checkTokenizer encodes a text and a pair. Token ids must be rows of the word table, token types rows of their table.
func (e *entry) checkTokenizer(path string, config *triton.ModelConfig) error {
	t, err := tokenizers.Load(path)
	if err != nil {
		return err
	}
	f := e.folder
	if t.Size() > f.VocabSize {
		return fmt.Errorf("it has %d tokens, but config.json has vocab_size %d", t.Size(), f.VocabSize)
	}
	if f.family().positionsAfterPadID && int(t.PadID()) != f.padID() {
		return fmt.Errorf("it pads with %d, but the model computes positions with pad_token_id %d of config.json",
			t.PadID(), f.padID())
	}
	options := tokenizers.Options{MaxLength: e.recipe.maxLength, Strategy: tokenizers.OnlyFirst}
	single, err := t.Encode(checkPassage, options)
	if err != nil {
		return err
	}
	options.Strategy = tokenizers.LongestFirst
	pair, err := t.EncodePair(checkQuery, checkPassage, options)
	if err != nil {
		return err
	}
	_, hasTypes := config.Input(inputTypes)
	for _, row := range []*tokenizers.Encoding{single, pair} {
		if len(row.IDs) == 0 || int(slices.Max(row.IDs)) >= f.VocabSize {
			return fmt.Errorf("%q has ids %v, but config.json has vocab_size %d", checkPassage, row.IDs, f.VocabSize)
		}
		if hasTypes && f.TypeVocabSize > 0 && int(slices.Max(row.TypeIDs)) >= f.TypeVocabSize {
			return fmt.Errorf("a pair has token types %v, but config.json has type_vocab_size %d",
				row.TypeIDs, f.TypeVocabSize)
		}
	}
	return nil
}
