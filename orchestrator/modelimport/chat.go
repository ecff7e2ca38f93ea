package modelimport

import (
	"fmt"
	"path/filepath"
)

// ChatOptions are flags for chat models only.
type ChatOptions struct {
	EnginePath     string `placeholder:"PATH" env:"-" help:"chat: path of the folder as Triton sees it, for example in its container; by default the folder's own path."`
	TensorParallel int    `placeholder:"N" env:"-" help:"chat: number of GPUs over which the engine divides the model; by default 1."`
	MaxImages      *int   `placeholder:"N" env:"-" help:"chat: most images in one conversation; by default 4, or 0 for a model without vision."`
	ChatTemplate   string `type:"existingfile" placeholder:"FILE" env:"-" help:"chat: chat template; by default the folder's."`
}

// defaultMaxImages is the default of --max-images for a model with vision.
const defaultMaxImages = 4

// importChat creates an entry for Triton's vLLM backend. The weights stay in their folder.
func importChat(o Options) (*Result, error) {
	name, err := checkName(o.ID, o.Name)
	if err != nil {
		return nil, err
	}
	d := destination{repository: o.Repository, name: name, force: o.Force}
	if err := d.checkFree(); err != nil {
		return nil, err
	}
	m, err := readChatModel(o)
	if err != nil {
		return nil, err
	}
	e := &chatEntry{name: name, model: m, options: o}
	if err := d.install(e.write, e.check); err != nil {
		return nil, err
	}
	return &Result{Dir: d.dir(), ID: o.ID, Parameters: e.parameters(), Notes: m.notes}, nil
}

// chatModel is a published chat model, as its files describe it.
type chatModel struct {
	folder       *folder
	config       chatConfig
	enginePath   string // of the folder, as Triton sees it
	length       int    // maximum tokens of prompt and answer together
	images       int    // maximum in one conversation; 0 for a model without vision
	remoteCode   bool   // the engine may run the folder's Python files
	tokens       chatTokens
	template     chatTemplate
	generation   generationConfig
	notes        []string
	configSHA256 string
}

// readChatModel reads the folder of a published model.
func readChatModel(o Options) (*chatModel, error) {
	m := &chatModel{folder: &folder{dir: o.Folder}}
	for _, step := range []func(Options) error{
		m.readConfig, m.checkWeights, m.readEnginePath, m.readRemoteCode, m.readTokens, m.readLength, m.readImages,
		m.readTemplate, m.readGeneration,
	} {
		if err := step(o); err != nil {
			return nil, err
		}
	}
	m.addNotes()
	return m, nil
}

// readEnginePath sets the path of the folder in model.json.
func (m *chatModel) readEnginePath(o Options) (err error) {
	m.enginePath = o.EnginePath
	if m.enginePath == "" {
		m.enginePath, err = filepath.Abs(o.Folder)
		return err
	}
	if !filepath.IsAbs(m.enginePath) {
		return fmt.Errorf("--engine-path %q is not an absolute path", m.enginePath)
	}
	return nil
}

// longText is the number of tokens from which a note warns of the engine's memory.
const longText = 32768

// addNotes adds what the operator should know beside the parameters.
func (m *chatModel) addNotes() {
	note := func(format string, values ...any) { m.notes = append(m.notes, fmt.Sprintf(format, values...)) }
	note("the entry needs a Triton with the vLLM backend, which the local Triton does not have: docs/operate/CHAT.md")
	note("the entry has no weights: the engine reads them from %s, which Triton must be able to read", m.enginePath)
	if !m.config.hasVision() {
		note("config.json names no vision model: the model is served for texts only")
	}
	if m.length > longText {
		note("vLLM refuses to start if the memory left beside the weights cannot hold one text of %d tokens: "+
			"then set a smaller --max-length", m.length)
	}
	if method := m.config.quantization(); method != "" {
		note("config.json: quantization_config %q is left to the engine", method)
	}
	if m.config.ModelType == "mllama" {
		note("vLLM serves model_type mllama up to version 0.10.2 only")
	}
	if m.template.note != "" {
		note("%s", m.template.note)
	}
}
