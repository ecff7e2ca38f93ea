package modelimport

import (
	"errors"
	"fmt"
	"strconv"

	"retort/orchestrator/chat/engine"
)

// lengthKeys are the keys of config.json with the longest text, in vLLM's order.
var lengthKeys = []string{
	"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_sequence_length",
}

// defaultLengths are the longest texts of language models whose published config.json leaves them to the defaults of
// transformers, by model_type of the language model.
var defaultLengths = map[string]int{"gemma3_text": 131072}

// readLength sets the maximum length: the smallest of config.json, tokenizer_config.json and --max-length.
func (m *chatModel) readLength(o Options) error {
	source := ""
	for _, key := range lengthKeys {
		value, ok, err := m.config.number(key)
		if err != nil {
			return err
		}
		if ok {
			m.length, source = value, "config.json: "+key
			break
		}
	}
	if source == "" {
		kind, _ := strconv.Unquote(string(m.config.text["model_type"]))
		m.length, source = defaultLengths[kind], "config.json: the default of model_type "+kind
	}
	if limit := m.tokens.maxLength; limit >= 1 && (m.length == 0 || limit < float64(m.length)) && limit < 1e9 {
		m.length, source = int(limit), "tokenizer_config.json: model_max_length"
	}
	switch {
	case o.MaxLength < 0:
		return fmt.Errorf("--max-length %d must be positive", o.MaxLength)
	case m.length > 0 && o.MaxLength > m.length:
		return fmt.Errorf("--max-length %d is more than the %d tokens of the model (%s)", o.MaxLength, m.length, source)
	case o.MaxLength > 0:
		m.length = o.MaxLength
	case m.length == 0:
		return errors.New("config.json: max_position_embeddings is missing: set --max-length")
	}
	if m.length < 2 {
		return fmt.Errorf("%s is %d, which leaves no token for an answer", source, m.length)
	}
	return nil
}

// readImages sets the maximum number of images, and checks that the engine can process them.
func (m *chatModel) readImages(o Options) error {
	if o.TensorParallel < 0 {
		return fmt.Errorf("--tensor-parallel %d must be positive", o.TensorParallel)
	}
	if !m.config.hasVision() {
		if o.MaxImages != nil && *o.MaxImages > 0 {
			return fmt.Errorf("--max-images %d: config.json names no vision model (none of %v)", *o.MaxImages, visionKeys)
		}
		return nil
	}
	m.images = defaultMaxImages
	if o.MaxImages != nil {
		m.images = *o.MaxImages
	}
	if m.images < 0 {
		return fmt.Errorf("--max-images %d must not be negative", m.images)
	}
	if !m.folder.has("preprocessor_config.json") && !m.folder.has("processor_config.json") {
		return errors.New("config.json names a vision model, but there is no preprocessor_config.json and no " +
			"processor_config.json: the engine could not read images")
	}
	return nil
}

// generationConfig is the generation_config.json of a chat model. The engine itself reads its eos_token_id.
type generationConfig struct {
	engine.Defaults
	DoSample     *bool `json:"do_sample"`
	MaxNewTokens *int  `json:"max_new_tokens"`
}

// readGeneration reads the settings that the authors recommend for answers. As in transformers, do_sample false means
// the likeliest token.
func (m *chatModel) readGeneration(Options) error {
	const name = "generation_config.json"
	g := &m.generation
	if _, err := m.folder.readJSON(name, g); err != nil {
		return err
	}
	if g.DoSample != nil && !*g.DoSample {
		g.Defaults = engine.Defaults{Temperature: new(0.0), RepetitionPenalty: g.RepetitionPenalty}
	}
	within := func(value *float64, least, most float64) bool {
		return value == nil || *value >= least && *value <= most
	}
	const aboveZero = 1e-9
	for _, setting := range []struct {
		key, bounds string
		ok          bool
	}{
		{"temperature", "at least 0", within(g.Temperature, 0, 1e9)},
		{"top_p", "above 0 and at most 1", within(g.TopP, aboveZero, 1)},
		{"min_p", "from 0 to 1", within(g.MinP, 0, 1)},
		{"top_k", "at least -1", g.TopK == nil || *g.TopK >= -1},
		{"repetition_penalty", "above 0 and at most 2", within(g.RepetitionPenalty, aboveZero, 2)},
		{"max_new_tokens", "positive", g.MaxNewTokens == nil || *g.MaxNewTokens > 0},
	} {
		if !setting.ok {
			return fmt.Errorf("%s: %s must be %s", name, setting.key, setting.bounds)
		}
	}
	return nil
}
