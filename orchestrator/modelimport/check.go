package modelimport

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// The texts that a new entry's tokenizer is tried on.
const (
	checkQuery   = "What is a retort?"
	checkPassage = "A retort is a vessel in which substances are distilled; Größe, 分子, naïve."
)

// check reads the entry back from its files, as Triton and the gateway will.
func (e *entry) check(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "config.pbtxt"))
	if err != nil {
		return err
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return fmt.Errorf("config.pbtxt: %w", err)
	}
	for _, p := range e.parameters() {
		if config.Parameters[p.Key] != p.Value {
			return fmt.Errorf("config.pbtxt: parameter %s is read back as %q, not %q", p.Key, config.Parameters[p.Key], p.Value)
		}
	}
	if err := checkGraph(filepath.Join(dir, "1", "model.onnx"), config); err != nil {
		return fmt.Errorf("model.onnx: %w", err)
	}
	if err := e.checkTokenizer(filepath.Join(dir, "tokenizer.json"), config); err != nil {
		return fmt.Errorf("tokenizer.json: %w", err)
	}
	if e.options.Open == nil {
		return nil
	}
	return e.options.Open(&triton.Model{
		Name: e.name, Versions: []string{"1"}, Config: config, Dir: dir, Inputs: wire(config.Inputs), Outputs: wire(config.Outputs),
	})
}

// wire gives tensors the batch's dimension.
func wire(tensors []triton.TensorInfo) []triton.TensorInfo {
	tensors = slices.Clone(tensors)
	for i := range tensors {
		tensors[i].Shape = append([]int64{-1}, tensors[i].Shape...)
	}
	return tensors
}

// checkGraph compares the graph's tensors with those of the configuration.
func checkGraph(path string, config *triton.ModelConfig) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(data, m); err != nil {
		return err
	}
	for _, t := range inputs(m.Graph) {
		if _, told := config.Input(t.GetName()); !told {
			return fmt.Errorf("config.pbtxt does not name the input %s", t.GetName())
		}
	}
	for _, told := range config.Outputs {
		t := output(m.Graph, told.Name)
		if t == nil {
			return fmt.Errorf("config.pbtxt names an output %s; the graph has %v", told.Name, outputs(m.Graph))
		}
		last := dims(t)[len(dims(t))-1]
		if element(t) != onnxFloat || (last > 0 && int64(last) != told.Shape[len(told.Shape)-1]) {
			return fmt.Errorf("output %s has element type %d and shape %v; config.pbtxt says %v", told.Name, element(t), dims(t), told.Shape)
		}
	}
	return nil
}

// checkTokenizer encodes a text and a pair: the ids must be rows of the word table, the segments rows of theirs.
func (e *entry) checkTokenizer(path string, config *triton.ModelConfig) error {
	t, err := tokenizers.Load(path)
	if err != nil {
		return err
	}
	f := e.folder
	if t.Size() > f.VocabSize {
		return fmt.Errorf("it has %d tokens, config.json a vocab_size of %d", t.Size(), f.VocabSize)
	}
	if family, err := f.family(); err == nil && family == "roberta" && int(t.PadID()) != f.pad() {
		return fmt.Errorf("it pads with %d, but config.json has pad_token_id %d, by which the model counts positions", t.PadID(), f.pad())
	}
	one, err := t.Encode(checkPassage, tokenizers.Options{MaxLength: e.recipe.maxLength, Strategy: tokenizers.OnlyFirst})
	if err != nil {
		return err
	}
	pair, err := t.EncodePair(checkQuery, checkPassage, tokenizers.Options{MaxLength: e.recipe.maxLength, Strategy: tokenizers.LongestFirst})
	if err != nil {
		return err
	}
	_, segments := config.Input(inputTypes)
	for _, row := range []*tokenizers.Encoding{one, pair} {
		if len(row.IDs) == 0 || int(slices.Max(row.IDs)) >= f.VocabSize {
			return fmt.Errorf("%q gives ids %v, config.json has a vocab_size of %d", checkPassage, row.IDs, f.VocabSize)
		}
		if segments && f.TypeVocabSize > 0 && int(slices.Max(row.TypeIDs)) >= f.TypeVocabSize {
			return fmt.Errorf("a pair has segments %v, config.json a type_vocab_size of %d", row.TypeIDs, f.TypeVocabSize)
		}
	}
	return nil
}
