package modelimport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"retort/orchestrator/masked"
	"retort/orchestrator/modelimport/onnxpb"
	"retort/tokenizers"
)

// Files of a masked model besides those of an encoder.
const (
	lengthsPickle = "len.pk"      // of the public repository of GenMol: a list of the lengths of strings
	lengthsFile   = "lengths.txt" // of entries
)

// maskedSource is a published masked language model of SAFE strings: a checkpoint of GenMol, or a BertForMaskedLM in
// the form of Hugging Face.
type maskedSource struct {
	folder    *folder
	weights   *safetensors
	file      string // with the weights
	brackets  bool   // attachments are <n> (GenMol version 2)
	tokenizer *safeTokenizer
	lengths   []byte // contents of lengths.txt
}

// importMasked creates an entry of the masked API.
func importMasked(o Options, d destination) (*Result, error) {
	if err := checkMaskedFlags(o); err != nil {
		return nil, err
	}
	s, err := openMaskedSource(o)
	if err != nil {
		return nil, err
	}
	defer s.weights.close()
	e := &maskedEntry{maskedSource: s, name: d.name, options: o}
	if e.graph, err = buildUnmasking(s.folder, s.weights, s.tokenizer.special, o); err != nil {
		return nil, s.explain(err)
	}
	if err := d.install(e.write, e.check); err != nil {
		return nil, err
	}
	return &Result{Dir: d.dir(), ID: masked.ServedID(o.ID, "1"), Parameters: e.parameters()}, nil
}

// checkMaskedFlags refuses values of flags that masked models do not have.
func checkMaskedFlags(o Options) error {
	switch {
	case o.Precision == precisionInt8:
		return errors.New("precision int8 is not supported for masked models, only fp16 and fp32")
	case o.Weights == "onnx":
		return errors.New("weights onnx: masked models are imported from a checkpoint or safetensors")
	}
	return nil
}

// openMaskedSource reads a folder.
func openMaskedSource(o Options) (*maskedSource, error) {
	s := &maskedSource{}
	if err := s.open(o); err != nil {
		if s.weights != nil {
			s.weights.close()
		}
		return nil, err
	}
	return s, nil
}

// open reads and checks everything but the tensors.
func (s *maskedSource) open(o Options) error {
	path, err := findCheckpoint(o.Folder)
	if err != nil {
		return err
	}
	if path == "" {
		err = s.openBERT(o.Folder)
	} else {
		err = s.openGenMol(path)
	}
	if err != nil {
		return err
	}
	if s.folder.ModelType != "bert" || s.folder.family() != bert {
		return s.explain(fmt.Errorf("config.json: model_type %q is not supported for masked models, only bert",
			s.folder.ModelType))
	}
	if err := s.folder.checkNetwork(); err != nil {
		return s.explain(err)
	}
	if limit := s.folder.maxPositions(); o.MaxLength > limit {
		return s.explain(fmt.Errorf("max-length %d: config.json has max_position_embeddings for %d tokens",
			o.MaxLength, limit))
	}
	s.lengths, err = readLengths(s.folder)
	return err
}

// findCheckpoint returns the path of the checkpoint in a folder without config.json, or "". GenMol's are named
// model.ckpt and model_v2.ckpt.
func findCheckpoint(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
		return "", nil
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.ckpt"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has no config.json and %d files *.ckpt: a masked model is a folder with one checkpoint "+
			"of GenMol, or with config.json and model.safetensors", dir, len(found))
	}
	return found[0], nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer("[", `\[`, "*", `\*`, "?", `\?`).Replace(path)
}

// openBERT reads a BertForMaskedLM with config.json and safetensors. Its attachments are <n> if its vocabulary has the
// angle brackets.
func (s *maskedSource) openBERT(dir string) (err error) {
	if s.folder, err = openFolder(dir); err != nil {
		return err
	}
	if s.tokenizer, err = readSAFETokenizer(s.folder); err != nil {
		return err
	}
	addsBrackets := s.tokenizer.size() != s.folder.VocabSize
	if err := s.checkTokens(addsBrackets); err != nil {
		return err
	}
	s.brackets = s.tokenizer.hasBrackets()
	if s.weights, err = openSafetensors(s.folder); err != nil {
		return err
	}
	s.file = tensorsFile
	if !s.folder.has(s.file) {
		s.file = tensorsIndex
	}
	return nil
}

