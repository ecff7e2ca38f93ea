package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// outputRecord is a record: the line, label, name and kept columns of its row, and the fields of the answer.
type outputRecord struct {
	line   int
	input  string
	name   string
	kept   []field
	fields []field // the same names in every record of a command
}

type field struct {
	name  string
	value any // nil if missing
}

// record returns a record of the row.
func (r inputRow) record(fields ...field) outputRecord {
	return outputRecord{line: r.line, input: cmp.Or(r.label, r.text), name: r.name, kept: r.kept, fields: fields}
}

// onePerRow returns one record per row. It fails if the service has not answered every row.
func onePerRow(rows []inputRow, answered int, fields func(i int) []field) ([]answer, error) {
	if answered != len(rows) {
		return nil, errAnswerCount(answered, len(rows))
	}
	answers := make([]answer, len(rows))
	for i, row := range rows {
		answers[i].records = []outputRecord{row.record(fields(i)...)}
	}
	return answers, nil
}

func errAnswerCount(answered, rows int) error {
	return fmt.Errorf("%d answers for %d rows", answered, rows)
}

// all returns the fields of the row, the kept columns and the fields of the record. A kept column whose name a field
// already has is called input_NAME.
func (r outputRecord) all() []field {
	all := []field{{"line", r.line}, {"input", r.input}, {"name", r.name}}
	isTaken := func(name string) bool {
		return name == "line" || name == "input" || name == "name" || r.index(name) >= 0
	}
	for _, f := range r.kept {
		if isTaken(f.name) {
			f.name = "input_" + f.name
		}
		all = append(all, f)
	}
	return append(all, r.fields...)
}

// get returns the value of a field; nil for none.
func (r outputRecord) get(name string) any {
	i := r.index(name)
	if i < 0 {
		return nil
	}
	return r.fields[i].value
}

func (r outputRecord) index(name string) int {
	return slices.IndexFunc(r.fields, func(f field) bool { return f.name == name })
}

// formatValue returns a value as text, with all its digits.
func formatValue(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.RawMessage:
		return string(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// formatCell returns a value as text for a table: with four decimals, and at most limit characters.
func formatCell(value any, limit int) string {
	text := formatValue(value)
	if v, ok := value.(float64); ok && !math.IsNaN(v) {
		text = strconv.FormatFloat(v, 'f', 4, 64)
	}
	text = printable(text, "")
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit-1]) + "…"
	}
	return text
}
