package command

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// outputFlags are the flags of the output.
type outputFlags struct {
	Format string `short:"f" env:"-" enum:"auto,table,csv,jsonl,sdf" default:"auto" help:"Format of the output: table, csv, jsonl or sdf (molecules with 2D coordinates, everything else as data fields). auto chooses by the name of the output file; without one, it is table on a terminal and jsonl elsewhere."`
	File   string `name:"output" short:"o" env:"-" placeholder:"FILE" help:"Output file; by default standard output."`
	Resume bool   `env:"-" help:"Continue an interrupted run with the same input after the last complete row of the output file. Without such a file, start from the beginning."`
	Force  bool   `env:"-" help:"Overwrite the output file."`
}

// writer writes records in one format to the buffer of a sink. Formats for people hold records back until end, to align
// or to sort them.
type writer interface {
	write(outputRecord) error
	end() error
}

// sink is an opened output. Its buffer is flushed after each batch, so that no answer gets lost.
type sink struct {
	writer
	buffer *bufio.Writer
	done   resumePoint // of the earlier run
	file   *os.File    // nil for standard output
}

// open opens the output. hasMolecules says whether the records have the field smiles, which an SDF needs.
func (o outputFlags) open(p *Process, hasMolecules bool) (*sink, error) {
	format := o.format(p)
	switch {
	case format == "sdf" && !hasMolecules:
		return nil, errors.New("--format sdf: this command has no molecules to write")
	case o.Resume && o.File == "":
		return nil, errors.New("--resume needs --output FILE, which it continues")
	case o.Resume && format == "table":
		return nil, errors.New("--resume continues a csv, jsonl or sdf file, not a table")
	}
	s := &sink{buffer: bufio.NewWriter(p.Stdout)}
	if o.File != "" {
		var err error
		if s.file, err = o.create(); err != nil {
			return nil, err
		}
		if o.Resume {
			if s.done, err = resume(s.file, format); err != nil {
				s.file.Close()
				return nil, fmt.Errorf("--resume: %s: %w", o.File, err)
			}
		}
		s.buffer.Reset(s.file)
	}
	switch format {
	case "csv":
		s.writer = &csvWriter{Writer: csv.NewWriter(s.buffer), hasHeader: s.done.hasHeader}
	case "sdf":
		s.writer = &sdfWriter{s.buffer}
	case "table":
		s.writer = &tableWriter{Writer: s.buffer}
	default:
		s.writer = &jsonlWriter{s.buffer}
	}
	return s, nil
}

// format returns the format of the records.
func (o outputFlags) format(p *Process) string {
	if o.Format != "auto" && o.Format != "" {
		return o.Format
	}
	switch strings.ToLower(filepath.Ext(o.File)) {
	case ".csv":
		return "csv"
	case ".sdf", ".sd":
		return "sdf"
	}
	if o.File == "" && isTerminal(p.Stdout) {
		return "table"
	}
	return "jsonl"
}

func (o outputFlags) create() (*os.File, error) {
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
		return nil, fmt.Errorf("%s already exists: --resume continues it, --force overwrites it", o.File)
	}
	return file, err
}

// close writes the records that are held back.
func (s *sink) close() error {
	err := errors.Join(s.end(), s.buffer.Flush())
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
