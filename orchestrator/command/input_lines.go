package command

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// maxLine bounds a line, in bytes: one with a hidden state of many numbers is the longest.
const maxLine = 16 << 20

// numbered are the lines of an input without their ends, and their numbers from 1.
func numbered(reader *bufio.Reader) (iter.Seq2[int, string], *bufio.Scanner) {
	scanner := bufio.NewScanner(reader)
	scanner.Buffer(nil, maxLine)
	return func(yield func(int, string) bool) {
		for number := 1; scanner.Scan(); number++ {
			if !yield(number, strings.TrimSuffix(scanner.Text(), "\r")) {
				return
			}
		}
	}, scanner
}

// lines reads a row from each line that is not blank: a text, or SMILES and a name.
func (s *source) lines(reader *bufio.Reader, named bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		all, scanner := numbered(reader)
		for number, line := range all {
			row := Row{Line: number, Text: strings.TrimSpace(line)}
			if named {
				row.Text, row.Name, _ = strings.Cut(strings.ReplaceAll(row.Text, "\t", " "), " ")
				row.Name = strings.TrimSpace(row.Name)
				if number == 1 && slices.Contains(s.kind.columns, strings.ToLower(row.Text)) {
					continue // a header
				}
			}
			if row.Text != "" && !yield(row, nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield(Row{}, err)
		}
	}
}

// objects reads a row from each line of JSON: a text, or an object with it.
func (s *source) objects(reader *bufio.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		all, scanner := numbered(reader)
		for number, line := range all {
			if strings.TrimSpace(line) != "" && !yield(s.object(number, []byte(line)), nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield(Row{}, err)
		}
	}
}

func (s *source) object(number int, line []byte) Row {
	row := Row{Line: number, JSON: line}
	if json.Unmarshal(line, &row.Text) == nil {
		return row
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		row.Err = fmt.Errorf("not a line of JSON: %w", err)
		return row
	}
	row.Kept = s.input.members(members)
	column := s.input.Column
	for name := range members {
		if at := rank(s.kind.columns, name); s.input.Column == "" && at >= 0 && (column == "" || at < rank(s.kind.columns, column)) {
			column = name
		}
	}
	value, there := members[column]
	if !there {
		row.Err = fmt.Errorf("it has no member for the %s: %s", s.kind.what, strings.Join(s.wanted(), ", "))
		return row
	}
	if json.Unmarshal(value, &row.Text) != nil {
		row.Text = string(value)
	}
	for _, name := range s.names() {
		if row.Name == "" {
			_ = json.Unmarshal(members[name], &row.Name) // a name that is no text is none
		}
	}
	return row
}

// table reads a row from each record of a CSV with a header. A record that cannot be read ends the table, since nobody
// knows where the next one begins; one with too few cells does not.
func (s *source) table(reader *bufio.Reader, comma rune) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		records := csv.NewReader(reader)
		records.Comma = comma
		records.FieldsPerRecord = -1
		records.LazyQuotes = comma == '\t'
		header, err := records.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				yield(Row{}, err)
			}
			return
		}
		column := place(header, s.wanted())
		if column < 0 {
			yield(Row{}, fmt.Errorf("none of its columns (%s) is called %s: --column names the one with the %ss",
				strings.Join(header, ", "), strings.Join(s.wanted(), ", "), s.kind.what))
			return
		}
		name := place(header, s.names())
		kept, err := s.input.kept(header, column, name)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for {
			record, err := records.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			line, _ := records.FieldPos(0)
			row := Row{Line: line, Kept: cells(header, record, kept)}
			if column < len(record) {
				row.Text = strings.TrimSpace(record[column])
			} else {
				row.Err = fmt.Errorf("it has %d cells, and the header %d", len(record), len(header))
			}
			if name >= 0 && name < len(record) {
				row.Name = strings.TrimSpace(record[name])
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// wanted are the columns that are looked for.
func (s *source) wanted() []string {
	if s.input.Column != "" {
		return []string{s.input.Column}
	}
	return s.kind.columns
}

func (s *source) names() []string {
	if s.input.NameColumn != "" {
		return []string{s.input.NameColumn}
	}
	return []string{"name", "id", "title"}
}

// place is where the first of some names stands in a header, whatever its case; -1 for none.
func place(header, names []string) int {
	for _, name := range names {
		if at := rank(header, name); at >= 0 {
			return at
		}
	}
	return -1
}

func rank(names []string, name string) int {
	return slices.IndexFunc(names, func(each string) bool { return strings.EqualFold(strings.TrimSpace(each), name) })
}
