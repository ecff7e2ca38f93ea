package command

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"retort/chem"
)

// jsonl writes an object a line, its members in the order of the fields. Each byte of the input that is not UTF-8 becomes
// U+FFFD.
type jsonl struct{ to *bufio.Writer }

func (w *jsonl) write(r Record) error {
	line := []byte{'{'}
	for i, f := range r.all() {
		if i > 0 {
			line = append(line, ',')
		}
		value := f.Value
		if v, ok := value.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
			value = nil
		}
		name, err := plainJSON(f.Name)
		if err != nil {
			return err
		}
		text, err := plainJSON(value)
		if err != nil {
			return err
		}
		line = append(line, name...)
		line = append(line, ':')
		line = append(line, text...)
	}
	_, err := w.to.Write(append(line, "}\n"...))
	return err
}

// plainJSON encodes a value as valid UTF-8. It leaves <, > and & of SMILES and texts as they are.
func plainJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(b.Bytes())
	if !utf8.Valid(text) { // a raw member of the input
		text = []byte(validUTF8(string(text)))
	}
	return text, nil
}

// validUTF8 replaces each byte that is not UTF-8 with U+FFFD, as encoding/json does.
func validUTF8(text string) string { return string([]rune(text)) }

func (w *jsonl) flush() error { return w.to.Flush() }

func (w *jsonl) end() error { return w.flush() }

// commas writes a CSV with a header.
type commas struct {
	to     *bufio.Writer
	csv    *csv.Writer
	headed bool
}

func newCSV(to *bufio.Writer, headed bool) *commas {
	return &commas{to: to, csv: csv.NewWriter(to), headed: headed}
}

func (w *commas) write(r Record) error {
	fields := r.all()
	header := make([]string, len(fields))
	cells := make([]string, len(fields))
	for i, f := range fields {
		header[i] = f.Name
		cells[i] = whole(f.Value)
	}
	if !w.headed {
		w.headed = true
		if err := w.csv.Write(header); err != nil {
			return err
		}
	}
	return w.csv.Write(cells)
}

func (w *commas) flush() error {
	w.csv.Flush()
	if err := w.csv.Error(); err != nil {
		return err
	}
	return w.to.Flush()
}

func (w *commas) end() error { return w.flush() }

// sdf writes MDL's format: the molecule of one field with 2D coordinates, all others as data fields.
type sdf struct {
	to       *bufio.Writer
	molecule string
}

func (w *sdf) write(r Record) error {
	text, _ := r.get(w.molecule).(string)
	m, err := chem.Parse(text)
	if err != nil {
		return fmt.Errorf("line %d: no record of an SDF: %w", r.Line, err)
	}
	var properties []chem.Property
	for _, f := range r.all() {
		properties = append(properties, chem.Property{Name: f.Name, Value: whole(f.Value)})
	}
	title := []rune(r.Name)
	record, err := chem.SDRecord(m, string(title[:min(len(title), titleLength)]), properties...)
	if err != nil {
		return fmt.Errorf("line %d: no record of an SDF: %w", r.Line, err)
	}
	_, err = w.to.WriteString(record)
	return err
}

// titleLength is how many characters the title of a record may have: those of a line of MDL's format.
const titleLength = 80

func (w *sdf) flush() error { return w.to.Flush() }

func (w *sdf) end() error { return w.flush() }

// table aligns columns. Its widths are those of the rows that are shown at once, so that long runs show something early.
type table struct {
	to    *bufio.Writer
	tabs  *tabwriter.Writer
	named bool
	rows  int
}

const (
	tableRows = 200 // aligned together
	tableCell = 64  // characters of a cell at most
)

func (w *table) write(r Record) error {
	if w.tabs == nil {
		w.tabs = tabwriter.NewWriter(w.to, 0, 0, 2, ' ', 0)
		w.named = r.Name != ""
		w.line(r, func(f Field) string { return strings.ToUpper(strings.ReplaceAll(f.Name, "_", " ")) })
	}
	w.line(r, func(f Field) string { return brief(f.Value, tableCell) })
	w.rows++
	if w.rows%tableRows == 0 {
		return w.tabs.Flush()
	}
	return nil
}

func (w *table) line(r Record, cell func(Field) string) {
	var cells []string
	for _, f := range r.all() {
		if f.Name != "name" || w.named {
			cells = append(cells, cell(f))
		}
	}
	fmt.Fprintln(w.tabs, strings.Join(cells, "\t"))
}

// flush shows the rows that are aligned already.
func (w *table) flush() error { return w.to.Flush() }

func (w *table) end() error {
	if w.tabs != nil {
		if err := w.tabs.Flush(); err != nil {
			return err
		}
	}
	return w.to.Flush()
}
