package modelimport

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// recipe is what the folder says beyond its weights, with the options applied.
type recipe struct {
	pooling                    string   // see poolingModes
	dense                      []*dense // after pooling, in order
	normalize                  bool
	maxLength                  int    // of a row, in tokens
	queryPrefix, passagePrefix string // put before the texts of the two modes
	twoModes                   bool
	pairTemplate               string   // of a ranker that reads a pair as one text, else ""
	notes                      []string // for Result
}

// minLength is the shortest useful row: the three special tokens of a pair and one of a text.
const minLength = 4

// readRecipe reads the files beside config.json.
func readRecipe(f *folder, o Options) (*recipe, error) {
	r := &recipe{}
	if err := r.readLength(f, o); err != nil {
		return nil, err
	}
	if o.API == apiRanking {
		return r, r.readTemplate(f, o)
	}
	return r, errors.Join(r.readModules(f, o), r.readPrompts(f, o))
}

// readTemplate sets pairTemplate.
func (r *recipe) readTemplate(f *folder, o Options) error {
	d := f.family().decoder
	if d != nil {
		r.pairTemplate = d.pairTemplate
	}
	if o.PairTemplate != nil {
		r.pairTemplate = *o.PairTemplate
	}
	if d != nil && r.pairTemplate == "" {
		return fmt.Errorf("a ranker of model_type %s reads a query and a passage as one text: "+
			"give --pair-template, such as %q", f.ModelType, "query: {query} passage: {passage}")
	}
	return nil
}

// readLength sets maxLength to the option, or to the smallest limit of the tokenizer, Sentence Transformers and the
// position table.
func (r *recipe) readLength(f *folder, o Options) error {
	var sentence struct {
		MaxLength *int `json:"max_seq_length"`
		LowerCase bool `json:"do_lower_case"`
	}
	if o.MaxLength < 0 {
		return fmt.Errorf("max-length %d must be positive", o.MaxLength)
	}
	var tokenizer struct {
		MaxLength float64 `json:"model_max_length"` // 1e30 for no limit
	}
	_, sentenceErr := f.readJSON("sentence_bert_config.json", &sentence)
	_, tokenizerErr := f.readJSON("tokenizer_config.json", &tokenizer)
	if err := errors.Join(sentenceErr, tokenizerErr); err != nil {
		return err
	}
	if sentence.LowerCase && !lowercases(f) {
		return errors.New("sentence_bert_config.json: do_lower_case is set, " +
			"but the normalizer of tokenizer.json does not lowercase")
	}
	positions := f.maxPositions()
	limit := positions
	source := fmt.Sprintf("config.json: max_position_embeddings %d", f.MaxPositions)
	lower := func(to int, key string) {
		if limit == 0 || to < limit {
			limit, source = to, fmt.Sprintf("%s %d", key, to)
		}
	}
	if tokenizer.MaxLength > 0 && tokenizer.MaxLength < math.MaxInt32 {
		lower(int(tokenizer.MaxLength), "tokenizer_config.json: model_max_length")
	}
	if sentence.MaxLength != nil {
		lower(*sentence.MaxLength, "sentence_bert_config.json: max_seq_length")
	}
	if o.MaxLength > 0 {
		if positions > 0 && o.MaxLength > positions {
			return fmt.Errorf("max-length %d: config.json has max_position_embeddings for %d tokens",
				o.MaxLength, positions)
		}
		limit, source = o.MaxLength, fmt.Sprintf("max-length %d", o.MaxLength)
	}
	if limit < minLength {
		return fmt.Errorf("%s leaves no room for a text: a row needs at least %d tokens (--max-length sets it)",
			source, minLength)
	}
	r.maxLength = limit
	return nil
}

// lowercases reports whether the tokenizer lowercases texts.
func lowercases(f *folder) bool {
	text, _ := f.read("tokenizer.json") // checkTokenizer reports an error
	compact := strings.ReplaceAll(string(text), " ", "")
	return strings.Contains(compact, `"lowercase":true`) || strings.Contains(compact, `"type":"Lowercase"`)
}

// readPrompts sets the prefixes of queries and passages.
func (r *recipe) readPrompts(f *folder, o Options) error {
	const name = "config_sentence_transformers.json"
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	if _, err := f.readJSON(name, &c); err != nil {
		return err
	}
	var unused []string
	for key, text := range c.Prompts {
		switch {
		case key == "query":
			r.queryPrefix = text
		case key == "passage" || (key == "document" && c.Prompts["passage"] == ""):
			r.passagePrefix = text
		case text != "" && text != c.Prompts["passage"]:
			unused = append(unused, key)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		r.notes = append(r.notes, fmt.Sprintf("%s: the prompts %s are not used, only query and passage (or document)",
			name, strings.Join(unused, ", ")))
	}
	if slices.Contains(unused, c.Default) {
		return fmt.Errorf("%s: default_prompt_name %q is put before every text, which is not supported "+
			"(only query and passage)", name, c.Default)
	}
	if o.QueryPrefix != nil {
		r.queryPrefix = *o.QueryPrefix
	}
	if o.PassagePrefix != nil {
		r.passagePrefix = *o.PassagePrefix
	}
	r.twoModes = r.queryPrefix != "" || r.passagePrefix != ""
	return nil
}
