package command

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// maxLine bounds a line, in bytes. The longest have a hidden state of many numbers.
const maxLine = 16 << 20

// newLineScanner returns a scanner of the lines of an input, without their ends.
func newLineScanner(reader io.Reader) *bufio.Scanner {
	scanner := bufio.NewScanner(reader)
	scanner.Buffer(nil, maxLine)
	return scanner
}

// lines reads a row from each line that is not blank: a text or, if named, SMILES and a name.
func (s *source) lines(reader io.Reader, named bool, yield func(inputRow) bool) error {
	scanner := newLineScanner(reader)
	for number := 1; scanner.Scan(); number++ {
		row := inputRow{line: number, text: strings.TrimSpace(scanner.Text())}
		if named {
			row.text, row.name, _ = strings.Cut(strings.ReplaceAll(row.text, "\t", " "), " ")
			row.name = strings.TrimSpace(row.name)
			if number == 1 && slices.Contains(s.kind.columns, strings.ToLower(row.text)) {
				continue // a header
			}
		}
		if row.text != "" && !yield(row) {
			return nil
		}
	}
	return scanner.Err()
}

// objects reads a row from each line of JSONL: a text, or an object that has it.
func (s *source) objects(reader io.Reader, yield func(inputRow) bool) error {
	scanner := newLineScanner(reader)
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line != "" && !yield(s.object(number, []byte(line))) {
			return nil
		}
	}
	return scanner.Err()
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
	value, ok := s.textMember(members)
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

// textMember returns the member that has the text: that of --column, or the preferred one of those present.
func (s *source) textMember(members map[string]json.RawMessage) (json.RawMessage, bool) {
	name := s.input.Column
	if name == "" {
		names := slices.Sorted(maps.Keys(members))
		i := firstColumnIndex(names, s.kind.columns)
		if i < 0 {
			return nil, false
		}
		name = names[i]
	}
	value, ok := members[name]
	return value, ok
}

// recordReader returns the next record of a table and its line, or io.EOF at the end.
type recordReader func() (cells []string, line int, err error)

// csvRecords returns a reader of the records of a CSV.
func csvRecords(reader io.Reader) recordReader {
	records := csv.NewReader(reader)
	records.FieldsPerRecord = -1
	return func() (cells []string, line int, err error) {
		cells, err = records.Read()
		if err == nil {
			line, _ = records.FieldPos(0)
		}
		return cells, line, err
	}
}

// tsvRecords returns a reader of the records of a TSV: the lines that are not empty.
func tsvRecords(reader io.Reader) recordReader {
	scanner := newLineScanner(reader)
	line := 0
	return func() ([]string, int, error) {
		for scanner.Scan() {
			line++
			if scanner.Text() == "" {
				continue
			}
			cells := strings.Split(scanner.Text(), "\t")
			for i, cell := range cells {
				cells[i] = unquoted(cell)
			}
			return cells, line, nil
		}
		return nil, 0, cmp.Or(scanner.Err(), io.EOF)
	}
}

// unquoted returns a cell without the quotes around it, and with each doubled quote inside as one. A cell with other
// quotes is returned as it is.
func unquoted(cell string) string {
	if len(cell) < 2 || !strings.HasPrefix(cell, `"`) || !strings.HasSuffix(cell, `"`) {
		return cell
	}
	inside := cell[1 : len(cell)-1]
	if strings.Contains(strings.ReplaceAll(inside, `""`, ""), `"`) {
		return cell
	}
	return strings.ReplaceAll(inside, `""`, `"`)
}

// table reads a row from each record of a table with a header. A record that cannot be read ends the table, because
// nothing tells where the next one starts. A record with too few cells is an error of its row.
func (s *source) table(read recordReader, yield func(inputRow) bool) error {
	header, _, err := read()
	if err != nil {
		return unlessEOF(err)
	}
	text := firstColumnIndex(header, s.textColumns())
	if text < 0 {
		return fmt.Errorf("none of its columns (%s) is called %s: --column names the one with the %ss",
			strings.Join(header, ", "), strings.Join(s.textColumns(), ", "), s.kind.noun)
	}
	name := firstColumnIndex(header, s.nameColumns())
	kept, err := s.input.keptColumns(header, text, name)
	if err != nil {
		return err
	}
	for {
		record, line, err := read()
		if err != nil {
			return unlessEOF(err)
		}
		row := inputRow{line: line, kept: keptCells(header, record, kept)}
		if text < len(record) {
			row.text = strings.TrimSpace(record[text])
		} else {
			row.err = fmt.Errorf("it has %d cells, and the header %d", len(record), len(header))
		}
		if name >= 0 && name < len(record) {
			row.name = strings.TrimSpace(record[name])
		}
		if !yield(row) {
			return nil
		}
	}
}

// unlessEOF returns nil for the end of a file.
func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
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
