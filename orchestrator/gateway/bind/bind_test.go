package bind

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

type person struct {
	Name    string       `json:"name" bind:"required"`
	Age     int          `json:"age"`
	Weight  float32      `json:"weight"`
	Nick    *string      `json:"nick"`
	Aliases wire.Strings `json:"aliases"`
	Count   wire.Int     `json:"count"`
	Rows    [][]float64  `json:"rows"`
	Sparse  [][]float64  `json:"sparse" bind:"sparse"`
	Home    struct {
		Street string `json:"street" bind:"required"`
	} `json:"home"`
	Any    any                   `json:"any"`
	Labels map[string]string     `json:"labels"`
	Counts map[string][]wire.Int `json:"counts"`
	Color  string                `json:"color" oneof:"red blue"`
	Tint   *string               `json:"tint" oneof:"dark light"`
}

func TestJSON(t *testing.T) {
	const home = `"home":{"street":"s"}`
	for _, test := range []struct{ body, want string }{
		{`{"name":"a"}`, ""},
		{`{"name":"a","age":3.0,"weight":1e-2,"nick":null,"aliases":["x","y"],"count":"7","rows":[[1,2],[]],` +
			`"any":{"k":[1]},` + home + `}`, ""},
		{`{"name":"a","sparse":[null,[1],null],"rows":[[1]]}`, ""},
		{`{"name":"a","sparse":[[null]],"rows":[null]}`, "float_type @ sparse[0][0]; list_type @ rows[0]"},
		{``, "missing @ "},
		{`[]`, "model_attributes_type @ "},
		{`{`, "json_invalid @ "},
		{`{"name":"a"} x`, "json_invalid @ "},
		{`{"name":"a"}{}`, "json_invalid @ "},
		{`{}`, "missing @ name"},
		{`{"name":null}`, "string_type @ name"},
		{`{"name":5,"age":"x","weight":true}`, "string_type @ name; int_type @ age; float_type @ weight"},
		{`{"name":"a","age":1.5}`, "int_from_float @ age"},
		{`{"name":"a","age":1e400}`, "int_type @ age"},
		{`{"name":"a","weight":1e39}`, "finite_number @ weight"},
		{`{"name":"a","weight":NaN}`, "json_invalid @ weight"},
		{`{"name":"a","rows":[[1],[2,NaN]]}`, "json_invalid @ rows[1][1]"},
		{`{"name":"a","rows":[[1],["2"]]}`, "float_type @ rows[1][0]"},
		{`{"name":"a","rows":5}`, "list_type @ rows"},
		{`{"name":"a","aliases":["x",null]}`, "string_type @ aliases[1]"},
		{`{"name":"a","aliases":5}`, "string_type @ aliases"},
		{`{"name":"a","count":"x"}`, "int_parsing @ count"},
		{`{"name":"a","count":"1.5"}`, "int_from_float @ count"},
		{`{"name":"a","home":{}}`, "missing @ home.street"},
		{`{"name":"a","home":"h"}`, "model_attributes_type @ home"},
		{`{"name":"a","color":"blue","tint":"dark"}`, ""},
		{`{"name":"a","color":"green","tint":5}`, "literal_error @ color; literal_error @ tint"},
		{`{"name":"a","color":null,"age":null,"aliases":null,"count":null,"rows":null,"home":null,"tint":null}`, ""},
		{`{"name":"a","other":1}`, "extra_forbidden @ other"},
		{`{"name":"a","labels":{"a":"x","b":null},"counts":{"c":[1,"2"]}}`, ""},
		{`{"name":"a","labels":["a"]}`, "dict_type @ labels"},
		{`{"name":"a","labels":{"a":"x","a":"y"}}`, "json_invalid @ labels.a"},
		{`{"name":"a","age":"x","labels":{"a":1,"b":"x","c":[{}]},"other":1}`,
			"int_type @ age; string_type @ labels.a; string_type @ labels.c; extra_forbidden @ other"},
		{`{"name":"a","counts":{"c":[1,"x"]}}`, "int_parsing @ counts.c[1]"},
		{`{"age":"x","any":{"k":[1e400]},"other":1}`,
			"int_type @ age; finite_number @ any; extra_forbidden @ other; missing @ name"},
		{`{"name":"a","name":"b"}`, "json_invalid @ name"},
		{"{\"name\":\"a\xff\"}", "json_invalid @ name"},
		{"{\"name\":\"a\x00\"}", "json_invalid @ name"},
		{`{"name":"\ud800"}`, "json_invalid @ name"},
		{strings.Repeat(`{"any":`, 20000), "json_invalid @ "},
	} {
		p := person{Age: -1}
		got := describe(JSON([]byte(test.body), &p))
		if !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") {
			t.Errorf("JSON(%.80s) = %s, want %s", test.body, got, test.want)
		}
	}
}

