package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxObjective bounds a file with an objective, in bytes.
const maxObjective = 1 << 20

// objective is what --objective says: a JSON file, JSON, or names of terms with commas between them. The service checks
// what it means.
func objective(text string) (any, error) {
	text = strings.TrimSpace(text)
	from := "--objective"
	if name, isFile := strings.CutPrefix(text, "@"); isFile || strings.HasSuffix(text, ".json") {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--objective: %w", err)
		}
		defer file.Close()
		content, err := io.ReadAll(io.LimitReader(file, maxObjective))
		if err != nil {
			return nil, fmt.Errorf("--objective: %w", err)
		}
		text = strings.TrimSpace(string(content))
		from = name
	} else if text != "" && !strings.ContainsAny(text[:1], `{["`) {
		names := strings.Split(text, ",")
		for i, name := range names {
			names[i] = strings.TrimSpace(name)
		}
		if len(names) == 1 {
			return names[0], nil
		}
		return names, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%s: it is not JSON", from)
	}
	return json.RawMessage(text), nil
}
