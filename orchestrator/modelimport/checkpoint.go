package modelimport

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkpoint is a file of PyTorch Lightning: a zip with a pickle, data.pkl, and a member with the numbers of each
// storage, data/0, data/1, …, which several tensors may share (torch/serialization.py). The members are not
// compressed, so tensors are read from the file.
type checkpoint struct {
	file     *os.File
	name     string // of the file, for errors
	members  map[string]*zip.File
	contents *dict
}

// storage is a member with numbers.
type storage struct {
	dtype string // as in safetensors, or the name of PyTorch's class if safetensors are not read in it
	start int64  // in the file
	size  int64  // in bytes
}

// storedTensor is a tensor of a checkpoint.
type storedTensor struct {
	storage *storage
	offset  int64 // in elements
	shape   []int64
	strides []int64
}

// elementTypes are the classes of storage whose tensors can be read.
var elementTypes = map[string]string{
	"torch.FloatStorage": "F32", "torch.HalfStorage": "F16", "torch.BFloat16Storage": "BF16", "torch.DoubleStorage": "F64",
}

// elementSizes are the sizes of elements, in bytes.
var elementSizes = map[string]int64{"F32": 4, "F16": 2, "BF16": 2, "F64": 8}

// openCheckpoint reads the pickle of a checkpoint.
func openCheckpoint(path string) (c *checkpoint, err error) {
	name := filepath.Base(path)
	file, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() {
		if err != nil {
			file.Close()
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("not a checkpoint of PyTorch 1.6 or later: %w", err)
	}
	c = &checkpoint{file: file, name: name, members: map[string]*zip.File{}}
	for _, member := range archive.File {
		_, inside, _ := strings.Cut(member.Name, "/") // the first folder has the name of the checkpoint
		c.members[inside] = member
	}
	if err := c.readPickle(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *checkpoint) close() { c.file.Close() }

// readPickle sets contents.
func (c *checkpoint) readPickle() error {
	if order, err := c.text("byteorder"); err == nil && order != "little" {
		return fmt.Errorf("byteorder is %q, only little is supported", order)
	}
	text, err := c.text("data.pkl")
	if err != nil {
		return err
	}
	value, err := (&unpickler{data: []byte(text), persistent: c.storage}).load()
	if err != nil {
		return fmt.Errorf("data.pkl: %w", err)
	}
	contents, ok := value.(*dict)
	if !ok {
		return errors.New("data.pkl: not a dictionary: it is not a checkpoint of PyTorch Lightning")
	}
	c.contents = contents
	return nil
}

// text returns a member as a whole.
func (c *checkpoint) text(name string) (string, error) {
	member, ok := c.members[name]
	if !ok {
		return "", fmt.Errorf("the zip has no member %s: it is not a checkpoint of PyTorch", name)
	}
	if member.UncompressedSize64 > maxPickle {
		return "", fmt.Errorf("%s has %d bytes, at most %d are read", name, member.UncompressedSize64, maxPickle)
	}
	content, err := member.Open()
	if err != nil {
		return "", err
	}
	defer content.Close()
	text, err := io.ReadAll(io.LimitReader(content, maxPickle))
	return string(text), err
}

// storage returns the storage with a persistent id: ("storage", class, key, device, number of elements).
func (c *checkpoint) storage(id any) (any, error) {
	parts, ok := id.(*list)
	if !ok || len(parts.items) < 5 {
		return nil, errors.New("a persistent id is not that of a storage")
	}
	class, _ := parts.items[1].(global)
	key, _ := parts.items[2].(string)
	member, ok := c.members["data/"+key]
	if !ok {
		return nil, fmt.Errorf("the zip has no member data/%s", key)
	}
	if member.Method != zip.Store {
		return nil, fmt.Errorf("data/%s is compressed: PyTorch does not write such checkpoints", key)
	}
	start, err := member.DataOffset()
	if err != nil {
		return nil, err
	}
	s := &storage{dtype: elementTypes[class.String()], start: start, size: int64(member.UncompressedSize64)}
	if s.dtype == "" {
		s.dtype = class.String()
	}
	info, err := c.file.Stat()
	if err != nil || s.size < 0 || s.size > info.Size()-start {
		return nil, errors.Join(err, fmt.Errorf("data/%s of %d bytes is outside the file", key, s.size))
	}
	return s, nil
}

// newStoredTensor returns the tensor that torch._utils._rebuild_tensor_v2 would: its arguments are a storage, an
// offset, a shape, strides and others.
func newStoredTensor(args []any) (any, error) {
	if len(args) < 4 {
		return nil, errors.New("a tensor has no storage, offset, shape and strides")
	}
	s, ok := args[0].(*storage)
	offset, okOffset := args[1].(int64)
	shape, okShape := integers(args[2])
	strides, okStrides := integers(args[3])
	if !ok || !okOffset || !okShape || !okStrides || len(shape) != len(strides) {
		return nil, errors.New("a tensor has an invalid storage, offset, shape or strides")
	}
	return &storedTensor{storage: s, offset: offset, shape: shape, strides: strides}, nil
}

func integers(value any) ([]int64, bool) {
	values, ok := value.(*list)
	if !ok {
		return nil, false
	}
	numbers := make([]int64, len(values.items))
	for i, item := range values.items {
		if numbers[i], ok = item.(int64); !ok {
			return nil, false
		}
	}
	return numbers, true
}

// maxElements bounds a tensor, so that sizes do not overflow.
const maxElements = 1 << 40

// location returns where the numbers of a tensor are.
func (c *checkpoint) location(name string, t *storedTensor) (location, error) {
	size, ok := elementSizes[t.storage.dtype]
	if !ok {
		return location{}, fmt.Errorf("%s: tensor %s: %s is not supported, only float, half, bfloat16 and double",
			c.name, name, t.storage.dtype)
	}
	elements := int64(1)
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] < 0 || t.shape[i] > maxElements/max(1, elements) {
			return location{}, fmt.Errorf("%s: tensor %s: shape %v is impossible", c.name, name, t.shape)
		}
		if t.shape[i] > 1 && t.strides[i] != elements {
			return location{}, fmt.Errorf("%s: tensor %s: strides %v are not those of a contiguous tensor of shape %v",
				c.name, name, t.strides, t.shape)
		}
		elements *= t.shape[i]
	}
	if t.offset < 0 || t.offset > maxElements || (t.offset+elements)*size > t.storage.size {
		return location{}, fmt.Errorf("%s: tensor %s of shape %v is outside its storage of %d bytes",
			c.name, name, t.shape, t.storage.size)
	}
	return location{
		file: c.file, name: c.name, start: t.storage.start + t.offset*size,
		DType: t.storage.dtype, Shape: t.shape, Offset: [2]int64{t.offset * size, (t.offset + elements) * size},
	}, nil
}

