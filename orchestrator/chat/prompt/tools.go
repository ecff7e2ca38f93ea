package prompt

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"retort/tokenizers/template"
)

// tools returns tools as templates expect them, in OpenAI's form; nil (None) for none.
func (t *Template) tools(tools []Tool) any {
	if len(tools) == 0 {
		return nil
	}
	list := make([]any, len(tools))
	for i, tool := range tools {
		function := []any{"name", t.escapeText(tool.Name)}
		if tool.Description != "" {
			function = append(function, "description", t.escapeText(tool.Description))
		}
		if parameters, ok := t.value(tool.Parameters); ok {
			function = append(function, "parameters", parameters)
		}
		list[i] = template.NewDict("type", "function", "function", template.NewDict(function...))
	}
	return list
}

// calls returns calls as templates expect them. Arguments that are no JSON stay a text.
func (t *Template) calls(calls []Call) []any {
	list := make([]any, len(calls))
	for i, call := range calls {
		arguments, ok := t.value([]byte(call.Arguments))
		if !ok {
			arguments = t.escapeText(call.Arguments)
		}
		function := template.NewDict("name", t.escapeText(call.Name), "arguments", arguments)
		list[i] = template.NewDict("id", t.escapeText(call.ID), "type", "function", "function", function)
	}
	return list
}

func (t *Template) escapeText(text string) string {
	return t.escaper.escape([]Part{{Text: text}})[0].Text
}

// maxNesting is the maximum depth of a JSON value in a template, which renders no deeper one.
const maxNesting = 100

// value returns JSON as a value of templates, with its texts escaped and its members in their order. ok is false for
// anything that is no JSON, such as an object with text after it, or nested too deeply.
func (t *Template) value(text []byte) (value any, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	value, err := t.read(decoder)
	if err != nil {
		return nil, false
	}
	_, err = decoder.ReadToken()
	return value, err == io.EOF
}

func (t *Template) read(decoder *jsontext.Decoder) (any, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return t.escapeText(token.String()), nil
	case '0':
		return number(token.String())
	case '[', '{':
		if decoder.StackDepth() > maxNesting {
			return nil, strconv.ErrRange
		}
	default:
		return nil, nil // null
	}
	isList := token.Kind() == '['
	items := []any{}
	for decoder.PeekKind() != ']' && decoder.PeekKind() != '}' {
		item, err := t.read(decoder)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	if isList {
		return items, nil
	}
	return template.NewDict(items...), nil
}

// number returns a number as Python's json does: an int, or a float if it has a fraction or an exponent.
func number(text string) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		if whole, err := strconv.Atoi(text); err == nil {
			return whole, nil
		}
	}
	return strconv.ParseFloat(text, 64)
}
