package command

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxObjective bounds a file with an objective, in bytes.
const maxObjective = 1 << 20

// parseObjective parses the value of --objective: a file of JSON (NAME.json or @NAME), JSON, or names of terms
// separated by commas. The service checks the objective itself.
func parseObjective(text string) (any, error) {
	text = strings.TrimSpace(text)
	source := "--objective"
	name, hasAt := strings.CutPrefix(text, "@")
	switch {
	case hasAt || strings.HasSuffix(text, ".json"):
		content, err := readFile(name, maxObjective)
		if err != nil {
			return nil, fmt.Errorf("--objective: %w", err)
		}
		text = strings.TrimSpace(string(content))
		source = name
	case text != "" && !strings.ContainsAny(text[:1], `{["`):
		terms := strings.Split(text, ",")
		for i, term := range terms {
			terms[i] = strings.TrimSpace(term)
		}
		if len(terms) == 1 {
			return terms[0], nil
		}
		return terms, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%s: it is not JSON", source)
	}
	return json.RawMessage(text), nil
}
