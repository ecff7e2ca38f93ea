package embedding

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// Input has either texts or, from clients that tokenize, one list of tokens per input.
type Input struct {
	Texts  []string
	Tokens [][]uint
}

// Len returns the number of inputs.
func (in Input) Len() int { return len(in.Texts) + len(in.Tokens) }

// UnmarshalJSON decodes "text", ["text", …], [12, 7, …] or [[12, 7, …], …].
func (in *Input) UnmarshalJSON(data []byte) error {
	switch first := firstItem(data); {
	case first == '[':
		return in.unmarshalLists(data)
	case first >= '0' && first <= '9':
		in.Tokens = make([][]uint, 1)
		return unmarshalTokens(data, &in.Tokens[0])
	}
	var texts wire.Strings
	err := texts.UnmarshalJSON(data)
	in.Texts = texts
	return err
}

// firstItem returns the first byte of the first item of a JSON list, or 0 if data is not a list or is empty.
func firstItem(data []byte) byte {
	inside, isList := bytes.CutPrefix(bytes.TrimSpace(data), []byte("["))
	inside = bytes.TrimLeft(inside, " \t\r\n")
	if !isList || len(inside) == 0 {
		return 0
	}
	return inside[0]
}

func (in *Input) unmarshalLists(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	in.Tokens = make([][]uint, len(items))
	for i, item := range items {
		if err := unmarshalTokens(item, &in.Tokens[i]); err != nil {
			return notTokens.At(i)
		}
	}
	return nil
}

func unmarshalTokens(data []byte, into *[]uint) error {
	if json.Unmarshal(data, into) != nil {
		return notTokens.At()
	}
	return nil
}

var notTokens = wire.Mismatch{Rule: "list_type", Message: "Input should be a text or a list of token numbers"}

// openAITokens is the encoding of OpenAI's embedding models. OpenAI's clients use it for models they do not know, too.
var openAITokens = sync.OnceValue(codec.NewCl100kBase)

// texts returns the texts of the input, and decodes tokens.
func (s *Service) texts(in Input) ([]string, error) {
	if len(in.Tokens) == 0 {
		return in.Texts, nil
	}
	if s.config.Tokens == "refuse" {
		return nil, fault.Field("string_type", nil, []any{"input", 0}, "%s", wire.NotString.Message)
	}
	texts := make([]string, len(in.Tokens))
	var problems fault.Problems
	problems.AddEach(len(in.Tokens), func(i int) *fault.Error {
		text, err := openAITokens().Decode(in.Tokens[i])
		if err != nil {
			return fault.Field("value_error", nil, []any{"input", i}, "Value error, %v in encoding cl100k_base", err)
		}
		texts[i] = strings.ToValidUTF8(text, "\uFFFD") // tokens may end within a character
		return fault.Text(texts[i], "input", i)
	})
	return texts, problems.Err()
}