// A required, nullable member must be present; null keeps its default.
func TestNullable(t *testing.T) {
	type request struct {
		Seeds wire.Strings `json:"seeds" bind:"required,nullable"`
	}
	for body, want := range map[string]string{
		`{"seeds":null}`: "", `{"seeds":"a"}`: "", `{}`: "missing @ seeds", `{"seeds":5}`: "string_type @ seeds",
	} {
		var r request
		if got := describe(JSON([]byte(body), &r)); got != want {
			t.Errorf("JSON(%s) = %s, want %s", body, got, want)
		}
	}
}

// MustSupport panics on a tag or a field type that JSON has no rules for.
func TestMustSupportPanics(t *testing.T) {
	for want, check := range map[string]func(){
		`Name: unknown word "requird" in tag bind`: mustSupport[struct {
			Name string `json:"name" bind:"requird"`
		}],
		`unknown word " sparse" in tag bind`: mustSupport[struct {
			Name []string `json:"name" bind:"required, sparse"`
		}],
		`unknown word "" in tag bind`: mustSupport[struct {
			Name string `json:"name" bind:""`
		}],
		`bind:"nullable" needs "required"`: mustSupport[struct {
			Name string `json:"name" bind:"nullable"`
		}],
		`bind:"sparse" needs a list, not string`: mustSupport[struct {
			Name string `json:"name" bind:"sparse"`
		}],
		`bind:"open" belongs to a field named _`: mustSupport[struct {
			Name string `json:"name" bind:"open"`
		}],
		`oneof needs values and a string field, not int`: mustSupport[struct {
			Name int `json:"name" oneof:"1 2"`
		}],
		`.rows: a uint8 cannot be bound`: mustSupport[struct {
			Rows [][]uint8 `json:"rows"`
		}],
		`the keys of an object are strings, not int`: mustSupport[struct {
			Rows map[int]string `json:"rows"`
		}],
		`.inner: no JSON value decodes into error`: mustSupport[struct {
			Inner error `json:"inner"`
		}],
		`unknown word "deep" in tag bind`: mustSupport[struct {
			Rows []map[string]*struct {
				Name string `json:"name" bind:"deep"`
			} `json:"rows"`
		}],
	} {
		if got := panicOf(check); !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
}

func mustSupport[Req any]() { MustSupport(reflect.TypeFor[Req]()) }

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func describe(err error) string {
	if err == nil {
		return ""
	}
	var parts []string
	for _, f := range fault.As(err).All() {
		parts = append(parts, fmt.Sprintf("%s @ %s", f.Rule, f.Field()))
	}
	return strings.Join(parts, "; ")
}

func TestJSONKeepsDefaultsAndCopies(t *testing.T) {
	body := []byte(`{"name":"abc","rows":[[1,2.5],[3]],"aliases":"one","count":5,"home":{"street":"s"}}`)
	p := person{Age: 30}
	if err := JSON(body, &p); err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'x' // the request's buffer is reused after the handler
	}
	want := person{Name: "abc", Age: 30, Aliases: wire.Strings{"one"}, Count: 5, Rows: [][]float64{{1, 2.5}, {3}}}
	want.Home.Street = "s"
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

func TestJSONFillsEmbeddedStructs(t *testing.T) {
	type address struct {
		Street string `json:"street" bind:"required"`
		Number int    `json:"number"`
	}
	type resident struct {
		Name string `json:"name" bind:"required"`
		address
	}
	var r resident
	if err := JSON([]byte(`{"number":5,"name":"abc","street":"s"}`), &r); err != nil {
		t.Fatal(err)
	}
	if want := (resident{"abc", address{"s", 5}}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if got := describe(JSON([]byte(`{"number":"five"}`), &resident{})); got != "int_type @ number; missing @ name; missing @ street" {
		t.Error(got)
	}
}

func TestJSONReportsAFewOfMany(t *testing.T) {
	body := `{"name":"a","rows":[[` + strings.TrimSuffix(strings.Repeat(`"x",`, 100000), ",") + `]]}`
	var p person
	if n := len(fault.As(JSON([]byte(body), &p)).All()); n != fault.MaxProblems {
		t.Errorf("%d problems reported, want %d", n, fault.MaxProblems)
	}
}

// The memory for a body does not grow with the number of its problems.
func TestMemoryOfProblemsIsBounded(t *testing.T) {
	type item struct {
		Text string   `json:"text" bind:"required"`
		More []string `json:"more"`
		Pad  [16]int64
	}
	const size = 2 << 20
	for name, body := range map[string]string{
		"empty objects":    `{"items":[` + repeated(`{}`, size) + `]}`,
		"empty lists":      `{"items":[` + repeated(`[]`, size) + `]}`,
		"wrong values":     `{"texts":[` + repeated(`1`, size) + `]}`,
		"unknown members":  `{"` + strings.Repeat("x", size) + `":1}`,
		"a long text":      `{"kind":"` + strings.Repeat("x", size) + `"}`,
		"nested too deep":  `{"texts":` + strings.Repeat("[", size),
		"beyond the bound": `{"few":[` + repeated(`{"text":"a"}`, size) + `]}`,
	} {
		var into struct {
			Items []item   `json:"items"`
			Few   []item   `json:"few"`
			Texts []string `json:"texts"`
			Kind  string   `json:"kind" oneof:"a b"`
		}
		var before, after runtime.MemStats
		raw := []byte(body)
		runtime.ReadMemStats(&before)
		err := JSON(raw, &into, AtMost("few", 100))
		runtime.ReadMemStats(&after)
		all := fault.As(err).All()
		if len(all) > fault.MaxProblems {
			t.Errorf("%s: %d problems", name, len(all))
		}
		for _, f := range all {
			if n := len(fmt.Sprint(f.Input, f.Path, f.Message)); n > 2000 {
				t.Errorf("%s: a problem of %d bytes", name, n)
			}
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 10*size {
			t.Errorf("%s: %d MiB for %d MiB of body", name, taken>>20, size>>20)
		}
	}
}

func repeated(item string, size int) string {
	return strings.TrimSuffix(strings.Repeat(item+",", size/(len(item)+1)), ",")
}

func TestBoundsAndBrokenLiterals(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"name":"a","aliases":["x","y","z"]}`, "too_long @ aliases"},
		{`{"name":"a","aliases":["x","y"]}`, ""},
		{`{"name":"a","rows":[[1],[2],[3]]}`, "too_long @ rows"},
		{`{"name":"a","rows":[[1,2,3,4]]}`, ""},
		{`{"name":"a","flag":tru}`, "json_invalid @ flag"},
		{`{"name":"a","flag":tr`, "json_invalid @ flag"},
		{`{"name":"a`, "json_invalid @ name"},
	} {
		var into struct {
			person
			Name    string      `json:"name"`
			Flag    bool        `json:"flag"`
			Rows    [][]float64 `json:"rows"`
			Aliases any         `json:"-"`
			Texts   texts       `json:"aliases"`
		}
		if got := describe(JSON([]byte(test.body), &into, AtMost("aliases", 2), AtMost("rows", 2))); got != test.want {
			t.Errorf("JSON(%s) = %s, want %s", test.body, got, test.want)
		}
	}
}

// texts decodes itself, as a list that may also be a single string does.
type texts []string

func (s *texts) UnmarshalJSON(data []byte) error {
	*s = texts{string(data)}
	return nil
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"name":"a","age":3.0,"rows":[[1,2],[]],"aliases":["x"],"count":"1","any":{"k":[1]},` +
		`"home":{"street":"s"}}`))
	f.Add([]byte(`{"name":null,"rows":[[NaN]]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var p person
		err := JSON(body, &p)
		if err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("JSON(%q) = %v, want an invalid request", body, err)
		}
	})
}

func BenchmarkVectors(b *testing.B) {
	row := "[[" + strings.TrimSuffix(strings.Repeat("0.0801224559545517,", 512), ",") + "]]"
	body := []byte(`{"hiddens":[` + strings.TrimSuffix(strings.Repeat(row+",", 100), ",") + `]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var into struct {
			Hiddens [][][]float32 `json:"hiddens"`
		}
		if err := JSON(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}
