package modelimport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"retort/orchestrator/encoder"
	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/ranking"
	"retort/scripts/convert/published"
	"retort/tokenizers"
)

// PythonOptions are the flags of the published code, which runs in a Python environment outside this program.
type PythonOptions struct {
	Python          string `placeholder:"FILE" env:"-" help:"Python interpreter with torch, transformers, sentence-transformers, onnxscript and onnxruntime, such as .venv-export/bin/python of a checkout. It exports the graph of an architecture that this program cannot build, and compares the token ids and outputs of every entry with those of the published code."`
	TrustRemoteCode bool   `env:"-" help:"Let --python, or the engine of a chat model, run Python code that the folder brings (auto_map in config.json)."`
}

// publishedTask is TASK.json of scripts/convert/published/published.py.
type publishedTask struct {
	Result          string `json:"result"` // file
	Folder          string `json:"folder"`
	API             string `json:"api"`
	TrustRemoteCode bool   `json:"trust_remote_code"`
	Graph           string `json:"graph"` // file, written by export and read by compare

	Output    string         `json:"output,omitempty"`
	Bound     float64        `json:"bound,omitempty"`
	MaxLength int            `json:"max_length,omitempty"`
	Hidden    int            `json:"hidden,omitempty"`
	Pooling   string         `json:"pooling"` // if not that of modules.json
	Normalize bool           `json:"normalize"`
	Query     string         `json:"query,omitempty"`
	Template  string         `json:"template"` // of pairs, or ""
	YesNo     bool           `json:"yes_no"`   // the logit is logit(yes) - logit(no) of a causal language model
	Rows      []publishedRow `json:"rows,omitempty"`
}

// publishedRow is a text, or a passage for the query, with the token ids that this program computes.
type publishedRow struct {
	Text   string  `json:"text"`
	Mode   string  `json:"mode"` // "query" or "passage" for a model with two modes
	Prefix string  `json:"prefix"`
	IDs    []int32 `json:"ids"`
	Types  []int32 `json:"types"`
	Run    bool    `json:"run"` // compute and compare its output, not only its token ids
}

// checkCode refuses a folder whose model is defined by code in it, unless that is trusted.
func (f *folder) checkCode(o Options) error {
	if code, ok := f.config["auto_map"]; ok && !o.TrustRemoteCode {
		return fmt.Errorf("config.json: auto_map names code (%v) that defines the model: "+
			"--trust-remote-code with --python runs it", code)
	}
	return nil
}

// checkPublic refuses to compare a model that transformers does not compute, unless the code of its folder runs.
func (f *folder) checkPublic(o Options) error {
	d := f.family().decoder
	if d == nil || !(d.bidirectional || (f.Causal != nil && !*f.Causal)) {
		return nil
	}
	key := "is_causal false"
	if d.bidirectional {
		key = "model_type " + f.ModelType
	}
	_, hasCode := f.config["auto_map"]
	switch {
	case !hasCode:
		return fmt.Errorf("--python: config.json: %s: transformers has no such model, and without auto_map the folder "+
			"has no code to compare with; without --python, the model is imported and not compared", key)
	case !o.TrustRemoteCode:
		return fmt.Errorf("--python: config.json: %s: transformers has no such model, and only the code of the folder "+
			"(auto_map) computes it: --trust-remote-code runs it; without --python, the model is imported and "+
			"not compared", key)
	}
	return nil
}

// exportGraph exports the ONNX graph of a model that buildGraph does not support into a folder of its own, and reads
// it. refused says why it is not supported.
func exportGraph(f *folder, r *recipe, o Options, refused error) (m *model, err error) {
	if err := f.checkCode(o); err != nil {
		return nil, err
	}
	if o.Precision == precisionFP16 {
		return nil, fmt.Errorf("%w; its graph is exported by --python, which stores weights in fp32 (or int8), not %s",
			refused, o.Precision)
	}
	dir, release, err := makeStaging(o.Repository, "export")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	task := publishedTask{API: o.API, Graph: filepath.Join(dir, "model.onnx")}
	result, err := o.runPublished(f, dir, "export", task)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", refused, err)
	}
	o.Precision = strings.TrimSuffix(o.Precision, precisionFP32) // it is fp32
	m, err = readONNX(&folder{dir: dir}, r, "model.onnx", o)
	if err != nil {
		return nil, fmt.Errorf("the exported graph: %w", err)
	}
	m.dir = dir
	m.remove = release
	m.storage = "fp32"
	m.source = "exported by " + result.Versions
	return m, nil
}

// publishedResult is what published.py returns.
type publishedResult struct {
	Problem  string  `json:"problem"`
	Worst    float64 `json:"worst"`
	Versions string  `json:"versions"`
}

// runPublished runs published.py with files in dir.
func (o Options) runPublished(f *folder, dir, command string, task publishedTask) (*publishedResult, error) {
	program := filepath.Join(dir, ".published.py")
	taskFile := filepath.Join(dir, ".task.json")
	task.Result = filepath.Join(dir, ".result.json")
	defer func() {
		for _, file := range []string{program, taskFile, task.Result} {
			_ = os.Remove(file)
		}
	}()
	var err error
	if task.Folder, err = filepath.Abs(f.dir); err != nil {
		return nil, err
	}
	task.TrustRemoteCode = o.TrustRemoteCode
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(
		os.WriteFile(program, published.Program, 0o600), os.WriteFile(taskFile, text, 0o600),
	); err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	process := exec.Command(o.Python, program, command, taskFile)
	process.Stderr = &stderr
	// The child ends with this process. Linux ties it to the thread that starts it.
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := process.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("--python %s could not %s the model (%w): %s", o.Python, command, err, lines[len(lines)-1])
	}
	if text, err = os.ReadFile(task.Result); err != nil {
		return nil, err
	}
	result := &publishedResult{}
	return result, json.Unmarshal(text, result)
}

