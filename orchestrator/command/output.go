package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Output says where records go, and in which form.
type Output struct {
	Format string `short:"f" env:"-" enum:"auto,table,csv,jsonl,sdf" default:"auto" help:"table, csv, jsonl or sdf (molecules with 2D coordinates, the rest as data fields). auto goes by the name of the output file; else it is table on a terminal, and jsonl elsewhere."`
	File   string `name:"output" short:"o" env:"-" placeholder:"FILE" help:"File to write; by default standard output."`
	Resume bool   `env:"-" help:"Go on after the last complete row of the output file, where an earlier run with the same input was interrupted. Without such a file, begin."`
	Force  bool   `env:"-" help:"Write over the output file."`
}

// writer puts records in one form. flush is called after each batch, so that what is done is kept: only forms for people,
// which need all records or many to look well, hold some back until end.
type writer interface {
	write(Record) error
	flush() error
	end() error
}

// sink is an open output.
type sink struct {
	writer
	done done // what an earlier run has left
	file *os.File
	tty  bool
}

// open decides on the form, and opens the file. molecule is the field that an SDF draws; "" where a command has none.
func (o Output) open(p *Process, molecule string) (*sink, error) {
	s := &sink{}
	format := o.Format
	if format == "auto" || format == "" {
		format = map[string]string{".csv": "csv", ".sdf": "sdf", ".sd": "sdf", ".jsonl": "jsonl", ".ndjson": "jsonl"}[strings.ToLower(filepath.Ext(o.File))]
	}
	if format == "" {
		format = "jsonl"
		if o.File == "" && isTerminal(p.Stdout) {
			format = "table"
		}
	}
	switch {
	case format == "sdf" && molecule == "":
		return nil, errors.New("--format sdf: this command has no molecules to write")
	case o.Resume && o.File == "":
		return nil, errors.New("--resume needs --output FILE, which it goes on with")
	case o.Resume && format == "table":
		return nil, errors.New("--resume goes on with a csv, jsonl or sdf file, and not with a table")
	}
	var to io.Writer = p.Stdout
	s.tty = isTerminal(p.Stdout)
	if o.File != "" {
		file, err := o.create()
		if err != nil {
			return nil, err
		}
		s.file = file
		s.tty = false
		to = file
		if o.Resume {
			if s.done, err = resumed(file, format); err != nil {
				file.Close()
				return nil, fmt.Errorf("--resume: %s: %w", o.File, err)
			}
		}
	}
	buffer := bufio.NewWriter(to)
	switch format {
	case "csv":
		s.writer = newCSV(buffer, s.done.any)
	case "sdf":
		s.writer = &sdf{to: buffer, molecule: molecule}
	case "table":
		s.writer = &table{to: buffer}
	default:
		s.writer = &jsonl{to: buffer}
	}
	return s, nil
}

func (o Output) create() (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	switch {
	case o.Resume:
	case o.Force:
		flags |= os.O_TRUNC
	default:
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(o.File, flags, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s is there already: --resume goes on with it, --force writes over it", o.File)
	}
	return file, err
}

// close writes what is left.
func (s *sink) close() error {
	err := s.end()
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}

// isTerminal reports whether a stream is a person's terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && file.Name() != os.DevNull
}
