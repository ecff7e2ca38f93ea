package modelimport

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// checkUnread refuses weights of the encoder that the graph does not have: layers beyond num_hidden_layers, and tensors
// that another architecture adds. What lies outside the embeddings and layers, such as the head of pretraining, is not
// part of the model, and neither are tables that code computes (position_ids, inv_freq).
func (n *network) checkUnread() error {
	layers := n.prefix + n.family.layerPrefix + "."
	embeddings := n.prefix + "embeddings."
	for _, name := range slices.Sorted(maps.Keys(n.source.tensors)) {
		rest, isLayer := strings.CutPrefix(name, layers)
		isLayer = isLayer && !strings.HasSuffix(name, ".inv_freq")
		isTable := strings.HasPrefix(name, embeddings) && strings.HasSuffix(name, ".weight")
		if n.read[name] || !(isLayer || isTable) {
			continue
		}
		file := n.source.tensors[name].name
		number, _, _ := strings.Cut(rest, ".")
		if i, err := strconv.Atoi(number); isLayer && err == nil && i >= n.folder.Layers {
			return fmt.Errorf("config.json: %s %d, but %s has tensor %s",
				n.folder.key("num_hidden_layers"), n.folder.Layers, file, name)
		}
		return fmt.Errorf("%s: tensor %s is not supported: the architecture of model_type %s has none of this name",
			file, name, n.folder.ModelType)
	}
	return nil
}
