package provenance_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/provenance"
)

// Answers that differ only in spelling, ids, times and manifests have one digest; any other difference changes it.
func TestDigest(t *testing.T) {
	const answer = `{"id":"a","created":1,"choices":[{"text":"x","tools":[{"id":"b","name":"f"}]}],"score":0.5}`
	want := digest(t, answer)
	for _, equal := range []string{
		`{"score":5e-1, "choices":[{"text":"\u0078","tools":[{"name":"f"}]}]}`,
		`{"id":7,"created":2,"choices":[{"text":"x","tools":[{"id":[],"name":"f"}]}],"score":0.5,"manifest":{"a":1}}`,
	} {
		if digest(t, equal) != want {
			t.Errorf("%s has another digest", equal)
		}
	}
	for _, other := range []string{
		strings.Replace(answer, "0.5", "0.50000001", 1),
		strings.Replace(answer, `"f"`, `"g"`, 1),
		strings.Replace(answer, `"text":"x"`, `"text":"x","manifest":{}`, 1), // only the outermost one is left out
		strings.Replace(answer, `"text":"x"`, `"text":"id"`, 1),
	} {
		if digest(t, other) == want {
			t.Errorf("%s has the same digest", other)
		}
	}
}

func digest(t *testing.T, answer string) string {
	t.Helper()
	sum, err := provenance.Digest([]byte(answer))
	if err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return sum
}

func TestAttach(t *testing.T) {
	manifest := provenance.Manifest{Format: 1, API: "latent", Path: "/latent/generate", Request: jsontext.Value(`{}`)}
	for _, answer := range []string{`{}`, ` { } `, `{"generated":[]}`} {
		text, err := manifest.Attach([]byte(answer))
		if err != nil {
			t.Fatal(err)
		}
		documents := read(string(text))
		if len(documents) != 1 || documents[0] != "" {
			t.Errorf("%s: %q", text, documents)
		}
	}
	for _, answer := range []string{``, `[1]`, `true`} {
		if text, err := manifest.Attach([]byte(answer)); err != provenance.ErrNoObject {
			t.Errorf("%q: %q, %v", answer, text, err)
		}
	}
}

// read returns the errors of the documents of a file, "" for none.
func read(file string) (problems []string) {
	for _, err := range provenance.ReadDocuments(strings.NewReader(file)) {
		if err != nil {
			problems = append(problems, err.Error())
		} else {
			problems = append(problems, "")
		}
	}
	return problems
}

const valid = `{"format":1,"path":"/latent/generate","request":{"smi":"C"},"answer_sha256":"` +
	`44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}` // of {}

// A file may come from anyone: what is wrong is named, and no path leads to another endpoint or host.
func TestReadDocuments(t *testing.T) {
	for file, want := range map[string]string{
		valid:                              "",
		`{"manifest":` + valid + `}`:       "",
		`{"a":1,"manifest":` + valid + `}`: "document 1: answer_sha256: the answer in the document has another SHA-256",
		``:                                 "document 1: it is empty",
		`[]`:                               "document 1: it is no JSON object",
		`{}`:                               "document 1: format: there is none",
		`{"manifest":3}`:                   "document 1: manifest: ",
		`{"manifest":`:                     "document 1: ",
		`{"format":1,"format":1}`:          "document 1: ",
		strings.Repeat("[", 20000):         "document 1: ",
		change(`"format":1`, `"format":2`): "document 1: format: it is 2, and this program reads 1",
		change(`{"smi":"C"}`, `[]`):        "document 1: request: it is no JSON object",
		change(`44136fa355b`, ``):          "document 1: answer_sha256: it is no SHA-256",
	} {
		if got := read(file)[0]; got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%.100s: %q, want %q", file, got, want)
		}
	}
	for _, path := range []string{
		"", "generate", "@evil.example/generate", "//evil.example/generate", "http://evil.example/generate",
		"/latent/../generate", "/v1/files", "/v1/batches", "/latent/generate/jobs/job_1/cancel", "/latent/generate?a=b",
		"/latent/generate\\n", "/ranking/v1/retrieval/../reranking", "/v1/responses/a/cancel", ":1/generate", "/mcp",
	} {
		if got := read(change("/latent/generate", path))[0]; !strings.HasPrefix(got, "document 1: path: ") {
			t.Errorf("path %s: %q", path, got)
		}
	}
	for _, path := range []string{
		"/latent/generate/jobs", "/masked/generate", "/embedding/v1/embeddings", "/v1/embeddings", "/ranking/v1/ranking",
		"/ranking/v1/retrieval/nvidia/a-b.c_2/reranking", "/chat/v1/chat/completions", "/v1/responses", "/v2/rerank",
		"/chat/experimental/ls/inference/chat_completion", "/ranking/rerank", "/chat/alpha/inference/chat-completion",
		"/v1/messages",
	} {
		if got := read(change("/latent/generate", path))[0]; got != "" {
			t.Errorf("path %s: %q", path, got)
		}
	}
	if got := read(valid + "\n" + valid + " 3"); len(got) != 3 || got[0]+got[1] != "" || got[2] == "" {
		t.Errorf("three documents: %q", got)
	}
}

