package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// keepAll is the value of --keep for all columns of a table.
const keepAll = "all"

// checkKeep returns an error if --keep makes no sense for a format.
func (in inputFlags) checkKeep(format string) error {
	if len(in.Keep) == 0 {
		return nil
	}
	switch format {
	case "csv", "tsv":
		return nil
	case "jsonl", "sdf":
		if slices.Contains(in.Keep, keepAll) {
			return errors.New("--keep all needs a table with a header: " +
				"name the members of JSONL and the data fields of an SDF one by one")
		}
		return nil
	}
	return errors.New("--keep: the input has no columns")
}

// keptColumns returns the indices of the kept columns. --keep all excludes the columns text and name.
func (in inputFlags) keptColumns(header []string, text, name int) ([]int, error) {
	if slices.Contains(in.Keep, keepAll) {
		var indices []int
		for i := range header {
			if i != text && i != name {
				indices = append(indices, i)
			}
		}
		return indices, nil
	}
	indices := make([]int, len(in.Keep))
	for i, column := range in.Keep {
		indices[i] = columnIndex(header, column)
		if indices[i] < 0 {
			return nil, fmt.Errorf("--keep: none of its columns (%s) is called %s", strings.Join(header, ", "), column)
		}
	}
	return indices, nil
}

// keptCells returns the kept columns of one record of a table.
func keptCells(header, record []string, indices []int) []field {
	var fields []field
	for _, i := range indices {
		f := field{name: strings.TrimSpace(header[i])}
		if i < len(record) {
			f.value = record[i]
		}
		fields = append(fields, f)
	}
	return fields
}

// keptMembers returns the kept members of a JSON object: strings as text, all others as JSON.
func (in inputFlags) keptMembers(object map[string]json.RawMessage) []field {
	var fields []field
	for _, name := range in.Keep {
		f := field{name: name}
		var text string
		if value, ok := object[name]; ok && json.Unmarshal(value, &text) == nil {
			f.value = text
		} else if ok {
			f.value = value
		}
		fields = append(fields, f)
	}
	return fields
}
