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

// done is what an earlier run has left in a file: all its rows but the last one, whose records may not be all there.
type done struct {
	any   bool   // the file has a beginning, such as the header of a CSV
	line  int    // of the last row that is kept; 0 for none
	input string // of that row
}

// mark is a record of the file.
type mark struct {
	start, end int64 // bytes
	line       int
	input      string
}

// ErrOther says that a file is not the output of an earlier run.
var ErrOther = errors.New("it is not the output of such a run")

// resumed finds the rows that are complete and cuts the file behind them. Rows are written in order, so the last row
// that has begun is the only one that may lack something: it is done again.
func resumed(file *os.File, format string) (done, error) {
	scan := map[string]func(*bufio.Reader, func(mark)) (int64, error){"jsonl": scanJSONL, "csv": scanCSV, "sdf": scanSDF}[format]
	var kept, last mark // the row before the last one, and the last one: from its first record
	keep, err := scan(bufio.NewReaderSize(file, 1<<20), func(m mark) {
		if m.line != last.line {
			kept = last
			last = m
		}
		last.end = m.end
	})
	if err != nil {
		return done{}, err
	}
	if last.line > 0 {
		keep = last.start
	}
	if err := file.Truncate(keep); err != nil {
		return done{}, err
	}
	_, err = file.Seek(keep, io.SeekStart)
	return done{any: keep > 0, line: kept.line, input: kept.input}, err
}

// scanJSONL calls each for every line that is whole. What it returns is where the first record begins.
func scanJSONL(from *bufio.Reader, each func(mark)) (int64, error) {
	at := int64(0)
	for {
		text, err := from.ReadBytes('\n')
		const begin = `{"line":`
		if errors.Is(err, io.EOF) { // what is left has no end
			if len(text) > 0 && !strings.HasPrefix(string(text), begin[:min(len(begin), len(text))]) {
				return 0, fmt.Errorf("%w: byte %d", ErrOther, at)
			}
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		var said struct {
			Line  int    `json:"line"`
			Input string `json:"input"`
		}
		if err := json.Unmarshal(text, &said); err != nil || said.Line < 1 {
			return 0, fmt.Errorf("%w: byte %d", ErrOther, at)
		}
		each(mark{at, at + int64(len(text)), said.Line, said.Input})
		at += int64(len(text))
	}
}

func scanCSV(from *bufio.Reader, each func(mark)) (int64, error) {
	// The reader takes a last line without an end for a record: only what ends with a line end is looked at.
	ended := &wholeLines{from: from}
	records := csv.NewReader(ended)
	header, err := records.Read()
	if errors.Is(err, io.EOF) {
		if start := string(ended.left); !strings.HasPrefix("line,input,name,", start[:min(len(start), 16)]) {
			return 0, ErrOther
		}
		return 0, nil
	}
	if err != nil || len(header) < 3 || header[0] != "line" || header[1] != "input" {
		return 0, ErrOther
	}
	begin := records.InputOffset()
	for {
		start := records.InputOffset()
		cells, err := records.Read()
		if err != nil { // the end, or a last record that is torn within quotes
			var torn *csv.ParseError
			if errors.Is(err, io.EOF) || errors.As(err, &torn) {
				return begin, nil
			}
			return 0, err
		}
		line, err := strconv.Atoi(cells[0])
		if err != nil || line < 1 {
			return 0, fmt.Errorf("%w: byte %d", ErrOther, start)
		}
		each(mark{start, records.InputOffset(), line, cells[1]})
	}
}

// wholeLines reads up to the last line end.
type wholeLines struct {
	from *bufio.Reader
	line []byte
	left []byte // after the last line end
}

func (w *wholeLines) Read(p []byte) (int, error) {
	if len(w.line) == 0 {
		line, err := w.from.ReadBytes('\n')
		if err != nil {
			w.left = line
			return 0, err
		}
		w.line = line
	}
	n := copy(p, w.line)
	w.line = w.line[n:]
	return n, nil
}

func scanSDF(from *bufio.Reader, each func(mark)) (int64, error) {
	at := int64(0)
	m := mark{}
	field := ""
	number := 0
	for {
		text, err := from.ReadString('\n')
		if errors.Is(err, io.EOF) {
			if at == 0 && len(text) > 4*titleLength {
				return 0, ErrOther
			}
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		number++
		if number == 2 && !strings.Contains(text, "RDKit") { // which writes its name there
			return 0, ErrOther
		}
		at += int64(len(text))
		text = strings.TrimRight(text, "\r\n")
		switch {
		case text == "$$$$":
			if m.line < 1 {
				return 0, fmt.Errorf("%w: a record that ends at byte %d has no line", ErrOther, at)
			}
			m.end = at
			each(m)
			m = mark{start: at}
		case strings.HasPrefix(text, ">  <"):
			field = strings.Trim(text[3:], "<>")
			continue
		case field == "line":
			m.line, _ = strconv.Atoi(text)
		case field == "input":
			m.input = text
		}
		field = ""
	}
}
