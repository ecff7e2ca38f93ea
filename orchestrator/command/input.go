package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"retort/chem"
	"retort/orchestrator/inputfile"
)

// inputRow is a row of the input.
type inputRow struct {
	line  int     // from 1; the position of an argument
	text  string  // SMILES, template, text or, in an SDF, mol block
	name  string  // "" for none
	label string  // shown as input by records; "" for text
	json  []byte  // the whole line of JSONL
	isMol bool    // text is a mol block
	kept  []field // kept columns
	err   error   // why the row cannot be read
}

// texts returns the texts of rows.
func texts(rows []inputRow) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.text
	}
	return all
}

// inputFlags are the flags of the input.
type inputFlags struct {
	File        string   `name:"input" short:"i" env:"-" placeholder:"FILE" help:"Input file; - for standard input. A file may also be given in place of a molecule or text."`
	InputFormat string   `name:"input-format" env:"-" enum:"auto,smi,csv,tsv,jsonl,sdf,lines" default:"auto" help:"Format of the input: smi (SMILES, then a name), csv or tsv (with a header), jsonl, sdf, or lines (one text per line). auto chooses by the name of the file, or else by its content."`
	Column      string   `env:"-" placeholder:"NAME" help:"Column of a table, or member of JSONL, with the molecules or texts; by default one with a usual name, such as smiles or text."`
	NameColumn  string   `env:"-" placeholder:"NAME" help:"Column, member or SDF field with the names of the rows; by default name, id or title."`
	Keep        []string `env:"-" placeholder:"NAME" help:"Columns, members or SDF fields to copy to the output; all for every column of a table."`
}

// rowKind describes the rows of a command.
type rowKind struct {
	noun    string                // in error messages
	format  string                // of a file whose format cannot be detected
	columns []string              // usual names of the column with the text, in order of preference
	check   func(*inputRow) error // checks a row before it is sent; nil for no check
}

var (
	moleculeRows = rowKind{
		noun:    "molecule",
		format:  "smi",
		columns: []string{"smiles", "canonical_smiles", "smi", "structure", "molecule"},
		check: func(row *inputRow) error {
			_, err := chem.Parse(row.text)
			return err
		},
	}
	templateRows = rowKind{noun: "template", format: "smi", columns: []string{"template", "smiles", "safe"}}
	textRows     = rowKind{
		noun:    "text",
		format:  "lines",
		columns: []string{"text", "passage", "content", "sentence", "input"},
	}
)

// prepare checks a row before it is sent. A mol block becomes SMILES.
func (k rowKind) prepare(row *inputRow) error {
	switch {
	case row.err != nil:
		return row.err
	case row.isMol:
		m, err := chem.ParseMolfile(row.text)
		if err != nil {
			return err
		}
		row.text = m.SMILES()
		row.isMol = false
	case k.check != nil:
		return k.check(row)
	}
	return nil
}

// formatByExtension has the format of a file by its extension; "" if the content decides.
var formatByExtension = map[string]string{
	".smi": "smi", ".smiles": "smi",
	".csv": "csv", ".tsv": "tsv",
	".jsonl": "jsonl", ".ndjson": "jsonl",
	".sdf": "sdf", ".sd": "sdf", ".mol": "sdf",
	".txt": "",
}

// extension returns the extension of a file name in lower case, without .gz.
func extension(name string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(name), inputfile.Extension))
}

var errNoInput = errors.New(
	"no input: give molecules or texts as arguments, a file with --input, or pipe them in")

// source is where rows come from. See isRepeatable.
type source struct {
	kind      rowKind
	input     inputFlags
	format    string // "" to detect it
	arguments []string
	file      string // "" for arguments, "-" for standard input
	stdin     io.Reader
}

// source chooses where rows come from: the file of --input, a single argument that is a file, the arguments or, if it
// is not a terminal, standard input.
func (in inputFlags) source(p *Process, kind rowKind, arguments []string) (*source, error) {
	s := &source{kind: kind, input: in, arguments: arguments, file: in.File, stdin: p.Stdin}
	if in.File != "" && len(arguments) > 0 {
		return nil, errors.New("--input and arguments exclude each other")
	}
	if len(arguments) == 1 && in.File == "" {
		name := arguments[0]
		_, known := formatByExtension[extension(name)]
		info, err := os.Stat(name)
		switch {
		case name == "-" || known && err == nil && !info.IsDir():
			s.file = name
			s.arguments = nil
		case known && err != nil && !strings.Contains(name, " "): // no SMILES has such an ending
			return nil, err
		}
	}
	if s.file == "" && len(s.arguments) == 0 {
		if isTerminal(p.Stdin) {
			return nil, errNoInput
		}
		s.file = "-"
	}
	s.format = in.InputFormat
	if s.format == "auto" || s.format == "" {
		s.format = formatByExtension[extension(s.file)]
	}
	return s, nil
}

