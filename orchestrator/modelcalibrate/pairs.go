package modelcalibrate

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
	"unicode/utf8"
)

// Pair is a line of a file of judged pairs.
type Pair struct {
	Query, Passage string
	Relevant       bool
	Collection     string // where the pair comes from; may be empty
}

// Bounds of an input file.
const (
	maxLine  = 1 << 20 // bytes
	maxPairs = 500_000
	maxTexts = 4_000
	// maxCollections is small because each collection is left out of a fit of its own.
	maxCollections = 100
)

// ReadPairs reads judged pairs: lines of JSON with query, passage, relevant (0 or 1) and optionally collection, or
// lines with these columns separated by tabs. Errors name the line and the key.
func ReadPairs(file string) ([]Pair, error) {
	var pairs []Pair
	collections := map[string]bool{}
	for line, err := range lines(file) {
		if err != nil {
			return nil, err
		}
		parse := parseColumns
		if strings.HasPrefix(line.text, "{") {
			parse = parseObject
		}
		pair, err := parse(line.text)
		collections[pair.Collection] = true
		switch {
		case err != nil:
			return nil, line.error("%v", err)
		case strings.TrimSpace(pair.Query) == "":
			return nil, line.error("query: is empty")
		case strings.TrimSpace(pair.Passage) == "":
			return nil, line.error("passage: is empty")
		case len(collections) > maxCollections:
			return nil, line.error("collection: a file has at most %d different ones", maxCollections)
		case len(pairs) == maxPairs:
			return nil, line.error("a calibration reads at most %d pairs", maxPairs)
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s has no pairs", file)
	}
	return pairs, nil
}

// ReadTexts reads texts, one per line.
func ReadTexts(file string) ([]string, error) {
	var texts []string
	for line, err := range lines(file) {
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(texts, line.text):
			continue
		case len(texts) == maxTexts:
			return nil, line.error("the percentiles are computed from at most %d different texts", maxTexts)
		}
		texts = append(texts, line.text)
	}
	return texts, nil
}

// line is a line of a file that is not empty, without spaces around it.
type line struct {
	file   string
	number int // from 1
	text   string
}

func (l line) error(format string, values ...any) error {
	return fmt.Errorf("%s, line %d: %w", filepath.Base(l.file), l.number, fmt.Errorf(format, values...))
}

// lines yields the lines of a file that are not empty, up to the first error.
func lines(file string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(file)
		if err != nil {
			yield(line{}, err)
			return
		}
		defer f.Close()
		scanner := bufio.NewScanner(f)
		scanner.Buffer(nil, maxLine)
		l := line{file: file}
		for scanner.Scan() {
			l.number++
			l.text = strings.Trim(strings.TrimPrefix(scanner.Text(), "\ufeff"), " \r")
			if strings.TrimSpace(l.text) == "" {
				continue
			}
			if !utf8.ValidString(l.text) {
				yield(l, l.error("is not UTF-8"))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
		l.number++
		switch err := scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(l, l.error("is longer than %d bytes", maxLine))
		case err != nil:
			yield(l, l.error("%v", err))
		}
	}
}

// parseColumns parses query, passage, relevant and optionally collection, separated by tabs.
func parseColumns(text string) (Pair, error) {
	columns := strings.Split(text, "\t")
	if len(columns) < 3 || len(columns) > 4 {
		return Pair{}, fmt.Errorf("has %d columns: it is neither a JSON object nor query, passage, relevant and "+
			"optionally collection, separated by tabs", len(columns))
	}
	p := Pair{Query: columns[0], Passage: columns[1]}
	if len(columns) == 4 {
		p.Collection = columns[3]
	}
	var err error
	p.Relevant, err = parseRelevant(columns[2])
	return p, err
}

// parseRelevant parses a judgement.
func parseRelevant(text string) (bool, error) {
	switch text {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	}
	return false, fmt.Errorf("relevant: must be 0 or 1, not %.40s", text)
}

// parseObject parses a JSON object.
func parseObject(text string) (p Pair, err error) {
	var members struct {
		Query      *string         `json:"query"`
		Passage    *string         `json:"passage"`
		Relevant   json.RawMessage `json:"relevant"`
		Collection string          `json:"collection"`
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&members); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) && mismatch.Field != "" {
			return p, fmt.Errorf("%s: must be a text, not a %s", mismatch.Field, mismatch.Value)
		}
		return p, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return p, errors.New("has more than one JSON object")
	}
	switch {
	case members.Query == nil:
		return p, errors.New("query: is missing")
	case members.Passage == nil:
		return p, errors.New("passage: is missing")
	case members.Relevant == nil:
		return p, errors.New("relevant: is missing")
	}
	p = Pair{Query: *members.Query, Passage: *members.Passage, Collection: members.Collection}
	p.Relevant, err = parseRelevant(string(bytes.TrimSpace(members.Relevant)))
	return p, err
}
