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

// jsonlWriter writes an object a line, its members in the order of the fields. Each byte of the input that is not UTF-8
// becomes U+FFFD.
type jsonlWriter struct{ *bufio.Writer }

func (w *jsonlWriter) write(r outputRecord) error {
	line := []byte{'{'}
	for i, f := range r.all() {
		if i > 0 {
			line = append(line, ',')
		}
		value := f.value
		if v, ok := value.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
			value = nil
		}
		name, err := encodeJSON(f.name)
		if err != nil {
			return err
		}
		text, err := encodeJSON(value)
		if err != nil {
			return err
		}
		line = append(line, name...)
		line = append(line, ':')
		line = append(line, text...)
	}
	_, err := w.Write(append(line, "}\n"...))
	return err
}

// encodeJSON encodes a value as valid UTF-8. The characters <, > and & of SMILES and texts stay as they are.
func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(b.Bytes())
	if !utf8.Valid(text) { // a JSON value of the input
		text = []byte(toUTF8(string(text)))
	}
	return text, nil
}

// toUTF8 replaces each byte that is not UTF-8 with U+FFFD, as encoding/json does.
func toUTF8(text string) string { return string([]rune(text)) }

func (w *jsonlWriter) end() error { return nil }

// csvWriter writes a CSV with a header. Its csv.Writer has no buffer of its own: it uses the bufio.Writer that it gets.
type csvWriter struct {
	*csv.Writer
	hasHeader bool
}

func (w *csvWriter) write(r outputRecord) error {
	fields := r.all()
	header := make([]string, len(fields))
	cells := make([]string, len(fields))
	for i, f := range fields {
		header[i] = f.name
		cells[i] = formatValue(f.value)
	}
	if !w.hasHeader {
		w.hasHeader = true
		if err := w.Write(header); err != nil {
			return err
		}
	}
	return w.Write(cells)
}

func (w *csvWriter) end() error { return nil }

// sdfWriter writes MDL's format: the molecule of the field smiles with 2D coordinates, all others as data fields.
type sdfWriter struct{ *bufio.Writer }

// maxTitle is the length of a line of MDL's format, in characters.
const maxTitle = 80

func (w *sdfWriter) write(r outputRecord) error {
	smiles, _ := r.get("smiles").(string)
	m, err := chem.Parse(smiles)
	if err != nil {
		return fmt.Errorf("line %d: no record of an SDF: %w", r.line, err)
	}
	var properties []chem.Property
	for _, f := range r.all() {
		properties = append(properties, chem.Property{Name: f.name, Value: formatValue(f.value)})
	}
	title := []rune(r.name)
	record, err := chem.SDRecord(m, string(title[:min(len(title), maxTitle)]), properties...)
	if err != nil {
		return fmt.Errorf("line %d: no record of an SDF: %w", r.line, err)
	}
	_, err = w.WriteString(record)
	return err
}

func (w *sdfWriter) end() error { return nil }

// tableWriter aligns columns. It aligns tableRows at a time, so that long runs show something early.
type tableWriter struct {
	*bufio.Writer
	tabs     *tabwriter.Writer // nil until the first record
	hasNames bool
	rows     int
}

const (
	tableRows = 200
	tableCell = 64 // maximum characters of a cell
)

func (w *tableWriter) write(r outputRecord) error {
	if w.tabs == nil {
		w.tabs = tabwriter.NewWriter(w.Writer, 0, 0, 2, ' ', 0)
		w.hasNames = r.name != ""
		w.line(r, func(f field) string { return strings.ToUpper(strings.ReplaceAll(f.name, "_", " ")) })
	}
	w.line(r, func(f field) string { return formatCell(f.value, tableCell) })
	w.rows++
	if w.rows%tableRows == 0 {
		return w.tabs.Flush()
	}
	return nil
}

func (w *tableWriter) line(r outputRecord, cell func(field) string) {
	var cells []string
	for _, f := range r.all() {
		if f.name != "name" || w.hasNames {
			cells = append(cells, cell(f))
		}
	}
	fmt.Fprintln(w.tabs, strings.Join(cells, "\t"))
}

func (w *tableWriter) end() error {
	if w.tabs == nil {
		return nil
	}
	return w.tabs.Flush()
}
