package command

import (
	"bufio"
	"fmt"
	"iter"
	"strings"
)

// maxMolBlock bounds a record of an SDF, in bytes.
const maxMolBlock = 1 << 20

// molBlocks reads a row from each record of an SDF. Its name is the first line or a data field.
func (s *source) molBlocks(reader *bufio.Reader) iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		lines, readErr := numberedLines(reader)
		var record strings.Builder
		start := 1
		last := 0
		for number, line := range lines {
			last = number
			if strings.HasPrefix(line, "$$$$") {
				if !yield(s.molBlock(start, record.String()), nil) {
					return
				}
				record.Reset()
				start = number + 1
				continue
			}
			if record.Len() <= maxMolBlock {
				record.WriteString(line + "\n")
			}
		}
		if err := readErr(); err != nil {
			yield(inputRow{}, err)
			return
		}
		if strings.TrimSpace(record.String()) != "" && last >= start {
			yield(s.molBlock(start, record.String()), nil)
		}
	}
}

func (s *source) molBlock(line int, record string) inputRow {
	row := inputRow{line: line, isSDF: true}
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
