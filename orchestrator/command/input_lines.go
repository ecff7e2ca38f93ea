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

// maxLine bounds a line, in bytes. The longest have a hidden state of many numbers.
const maxLine = 16 << 20

// numberedLines returns the lines of an input, without their ends, by number from 1. Its last result returns the error
// that ended them.
func numberedLines(reader *bufio.Reader) (iter.Seq2[int, string], func() error) {
	scanner := bufio.NewScanner(reader)
	scanner.Buffer(nil, maxLine)
	return func(yield func(int, string) bool) {
		for number := 1; scanner.Scan(); number++ {
			if !yield(number, strings.TrimSuffix(scanner.Text(), "\r")) {
				return
			}
		}
	}, scanner.Err
}

// lines reads a row from each line that is not blank: a text or, if named, SMILES and a name.
func (s *source) lines(reader *bufio.Reader, named bool) iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		lines, readErr := numberedLines(reader)
		for number, line := range lines {
			row := inputRow{line: number, text: strings.TrimSpace(line)}
			if named {
				row.text, row.name, _ = strings.Cut(strings.ReplaceAll(row.text, "\t", " "), " ")
				row.name = strings.TrimSpace(row.name)
				if number == 1 && slices.Contains(s.kind.columns, strings.ToLower(row.text)) {
					continue // a header
				}
			}
			if row.text != "" && !yield(row, nil) {
				return
			}
		}
		if err := readErr(); err != nil {
			yield(inputRow{}, err)
		}
	}
}

// objects reads a row from each line of JSONL: a text, or an object that has it.
func (s *source) objects(reader *bufio.Reader) iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		lines, readErr := numberedLines(reader)
		for number, line := range lines {
			if strings.TrimSpace(line) != "" && !yield(s.object(number, []byte(line)), nil) {
				return
			}
		}
		if err := readErr(); err != nil {
			yield(inputRow{}, err)
		}
	}
}

func (s *source) object(number int, line []byte) inputRow {
	row := inputRow{line: number, json: line}
	if json.Unmarshal(line, &row.text) == nil {
		return row
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		row.err = fmt.Errorf("not a line of JSON: %w", err)
		return row
	}
	row.kept = s.input.keptMembers(members)
	value, ok := members[s.textMember(members)]
	if !ok {
		row.err = fmt.Errorf("it has no member for the %s: %s", s.kind.noun, strings.Join(s.textColumns(), ", "))
		return row
	}
	if json.Unmarshal(value, &row.text) != nil {
		row.text = string(value)
	}
	for _, name := range s.nameColumns() {
		if row.name == "" {
			_ = json.Unmarshal(members[name], &row.name) // a name that is no string is ignored
		}
	}
	return row
}

// textMember returns the name of the member that has the text: of those present, the preferred one.
func (s *source) textMember(members map[string]json.RawMessage) string {
	if s.input.Column != "" {
		return s.input.Column
	}
	best := ""
	for name := range members {
		position := columnIndex(s.kind.columns, name)
		if position >= 0 && (best == "" || position < columnIndex(s.kind.columns, best)) {
			best = name
		}
	}
	return best
}

// table reads a row from each record of a CSV with a header. A record that cannot be read ends the table, because
// nothing tells where the next one starts. One with too few cells is an error of its row.
func (s *source) table(reader *bufio.Reader, comma rune) iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		records := csv.NewReader(reader)
		records.Comma = comma
		records.FieldsPerRecord = -1
		records.LazyQuotes = comma == '\t'
		header, err := records.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				yield(inputRow{}, err)
			}
			return
		}
		text := firstColumnIndex(header, s.textColumns())
		if text < 0 {
			yield(inputRow{}, fmt.Errorf("none of its columns (%s) is called %s: --column names the one with the %ss",
				strings.Join(header, ", "), strings.Join(s.textColumns(), ", "), s.kind.noun))
			return
		}
		name := firstColumnIndex(header, s.nameColumns())
		kept, err := s.input.keptColumns(header, text, name)
		if err != nil {
			yield(inputRow{}, err)
			return
		}
		for {
			record, err := records.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(inputRow{}, err)
				return
			}
			line, _ := records.FieldPos(0)
			row := inputRow{line: line, kept: keptCells(header, record, kept)}
			if text < len(record) {
				row.text = strings.TrimSpace(record[text])
			} else {
				row.err = fmt.Errorf("it has %d cells, and the header %d", len(record), len(header))
			}
			if name >= 0 && name < len(record) {
				row.name = strings.TrimSpace(record[name])
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// textColumns returns the names of columns that may have the text, in order of preference.
func (s *source) textColumns() []string {
	if s.input.Column != "" {
		return []string{s.input.Column}
	}
	return s.kind.columns
}

// nameColumns returns the names of columns that may have the name, in order of preference.
func (s *source) nameColumns() []string {
	if s.input.NameColumn != "" {
		return []string{s.input.NameColumn}
	}
	return []string{"name", "id", "title"}
}

// firstColumnIndex returns the index in a header of the first name that it has, or -1.
func firstColumnIndex(header, names []string) int {
	for _, name := range names {
		if i := columnIndex(header, name); i >= 0 {
			return i
		}
	}
	return -1
}

// columnIndex returns the index of a name in a header, ignoring case, or -1.
func columnIndex(header []string, name string) int {
	return slices.IndexFunc(header, func(column string) bool {
		return strings.EqualFold(strings.TrimSpace(column), name)
	})
}
