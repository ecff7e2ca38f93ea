package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// everyColumn stands for all columns of a table.
const everyColumn = "all"

// keeping checks what the command line says about columns to keep against a format.
func (in Input) keeping(format string) error {
	switch {
	case len(in.Keep) == 0:
		return nil
	case format == "jsonl" || format == "sdf":
		if slices.Contains(in.Keep, everyColumn) {
			return errors.New("--keep all needs a table with a header: of JSONL and SDF the members and data fields are named one by one")
		}
		return nil
	case format == "csv" || format == "tsv":
		return nil
	}
	return errors.New("--keep: the input has no columns")
}

// kept are the places in a header of the columns to keep; taken are those that a record has anyway.
func (in Input) kept(header []string, taken ...int) ([]int, error) {
	if slices.Contains(in.Keep, everyColumn) {
		var all []int
		for at := range header {
			if !slices.Contains(taken, at) {
				all = append(all, at)
			}
		}
		return all, nil
	}
	places := make([]int, len(in.Keep))
	for i, name := range in.Keep {
		at := rank(header, name)
		if at < 0 {
			return nil, fmt.Errorf("--keep: none of its columns (%s) is called %s", strings.Join(header, ", "), name)
		}
		places[i] = at
	}
	return places, nil
}

// cells are the fields of a record of a table that are kept.
func cells(header, record []string, places []int) []Field {
	var fields []Field
	for _, at := range places {
		field := Field{Name: strings.TrimSpace(header[at])}
		if at < len(record) {
			field.Value = record[at]
		}
		fields = append(fields, field)
	}
	return fields
}

// members are the members of an object that are kept: texts as such, all else as its JSON.
func (in Input) members(object map[string]json.RawMessage) []Field {
	var fields []Field
	for _, name := range in.Keep {
		field := Field{Name: name}
		var text string
		switch value, there := object[name]; {
		case !there:
		case json.Unmarshal(value, &text) == nil:
			field.Value = text
		default:
			field.Value = raw(value)
		}
		fields = append(fields, field)
	}
	return fields
}

// apart gives kept fields names of their own where a record has such a field already.
func apart(kept, own []Field) []Field {
	var fields []Field
	for _, f := range kept {
		if slices.ContainsFunc(own, func(o Field) bool { return o.Name == f.Name }) {
			f.Name = "input_" + f.Name
		}
		fields = append(fields, f)
	}
	return fields
}
