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

// folder is a published model's folder and its config.json.
type folder struct {
	dir string
	modelConfig
}

// modelConfig is what matters of config.json: the sizes of the encoder, and what would make it another network than the
// one written here.
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

	PositionType   string            `json:"position_embedding_type"`
	IsDecoder      bool              `json:"is_decoder"`
	CrossAttention bool              `json:"add_cross_attention"`
	Labels         map[string]string `json:"id2label"`
}

// openFolder reads config.json.
func openFolder(dir string) (*folder, error) {
	f := &folder{dir: dir}
	found, err := f.json("config.json", &f.modelConfig)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%s has no config.json: it is no folder of a published model", dir)
	}
	if !f.has("tokenizer.json") {
		return nil, fmt.Errorf("%s has no tokenizer.json: save the model's fast tokenizer there (vocab.txt or sentencepiece.bpe.model alone are not read)", dir)
	}
	if f.HiddenSize < 1 || f.VocabSize < 1 {
		return nil, fmt.Errorf("config.json: hidden_size %d and vocab_size %d must be positive", f.HiddenSize, f.VocabSize)
	}
	return f, nil
}

// path is a file of the folder.
func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *folder) has(name string) bool {
	info, err := os.Stat(f.path(name))
	return err == nil && !info.IsDir()
}

// json reads a file into v, if it is there.
func (f *folder) json(name string, v any) (found bool, err error) {
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

// family is "bert" or "roberta"; anything else is an error.
func (f *folder) family() (string, error) {
	switch f.ModelType {
	case "bert":
		return "bert", nil
	case "roberta", "xlm-roberta", "camembert":
		return "roberta", nil
	}
	return "", fmt.Errorf("config.json: model_type %q (architectures %v) is not known: weights in safetensors are read of bert, roberta, xlm-roberta and camembert; others need an ONNX graph", f.ModelType, f.Architectures)
}

// encoder checks that config.json describes the network that is written here.
func (f *folder) encoder() error {
	c := &f.modelConfig
	switch {
	case c.PositionType != "" && c.PositionType != "absolute":
		return fmt.Errorf("config.json: position_embedding_type %q is not known, only absolute", c.PositionType)
	case c.IsDecoder || c.CrossAttention:
		return errors.New("config.json: is_decoder or add_cross_attention is set: only encoders are imported")
	case c.Heads < 1 || c.HiddenSize%c.Heads != 0:
		return fmt.Errorf("config.json: hidden_size %d is no multiple of num_attention_heads %d", c.HiddenSize, c.Heads)
	case c.Layers < 1 || c.IntermediateSize < 1 || c.TypeVocabSize < 1:
		return fmt.Errorf("config.json: num_hidden_layers %d, intermediate_size %d and type_vocab_size %d must be positive", c.Layers, c.IntermediateSize, c.TypeVocabSize)
	case c.LayerNormEps <= 0:
		return fmt.Errorf("config.json: layer_norm_eps %g must be positive", c.LayerNormEps)
	case activations[c.HiddenAct] == nil:
		return fmt.Errorf("config.json: hidden_act %q is not known, only gelu, gelu_new, gelu_pytorch_tanh and relu", c.HiddenAct)
	}
	return nil
}

// positions is the longest row that the position table has places for: those of RoBERTa begin behind the padding's.
func (f *folder) positions() int {
	if family, err := f.family(); err == nil && family == "roberta" {
		return f.MaxPositions - f.pad() - 1
	}
	return f.MaxPositions
}

// pad is the padding's token id: by default the family's.
func (f *folder) pad() int {
	switch {
	case f.PadTokenID != nil:
		return *f.PadTokenID
	case f.ModelType == "bert":
		return 0
	}
	return 1
}

var licence = regexp.MustCompile(`(?m)^license:\s*["']?([^"'\s]+)`)

// licence is what the header of README.md says.
func (f *folder) licence() string {
	text, err := os.ReadFile(f.path("README.md"))
	if err != nil {
		return ""
	}
	head, _, _ := strings.Cut(strings.TrimPrefix(string(text), "---"), "\n---")
	if found := licence.FindStringSubmatch(head); found != nil {
		return found[1]
	}
	return ""
}