// dict returns the dictionary at a path of keys. OmegaConf's containers are dictionaries too.
func (c *checkpoint) dict(path ...string) (*dict, error) {
	d := c.contents
	for i, key := range path {
		inner, ok := asDict(d.get(key))
		if !ok {
			return nil, fmt.Errorf("%s: it has no dictionary %s: it is not a checkpoint of GenMol",
				c.name, strings.Join(path[:i+1], "."))
		}
		d = inner
	}
	return d, nil
}

// asDict returns a dictionary, or the members of an omegaconf.DictConfig.
func asDict(value any) (*dict, bool) {
	if o, ok := value.(*object); ok && o.class.String() == "omegaconf.dictconfig.DictConfig" {
		if state, ok := o.state.(*dict); ok {
			value = state.get("_content")
		}
	}
	d, ok := value.(*dict)
	return d, ok
}

// scalar returns a number, text, bool or nil, also as a node of OmegaConf, or false.
func scalar(value any) (any, bool) {
	if o, ok := value.(*object); ok && strings.HasPrefix(o.class.String(), "omegaconf.nodes.") {
		if state, ok := o.state.(*dict); ok {
			value = state.get("_val")
		}
	}
	switch value.(type) {
	case nil, bool, int64, float64, string:
		return value, true
	}
	return nil, false
}

// configText returns the scalars of a dictionary as JSON.
func configText(d *dict) ([]byte, error) {
	values := map[string]any{}
	for i, key := range d.keys {
		name, isText := key.(string)
		if value, ok := scalar(d.values[i]); ok && isText {
			values[name] = value
		}
	}
	return json.Marshal(values)
}

// tensors returns the weights that the published sampler uses, under their names in BertForMaskedLM: the exponential
// moving average of the parameters (src/genmol/sampler.py, load_model_from_path), or the parameters if the training had
// none.
func (c *checkpoint) tensors() (*safetensors, error) {
	state, err := c.dict("state_dict")
	if err != nil {
		return nil, err
	}
	training, err := c.dict("hyper_parameters", "config", "training")
	if err != nil {
		return nil, err
	}
	names, stored, err := c.parameters(state)
	if err != nil {
		return nil, err
	}
	if isPositive(training.get("ema")) {
		if stored, err = c.averages(names, stored); err != nil {
			return nil, err
		}
	}
	s := &safetensors{files: []*os.File{c.file}, tensors: map[string]location{}}
	for i, name := range names {
		if s.tensors[name], err = c.location(name, stored[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func isPositive(value any) bool {
	value, _ = scalar(value)
	switch n := value.(type) {
	case float64:
		return n > 0
	case int64:
		return n > 0
	}
	return false
}

// notParameters are tensors of the network that are no parameters of their own: the decoder is tied to the word table.
var notParameters = []string{
	"bert.embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias",
}

// parameters returns the parameters of the network, in PyTorch's order.
func (c *checkpoint) parameters(state *dict) (names []string, stored []*storedTensor, err error) {
	for i, key := range state.keys {
		text, _ := key.(string)
		name, ok := strings.CutPrefix(text, "backbone.")
		if !ok || slices.Contains(notParameters, name) {
			continue
		}
		t, ok := state.values[i].(*storedTensor)
		if !ok {
			return nil, nil, fmt.Errorf("%s: state_dict: %s is not a tensor", c.name, text)
		}
		names = append(names, name)
		stored = append(stored, t)
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s: state_dict has no backbone. tensors: it is not a checkpoint of GenMol", c.name)
	}
	return names, stored, nil
}

// averages returns the moving averages of the parameters, which the checkpoint has as a list in the same order.
func (c *checkpoint) averages(names []string, stored []*storedTensor) ([]*storedTensor, error) {
	ema, err := c.dict("ema")
	if err != nil {
		return nil, err
	}
	shadow, ok := ema.get("shadow_params").(*list)
	if !ok || len(shadow.items) != len(names) {
		return nil, fmt.Errorf("%s: ema.shadow_params is not a list of %d tensors, one for each parameter of state_dict",
			c.name, len(names))
	}
	averages := make([]*storedTensor, len(names))
	for i, item := range shadow.items {
		if averages[i], ok = item.(*storedTensor); !ok || !slices.Equal(averages[i].shape, stored[i].shape) {
			return nil, fmt.Errorf("%s: ema.shadow_params[%d] does not have the shape %v of %s",
				c.name, i, stored[i].shape, names[i])
		}
	}
	return averages, nil
}
