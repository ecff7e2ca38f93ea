package modelimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// chatConfig is the config.json of a chat model.
type chatConfig struct {
	ModelType      string          `json:"model_type"`
	Architectures  []string        `json:"architectures"`
	AutoMap        json.RawMessage `json:"auto_map"`
	EncoderDecoder bool            `json:"is_encoder_decoder"`
	Quantization   struct {
		Method string `json:"quant_method"`
	} `json:"quantization_config"`

	all  map[string]json.RawMessage
	text map[string]json.RawMessage // the part about the language model; all if there is none
}

// Keys of config.json that hold the language model's configuration, and keys that only a model with vision has.
var (
	textConfigs = []string{"text_config", "llm_config", "language_config"}
	visionKeys  = []string{"vision_config", "img_processor", "mm_vision_tower", "embd_layer", "vision_tower"}
)

// encoderArchitectures are endings of architectures that write no text.
var encoderArchitectures = []string{
	"ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForImageClassification",
}

func (m *chatModel) readConfig(Options) error {
	data, err := m.folder.read("config.json")
	if err != nil {
		return err
	}
	if data == nil {
		return fmt.Errorf("%s has no config.json: it is not the folder of a published model in the format of transformers",
			m.folder.dir)
	}
	c := &m.config
	if err := errors.Join(json.Unmarshal(data, c), json.Unmarshal(data, &c.all)); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	if m.configSHA256, err = sha256Of(m.folder.path("config.json")); err != nil {
		return err
	}
	c.text = c.all
	for _, name := range textConfigs {
		if part := c.all[name]; part != nil {
			if err := json.Unmarshal(part, &c.text); err != nil || c.text == nil {
				return fmt.Errorf("config.json: %s is not an object", name)
			}
			break
		}
	}
	if len(c.Architectures) == 0 {
		return errors.New("config.json: architectures is missing: the engine chooses the model's code by it")
	}
	for _, architecture := range c.Architectures {
		for _, ending := range encoderArchitectures {
			if strings.HasSuffix(architecture, ending) {
				return fmt.Errorf("config.json: architectures has %s, which writes no text", architecture)
			}
		}
	}
	if c.EncoderDecoder {
		return errors.New("config.json: is_encoder_decoder is set: only decoders are supported")
	}
	return nil
}

// hasVision reports whether the model reads images.
func (c *chatConfig) hasVision() bool {
	return slices.ContainsFunc(visionKeys, func(key string) bool {
		value := c.all[key]
		return value != nil && string(value) != "null"
	})
}

// quantization returns the method by which the weights are quantized, or "".
func (c *chatConfig) quantization() string { return c.Quantization.Method }

// number returns a key of the language model's configuration; ok is false if it is missing or null.
func (c *chatConfig) number(key string) (value int, ok bool, err error) {
	raw := c.text[key]
	if raw == nil {
		raw = c.all[key]
	}
	if raw == nil || string(raw) == "null" {
		return 0, false, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil || value < 0 {
		return 0, false, fmt.Errorf("config.json: %s %s is not a positive integer", key, shorten(raw))
	}
	return value, true, nil
}

// shorten returns the start of a JSON value, for an error.
func shorten(raw json.RawMessage) string {
	const longest = 40
	if len(raw) <= longest {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:longest]), "") + "…"
}

// readRemoteCode decides whether the engine may run the folder's Python files.
func (m *chatModel) readRemoteCode(o Options) error {
	m.remoteCode = o.TrustRemoteCode
	if m.config.AutoMap != nil && !m.remoteCode {
		return errors.New("config.json: auto_map names Python files of the folder, which the engine may need: " +
			"set --trust-remote-code if you trust them")
	}
	return nil
}

// weightIndexes are the files that name the files of the weights, in the engine's order.
var weightIndexes = []string{tensorsIndex, "pytorch_model.bin.index.json"}

// checkWeights refuses a folder whose weights are missing or incomplete. The engine reads them, not this program.
func (m *chatModel) checkWeights(Options) error {
	var files []string
	for _, name := range weightIndexes {
		var index struct {
			Map map[string]string `json:"weight_map"`
		}
		if ok, err := m.folder.readJSON(name, &index); err != nil {
			return err
		} else if !ok || len(files) > 0 {
			continue
		}
		for tensor, file := range index.Map {
			if !filepath.IsLocal(file) {
				return fmt.Errorf("%s: weight_map has %q for %s, which is outside the folder", name, file, tensor)
			}
			if !m.folder.has(file) {
				return fmt.Errorf("%s: weight_map has %q for %s, but there is no such file: download the whole model",
					name, file, tensor)
			}
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		for _, pattern := range []string{"*.safetensors", "*.bin"} {
			found, _ := fs.Glob(os.DirFS(m.folder.dir), pattern) // fails for bad patterns only
			files = append(files, found...)
		}
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		if pointer, err := m.isPointer(file); err != nil {
			return err
		} else if pointer {
			return fmt.Errorf("%s is a pointer of Git LFS, not weights: run git lfs pull", file)
		}
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no weights: no file ends in .safetensors or .bin", m.folder.dir)
	}
	return nil
}

// isPointer reports whether Git LFS has left a pointer in place of a file.
func (m *chatModel) isPointer(name string) (bool, error) {
	file, err := openRegular(m.folder.path(name))
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	defer file.Close()
	const start = "version https://git-lfs"
	head := make([]byte, len(start))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == start, nil
}
