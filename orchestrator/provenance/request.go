package provenance

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// seedMember is the member with the seed of the random numbers, in all APIs that have one.
const seedMember = "seed"

// maxSeed is the upper bound of drawn seeds, which every API accepts.
const maxSeed = 1 << 31

// askingFields has the index of the field that asks for a manifest, or nil, by type of request.
var askingFields sync.Map

// askingField returns the index of the bool with the JSON member manifest, or nil if a type of requests has none.
func askingField(request reflect.Type) []int {
	if known, ok := askingFields.Load(request); ok {
		return known.([]int)
	}
	var index []int
	for _, f := range reflect.VisibleFields(request) {
		if memberOf(f) == Member && f.Type.Kind() == reflect.Bool {
			index = f.Index
		}
	}
	askingFields.Store(request, index)
	return index
}

// CanAsk reports whether requests of a type, a struct, can ask for a manifest with a member of their body.
func CanAsk(request reflect.Type) bool { return askingField(request) != nil }

// IsWanted reports whether a request, a pointer to a struct, asks for a manifest with a member of its body.
func IsWanted(request any) bool {
	value := reflect.ValueOf(request).Elem()
	index := askingField(value.Type())
	return index != nil && value.FieldByIndex(index).Bool()
}

// Complete returns the effective request, given a body and the struct that it was decoded into, after the defaults had
// been set in it. If the request can have a seed and has none, Complete draws one. Members that are absent from the
// body are taken from the struct if they are numbers, booleans or texts, or marshal themselves.
func Complete(body []byte, request any) (jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	for name, value := range members {
		members[name] = value.Clone() // the body does not outlive the handler
	}
	value := reflect.ValueOf(request).Elem()
	for _, f := range reflect.VisibleFields(value.Type()) {
		name := memberOf(f)
		given, ok := members[name]
		if name == "" || ok && given.Kind() != 'n' {
			continue
		}
		field := value.FieldByIndex(f.Index)
		if name == seedMember {
			drawSeed(field)
		}
		if text, ok := encodeDefault(field); ok {
			members[name] = text
		}
	}
	delete(members, Member)
	return json.Marshal(members, json.Deterministic(true))
}

// memberOf returns the name of a field's JSON member; "" for none.
func memberOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() {
		return ""
	}
	return name
}

// drawSeed sets a seed if it is a pointer to a whole number and nil.
func drawSeed(field reflect.Value) {
	if field.Kind() != reflect.Pointer || !field.IsNil() {
		return
	}
	seed := reflect.New(field.Type().Elem())
	if seed.Elem().CanInt() {
		seed.Elem().SetInt(rand.Int64N(maxSeed))
		field.Set(seed)
	}
}

// encodeDefault returns the JSON of a value that a default can have: one that its type decodes again. An empty text
// stands for a default that the use case chooses.
func encodeDefault(field reflect.Value) (jsontext.Value, bool) {
	for field.Kind() == reflect.Pointer {
		if field.IsNil() {
			return nil, false
		}
		field = field.Elem()
	}
	_, marshals := field.Interface().(interface{ MarshalJSON() ([]byte, error) })
	switch {
	case marshals:
	case field.Kind() == reflect.String && field.Len() == 0:
		return nil, false
	case field.Kind() == reflect.String, field.Kind() == reflect.Bool, field.CanInt(), field.CanFloat():
	default:
		return nil, false
	}
	text, err := json.Marshal(field.Interface())
	if err != nil || jsontext.Value(text).Kind() == 'n' {
		return nil, false
	}
	err = json.Unmarshal(text, reflect.New(field.Type()).Interface())
	return text, err == nil
}
