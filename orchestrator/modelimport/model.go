package modelimport

import (
	"fmt"
	"path/filepath"

	"retort/orchestrator/modelimport/onnxpb"
)

// model is the ONNX model of an entry, and where it comes from.
type model struct {
	proto     *onnxpb.ModelProto
	file      string       // source, in the folder
	sha256    string       // of file
	unchanged bool         // the entry gets a byte-for-byte copy of file
	external  []string     // files with external data of the graph
	dir       string       // folder of file and external, if it is not the published one
	remove    func()       // removes dir, else nil
	source    string       // for the card, if the graph is not in the published folder
	storage   string       // for the card
	tensors   *safetensors // of a graph that was built here, else nil
}

// onnxFiles are the places of a graph in a published folder.
var onnxFiles = []string{"model.onnx", "onnx/model.onnx"}

// openModel reads the ONNX graph of the folder, or builds one from weights in safetensors. For int8 it quantizes the
// products.
func openModel(f *folder, r *recipe, o Options) (*model, error) {
	if o.API == apiRanking && len(f.Labels) > 1 {
		return nil, fmt.Errorf("config.json: id2label has %d labels, but a ranker returns one logit", len(f.Labels))
	}
	m, err := readOrBuild(f, r, o)
	if err != nil {
		return nil, err
	}
	if o.Precision == precisionInt8 {
		if err := m.quantize(filepath.Dir(m.path(f))); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

func readOrBuild(f *folder, r *recipe, o Options) (*model, error) {
	graph := ""
	for _, name := range onnxFiles {
		if graph == "" && f.has(name) {
			graph = name
		}
	}
	hasTensors := f.has(tensorsFile) || f.has(tensorsIndex)
	switch {
	case o.Weights == "onnx" && graph == "":
		return nil, fmt.Errorf("%s has no model.onnx and no onnx/model.onnx", f.dir)
	case o.Weights == "onnx" || (o.Weights == "" && !hasTensors && graph != ""):
		return readONNX(f, r, graph, o)
	}
	if err := f.checkNetwork(); err != nil && o.Python != "" {
		return exportGraph(f, r, o, err)
	}
	tensors, err := openSafetensors(f)
	if err != nil {
		return nil, err
	}
	m, err := newModel(f, r, tensors, o)
	if err != nil {
		tensors.close()
		switch {
		case graph != "":
			return nil, fmt.Errorf("%w (--weights onnx uses %s instead)", err, graph)
		case f.checkNetwork() != nil:
			return nil, fmt.Errorf("%w (--python FILE exports a graph with the model's own code)", err)
		}
		return nil, err
	}
	return m, nil
}

// newModel builds a model from weights in safetensors.
func newModel(f *folder, r *recipe, tensors *safetensors, o Options) (*model, error) {
	m := &model{file: tensorsFile, storage: "fp16, computed in fp32", tensors: tensors}
	if !f.has(m.file) {
		m.file = tensorsIndex
	}
	if o.Precision == precisionFP32 {
		m.storage = "fp32"
	}
	var err error
	if m.sha256, err = sha256Of(f.path(m.file)); err != nil {
		return nil, err
	}
	if o.Begin != nil {
		tensors.onRead = o.Begin(f.plan(r, o, m.storage), tensors.size())
	}
	m.proto, err = buildGraph(f, r, tensors, o)
	return m, err
}

// plan says what the import will do.
func (f *folder) plan(r *recipe, o Options, storage string) string {
	answer := "a ranker"
	if o.API == apiEmbedding {
		answer = "embeddings with pooling " + r.pooling
	}
	if o.Precision == precisionInt8 {
		storage = "int8 products"
	}
	return fmt.Sprintf("%s (%d layers, hidden size %d) as %s, texts of up to %d tokens, %s",
		f.ModelType, f.Layers, f.HiddenSize, answer, r.maxLength, storage)
}

// quantize makes the matrix products of the graph products of integers. dir has the files with external data.
func (m *model) quantize(dir string) error {
	if err := internalize(m.proto, dir); err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	m.external = nil
	products, err := quantizeProducts(m.proto)
	if err != nil {
		return fmt.Errorf("%s: %w", m.file, err)
	}
	m.unchanged = false
	m.storage = fmt.Sprintf("%d products of matrices computed in int8 (weights in 7 bits with a scale per column, "+
		"states in 8 bits with a scale per token, computed at run time); the rest %s", products, m.storage)
	return nil
}

func (m *model) close() {
	if m.tensors != nil {
		m.tensors.close()
	}
	if m.remove != nil {
		m.remove()
	}
}
