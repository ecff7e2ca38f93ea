package tokenizers

import "encoding/json"

// parseNormalizer reads the normaliser: the stages that rewrite the text before it is split.
func parseNormalizer(raw json.RawMessage) ([]stage, error) {
	if absent(raw) {
		return nil, nil
	}
	name, err := kind(raw)
	if err != nil {
		return nil, err
	}
	switch name {
	case "Sequence":
		var c struct {
			head
			Normalizers []json.RawMessage `json:"normalizers"`
		}
		if err := strict(raw, &c); err != nil {
			return nil, err
		}
		return inOrder(c.Normalizers, parseNormalizer)
	case "BertNormalizer":
		n := &bertNormalizer{}
		err := strict(raw, n)
		n.prepare()
		return []stage{n}, err
	}
	return nil, unknown(name)
}

// inOrder reads the parts of a sequence.
func inOrder[T any](parts []json.RawMessage, parse func(json.RawMessage) ([]T, error)) ([]T, error) {
	var all []T
	for _, raw := range parts {
		some, err := parse(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
