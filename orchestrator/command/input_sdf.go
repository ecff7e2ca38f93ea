package command

import (
	"bufio"
	"fmt"
	"iter"
	"strings"
)

// maxRecord bounds a record of an SDF, in bytes.
const maxRecord = 1 << 20

// records reads a row from each record of an SDF: its mol block, and its name from its first line or a data field.
func (s *source) records(reader *bufio.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		all, scanner := numbered(reader)
		var record strings.Builder
		began := 1
		last := 0
		for number, line := range all {
			last = number
			if strings.HasPrefix(line, "$$$$") {
				if !yield(s.record(began, record.String()), nil) {
					return
				}
				record.Reset()
				began = number + 1
				continue
			}
			if record.Len() <= maxRecord {
				record.WriteString(line + "\n")
			}
		}
		if err := scanner.Err(); err != nil {
			yield(Row{}, err)
			return
		}
		if strings.TrimSpace(record.String()) != "" && last >= began {
			yield(s.record(began, record.String()), nil)
		}
	}
}

func (s *source) record(line int, text string) Row {
	row := Row{Line: line, SDF: true}
	if len(text) > maxRecord {
		row.Err = fmt.Errorf("a record of more than %d bytes", maxRecord)
		return row
	}
	block, data, ended := strings.Cut(text, "M  END\n")
	if ended {
		block += "M  END\n"
	}
	row.Text = block
	title, _, _ := strings.Cut(block, "\n")
	row.Name = strings.TrimSpace(title)
	for _, name := range s.input.Keep {
		row.Kept = append(row.Kept, Field{Name: name, Value: field(data, name)})
	}
	for _, name := range s.names() {
		if value := field(data, name); value != "" && (row.Name == "" || s.input.NameColumn != "") {
			row.Name = value
		}
	}
	return row
}

// field is the first line of a data field of an SDF record.
func field(data, name string) string {
	lines := strings.Split(data, "\n")
	for i, line := range lines[:len(lines)-1] {
		if strings.HasPrefix(line, ">") && strings.Contains(strings.ToLower(line), "<"+strings.ToLower(name)+">") {
			return strings.TrimSpace(lines[i+1])
		}
	}
	return ""
}
