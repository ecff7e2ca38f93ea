package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Record is one line of the output.
type Record struct {
	Line   int     // of its row
	Input  string  // of its row
	Name   string  // of its row
	Kept   []Field // of its row
	Fields []Field
}

// Field is a value of a record. Every record of a command has the same fields.
type Field struct {
	Name  string
	Value any // nil for none
}

// record is one of a row.
func (r Row) record(fields ...Field) Record {
	return Record{Line: r.Line, Input: r.label(), Name: r.Name, Kept: r.Kept, Fields: fields}
}

// label is what records call a row.
func (r Row) label() string {
	if r.Label != "" {
		return r.Label
	}
	return r.Text
}

// all are the fields with those of the row, and the columns that are kept between them.
func (r Record) all() []Field {
	first := []Field{{"line", r.Line}, {"input", r.Input}, {"name", r.Name}}
	own := append(slices.Clip(first), r.Fields...)
	return slices.Concat(first, apart(r.Kept, own), r.Fields)
}

// get is the value of a field; nil for none.
func (r Record) get(name string) any {
	at := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return nil
	}
	return r.Fields[at].Value
}

// whole is a value as text, with all its digits.
func whole(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
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

// brief is a value for a table: four digits, and at most so many characters.
func brief(value any, most int) string {
	text := whole(value)
	if v, ok := value.(float64); ok && !math.IsNaN(v) {
		text = strconv.FormatFloat(v, 'f', 4, 64)
	}
	text = shown(text)
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// shown makes a text fit for a terminal: no control characters, which could move the cursor or change what is there.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
