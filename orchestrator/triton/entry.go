package triton

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// EntryReader reads what a model's entry in the model repository says: the parameters of its config.pbtxt (strings) and
// the files beside it. Every API opens its models with one:
//
//	r := entry.Read()
//	e := &Encoder{
//		ID:        r.PublicID(),
//		MaxTokens: r.Whole("max_model_len", 512, 4),
//		TwoModes:  r.OneOf("modes", "one", "two") == "two",
//		Tokenizer: triton.ReadFile(r, "tokenizer", "tokenizer.json", tokenizers.Load),
//	}
//	if err := r.Done(); err != nil {
//		return nil, err
//	}
//
// A reading method never fails: it returns the default or the zero value and keeps the problem, so that Done names all
// that is wrong at once. Done also names each parameter that was not asked for but whose name is nearly that of one
// that was, since it would have no effect. Any other parameter is taken to be the backend's, which reads the same list.
// So Done is called when all parameters have been read, and before any of the values is relied on.
type EntryReader struct {
	*Model
	asked    map[string]bool
	problems []error
}

// Read returns a reader of the model's entry.
func (m *Model) Read() *EntryReader {
	return &EntryReader{Model: m, asked: map[string]bool{parameterAPI: true, parameterID: true}}
}

// Check keeps a problem that the caller found. nil is none.
func (r *EntryReader) Check(err error) {
	if err != nil {
		r.problems = append(r.problems, err)
	}
}

// Done returns all problems as one error, or nil.
func (r *EntryReader) Done() error {
	problems := slices.Clone(r.problems)
	for _, name := range slices.Sorted(maps.Keys(r.Config.Parameters)) {
		if meant := r.meant(name); meant != "" {
			problems = append(problems, fmt.Errorf("parameter %s is unknown; is %s meant?", name, meant))
		}
	}
	return errors.Join(problems...)
}

// Text returns a parameter, or a default where it is absent.
func (r *EntryReader) Text(name, otherwise string) string {
	r.asked[name] = true
	return r.Parameter(name, otherwise)
}

// Whole returns a parameter that is a whole number of at least least.
func (r *EntryReader) Whole(name string, otherwise, least int) int {
	text := r.Text(name, strconv.Itoa(otherwise))
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		r.Check(fmt.Errorf("parameter %s must be a whole number of at least %d, not %q", name, least, text))
		return otherwise
	}
	return n
}

// Number returns a parameter that is a number from least to most.
func (r *EntryReader) Number(name string, otherwise, least, most float64) float64 {
	text := r.Text(name, strconv.FormatFloat(otherwise, 'g', -1, 64))
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || x < least || x > most {
		r.Check(fmt.Errorf("parameter %s must be a number from %v to %v, not %q", name, least, most, text))
		return otherwise
	}
	return x
}

// OneOf returns a parameter with fixed values, the first of which is the default.
func (r *EntryReader) OneOf(name string, values ...string) string {
	value := r.Text(name, values[0])
	if !slices.Contains(values, value) {
		r.Check(fmt.Errorf("parameter %s must be one of %s, not %q", name, strings.Join(values, ", "), value))
		return values[0]
	}
	return value
}

// List returns a parameter that is a JSON list of strings.
func (r *EntryReader) List(name string) []string {
	var list []string
	if err := json.Unmarshal([]byte(r.Text(name, "[]")), &list); err != nil {
		r.Check(fmt.Errorf("parameter %s must be a JSON list of strings: %w", name, err))
	}
	return list
}

// Created returns the parameter created of /v1/models: Unix time in seconds, 0 where it is absent.
func (r *EntryReader) Created() int64 { return int64(r.Whole("created", 0, 0)) }

// OwnedBy returns the parameter owned_by of /v1/models.
func (r *EntryReader) OwnedBy() string { return r.Text("owned_by", "retort") }

// ReadFile loads the file beside the configuration that a parameter names.
func ReadFile[T any](r *EntryReader, name, otherwise string, load func(path string) (T, error)) (value T) {
	file := r.Text(name, otherwise)
	path, err := r.File(file)
	if err == nil {
		value, err = load(path)
	}
	if err != nil {
		r.Check(fmt.Errorf("parameter %s (file %s): %w", name, file, err))
	}
	return value
}

// ReadJSON decodes a JSON file beside the configuration that need not be there. It is no parameter that names it.
func (r *EntryReader) ReadJSON(file string, into any) {
	path, err := r.File(file)
	if err != nil {
		return // no folder to look into
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		r.Check(fmt.Errorf("%s: %w", file, err))
	}
}
