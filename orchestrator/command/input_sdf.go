package command

import (
	"fmt"
	"io"
	"strings"
)

// maxMolBlock bounds a record of an SDF, in bytes.
const maxMolBlock = 1 << 20

// molBlocks reads a row from each record of an SDF. Its name is the first line or a data field.
func (s *source) molBlocks(reader io.Reader, yield func(inputRow) bool) error {
	scanner := newLineScanner(reader)
	var record strings.Builder
	start := 1
	for number := 1; scanner.Scan(); number++ {
		if strings.HasPrefix(scanner.Text(), "$$$$") {
			if !yield(s.molBlock(start, record.String())) {
				return nil
			}
			record.Reset()
			start = number + 1
			continue
		}
		if record.Len() <= maxMolBlock {
			record.WriteString(scanner.Text() + "\n")
		}
	}
	if scanner.Err() == nil && strings.TrimSpace(record.String()) != "" {
		yield(s.molBlock(start, record.String()))
	}
	return scanner.Err()
}

func (s *source) molBlock(line int, record string) inputRow {
	row := inputRow{line: line, isMol: true}
	if len(record) > maxMolBlock {
		row.err = fmt.Errorf("a record of more than %d bytes", maxMolBlock)
		return row
	}
	const end = "M  END\n"
	block, data, hasEnd := strings.Cut(record, end)
	if hasEnd {
		block += end
	}
	row.text = block
	title, _, _ := strings.Cut(block, "\n")
	row.name = strings.TrimSpace(title)
	for _, name := range s.input.Keep {
		row.kept = append(row.kept, field{name: name, value: dataField(data, name)})
	}
	for _, name := range s.nameColumns() {
		if value := dataField(data, name); value != "" && (row.name == "" || s.input.NameColumn != "") {
			row.name = value
		}
	}
	return row
}

// dataField returns the first line of a data field of an SDF record.
func dataField(data, name string) string {
	tag := "<" + strings.ToLower(name) + ">"
	lines := strings.Split(data, "\n")
	for i, line := range lines[:len(lines)-1] {
		if strings.HasPrefix(line, ">") && strings.Contains(strings.ToLower(line), tag) {
			return strings.TrimSpace(lines[i+1])
		}
	}
	return ""
}
