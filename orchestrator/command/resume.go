package command

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// resumePoint is the last row that the output of an earlier run has in full.
type resumePoint struct {
	line      int    // of the row; 0 for none
	rows      int    // up to this one
	input     string // what its records show as input
	hasHeader bool   // the file is not empty
}

// matches reports whether the row of the output can be this row of the input.
func (r resumePoint) matches(row inputRow) bool {
	if row.isMol || row.json != nil {
		return true // their records show another text
	}
	normalize := func(text string) string { return strings.TrimSpace(printable(toUTF8(text), "")) }
	return normalize(cmp.Or(row.label, row.text)) == normalize(r.input)
}

// scanBuffer is the size of the buffer that reads the output file, in bytes.
const scanBuffer = 1 << 20

// storedRecord is a record of the output file.
type storedRecord struct {
	start int64 // byte offset
	line  int
	input string
}

// errForeignFile is the error for a file that no earlier run has written.
var errForeignFile = errors.New("it is not the output of such a run")

// outputForm is a format of output files that can be resumed.
type outputForm struct {
	prefix string // of every file
	// scan calls each for every complete record, and returns where the first one starts.
	scan func(file *os.File, each func(storedRecord)) (int64, error)
}

var outputForms = map[string]outputForm{
	"jsonl": {prefix: `{"line":`, scan: scanJSONL},
	"csv":   {prefix: "line,input,name,", scan: scanCSV},
	"sdf":   {scan: scanSDF},
}

// resume truncates the file to its complete rows. Rows are written in order, so only the last one can be incomplete: it
// is removed and answered again.
func resume(file *os.File, format string) (resumePoint, error) {
	form := outputForms[format]
	start := make([]byte, len(form.prefix))
	n, err := file.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return resumePoint{}, err
	}
	if string(start[:n]) != form.prefix[:n] {
		return resumePoint{}, errForeignFile
	}
	var previous, last storedRecord // the first records of the last two rows
	rows := 0
	size, err := form.scan(file, func(r storedRecord) {
		if r.line != last.line {
			previous = last
			last = r
			rows++
		}
	})
	if err != nil {
		return resumePoint{}, err
	}
	if last.line > 0 {
		size = last.start
	}
	if err := file.Truncate(size); err != nil {
		return resumePoint{}, err
	}
	_, err = file.Seek(size, io.SeekStart)
	return resumePoint{
		line:      previous.line,
		rows:      max(rows-1, 0),
		input:     previous.input,
		hasHeader: size > 0,
	}, err
}

func scanJSONL(file *os.File, each func(storedRecord)) (int64, error) {
	reader := bufio.NewReaderSize(file, scanBuffer)
	offset := int64(0)
	for {
		text, err := reader.ReadBytes('\n')
		if err != nil { // the end, or an incomplete line
			return 0, unlessEOF(err)
		}
		var record struct {
			Line  int    `json:"line"`
			Input string `json:"input"`
		}
		if err := json.Unmarshal(text, &record); err != nil || record.Line < 1 {
			return 0, fmt.Errorf("%w: byte %d", errForeignFile, offset)
		}
		each(storedRecord{start: offset, line: record.Line, input: record.Input})
		offset += int64(len(text))
	}
}

// scanCSV also takes a last record whose last cell is incomplete: it belongs to the row that resume removes.
func scanCSV(file *os.File, each func(storedRecord)) (int64, error) {
	records := csv.NewReader(bufio.NewReaderSize(file, scanBuffer))
	if _, err := records.Read(); err != nil {
		return 0, unlessEOF(err)
	}
	first := records.InputOffset()
	lineEnd := make([]byte, 1)
	if _, err := file.ReadAt(lineEnd, first-1); err != nil || lineEnd[0] != '\n' { // the header is incomplete
		return 0, err
	}
	for {
		start := records.InputOffset()
		cells, err := records.Read()
		var incomplete *csv.ParseError // cells are missing, or the last one ends within quotes
		if errors.As(err, &incomplete) {
			return first, nil
		}
		if err != nil {
			return first, unlessEOF(err)
		}
		line, err := strconv.Atoi(cells[0])
		if err != nil || line < 1 {
			return 0, fmt.Errorf("%w: byte %d", errForeignFile, start)
		}
		each(storedRecord{start: start, line: line, input: cells[1]})
	}
}

func scanSDF(file *os.File, each func(storedRecord)) (int64, error) {
	reader := bufio.NewReaderSize(file, scanBuffer)
	offset := int64(0)
	record := storedRecord{}
	dataField := ""
	for number := 1; ; number++ {
		text, err := reader.ReadString('\n')
		if err != nil {
			if number == 1 && len(text) > 4*maxTitle { // more bytes than a title has in UTF-8
				return 0, errForeignFile
			}
			return 0, unlessEOF(err)
		}
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
