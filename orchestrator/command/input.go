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
)

// Row is one molecule, template or text of the input.
type Row struct {
	Line  int     // on which it stands, from 1; of an argument its place
	Text  string  // SMILES, template or text; of an SDF the mol block
	Name  string  // "" for none
	Label string  // what records have in input; "" for Text
	JSON  []byte  // the whole object, of JSONL
	SDF   bool    // Text is a mol block
	Kept  []Field // columns of the input that go into the records too
	Err   error   // why it cannot be read
}

// Input says where rows come from.
type Input struct {
	File        string   `name:"input" short:"i" env:"-" placeholder:"FILE" help:"File to read, - for standard input. A file may also be given in the place of a molecule or text."`
	InputFormat string   `name:"input-format" env:"-" enum:"auto,smi,csv,tsv,jsonl,sdf,lines" default:"auto" help:"smi (SMILES, then a name), csv or tsv (with a header), jsonl, sdf, or lines (each a text); auto goes by the file's name, or else by how it begins."`
	Column      string   `env:"-" placeholder:"NAME" help:"Column of a CSV, or member of JSONL, to take; by default one of a usual name, such as smiles or text."`
	NameColumn  string   `env:"-" placeholder:"NAME" help:"Column, member or SDF field with names for the output; by default name, id or title."`
	Keep        []string `env:"-" placeholder:"NAME,..." help:"Columns of a table, members of JSONL or fields of an SDF that go into the output as well; all for every column of a table."`
}

// kind is what rows are: it decides how lines are read, and which columns are looked for.
type kind struct {
	what    string   // as errors call it
	lines   string   // format of a file without a known ending
	columns []string // in the order in which they are looked for
}

var (
	molecules = kind{"molecule", "smi", []string{"smiles", "canonical_smiles", "smi", "structure", "molecule"}}
	templates = kind{"template", "smi", []string{"template", "smiles", "safe"}}
	texts     = kind{"text", "lines", []string{"text", "passage", "content", "sentence", "input"}}
	states    = kind{"hidden state", "jsonl", []string{"hidden"}}
)

var endings = map[string]string{
	".smi": "smi", ".smiles": "smi", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".sdf": "sdf", ".sd": "sdf", ".mol": "sdf", ".txt": "",
}

// ErrNothing says that a command was given nothing to work on.
var ErrNothing = errors.New("nothing to work on: give molecules or texts as arguments, a file with --input, or pipe them in")

// source is an input that may be read more than once, but for standard input.
type source struct {
	kind   kind
	input  Input
	format string
	given  []string // arguments
	file   string   // "" for none, "-" for standard input
	stdin  io.Reader
}

// from decides where rows come from: arguments, the file of --input, a single argument that is a file, or else standard
// input where that is no terminal.
func (in Input) from(p *Process, k kind, arguments []string) (*source, error) {
	s := &source{kind: k, input: in, given: arguments, file: in.File, stdin: p.Stdin}
	if in.File != "" && len(arguments) > 0 {
		return nil, errors.New("--input and arguments exclude each other")
	}
	if len(arguments) == 1 && in.File == "" {
		name := arguments[0]
		_, known := endings[strings.ToLower(filepath.Ext(name))]
		info, err := os.Stat(name)
		switch {
		case name == "-" || known && err == nil && !info.IsDir():
			s.file = name
			s.given = nil
		case known && err != nil && !strings.Contains(name, " "): // no SMILES ends so
			return nil, err
		}
	}
	if s.file == "" && len(s.given) == 0 {
		if isTerminal(p.Stdin) {
			return nil, ErrNothing
		}
		s.file = "-"
	}
	s.format = in.InputFormat
	if s.format == "auto" || s.format == "" {
		s.format = endings[strings.ToLower(filepath.Ext(s.file))]
	}
	return s, nil
}

// rows reads the input row by row. Its error is of the input as a whole.
func (s *source) rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if s.file == "" {
			if err := s.input.keeping(""); err != nil {
				yield(Row{}, err)
				return
			}
			for i, text := range s.given {
				if !yield(Row{Line: i + 1, Text: text}, nil) {
					return
				}
			}
			return
		}
		from := s.stdin
		if s.file != "-" {
			file, err := os.Open(s.file)
			if err != nil {
				yield(Row{}, err)
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
			format = s.guess(start)
		}
		if err := s.input.keeping(format); err != nil {
			yield(Row{}, err)
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

func (s *source) read(format string, reader *bufio.Reader) iter.Seq2[Row, error] {
	switch format {
	case "csv":
		return s.table(reader, ',')
	case "tsv":
		return s.table(reader, '\t')
	case "jsonl":
		return s.objects(reader)
	case "sdf":
		return s.records(reader)
	}
	return s.lines(reader, format == "smi")
}

// guess is the format of what begins so.
func (s *source) guess(start []byte) string {
	first, _, _ := bytes.Cut(bytes.TrimLeft(start, "\r\n"), []byte("\n"))
	first = bytes.TrimSpace(first)
	if bytes.HasPrefix(first, []byte(`{"`)) || bytes.HasPrefix(first, []byte(`"`)) && bytes.HasSuffix(first, []byte(`"`)) {
		return "jsonl"
	}
	if bytes.Contains(start, []byte(" V2000")) || bytes.Contains(start, []byte(" V3000")) {
		return "sdf"
	}
	for format, comma := range map[string]string{"csv": ",", "tsv": "\t"} {
		cells := strings.Split(strings.ToLower(string(first)), comma)
		if len(cells) > 1 && slices.ContainsFunc(s.kind.columns, func(c string) bool { return slices.Contains(cells, c) }) {
			return format
		}
	}
	return s.kind.lines
}