// openGenMol reads a checkpoint of GenMol. Its hyperparameters have the keys of config.json.
func (s *maskedSource) openGenMol(path string) error {
	c, err := openCheckpoint(path)
	if err != nil {
		return err
	}
	s.file = c.name
	if s.weights, err = c.tensors(); err != nil {
		c.close()
		return err
	}
	settings, err := c.dict("hyper_parameters", "config", "model")
	if err != nil {
		return err
	}
	text, err := configText(settings)
	if err != nil {
		return err
	}
	s.folder = &folder{dir: filepath.Dir(path)}
	err = errors.Join(json.Unmarshal(text, &s.folder.modelConfig), json.Unmarshal(text, &s.folder.config))
	if err != nil {
		return s.explain(fmt.Errorf("config.json: %w", err))
	}
	if s.folder.VocabSize < 1 || s.folder.HiddenSize < 1 {
		return s.explain(fmt.Errorf("config.json: hidden_size %d and vocab_size %d must be positive",
			s.folder.HiddenSize, s.folder.VocabSize))
	}
	training, err := c.dict("hyper_parameters", "config", "training")
	if err != nil {
		return err
	}
	value, _ := scalar(training.get("use_bracket_safe"))
	s.brackets, _ = value.(bool)
	if !s.folder.has("tokenizer.json") {
		return fmt.Errorf("%s has no tokenizer.json: GenMol uses that of datamol-io/safe-gpt", s.folder.dir)
	}
	if s.tokenizer, err = readSAFETokenizer(s.folder); err != nil {
		return err
	}
	return s.checkTokens(s.brackets)
}

// checkTokens adds the tokens < and > if the model has them, and compares the number of tokens with that of the model.
// GenMol's training adds two rows for them, also if the tokenizer had one of them already (scripts/train.py).
func (s *maskedSource) checkTokens(addsBrackets bool) error {
	if addsBrackets {
		s.tokenizer.addBrackets()
	}
	size := s.tokenizer.size()
	if size == s.folder.VocabSize {
		return nil
	}
	return s.explain(fmt.Errorf("tokenizer.json: %d tokens, %d of them angle brackets to add, "+
		"but config.json has vocab_size %d", size, size-s.tokenizer.baseSize, s.folder.VocabSize))
}

// explain names the file of the weights in an error about them, and, for a checkpoint, the place of the hyperparameters
// in an error about config.json.
func (s *maskedSource) explain(err error) error {
	text := err.Error()
	if s.file != tensorsFile && s.file != tensorsIndex {
		text = strings.ReplaceAll(text, "config.json", s.file+": hyper_parameters.config.model")
	}
	if strings.HasPrefix(text, "the weights have") {
		text = s.file + ": " + text
	}
	return errors.New(text)
}

// maxLength bounds a length in len.pk, in tokens.
const maxLength = 100_000

// readLengths returns the contents of lengths.txt, in which each line has a length in tokens of the model, the same
// length in API tokens, and the number of strings (orchestrator/masked). They are the lengths of len.pk.
func readLengths(f *folder) ([]byte, error) {
	if text, err := f.read(lengthsFile); text != nil || err != nil {
		return text, err
	}
	data, err := readBounded(f.path(lengthsPickle), lengthsPickle, maxPickle)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("%s has no %s: copy data/len.pk of the public repository of GenMol there; "+
			"the lengths of new molecules are drawn from it", f.dir, lengthsPickle)
	}
	value, err := (&unpickler{data: data, persistent: func(any) (any, error) {
		return nil, errors.New("it has tensors")
	}}).load()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lengthsPickle, err)
	}
	numbers, ok := integers(value)
	if !ok || len(numbers) == 0 {
		return nil, fmt.Errorf("%s: not a list of lengths", lengthsPickle)
	}
	counts := map[int64]int{}
	for _, n := range numbers {
		if n < 1 || n > maxLength {
			return nil, fmt.Errorf("%s: %d is not the length of a string", lengthsPickle, n)
		}
		counts[n]++
	}
	var text bytes.Buffer
	for _, n := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%d %d %d\n", n, n, counts[n])
	}
	return text.Bytes(), nil
}

// maskedEntry is a new entry of the masked API.
type maskedEntry struct {
	*maskedSource
	name    string
	options Options
	graph   *onnxpb.ModelProto
}

