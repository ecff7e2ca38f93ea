package modelimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
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

// Largest files of a folder that are read as a whole, in bytes. Published tokenizers have up to 40 MB.
const (
	maxTextFile      = 16 << 20
	maxTokenizerFile = 256 << 20
)

// read returns the content of a file, nil if there is none.
func (f *folder) read(name string) ([]byte, error) {
	limit := int64(maxTextFile)
	if name == "tokenizer.json" {
		limit = maxTokenizerFile
	}
	return readBounded(f.path(name), name, limit)
}

// readJSON decodes a file into v. It returns false if there is no such file.
func (f *folder) readJSON(name string, v any) (ok bool, err error) {
	text, err := f.read(name)
	if text == nil || err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// readBounded returns the content of a file, nil if there is none. It refuses a file of more than limit bytes. Errors
// call the file name.
func readBounded(path, name string, limit int64) ([]byte, error) {
	file, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("the file has more than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// openRegular opens a regular file, or a link to one. Without O_NONBLOCK, opening a pipe would wait for a writer.
func openRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return requireRegular(file)
}

// requireRegular closes and refuses a file that is not regular.
func requireRegular(file *os.File) (*os.File, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// maxLayers bounds the number of layers. Large published models have about a hundred.
const maxLayers = 1 << 12

// checkNetwork refuses a config.json that buildGraph does not support.
func (f *folder) checkNetwork() error {
	if err := f.checkFamily(); err != nil {
		return err
	}
	c := &f.modelConfig
	switch {
	case c.Layers < 1 || c.Layers > maxLayers:
		return fmt.Errorf("config.json: %s %d must be from 1 to %d", f.key("num_hidden_layers"), c.Layers, maxLayers)
	case c.IntermediateSize < 1:
		return fmt.Errorf("config.json: %s %d must be positive", f.key("intermediate_size"), c.IntermediateSize)
	case activations[c.HiddenAct] == nil:
		return fmt.Errorf("config.json: %s %q is not supported, only %s",
			f.key("hidden_act"), c.HiddenAct, strings.Join(slices.Sorted(maps.Keys(activations)), ", "))
	case f.family().decoder != nil:
		return f.checkDecoder()
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
	case f.family().tokenTypes && c.TypeVocabSize < 1 && !(f.family().noTypes && c.TypeVocabSize == 0):
		return fmt.Errorf("config.json: type_vocab_size %d must be positive", c.TypeVocabSize)
	case c.LayerNormEps <= 0:
		return fmt.Errorf("config.json: %s %g must be positive", f.key("layer_norm_eps"), c.LayerNormEps)
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
	text, _ := f.read("README.md") // the licence is optional
	header, _, _ := strings.Cut(strings.TrimPrefix(string(text), "---"), "\n---")
	if match := licence.FindStringSubmatch(header); match != nil {
		return match[1]
	}
	return ""
}
