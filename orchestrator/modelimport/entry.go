package modelimport

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// entry is what is put into the repository.
type entry struct {
	name    string
	folder  *folder
	recipe  *recipe
	options Options
	weights *weights
}

// write makes the entry's files; config.pbtxt, with which it becomes one, last.
func (e *entry) write(dir string, w *weights) error {
	e.weights = w
	version := filepath.Join(dir, "1")
	if err := os.Mkdir(version, 0o755); err != nil {
		return err
	}
	if err := w.save(e.folder, version); err != nil {
		return err
	}
	tokenizer, err := e.tokenizer()
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

// tokenizer is the folder's without truncation and padding, with which its author last called the library: lengths are
// the gateway's to say.
func (e *entry) tokenizer() ([]byte, error) {
	data, err := os.ReadFile(e.folder.path("tokenizer.json"))
	if err != nil {
		return nil, err
	}
	in := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out bytes.Buffer
	if token, err := in.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, cmp.Or(err, fmt.Errorf("it is no JSON object"))
	}
	for in.PeekKind() != '}' {
		name, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		name = name.Clone()
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		if key := string(name); key == `"truncation"` || key == `"padding"` {
			value = jsontext.Value("null")
		}
		separator := ","
		if out.Len() == 0 {
			separator = "{"
		}
		fmt.Fprintf(&out, "%s%s:%s", separator, name, value)
	}
	out.WriteString("}\n")
	return out.Bytes(), nil
}

// width is the length of a vector.
func (e *entry) width() int {
	if e.options.API == Ranking {
		return 1
	}
	if t := output(e.weights.model.Graph, outputVector); t != nil && len(dims(t)) == 2 && dims(t)[1] > 0 {
		return dims(t)[1]
	}
	return e.folder.HiddenSize
}

func (e *entry) output() string {
	if e.options.API == Ranking {
		return outputLogits
	}
	return outputVector
}

// paddingCost is what a token of padding costs as a part of one of a text: attention's products, 0.06 of it beside 12
// tokens and 0.4 beside 128 (MiniLM, one core).
const paddingCost = "0.4"

// parameters are what the gateway must know: model_repository/README.md.
func (e *entry) parameters() []Parameter {
	o, r := e.options, e.recipe
	told := []Parameter{
		{"retort_api", o.API}, {"model_id", o.ID}, {"owned_by", o.owner()}, {"created", strconv.FormatInt(o.Now.Unix(), 10)},
	}
	if o.API == Embedding {
		modes := "one"
		dimensions := strconv.Itoa(e.width())
		if r.twoModes {
			modes = "two"
		}
		if o.LeastDimensions > 0 {
			dimensions = fmt.Sprintf("%d-%d", o.LeastDimensions, e.width())
		}
		told = append(told, Parameter{"modes", modes}, Parameter{"query_prefix", r.query}, Parameter{"passage_prefix", r.passage},
			Parameter{"dimensions", dimensions}, Parameter{"pooling", r.pooling})
	}
	if e.weights.source != nil { // a graph that was made here: see cells
		told = append(told, Parameter{"padding_cost", paddingCost})
	}
	return append(told, Parameter{"max_model_len", strconv.Itoa(r.maxLength)}, Parameter{"tokenizer", "tokenizer.json"})
}

// config is the text of config.pbtxt, in the form of the entries that are shipped.
func (e *entry) config() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by retort model import. Tensors and parameters: ../README.md; weights: CARD.md.\n")
	fmt.Fprintf(&b, "name: %q\nbackend: \"onnxruntime\"\nmax_batch_size: 256\n\ninput [\n", e.name)
	names := inputs(e.weights.model.Graph)
	for i, t := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "  { name: %q  data_type: TYPE_INT64  dims: [ -1 ] }%s\n", t.GetName(), comma)
	}
	fmt.Fprintf(&b, "]\noutput [\n  { name: %q  data_type: TYPE_FP32  dims: [ %d ] }\n]\n\n", e.output(), e.width())
	b.WriteString("# RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS replaces the number in the live config.\n" +
		"dynamic_batching { max_queue_delay_microseconds: 100 }\n\n" +
		"# One copy of the weights per device; on a CPU its threads follow the cores. No kind, so Triton picks the device.\n" +
		"instance_group [ { count: 1 } ]\n\n")
	for _, p := range e.parameters() {
		fmt.Fprintf(&b, "parameters { key: %-18q value { string_value: %q } }\n", p.Key, p.Value)
	}
	return b.Bytes()
}

// card is a model card to go on from.
func (e *entry) card(tokenizer int) []byte {
	o := e.options
	f := e.folder
	r := e.recipe
	rows := []Parameter{
		{"made by", "`retort model import`, " + o.Now.UTC().Format("2006-01-02")},
		{"source", fmt.Sprintf("folder `%s`, `%s` with sha256 `%s`", filepath.Base(absolute(f.dir)), e.weights.file, e.weights.sum)},
		{"licence", cmp.Or(f.licence(), "not said in the folder: fill in")},
		{"network", fmt.Sprintf("%s: %d layers, %d wide, %d heads, %d tokens in its vocabulary", strings.Join(append([]string{f.ModelType}, f.Architectures...), ", "),
			f.Layers, f.HiddenSize, f.Heads, f.VocabSize)},
		{"storage", e.weights.storage},
		{"tokenizer", fmt.Sprintf("the folder's `tokenizer.json` (%d bytes) without its truncation and padding", tokenizer)},
		{"longest row", fmt.Sprintf("%d tokens, special ones included", r.maxLength)},
	}
	what := "Passage ranking: one logit for a query and a passage."
	if o.API == Embedding {
		what = "Text embedding."
		rows = append(rows, Parameter{"pooling", fmt.Sprintf("%s, normalised: %v", r.pooling, r.normalize)},
			Parameter{"prefixes", fmt.Sprintf("query %q, passage %q", r.query, r.passage)})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s Public id `%s`.\n\n| | |\n|---|---|\n", e.name, what, o.ID)
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row.Key, row.Value)
	}
	b.WriteString("\n## Figures\n\nNot measured here.\n\n## Limits\n\nSee the model's own card.\n")
	return b.Bytes()
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
