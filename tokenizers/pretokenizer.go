package tokenizers

import "encoding/json"

// parsePreTokenizer reads the pre-tokeniser: the stages that cut the text into words. byteLevel tells that the model's
// vocabulary is written in the byte-level alphabet.
func parsePreTokenizer(raw json.RawMessage) (stages []stage, byteLevel bool, err error) {
	if absent(raw) {
		return nil, false, nil
	}
	name, err := kind(raw)
	if err != nil {
		return nil, false, err
	}
	switch name {
	case "BertPreTokenizer":
		return []stage{bertSplit{}}, false, strict(raw, &struct{ head }{})
	}
	return nil, false, unknown(name)
}