// compareTexts are the texts that an entry must treat as the published code does, besides one that is cut.
var compareTexts = []string{
	"benzene",
	checkQuery,
	checkPassage,
	"Wie löst man Natriumchlorid in Wasser? 塩は水に溶ける。 NaCl(s) → Na⁺ + Cl⁻ 🧪",
	strings.TrimSpace(strings.Repeat("One retort holds water, and another holds benzene. ", 12)),
	strings.TrimSpace(strings.Repeat("seven glass vessels stay dry while 42.5 ml of acid boil ", 45)),
}

// maxCompared is the longest row, in tokens, whose output is compared, since the memory of attention grows with the
// square of the length.
const maxCompared = 1024

// bounds are the largest differences between an entry and the published model in fp32, by the precision of the entry:
// for embeddings 1 - cosine, for logits the difference relative to the larger of 1 and the logit.
var bounds = map[string]map[string]float64{
	precisionFP32: {apiEmbedding: 1e-5, apiRanking: 1e-4},
	precisionFP16: {apiEmbedding: 1e-3, apiRanking: 2e-2},
	precisionInt8: {apiEmbedding: 5e-2, apiRanking: 5e-1},
}

// compare compares the entry in dir with the published model, run by its own code.
func (e *entry) compare(dir string) error {
	o := e.options
	if err := e.folder.checkPublic(o); err != nil {
		return err
	}
	bound, ok := bounds[precisionOf(e.model.proto.Graph)][o.API]
	if !ok {
		return fmt.Errorf("--python: entries of the %s API cannot be compared with the published code", o.API)
	}
	t, err := tokenizers.Load(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return err
	}
	output, _ := e.output()
	task := publishedTask{
		API: o.API, Graph: filepath.Join(dir, "1", "model.onnx"), Output: output, Bound: bound,
		MaxLength: e.recipe.maxLength, Hidden: e.folder.HiddenSize,
	}
	if o.API == apiRanking {
		task.Query = checkQuery
		task.Template = e.recipe.pairTemplate
		d := e.folder.family().decoder
		task.YesNo = d != nil && d.reranks && e.folder.isCausalLM()
	}
	if o.Pooling != "" || o.Normalize != nil || !e.folder.has("modules.json") {
		task.Pooling = e.recipe.pooling
		task.Normalize = e.recipe.normalize
	}
	if task.Rows, err = e.compareRows(t); err != nil {
		return err
	}
	hint := ""
	if e.folder.checkCode(o) != nil {
		hint = "; config.json names code that was not run (auto_map): --trust-remote-code runs it"
	}
	result, err := o.runPublished(e.folder, dir, "compare", task)
	if err != nil {
		return fmt.Errorf("%w%s", err, hint)
	}
	if result.Problem != "" {
		return fmt.Errorf("it is not equal to the published model, as %s computes it: %s%s",
			result.Versions, result.Problem, hint)
	}
	note := fmt.Sprintf("equal to the published model for %d rows: token ids the same, outputs within %.1g (allowed: %.0g); %s",
		len(task.Rows), result.Worst, bound, result.Versions)
	e.recipe.notes = append(e.recipe.notes, note)
	return nil
}

// compareRows tokenizes the texts of every mode as the gateway does.
func (e *entry) compareRows(t *tokenizers.Tokenizer) (rows []publishedRow, err error) {
	r := e.recipe
	modes := []publishedRow{{}}
	if r.twoModes {
		modes = []publishedRow{{Mode: "query", Prefix: r.queryPrefix}, {Mode: "passage", Prefix: r.passagePrefix}}
	}
	var template *ranking.PairTemplate
	if r.pairTemplate != "" {
		if template, err = ranking.ParsePairTemplate(r.pairTemplate, t); err != nil {
			return nil, fmt.Errorf("pair-template: %w", err)
		}
	}
	cut := strings.Repeat("retort ", 4*r.maxLength/3)
	for _, row := range modes {
		for _, text := range append([]string{cut}, compareTexts...) {
			row.Text = text
			var encoding *tokenizers.Encoding
			options := tokenizers.Options{MaxLength: r.maxLength, Strategy: tokenizers.OnlyFirst}
			switch {
			case e.options.API != apiRanking:
				encoding, err = t.Encode(row.Prefix+text, options)
			case template != nil:
				options.Strategy = tokenizers.OnlySecond
				encoding, err = template.Encode(&encoder.Encoder{Tokenizer: t}, checkQuery, text, options)
			default:
				options.Strategy = tokenizers.OnlySecond
				encoding, err = t.EncodePair(checkQuery, text, options)
			}
			if err != nil {
				return nil, err
			}
			row.IDs = encoding.IDs
			row.Types = encoding.TypeIDs
			row.Run = len(row.IDs) <= maxCompared
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// precisionOf returns the lowest precision of the weights of a graph.
func precisionOf(g *onnxpb.GraphProto) string {
	precision := precisionFP32
	for _, t := range g.Initializer {
		switch kind := t.GetDataType(); {
		case (kind == onnxInt8 || kind == onnxUint8) && len(t.Dims) > 1:
			return precisionInt8
		case kind == onnxFloat16:
			precision = precisionFP16
		}
	}
	return precision
}

// cardSource describes where the graph of a card comes from.
func (m *model) cardSource(folder string) string {
	if m.source != "" {
		return fmt.Sprintf("folder `%s`, %s", folder, m.source)
	}
	return fmt.Sprintf("folder `%s`, `%s` with sha256 `%s`", folder, m.file, m.sha256)
}
