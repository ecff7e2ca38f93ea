package modelimport

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// entry is a new entry for a published model.
type entry struct {
	name    string
	folder  *folder
	recipe  *recipe
	options Options
	model   *model
}

// write writes the files of the entry.
func (e *entry) write(dir string) error {
	if err := e.model.save(e.folder, filepath.Join(dir, "1")); err != nil {
		return err
	}
	if err := e.writeWarmup(dir); err != nil {
		return err
	}
	changes, notes, err := e.folder.tokenizerChanges()
	if err != nil {
		return err
	}
	e.recipe.notes = append(e.recipe.notes, notes...)
	tokenizer, err := e.folder.tokenizer(changes)
	if err != nil {
		return fmt.Errorf("tokenizer.json: %w", err)
	}
	files := []struct {
		name string
		text []byte
	}{{"tokenizer.json", tokenizer}, {"CARD.md", e.card(len(tokenizer))}, {"config.pbtxt", e.config()}}
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(dir, file.name), file.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// check reads the entry as Triton and the gateway will.
func (e *entry) check(dir string) error {
	model, err := readBack(dir, e.name, e.parameters())
	if err != nil {
		return err
	}
	if err := e.checkTokenizer(filepath.Join(dir, "tokenizer.json"), model.Config); err != nil {
		return fmt.Errorf("tokenizer.json: %w", err)
	}
	if e.options.Open != nil {
		if err := e.options.Open(model); err != nil {
			return err
		}
	}
	if e.options.Python != "" {
		return e.compare(dir)
	}
	return nil
}

// output returns the name of the output, and how many numbers a row of it has.
func (e *entry) output() (name string, width int) {
	if e.options.API == apiRanking {
		return outputLogits, 1
	}
	if t := findOutput(e.model.proto.Graph, outputVector); t != nil && len(dims(t)) == 2 && dims(t)[1] > 0 {
		return outputVector, dims(t)[1]
	}
	return outputVector, e.folder.HiddenSize
}

// paddingCost is the cost of a token of padding relative to a token of a text. Only attention computes padding: 0.06 of
// a token in rows of 12 tokens, 0.4 in rows of 128 (MiniLM, one core).
const paddingCost = "0.4"

// parameters returns what the gateway needs to know, see orchestrator/docs/operate/MODELS.md.
func (e *entry) parameters() []Parameter {
	o := e.options
	r := e.recipe
	parameters := []Parameter{
		{"retort_api", o.API},
		{"model_id", o.ID},
		{"owned_by", o.owner()},
		{"created", strconv.FormatInt(o.Now.Unix(), 10)},
	}
	if o.API == apiEmbedding {
		_, width := e.output()
		dimensions := strconv.Itoa(width)
		if o.LeastDimensions > 0 {
			dimensions = fmt.Sprintf("%d-%d", o.LeastDimensions, width)
		}
		modes := "one"
		if r.twoModes {
			modes = "two"
		}
		parameters = append(parameters,
			Parameter{"modes", modes},
			Parameter{"query_prefix", r.queryPrefix},
			Parameter{"passage_prefix", r.passagePrefix},
			Parameter{"dimensions", dimensions},
			Parameter{"pooling", r.pooling},
		)
	}
	if r.pairTemplate != "" {
		parameters = append(parameters, Parameter{"pair_template", r.pairTemplate})
	}
	if e.model.tensors != nil { // the graph was built here: see cells
		parameters = append(parameters, Parameter{"padding_cost", paddingCost})
	}
	return append(parameters,
		Parameter{"max_model_len", strconv.Itoa(r.maxLength)},
		Parameter{"tokenizer", "tokenizer.json"},
	)
}

const configBatching = `
# RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS replaces the number in the live config.
dynamic_batching { max_queue_delay_microseconds: 100 }

# One copy of the weights per device; on a CPU its threads follow the cores. No kind, so Triton picks the device.
instance_group [ { count: 1 } ]

`

// config returns the text of config.pbtxt, in the layout of the shipped entries.
func (e *entry) config() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by retort model import. Tensors and parameters: ../README.md; weights: CARD.md.\n")
	fmt.Fprintf(&b, "name: %q\nbackend: \"onnxruntime\"\nmax_batch_size: 256\n\ninput [\n", e.name)
	tensors := inputs(e.model.proto.Graph)
	for i, t := range tensors {
		comma := ","
		if i == len(tensors)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "  { name: %q  data_type: TYPE_INT64  dims: [ -1 ] }%s\n", t.GetName(), comma)
	}
	output, width := e.output()
	fmt.Fprintf(&b, "]\noutput [\n  { name: %q  data_type: TYPE_FP32  dims: [ %d ] }\n]\n", output, width)
	b.WriteString(deviceConfig(e.options.Device, precisionOf(e.model.proto.Graph)))
	b.WriteString(e.warmupConfig())
	for _, p := range e.parameters() {
		fmt.Fprintf(&b, "parameters { key: %-18q value { string_value: %q } }\n", p.Key, p.Value)
	}
	return b.Bytes()
}

// card returns the text of CARD.md, for the operator to complete. tokenizerSize is in bytes.
func (e *entry) card(tokenizerSize int) []byte {
	o := e.options
	f := e.folder
	r := e.recipe
	types := strings.Join(append([]string{f.ModelType}, f.Architectures...), ", ")
	rows := [][2]string{
		{"made by", "`retort model import`, " + o.Now.UTC().Format(time.DateOnly)},
		{"source", e.model.cardSource(f.name())},
		{"licence", cmp.Or(f.licence(), "not stated in the folder: fill in")},
		{"network", fmt.Sprintf("%s: %d layers, hidden size %d, %d heads, a vocabulary of %d tokens",
			types, f.Layers, f.HiddenSize, f.Heads, f.VocabSize)},
		{"storage", e.model.storage},
		{"tokenizer", fmt.Sprintf("the folder's `tokenizer.json` (%d bytes) without its truncation and padding",
			tokenizerSize)},
		{"longest row", fmt.Sprintf("%d tokens, special tokens included", r.maxLength)},
	}
	task := "Passage ranking: one logit for a query and a passage."
	if o.API == apiEmbedding {
		task = "Text embedding."
		rows = append(rows,
			[2]string{"pooling", fmt.Sprintf("%s, dense layers: %d, normalized: %v",
				r.pooling, len(r.dense), r.normalize)},
			[2]string{"prefixes", fmt.Sprintf("query %q, passage %q", r.queryPrefix, r.passagePrefix)},
		)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s Public id `%s`.\n\n## Model details\n\n| | |\n|---|---|\n", e.name, task, o.ID)
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString("\n## Evaluation\n\nNot measured here.\n\n## Limits\n\nSee the model's own card.\n")
	return b.Bytes()
}
