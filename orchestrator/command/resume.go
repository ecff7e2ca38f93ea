package command

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// resumed is what an earlier run has left in the output file: all its rows but the last one, whose records may be
// incomplete.
type resumed struct {
	hasHeader bool   // the file is not empty
	line      int    // of the last row; 0 for none
	input     string // of that row
}

// mayBeOf reports whether the last row of the earlier run can be this row of the input.
func (r resumed) mayBeOf(row inputRow) bool {
	if row.isSDF || row.json != nil {
		return true // their records show another text
	}
	normalize := func(text string) string { return strings.TrimSpace(printable(toUTF8(text), "")) }
	return normalize(row.labelOrText()) == normalize(r.input)
}

// storedRecord is a record of the output file.
type storedRecord struct {
	start, end int64 // byte offsets
	line       int
	input      string
}

// errForeignFile is the error for a file that no earlier run has written.
var errForeignFile = errors.New("it is not the output of such a run")

// scanner calls each for every complete record of a file, and returns where the first record starts.
type scanner func(file *bufio.Reader, each func(storedRecord)) (int64, error)

// resume truncates the file to its complete rows. Rows are written in order, so only the last one can be incomplete: it
// is removed and answered again.
func resume(file *os.File, format string) (resumed, error) {
	scan := map[string]scanner{"jsonl": scanJSONL, "csv": scanCSV, "sdf": scanSDF}[format]
	var previous, last storedRecord // the last two rows, from their first records
	size, err := scan(bufio.NewReaderSize(file, 1<<20), func(r storedRecord) {
		if r.line != last.line {
			previous = last
			last = r
		}
		last.end = r.end
	})
	if err != nil {
		return resumed{}, err
	}
	if last.line > 0 {
		size = last.start
	}
	if err := file.Truncate(size); err != nil {
		return resumed{}, err
	}
	_, err = file.Seek(size, io.SeekStart)
	return resumed{hasHeader: size > 0, line: previous.line, input: previous.input}, err
}

func scanJSONL(file *bufio.Reader, each func(storedRecord)) (int64, error) {
	offset := int64(0)
	for {
		text, err := file.ReadBytes('\n')
		const start = `{"line":`
		if errors.Is(err, io.EOF) { // an incomplete line
			if len(text) > 0 && !strings.HasPrefix(string(text), start[:min(len(start), len(text))]) {
				return 0, fmt.Errorf("%w: byte %d", errForeignFile, offset)
			}
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		var record struct {
			Line  int    `json:"line"`
			Input string `json:"input"`
		}
		if err := json.Unmarshal(text, &record); err != nil || record.Line < 1 {
			return 0, fmt.Errorf("%w: byte %d", errForeignFile, offset)
		}
		end := offset + int64(len(text))
		each(storedRecord{start: offset, end: end, line: record.Line, input: record.Input})
		offset = end
	}
}

func scanCSV(file *bufio.Reader, each func(storedRecord)) (int64, error) {
	// csv.Reader takes a last line without an end for a record.
	complete := &completeLines{from: file}
	records := csv.NewReader(complete)
	header, err := records.Read()
	if errors.Is(err, io.EOF) {
		if start := string(complete.remainder); !strings.HasPrefix("line,input,name,", start[:min(len(start), 16)]) {
			return 0, errForeignFile
		}
		return 0, nil
	}
	if err != nil || len(header) < 3 || header[0] != "line" || header[1] != "input" {
		return 0, errForeignFile
	}
	first := records.InputOffset()
	for {
		start := records.InputOffset()
		cells, err := records.Read()
		if err != nil { // the end, or a last record that ends within quotes
			var parseError *csv.ParseError
			if errors.Is(err, io.EOF) || errors.As(err, &parseError) {
				return first, nil
			}
			return 0, err
		}
		line, err := strconv.Atoi(cells[0])
		if err != nil || line < 1 {
			return 0, fmt.Errorf("%w: byte %d", errForeignFile, start)
		}
		each(storedRecord{start: start, end: records.InputOffset(), line: line, input: cells[1]})
	}
}

// completeLines reads up to the last line end.
type completeLines struct {
	from      *bufio.Reader
	line      []byte
	remainder []byte // after the last line end
}

func (c *completeLines) Read(p []byte) (int, error) {
	if len(c.line) == 0 {
		line, err := c.from.ReadBytes('\n')
		if err != nil {
			c.remainder = line
			return 0, err
		}
		c.line = line
	}
	n := copy(p, c.line)
	c.line = c.line[n:]
	return n, nil
}

func scanSDF(file *bufio.Reader, each func(storedRecord)) (int64, error) {
	offset := int64(0)
	record := storedRecord{}
	dataField := ""
	number := 0
	for {
		text, err := file.ReadString('\n')
		if errors.Is(err, io.EOF) {
			if offset == 0 && len(text) > 4*maxTitle { // more bytes than a title has in UTF-8
				return 0, errForeignFile
			}
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		number++
		if number == 2 && !strings.Contains(text, "RDKit") { // RDKit writes its name there
			return 0, errForeignFile
		}
		offset += int64(len(text))
		text = strings.TrimRight(text, "\r\n")
		switch {
		case text == "$$$$":
			if record.line < 1 {
				return 0, fmt.Errorf("%w: a record that ends at byte %d has no line", errForeignFile, offset)
			}
			record.end = offset
			each(record)
			record = storedRecord{start: offset}
		case strings.HasPrefix(text, ">  <"):
			dataField = strings.Trim(text[3:], "<>")
			continue
		case dataField == "line":
			record.line, _ = strconv.Atoi(text)
		case dataField == "input":
			record.input = text
		}
		dataField = ""
	}
}
