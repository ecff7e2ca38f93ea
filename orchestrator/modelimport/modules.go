package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// poolingModes are the supported values of pooling_mode of Sentence Transformers: how token states become one vector.
var poolingModes = []string{"cls", "mean", "max", "weightedmean", "lasttoken"}

// maxModules bounds the modules of Sentence Transformers. Published models have up to 4.
const maxModules = 16

// dense is a linear layer after pooling, with its activation: Identity or Tanh.
type dense struct {
	name       string // prefix of the tensors in the graph
	in, out    int
	weight     []float32 // [in, out]
	bias       []float32 // [out], or nil
	activation string
}

// readModules sets pooling, dense and normalize.
func (r *recipe) readModules(f *folder, o Options) error {
	var modules []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	ok, err := f.readJSON("modules.json", &modules)
	if err != nil {
		return err
	}
	if len(modules) > maxModules {
		return fmt.Errorf("modules.json: it has %d modules, more than %d", len(modules), maxModules)
	}
	r.normalize = !ok // by default
	width := f.HiddenSize
	for i, m := range modules {
		kind := m.Type[strings.LastIndex(m.Type, ".")+1:]
		allowed := []string{"Pooling"}
		switch {
		case i == 0:
			allowed = []string{"Transformer"}
		case r.normalize:
			allowed = nil
		case i > 1:
			allowed = []string{"Dense", "Normalize"}
		}
		if !slices.Contains(allowed, kind) {
			return fmt.Errorf("modules.json: module %d is %s (%s), which is not supported, only "+
				"Transformer, Pooling, any number of Dense, and Normalize in this order", i, kind, m.Path)
		}
		if i > 0 && !filepath.IsLocal(m.Path) {
			return fmt.Errorf("modules.json: module %d has path %q, which is outside the folder", i, m.Path)
		}
		switch kind {
		case "Transformer":
			if filepath.Clean(m.Path) != "." {
				return fmt.Errorf("modules.json: module %d has path %q, but only a Transformer in the folder itself "+
					"is supported", i, m.Path)
			}
		case "Pooling":
			if r.pooling, err = readPooling(f, m.Path); err != nil && o.Pooling == "" {
				return err
			}
		case "Dense":
			d, err := readDense(f, m.Path, width)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Path, err)
			}
			d.name = fmt.Sprintf("modules.%d", i) // not the path, which two modules may share
			r.dense = append(r.dense, d)
			width = d.out
		case "Normalize":
			r.normalize = true
		}
	}
	r.pooling = cmp.Or(o.Pooling, r.pooling)
	if o.Normalize != nil {
		r.normalize = *o.Normalize
	}
	return nil
}

// width returns the length of the vectors, given the hidden size of the token states.
func (r *recipe) width(hiddenSize int) int {
	if len(r.dense) > 0 {
		return r.dense[len(r.dense)-1].out
	}
	return hiddenSize
}

// readPooling returns the mode of a pooling module.
func readPooling(f *folder, dir string) (string, error) {
	name := dir + "/config.json"
	var p map[string]any
	if ok, err := f.readJSON(name, &p); err != nil || !ok {
		return "", cmp.Or(err, fmt.Errorf("modules.json names %s, which is missing", name))
	}
	var found []string
	switch mode := p["pooling_mode"].(type) {
	case string:
		found = append(found, mode)
	case []any: // the vectors of several modes are concatenated, which is not supported
		for _, m := range mode {
			found = append(found, fmt.Sprint(m))
		}
	}
	for key, on := range p {
		if mode, ok := strings.CutPrefix(key, "pooling_mode_"); ok && on == true {
			found = append(found, strings.TrimSuffix(strings.TrimSuffix(mode, "_tokens"), "_token"))
		}
	}
	slices.Sort(found)
	if len(found) != 1 || !slices.Contains(poolingModes, found[0]) {
		return "", fmt.Errorf("%s: pooling_mode %v is not supported, only one of %s",
			name, found, strings.Join(poolingModes, ", "))
	}
	if p["include_prompt"] == false {
		return "", fmt.Errorf("%s: include_prompt false is not supported: prefixes are pooled with the text", name)
	}
	return found[0], nil
}

// checkPooling refuses a recipe whose pooling is missing or not supported.
func (r *recipe) checkPooling() error {
	supported := strings.Join(poolingModes, ", ")
	switch {
	case r.pooling == "":
		return fmt.Errorf("the folder has no modules.json with the pooling of token states: give --pooling, one of %s",
			supported)
	case !slices.Contains(poolingModes, r.pooling):
		return fmt.Errorf("pooling %q is not supported, only one of %s", r.pooling, supported)
	}
	return nil
}

// readDense reads the folder of a Dense module whose input vectors have the given width.
func readDense(f *folder, path string, width int) (*dense, error) {
	c := struct {
		In         int    `json:"in_features"`
		Out        int    `json:"out_features"`
		Bias       bool   `json:"bias"`
		Activation string `json:"activation_function"`
		Input      string `json:"module_input_name"`
		Output     string `json:"module_output_name"`
		Residual   bool   `json:"use_residual"`
	}{Bias: true, Activation: "Tanh"}
	module := &folder{dir: f.path(path)}
	ok, err := module.readJSON("config.json", &c)
	if err != nil || !ok {
		return nil, cmp.Or(err, errors.New("config.json is missing"))
	}
	activation := c.Activation[strings.LastIndex(c.Activation, ".")+1:]
	switch {
	case c.In != width || c.Out < 1:
		return nil, fmt.Errorf("config.json: in_features %d and out_features %d do not fit its input, vectors of %d numbers",
			c.In, c.Out, width)
	case activation != "Identity" && activation != "Tanh":
		return nil, fmt.Errorf("config.json: activation_function %q is not supported, only Identity and Tanh",
			c.Activation)
	case c.Residual:
		return nil, errors.New("config.json: use_residual is not supported")
	}
	for key, name := range map[string]string{"module_input_name": c.Input, "module_output_name": c.Output} {
		if name != "" && name != outputVector {
			return nil, fmt.Errorf("config.json: %s %q is not supported, only %s", key, name, outputVector)
		}
	}
	s, err := openSafetensors(module)
	if err != nil {
		return nil, err
	}
	defer s.close()
	d := &dense{in: c.In, out: c.Out, activation: activation}
	weight, err := s.floats("linear.weight", int64(c.Out), int64(c.In))
	if err != nil {
		return nil, err
	}
	d.weight = transposed(weight, c.Out, c.In)
	if c.Bias {
		d.bias, err = s.floats("linear.bias", int64(c.Out))
	}
	return d, err
}

// transposed returns a matrix [rows, columns] as [columns, rows].
func transposed(values []float32, rows, columns int) []float32 {
	t := make([]float32, len(values))
	for row := range rows {
		for column := range columns {
			t[column*rows+row] = values[row*columns+column]
		}
	}
	return t
}
