package provenance

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Differences returns what differs between how two answers were made, as sentences: other models, other versions. It
// does not compare requests and answers.
func Differences(recorded, now Manifest) []string {
	var found []string
	report := func(what, before, after string) {
		if before != after {
			found = append(found, fmt.Sprintf("%s: recorded %s, now %s",
				what, cmp.Or(before, "none"), cmp.Or(after, "none")))
		}
	}
	before := byEntry(recorded.Models)
	after := byEntry(now.Models)
	for _, entry := range sortedKeys(before, after) {
		old, wasUsed := before[entry]
		new, isUsed := after[entry]
		if !wasUsed || !isUsed {
			report("model "+entry, old.ID, new.ID)
			continue
		}
		report("id of model "+entry, old.ID, new.ID)
		report("version of model "+entry, old.Version, new.Version)
		report("SHA-256 of model "+entry, old.SHA256, new.SHA256)
	}
	for _, name := range sortedKeys(recorded.Software, now.Software) {
		report("version of "+name, recorded.Software[name], now.Software[name])
	}
	return found
}

func byEntry(models []Model) map[string]Model {
	entries := map[string]Model{}
	for _, m := range models {
		entries[m.Entry] = m
	}
	return entries
}

func sortedKeys[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// FirstDifference returns the JSON pointer (RFC 6901) of the first value that differs between the canonical forms of
// two answers, or false if they are equal or one is no JSON.
func FirstDifference(first, second []byte) (pointer string, ok bool) {
	a, errA := canonicalize(first)
	b, errB := canonicalize(second)
	if errA != nil || errB != nil {
		return "", false
	}
	decoderA := jsontext.NewDecoder(bytes.NewReader(a))
	decoderB := jsontext.NewDecoder(bytes.NewReader(b))
	for {
		tokenA, errA := decoderA.ReadToken()
		tokenB, errB := decoderB.ReadToken()
		if errA == io.EOF && errB == io.EOF {
			return "", false
		}
		if errA != nil || errB != nil || tokenA.Kind() != tokenB.Kind() || tokenA.String() != tokenB.String() {
			return string(decoderA.StackPointer()), true
		}
	}
}
