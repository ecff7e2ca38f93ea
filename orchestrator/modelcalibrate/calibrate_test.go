package modelcalibrate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"retort/orchestrator/calibration"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPairs(t *testing.T) {
	pairs, err := ReadPairs(write(t, "\ufeff"+`{"query":"q","passage":"p\tq","relevant":1,"collection":"c"}
{"relevant": false, "passage": "p", "query": "q"}

q	p	0`+"\r\n"+`q	two words	true	c`))
	want := []Pair{{"q", "p\tq", true, "c"}, {"q", "p", false, ""}, {"q", "p", false, ""}, {"q", "two words", true, "c"}}
	if diff := cmp.Diff(want, pairs); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for text, want := range map[string]string{
		"":                "has no pairs",
		"\n \n":           "has no pairs",
		"q\tp\t1\nq\tp":   "file, line 2: has 2 columns",
		"q\tp\t1\tc\td":   "file, line 1: has 5 columns",
		"q\tp\t2":         "file, line 1: relevant: must be 0 or 1, not 2",
		"q\t \t1":         "file, line 1: passage: is empty",
		"\tp\t1":          "file, line 1: query: is empty",
		`{"query":"q"}`:   "file, line 1: passage: is missing",
		`{"passage":"q"}`: "file, line 1: query: is missing",
		"q\tp\t1\n" + `{"query":"q","passage":"p"}`:               "file, line 2: relevant: is missing",
		`{"query":"q","passage":"p","relevant":0.5}`:              "file, line 1: relevant: must be 0 or 1, not 0.5",
		`{"query":"q","passage":"p","relevant":null}`:             "file, line 1: relevant: must be 0 or 1, not null",
		`{"query":"q","passage":7,"relevant":1}`:                  "file, line 1: passage: must be a text, not a number",
		`{"query":"q","passage":"p","relevant":1,"collecton":""}`: `file, line 1: unknown field "collecton"`,
		`{"query":"q","passage":"p","relevant":1} {}`:             "file, line 1: has more than one JSON object",
		`{"query":"q"`: "file, line 1: unexpected EOF",
		"q\tp\xff\t1":  "file, line 1: is not UTF-8",
		"q\tp\t1\n" + strings.Repeat("x", maxLine+1): "file, line 2: is longer than 1048576 bytes",
	} {
		if pairs, err := ReadPairs(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, %v", text, pairs, err)
		}
	}
	var many strings.Builder
	for i := range maxCollections + 1 {
		fmt.Fprintf(&many, "q\tp\t1\t%d\n", i)
	}
	_, err = ReadPairs(write(t, many.String()))
	if err == nil || !strings.Contains(err.Error(), "line 101: collection: a file has at most 100 different ones") {
		t.Error(err)
	}
	if _, err := ReadPairs(t.TempDir()); err == nil {
		t.Error("a folder is a file of pairs")
	}
}

func TestTexts(t *testing.T) {
	texts, err := ReadTexts(write(t, "one\n\ntwo words\none\n"))
	if diff := cmp.Diff([]string{"one", "two words"}, texts); err != nil || diff != "" {
		t.Error(err, diff)
	}
	var many strings.Builder
	for i := range maxTexts + 1 {
		fmt.Fprintln(&many, i)
	}
	_, err = ReadTexts(write(t, many.String()))
	if err == nil || !strings.Contains(err.Error(), "line 4001: the percentiles are computed from at most 4000 different texts") {
		t.Error(err)
	}
}

// drawn are pairs whose logits have a known calibration, which is moved by shift.
func drawn(chance *rand.Rand, count int, collection string, shift float64) (pairs []Pair, judged []calibration.Pair) {
	for i := range count {
		logit := float32(16 * (chance.Float64() - 0.5))
		relevant := chance.Float64() < calibration.Beta{Low: 0.5, High: 0.5, Offset: -1 + shift}.Score(logit)
		pair := Pair{Query: fmt.Sprint(collection, i/10), Passage: "p", Relevant: relevant, Collection: collection}
		pairs = append(pairs, pair)
		judged = append(judged, calibration.Pair{Logit: logit, Relevant: relevant})
	}
	return pairs, judged
}

// The errors after the calibration are those of pairs that the fit has not seen.
func TestErrorsAreHeldOut(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	pairs, judged := drawn(chance, 3000, "", 0)
	r, err := fit(pairs, judged, calibration.Identity)
	if err != nil || r.Folds != folds || len(r.Rows) != 0 || r.All.Pairs != 3000 {
		t.Fatal(r, err)
	}
	if math.Abs(r.After.Low-0.5) > 0.1 || math.Abs(r.After.High-0.5) > 0.1 || math.Abs(r.After.Offset+1) > 0.2 ||
		r.All.After > 0.04 || r.All.Before < 0.1 {
		t.Errorf("%+v", r)
	}
	// A collection of other pairs keeps its error, since the fit that scores it has not seen it.
	others, more := drawn(chance, 3000, "shifted", 4)
	for i := range pairs {
		pairs[i].Collection = "usual"
	}
	r, err = fit(append(pairs, others...), append(judged, more...), calibration.Identity)
	if err != nil || r.Folds != 0 || len(r.Rows) != 2 || r.Rows[1].Name != "shifted" || r.All.Pairs != 6000 {
		t.Fatal(r, err)
	}
	if r.Rows[0].After < 0.2 || r.Rows[1].After < 0.2 {
		t.Errorf("%+v", r.Rows)
	}
}

func TestTooFewPairs(t *testing.T) {
	for want, relevant := range map[string][]bool{
		"needs relevant pairs and others": {true, true},
		"more pairs are needed":           {true, false},
	} {
		var pairs []Pair
		var judged []calibration.Pair
		for i, is := range relevant {
			pairs = append(pairs, Pair{Query: fmt.Sprint(i), Passage: "p", Relevant: is})
			judged = append(judged, calibration.Pair{Logit: float32(-i), Relevant: is})
		}
		if r, err := fit(pairs, judged, calibration.Identity); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, %v", relevant, r, err)
		}
	}
	one := []Pair{{Query: "q", Passage: "p", Relevant: true}, {Query: "q", Passage: "r"}}
	if _, err := fit(one, []calibration.Pair{{Logit: 1, Relevant: true}, {}}, calibration.Identity); err == nil {
		t.Error("a single query is cross-validated")
	}
}
