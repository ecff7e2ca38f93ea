package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// recipe is what the folder says beyond its weights.
type recipe struct {
	pooling   string // mean or cls
	normalize bool
	maxLength int
	// query and passage go before the texts of the two modes.
	query, passage string
	twoModes       bool
	notes          []string
}

// readRecipe reads the files beside config.json; what o says goes before them.
func readRecipe(f *folder, o Options) (*recipe, error) {
	r := &recipe{}
	if err := r.length(f, o); err != nil {
		return nil, err
	}
	if o.API == Ranking {
		return r, nil
	}
	return r, errors.Join(r.modules(f, o), r.prompts(f, o))
}

// length is the smallest of what the tokenizer, Sentence Transformers and the position table allow.
func (r *recipe) length(f *folder, o Options) error {
	var sentence struct {
		MaxLength *int `json:"max_seq_length"`
		LowerCase bool `json:"do_lower_case"`
	}
	var tokenizer struct {
		MaxLength float64 `json:"model_max_length"` // 1e30 where there is no limit
	}
	_, err := f.json("sentence_bert_config.json", &sentence)
	_, err2 := f.json("tokenizer_config.json", &tokenizer)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if sentence.LowerCase && !lowers(f) {
		return errors.New("sentence_bert_config.json: do_lower_case is set, but the normalizer of tokenizer.json does not make lower case")
	}
	most := f.positions()
	if tokenizer.MaxLength > 0 && tokenizer.MaxLength < math.MaxInt32 {
		most = min(cmp.Or(most, math.MaxInt32), int(tokenizer.MaxLength))
	}
	if sentence.MaxLength != nil {
		most = min(cmp.Or(most, math.MaxInt32), *sentence.MaxLength)
	}
	if o.MaxLength > 0 {
		if f.positions() > 0 && o.MaxLength > f.positions() {
			return fmt.Errorf("max-length %d: config.json has max_position_embeddings for %d tokens", o.MaxLength, f.positions())
		}
		most = o.MaxLength
	}
	if most < 4 {
		return fmt.Errorf("config.json: max_position_embeddings %d leaves no room for a text (give --max-length for a model without positions)", f.MaxPositions)
	}
	r.maxLength = most
	return nil
}

// lowers tells whether the tokenizer makes lower case itself.
func lowers(f *folder) bool {
	text, err := os.ReadFile(f.path("tokenizer.json"))
	plain := strings.ReplaceAll(string(text), " ", "")
	return err == nil && (strings.Contains(plain, `"lowercase":true`) || strings.Contains(plain, `"type":"Lowercase"`))
}

// modules reads pooling and normalisation.
func (r *recipe) modules(f *folder, o Options) error {
	var modules []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	found, err := f.json("modules.json", &modules)
	if err != nil {
		return err
	}
	r.normalize = !found // the folder says nothing
	for _, m := range modules {
		switch kind := m.Type[strings.LastIndex(m.Type, ".")+1:]; kind {
		case "Transformer":
		case "Pooling":
			if r.pooling, err = pooling(f, m.Path); err != nil && o.Pooling == "" {
				return err
			}
		case "Normalize":
			r.normalize = true
		default:
			return fmt.Errorf("modules.json: %s (%s) is not known, only Transformer, Pooling and Normalize", kind, m.Path)
		}
	}
	r.pooling = cmp.Or(o.Pooling, r.pooling)
	if o.Normalize != nil {
		r.normalize = *o.Normalize
	}
	return nil
}

// pooling reads a module of Sentence Transformers: one mode, which we have.
func pooling(f *folder, dir string) (string, error) {
	name := dir + "/config.json"
	var p map[string]any
	if found, err := f.json(name, &p); err != nil || !found {
		return "", cmp.Or(err, fmt.Errorf("modules.json names %s, which is missing", name))
	}
	var modes []string
	if mode, ok := p["pooling_mode"].(string); ok {
		modes = append(modes, mode)
	}
	for key, on := range p {
		if mode, ok := strings.CutPrefix(key, "pooling_mode_"); ok && on == true {
			modes = append(modes, strings.TrimSuffix(strings.TrimSuffix(mode, "_tokens"), "_token"))
		}
	}
	slices.Sort(modes)
	if len(modes) != 1 || (modes[0] != "mean" && modes[0] != "cls") {
		return "", fmt.Errorf("%s: pooling_mode %v is not known, only mean or cls", name, modes)
	}
	if p["include_prompt"] == false {
		return "", fmt.Errorf("%s: include_prompt false is not known: prefixes are pooled with the text", name)
	}
	return modes[0], nil
}

// prompts reads the prefixes of queries and passages.
func (r *recipe) prompts(f *folder, o Options) error {
	const name = "config_sentence_transformers.json"
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	if _, err := f.json(name, &c); err != nil {
		return err
	}
	var unused []string
	for key, text := range c.Prompts {
		switch {
		case key == "query":
			r.query = text
		case key == "passage" || (key == "document" && c.Prompts["passage"] == ""):
			r.passage = text
		case text != "" && text != c.Prompts["passage"]:
			unused = append(unused, key)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		r.notes = append(r.notes, fmt.Sprintf("%s: the prompts %s are not used, only query and passage (or document)", name, strings.Join(unused, ", ")))
	}
	if slices.Contains(unused, c.Default) {
		return fmt.Errorf("%s: default_prompt_name %q goes before every text, which is not known (only query and passage)", name, c.Default)
	}
	if o.QueryPrefix != nil {
		r.query = *o.QueryPrefix
	}
	if o.PassagePrefix != nil {
		r.passage = *o.PassagePrefix
	}
	r.twoModes = r.query != "" || r.passage != ""
	return nil
}