func (e *maskedEntry) write(dir string) error {
	m := &model{file: e.file, proto: e.graph}
	if err := m.save(e.folder, filepath.Join(dir, "1")); err != nil {
		return err
	}
	tokenizer, err := e.tokenizer.text()
	if err != nil {
		return err
	}
	card, err := e.card()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"tokenizer.json": tokenizer, lengthsFile: e.lengths, "CARD.md": card, "config.pbtxt": e.config(),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkMolecule is a SAFE string whose tokens every vocabulary has.
const checkMolecule = "c12ccccc1.C2"

// check reads the entry as Triton and the gateway will.
func (e *maskedEntry) check(dir string) error {
	entry, err := readBack(dir, e.name, e.parameters())
	if err != nil {
		return err
	}
	t, err := tokenizers.Load(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return err
	}
	row, err := t.Encode(checkMolecule, tokenizers.Options{})
	if err != nil {
		return fmt.Errorf("tokenizer.json: %w", err)
	}
	if t.Size() != e.tokenizer.size() || len(row.IDs) < 3 || int64(row.IDs[0]) != e.tokenizer.special.bos {
		return fmt.Errorf("tokenizer.json: %q has ids %v, %d tokens in all", checkMolecule, row.IDs, t.Size())
	}
	if e.options.Open == nil {
		return nil
	}
	return e.options.Open(entry)
}

// maxLength returns the longest row, in tokens.
func (e *maskedEntry) maxLength() int { return cmp.Or(e.options.MaxLength, e.folder.maxPositions()) }

// parameters returns what the gateway needs to know, see orchestrator/docs/operate/MODELS.md.
func (e *maskedEntry) parameters() []Parameter {
	o := e.options
	return []Parameter{
		{"retort_api", o.API},
		{"model_id", o.ID},
		{"owned_by", o.owner()},
		{"created", strconv.FormatInt(o.Now.Unix(), 10)},
		{"max_model_len", strconv.Itoa(e.maxLength())},
		{"sampler", "genmol"},
		{"tokenizer", "tokenizer.json"},
		{"lengths", lengthsFile},
	}
}

// config returns the text of config.pbtxt.
func (e *maskedEntry) config() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by retort model import. Tensors and parameters: ../README.md; weights: CARD.md.\n")
	fmt.Fprintf(&b, "name: %q\nbackend: \"onnxruntime\"\nmax_batch_size: 128\n\ninput [\n", e.name)
	fmt.Fprintf(&b, "  { name: %q  data_type: TYPE_INT64  dims: [ -1 ] },\n", inputIDs)
	for _, name := range []string{inputTemperature, inputNoise, inputGamma} {
		fmt.Fprintf(&b, "  { name: %q  data_type: TYPE_FP32  dims: [ 1 ] },\n", name)
	}
	fmt.Fprintf(&b, "  { name: %q  data_type: TYPE_INT64  dims: [ 1 ] },\n", inputStepSize)
	fmt.Fprintf(&b, "  { name: %q  data_type: TYPE_INT64  dims: [ 1 ] }\n]\noutput [\n", inputSeed)
	fmt.Fprintf(&b, "  { name: %q  data_type: TYPE_INT64  dims: [ -1 ] }\n]\n", outputTokens)
	b.WriteString(configBatching)
	for _, p := range e.parameters() {
		fmt.Fprintf(&b, "parameters { key: %-16q value { string_value: %q } }\n", p.Key, p.Value)
	}
	return b.Bytes()
}

// card returns the text of CARD.md, for the operator to complete.
func (e *maskedEntry) card() ([]byte, error) {
	sum, err := sha256Of(e.folder.path(e.file))
	if err != nil {
		return nil, err
	}
	f := e.folder
	attachments := "ring numbers"
	if e.brackets {
		attachments = "numbers in angle brackets"
	}
	storage := "fp16, computed in fp32"
	if e.options.Precision == precisionFP32 {
		storage = "fp32"
	}
	rows := [][2]string{
		{"made by", "`retort model import`, " + e.options.Now.UTC().Format(time.DateOnly)},
		{"source", fmt.Sprintf("folder `%s`, `%s` with sha256 `%s`", f.name(), e.file, sum)},
		{"licence", cmp.Or(f.licence(), "not stated in the folder: fill in")},
		{"network", fmt.Sprintf("bert with masked-LM head: %d layers, hidden size %d, %d heads, a vocabulary of %d tokens",
			f.Layers, f.HiddenSize, f.Heads, f.VocabSize)},
		{"storage", storage},
		{"attachments", attachments},
		{"longest row", fmt.Sprintf("%d tokens, special tokens included", e.maxLength())},
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\nMolecules from masked SAFE strings. Public id `%s`.\n\n", e.name, e.options.ID)
	b.WriteString("## Model details\n\n| | |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString("\n## Evaluation\n\nNot measured here.\n\n## Limits\n\nSee the model's own card.\n")
	return b.Bytes(), nil
}