// stat returns what the system knows of the input: nil for arguments, and for a standard input that is no file.
func (s *source) stat() (os.FileInfo, error) {
	switch s.file {
	case "":
		return nil, nil
	case "-":
		if file, ok := s.stdin.(*os.File); ok {
			return file.Stat()
		}
		return nil, nil
	}
	return os.Stat(s.file)
}

// isRegular reports whether info, nil for none, is of a regular file, which can be read more than once.
func isRegular(info os.FileInfo) bool { return info != nil && info.Mode().IsRegular() }

// isRepeatable reports whether the rows can be read more than once: arguments and regular files, except standard input.
func (s *source) isRepeatable() bool {
	if s.file == "" {
		return true
	}
	info, err := s.stat()
	return s.file != "-" && err == nil && isRegular(info)
}

// rows reads the rows. An error ends them; the error of a single row is in the row.
func (s *source) rows() iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		if err := s.read(func(row inputRow) bool { return yield(row, nil) }); err != nil {
			yield(inputRow{}, err)
		}
	}
}

// rowsAfter reads the rows after the last one that an earlier run has written, and counts those before.
func (s *source) rowsAfter(done resumePoint, skipped *int) iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		for row, err := range s.rows() {
			if err == nil && row.line <= done.line {
				if row.line == done.line && !done.matches(row) {
					yield(row, fmt.Errorf("line %d differs from the output, which was made of another input", row.line))
					return
				}
				*skipped++
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// read calls yield with each row until it returns false. So do the readers of all formats.
func (s *source) read(yield func(inputRow) bool) error {
	if s.file == "" {
		if err := s.input.checkKeep(""); err != nil {
			return err
		}
		for i, text := range s.arguments {
			if !yield(inputRow{line: i + 1, text: text}) {
				return nil
			}
		}
		return nil
	}
	if s.file == "-" {
		return s.readFrom(s.stdin, yield)
	}
	file, err := inputfile.Open(s.file)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := s.readFrom(file, yield); err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	return nil
}

func (s *source) readFrom(file io.Reader, yield func(inputRow) bool) error {
	reader := bufio.NewReaderSize(file, 64<<10)
	if start, _ := reader.Peek(3); string(start) == "\ufeff" {
		_, _ = reader.Discard(3)
	}
	format := s.format
	if format == "" {
		start, _ := reader.Peek(4096)
		format = s.detectFormat(start)
	}
	if err := s.input.checkKeep(format); err != nil {
		return err
	}
	switch format {
	case "csv":
		return s.table(csvRecords(reader), yield)
	case "tsv":
		return s.table(tsvRecords(reader), yield)
	case "jsonl":
		return s.objects(reader, yield)
	case "sdf":
		return s.molBlocks(reader, yield)
	}
	return s.lines(reader, format == "smi", yield)
}

// areStrings reports whether all whole lines of the start of an input are JSON strings.
func areStrings(start []byte) bool {
	lines := 0
	for line := range bytes.Lines(start) {
		text := bytes.TrimSpace(line)
		isCut := lines > 0 && !bytes.HasSuffix(line, []byte("\n"))
		if len(text) == 0 || isCut {
			continue
		}
		if !bytes.HasPrefix(text, []byte(`"`)) || !json.Valid(text) {
			return false
		}
		lines++
	}
	return lines > 0
}

// detectFormat returns the format of an input by its start.
func (s *source) detectFormat(start []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimLeft(start, "\r\n"), []byte("\n"))
	line = bytes.TrimSpace(line)
	if areStrings(start) || bytes.HasPrefix(line, []byte(`{"`)) {
		return "jsonl"
	}
	if bytes.Contains(start, []byte(" V2000")) || bytes.Contains(start, []byte(" V3000")) {
		return "sdf"
	}
	for format, separator := range map[string]string{"csv": ",", "tsv": "\t"} {
		cells := strings.Split(strings.ToLower(string(line)), separator)
		for i, cell := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cell), `"`)
		}
		isColumn := func(name string) bool { return slices.Contains(cells, name) }
		if len(cells) > 1 && slices.ContainsFunc(s.kind.columns, isColumn) {
			return format
		}
	}
	return s.kind.format
}
