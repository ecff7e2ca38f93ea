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

// EntryReader reads a model's entry in the model repository: the parameters of its config.pbtxt, which are strings, and
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
// The methods do not return errors: they record each problem and return the fallback or the zero value, so that Done
// can return all problems at once. Done also reports parameters that were not read but look like a misspelling of one
// that was, since they would have no effect. Other parameters are assumed to be the backend's. So call Done after all
// parameters have been read, and before any value is used.
type EntryReader struct {
	*Model
	requested map[string]bool
	problems  []error
}

// Read returns a reader of the model's entry.
func (m *Model) Read() *EntryReader {
	return &EntryReader{Model: m, requested: map[string]bool{parameterAPI: true, parameterID: true}}
}

// Check records a problem that the caller found, if err is not nil.
func (r *EntryReader) Check(err error) {
	if err != nil {
		r.problems = append(r.problems, err)
	}
}

// Done returns all problems as one error, or nil.
func (r *EntryReader) Done() error {
	problems := slices.Clone(r.problems)
	for _, name := range slices.Sorted(maps.Keys(r.Config.Parameters)) {
		if correction := r.correction(name); correction != "" {
			problems = append(problems, fmt.Errorf("parameter %s is unknown; is %s meant?", name, correction))
		}
	}
	return errors.Join(problems...)
}

// Text returns a parameter, or a fallback if it is absent.
func (r *EntryReader) Text(name, fallback string) string {
	r.requested[name] = true
	return r.Parameter(name, fallback)
}

// Whole returns a parameter that is an integer of at least minimum.
func (r *EntryReader) Whole(name string, fallback, minimum int) int {
	text := r.Text(name, strconv.Itoa(fallback))
	n, err := strconv.Atoi(text)
	if err != nil || n < minimum {
		r.Check(fmt.Errorf("parameter %s must be a whole number of at least %d, not %q", name, minimum, text))
		return fallback
	}
	return n
}

// Number returns a parameter that is a number from minimum to maximum.
func (r *EntryReader) Number(name string, fallback, minimum, maximum float64) float64 {
	text := r.Text(name, strconv.FormatFloat(fallback, 'g', -1, 64))
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || x < minimum || x > maximum {
		r.Check(fmt.Errorf("parameter %s must be a number from %v to %v, not %q", name, minimum, maximum, text))
		return fallback
	}
	return x
}

// OneOf returns a parameter that is one of values. The first is the fallback.
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

// Created returns the parameter created, for /v1/models: Unix time in seconds, 0 if it is absent.
func (r *EntryReader) Created() int64 { return int64(r.Whole("created", 0, 0)) }

// OwnedBy returns the parameter owned_by, for /v1/models.
func (r *EntryReader) OwnedBy() string { return r.Text("owned_by", "retort") }

// ReadFile loads the file in the model's folder that a parameter names.
func ReadFile[T any](r *EntryReader, name, fallback string, load func(path string) (T, error)) (value T) {
	file := r.Text(name, fallback)
	path, err := r.File(file)
	if err == nil {
		value, err = load(path)
	}
	if err != nil {
		r.Check(fmt.Errorf("parameter %s (file %s): %w", name, file, err))
	}
	return value
}

// ReadOptional does the same for a file that need not exist unless the parameter names it. The value is zero then.
func ReadOptional[T any](r *EntryReader, name, fallback string, load func(path string) (T, error)) (value T) {
	if r.Text(name, "") == "" {
		path, err := r.File(fallback)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return value
		}
	}
	return ReadFile(r, name, fallback, load)
}

// ReadJSON decodes a JSON file in the model's folder, if there is one. No parameter names it.
func (r *EntryReader) ReadJSON(file string, into any) {
	path, err := r.File(file)
	if err != nil {
		return // the folder cannot be read
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
