package modelimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// folder is the folder of a published model, with its config.json.
type folder struct {
	dir     string
	config  map[string]any    // all of config.json
	aliases map[string]string // see family; only the keys that config.json has
	modelConfig
}

// modelConfig has the keys of config.json that describe the encoder, or that tell that it is not supported.
type modelConfig struct {
	ModelType     string   `json:"model_type"`
	Architectures []string `json:"architectures"`

	HiddenSize       int     `json:"hidden_size"`
	Layers           int     `json:"num_hidden_layers"`
	Heads            int     `json:"num_attention_heads"`
	IntermediateSize int     `json:"intermediate_size"`
	HiddenAct        string  `json:"hidden_act"`
	LayerNormEps     float32 `json:"layer_norm_eps"`
	MaxPositions     int     `json:"max_position_embeddings"`
	TypeVocabSize    int     `json:"type_vocab_size"`
	VocabSize        int     `json:"vocab_size"`
	PadTokenID       *int    `json:"pad_token_id"`

	HeadDim    int            `json:"head_dim"`
	Rope       ropeParameters `json:"rope_parameters"`
	RotaryBase float64        `json:"rotary_emb_base"`
	ntkFactor  float64        // see readNTK
	modernConfig
	decoderConfig `json:"-"` // read only for decoders

	PositionType   string            `json:"position_embedding_type"`
	IsDecoder      bool              `json:"is_decoder"`
	CrossAttention bool              `json:"add_cross_attention"`
	Labels         map[string]string `json:"id2label"`
}

// openFolder reads config.json.
func openFolder(dir string) (*folder, error) {
	f := &folder{dir: dir, modelConfig: modelConfig{modernConfig: modernDefaults(), decoderConfig: decoderDefaults}}
	ok, err := f.readJSON("config.json", &f.modelConfig)
	if err != nil {
		return nil, err
	}
	if _, err := f.readJSON("config.json", &f.config); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s has no config.json: it is not the folder of a published model", dir)
	}
	if err := f.applyAliases(); err != nil {
		return nil, err
	}
	if f.family().decoder != nil {
		if _, err := f.readJSON("config.json", &f.decoderConfig); err != nil {
			return nil, err
		}
	}
	if !f.has("tokenizer.json") {
		return nil, fmt.Errorf("%s has no tokenizer.json: save the model's fast tokenizer there "+
			"(vocab.txt or sentencepiece.bpe.model alone cannot be read)", dir)
	}
	if f.HiddenSize < 1 || f.VocabSize < 1 {
		return nil, fmt.Errorf("config.json: %s %d and vocab_size %d must be positive",
			f.key("hidden_size"), f.HiddenSize, f.VocabSize)
	}
	return f, nil
}

// path returns the path of a file of the folder.
func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// name returns the name of the folder itself, also if dir is ".".
func (f *folder) name() string {
	path, err := filepath.Abs(f.dir)
	if err != nil {
		path = f.dir
	}
	return filepath.Base(path)
}

func (f *folder) has(name string) bool {
	info, err := os.Stat(f.path(name))
	return err == nil && !info.IsDir()
}

// readJSON decodes a file into v. It returns false if there is no such file.
func (f *folder) readJSON(name string, v any) (ok bool, err error) {
	text, err := os.ReadFile(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// checkEncoder refuses a config.json that buildGraph does not support.
func (f *folder) checkEncoder() error {
	if err := f.checkFamily(); err != nil {
		return err
	}
	if f.family().decoder != nil {
		return f.checkDecoder()
	}
	c := &f.modelConfig
	switch {
	case c.IsDecoder || c.CrossAttention:
		return errors.New("config.json: is_decoder or add_cross_attention is set: only encoders are supported")
	case c.Heads < 1 || c.HiddenSize%c.Heads != 0:
		return fmt.Errorf("config.json: %s %d is not a multiple of %s %d",
			f.key("hidden_size"), c.HiddenSize, f.key("num_attention_heads"), c.Heads)
	case c.HeadDim != 0 && c.HeadDim != c.HiddenSize/c.Heads:
		return fmt.Errorf("config.json: head_dim %d is not supported, only %s / %s = %d",
			c.HeadDim, f.key("hidden_size"), f.key("num_attention_heads"), c.HiddenSize/c.Heads)
	case f.family().rotary && c.HiddenSize/c.Heads%2 != 0:
		return fmt.Errorf("config.json: %s %d with %s %d gives heads an odd size, which rotary embeddings do not have",
			f.key("num_attention_heads"), c.Heads, f.key("hidden_size"), c.HiddenSize)
	case f.family().rotary && f.checkRope() != nil:
		return f.checkRope()
	case !f.family().rotary && f.maxPositions() < 1:
		return fmt.Errorf("config.json: max_position_embeddings %d with pad_token_id %d leaves no position for a token",
			c.MaxPositions, f.padID())
	case c.checkModern() != nil:
		return c.checkModern()
	case c.Layers < 1 || c.IntermediateSize < 1:
		return fmt.Errorf("config.json: %s %d and %s %d must be positive",
			f.key("num_hidden_layers"), c.Layers, f.key("intermediate_size"), c.IntermediateSize)
	case f.family().tokenTypes && c.TypeVocabSize < 1 && !(f.family().noTypes && c.TypeVocabSize == 0):
		return fmt.Errorf("config.json: type_vocab_size %d must be positive", c.TypeVocabSize)
	case c.LayerNormEps <= 0:
		return fmt.Errorf("config.json: %s %g must be positive", f.key("layer_norm_eps"), c.LayerNormEps)
	case activations[c.HiddenAct] == nil:
		return fmt.Errorf("config.json: %s %q is not supported, only gelu, gelu_new, gelu_pytorch_tanh, relu and silu",
			f.key("hidden_act"), c.HiddenAct)
	}
	return nil
}

// maxPositions returns the longest row that the position table supports.
func (f *folder) maxPositions() int {
	if f.family().positionsAfterPadID {
		return f.MaxPositions - f.padID() - 1
	}
	return f.MaxPositions
}

// padID returns the token id of padding, by default that of the family.
func (f *folder) padID() int {
	if f.PadTokenID != nil {
		return *f.PadTokenID
	}
	return f.family().padID
}

var licence = regexp.MustCompile(`(?m)^license:\s*["']?([^"'\s]+)`)

// licence returns the licence in the header of README.md, or "".
func (f *folder) licence() string {
	text, err := os.ReadFile(f.path("README.md"))
	if err != nil {
		return ""
	}
	header, _, _ := strings.Cut(strings.TrimPrefix(string(text), "---"), "\n---")
	if match := licence.FindStringSubmatch(header); match != nil {
		return match[1]
	}
	return ""
}
