package command

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"retort/chem"
)

// inputRow is a row of the input.
type inputRow struct {
	line  int     // from 1; of an argument its position
	text  string  // SMILES, template or text; of an SDF the mol block
	name  string  // "" for none
	label string  // what records show as input; "" means text
	json  []byte  // the whole line, of JSONL
	isSDF bool    // text is a mol block
	kept  []field // kept columns
	err   error   // why the row cannot be read
}

func (r inputRow) labelOrText() string {
	if r.label != "" {
		return r.label
	}
	return r.text
}

// texts returns the texts of rows.
func texts(rows []inputRow) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.text
	}
	return all
}

// Input says where rows come from.
type Input struct {
	File        string   `name:"input" short:"i" env:"-" placeholder:"FILE" help:"Input file; - for standard input. A file may also be given in place of a molecule or text."`
	InputFormat string   `name:"input-format" env:"-" enum:"auto,smi,csv,tsv,jsonl,sdf,lines" default:"auto" help:"Format of the input: smi (SMILES, then a name), csv or tsv (with a header), jsonl, sdf, or lines (one text per line). auto chooses by the name of the file, or else by its content."`
	Column      string   `env:"-" placeholder:"NAME" help:"Column of a table, or member of JSONL, with the molecules or texts; by default one with a usual name, such as smiles or text."`
	NameColumn  string   `env:"-" placeholder:"NAME" help:"Column, member or SDF field with the names of the rows; by default name, id or title."`
	Keep        []string `env:"-" placeholder:"NAME" help:"Columns, members or SDF fields to copy to the output; all for every column of a table."`
}

// kind is what the rows of a command are.
type kind struct {
	noun    string                // in error messages
	format  string                // of a file whose format cannot be told
	columns []string              // that have the text, in order of preference
	check   func(*inputRow) error // of a row before it is sent; nil for none
}

var (
	moleculeRows = kind{
		noun:    "molecule",
		format:  "smi",
		columns: []string{"smiles", "canonical_smiles", "smi", "structure", "molecule"},
		check: func(row *inputRow) error {
			_, err := chem.Parse(row.text)
			return err
		},
	}
	templateRows = kind{noun: "template", format: "smi", columns: []string{"template", "smiles", "safe"}}
	textRows     = kind{
		noun:    "text",
		format:  "lines",
		columns: []string{"text", "passage", "content", "sentence", "input"},
	}
)

// prepare checks a row before it is sent. A mol block becomes SMILES.
func (k kind) prepare(row *inputRow) error {
	switch {
	case row.err != nil:
		return row.err
	case row.isSDF:
		m, err := chem.ParseMolfile(row.text)
		if err != nil {
			return err
		}
		row.text = m.SMILES()
		row.isSDF = false
	case k.check != nil:
		return k.check(row)
	}
	return nil
}

// formatByExtension has the input formats; "" if the extension does not tell.
var formatByExtension = map[string]string{
	".smi": "smi", ".smiles": "smi",
	".csv": "csv", ".tsv": "tsv",
	".jsonl": "jsonl", ".ndjson": "jsonl",
	".sdf": "sdf", ".sd": "sdf", ".mol": "sdf",
	".txt": "",
}

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

var errNoInput = errors.New(
	"nothing to work on: give molecules or texts as arguments, a file with --input, or pipe them in")

// source is an opened input. It can be read more than once, unless it is standard input.
type source struct {
	kind      kind
	input     Input
	format    string // "" means to detect it
	arguments []string
	file      string // "" for arguments, "-" for standard input
	stdin     io.Reader
}

// source decides where rows come from: the file of --input, a single argument that is a file, arguments or, if that is
// no terminal, standard input.
func (in Input) source(p *Process, k kind, arguments []string) (*source, error) {
	s := &source{kind: k, input: in, arguments: arguments, file: in.File, stdin: p.Stdin}
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

// rows reads the rows. An error ends them; the error of a single row is in the row.
func (s *source) rows() iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		if s.file == "" {
			if err := s.input.checkKeep(""); err != nil {
				yield(inputRow{}, err)
				return
			}
			for i, text := range s.arguments {
				if !yield(inputRow{line: i + 1, text: text}, nil) {
					return
				}
			}
			return
		}
		from := s.stdin
		if s.file != "-" {
			file, err := os.Open(s.file)
			if err != nil {
				yield(inputRow{}, err)
				return
			}
			defer file.Close()
			from = file
		}
		reader := bufio.NewReaderSize(from, 64<<10)
		if start, _ := reader.Peek(3); string(start) == "\ufeff" {
			_, _ = reader.Discard(3)
		}
		format := s.format
		if format == "" {
			start, _ := reader.Peek(4096)
			format = s.detectFormat(start)
		}
		if err := s.input.checkKeep(format); err != nil {
			yield(inputRow{}, err)
			return
		}
		for row, err := range s.read(format, reader) {
			if err != nil && s.file != "-" {
				err = fmt.Errorf("%s: %w", s.file, err)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// rowsAfter reads the rows that an earlier run has not answered.
func (s *source) rowsAfter(r resumed) iter.Seq2[inputRow, error] {
	return func(yield func(inputRow, error) bool) {
		for row, err := range s.rows() {
			if err == nil && row.line <= r.line {
				if row.line == r.line && !r.mayBeOf(row) {
					yield(row, fmt.Errorf("line %d differs from the output, which was made of another input", row.line))
					return
				}
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (s *source) read(format string, reader *bufio.Reader) iter.Seq2[inputRow, error] {
	switch format {
	case "csv":
		return s.table(reader, ',')
	case "tsv":
		return s.table(reader, '\t')
	case "jsonl":
		return s.objects(reader)
	case "sdf":
		return s.molBlocks(reader)
	}
	return s.lines(reader, format == "smi")
}

// detectFormat returns the format of an input by its start.
func (s *source) detectFormat(start []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimLeft(start, "\r\n"), []byte("\n"))
	line = bytes.TrimSpace(line)
	isText := bytes.HasPrefix(line, []byte(`"`)) && bytes.HasSuffix(line, []byte(`"`))
	if isText || bytes.HasPrefix(line, []byte(`{"`)) {
		return "jsonl"
	}
	if bytes.Contains(start, []byte(" V2000")) || bytes.Contains(start, []byte(" V3000")) {
		return "sdf"
	}
	for format, separator := range map[string]string{"csv": ",", "tsv": "\t"} {
		cells := strings.Split(strings.ToLower(string(line)), separator)
		isColumn := func(name string) bool { return slices.Contains(cells, name) }
		if len(cells) > 1 && slices.ContainsFunc(s.kind.columns, isColumn) {
			return format
		}
	}
	return s.kind.format
}