func change(old, new string) string { return strings.Replace(valid, old, new, 1) }

func FuzzReadDocuments(f *testing.F) {
	f.Add(valid)
	f.Add(`{"a":[1,{"id":2}],"manifest":` + valid + `}`)
	f.Fuzz(func(t *testing.T, file string) {
		for document, err := range provenance.ReadDocuments(strings.NewReader(file)) {
			if err == nil && !strings.HasPrefix(document.Manifest.Path, "/") {
				t.Errorf("path %q", document.Manifest.Path)
			}
		}
	})
}

func TestDifferences(t *testing.T) {
	recorded := provenance.Manifest{
		Models:   []provenance.Model{{ID: "a", Entry: "one", Version: "1", SHA256: "11"}, {ID: "b", Entry: "two"}},
		Software: map[string]string{"retort": "1", "rdkit": "x"},
	}
	now := provenance.Manifest{
		Models:   []provenance.Model{{ID: "a", Entry: "one", Version: "2", SHA256: "22"}, {ID: "c", Entry: "three"}},
		Software: map[string]string{"retort": "2", "rdkit": "x", "triton": "3"},
	}
	if found := provenance.Differences(recorded, recorded); found != nil {
		t.Errorf("equal ones: %q", found)
	}
	const want = "version of model one: recorded 1, now 2\nSHA-256 of model one: recorded 11, now 22\n" +
		"model three: recorded none, now c\nmodel two: recorded b, now none\n" +
		"version of retort: recorded 1, now 2\nversion of triton: recorded none, now 3"
	if found := strings.Join(provenance.Differences(recorded, now), "\n"); found != want {
		t.Errorf("got\n%s\nwant\n%s", found, want)
	}
}

func TestFirstDifference(t *testing.T) {
	for _, c := range [][3]string{
		{`{"id":1,"a":[1,2]}`, `{"a":[1,2],"id":2}`, ""},
		{`{"b":0,"a":[1,{"x":2}]}`, `{"b":1,"a":[1,{"x":3}]}`, "/a/1/x"},
		{`{"a":[1]}`, `{"a":[1,2]}`, "/a"},
		{`{"a":1}`, `{"a":"1"}`, "/a"},
		{``, `{}`, ""},
	} {
		if place, _ := provenance.FirstDifference([]byte(c[0]), []byte(c[1])); place != c[2] {
			t.Errorf("%s, %s: %q, want %q", c[0], c[1], place, c[2])
		}
	}
}

type number int

// UnmarshalJSON also decodes texts.
func (n *number) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*int)(n)) }

type never bool

// UnmarshalJSON decodes nothing that the value is encoded to.
func (*never) UnmarshalJSON([]byte) error { return provenance.ErrNoObject }

type embedded struct {
	Count number `json:"count"`
	Seed  *int64 `json:"seed"`
}

type request struct {
	_ struct{}
	embedded
	Text     string   `json:"text"`
	Chosen   string   `json:"chosen"`
	Flag     *bool    `json:"flag"`
	List     []string `json:"list"`
	Marker   never    `json:"marker"`
	Manifest bool     `json:"manifest"`
	lenient  bool
}

// The effective request has the members of the body as they are, and the defaults of the others.
func TestComplete(t *testing.T) {
	flag := true
	r := request{embedded: embedded{Count: 3}, Text: "t", Flag: &flag, List: []string{"a"}, Manifest: true, lenient: true}
	if !provenance.IsWanted(&r) || provenance.IsWanted(&embedded{}) {
		t.Error("IsWanted")
	}
	text, err := provenance.Complete([]byte(`{"count":"7","list":["b"],"text":null,"seed":null,"other":1e0}`), &r)
	if err != nil || r.Seed == nil {
		t.Fatalf("%s, %v", text, err)
	}
	want, _ := json.Marshal(map[string]any{"seed": *r.Seed})
	const rest = `,"text":"t"}`
	if got := string(text); got != `{"count":"7","flag":true,"list":["b"],"other":1e0,`+string(want[1:len(want)-1])+rest {
		t.Errorf("got %s", got)
	}
	given := int64(5)
	r.Seed = &given
	if text, err = provenance.Complete([]byte(`{"seed":5,"manifest":true}`), &r); err != nil ||
		string(text) != `{"count":3,"flag":true,"seed":5,"text":"t"}` {
		t.Errorf("got %s, %v", text, err)
	}
	if _, err := provenance.Complete([]byte(`[]`), &r); err == nil {
		t.Error("an array is no request")
	}
}
