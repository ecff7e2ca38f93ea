package calibration_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/calibration"
)

// scripts/golden/calibration.py writes the expected values.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name          string
		Logits        []float32
		Relevant      []int
		Slope, Offset float64
		EqualMass     float64 `json:"equal_mass"`
		EqualWidth    float64 `json:"equal_width"`
		Percentiles   []float64
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 4 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		var pairs []calibration.Pair
		var scores []calibration.Scored
		var logits []float64
		for i, logit := range c.Logits {
			relevant := c.Relevant[i] == 1
			pairs = append(pairs, calibration.Pair{Logit: logit, Relevant: relevant})
			scores = append(scores, calibration.Scored{Score: calibration.Identity.Score(logit), Relevant: relevant})
			logits = append(logits, float64(logit))
		}
		fit, err := calibration.Fit(pairs)
		if err != nil || math.Abs(fit.Slope/c.Slope-1) > 1e-4 || math.Abs(fit.Offset-c.Offset) > 1e-4*(1+math.Abs(c.Offset)) {
			t.Errorf("%s: %+v, %v, want %v and %v", c.Name, fit, err, c.Slope, c.Offset)
		}
		if got := calibration.EqualMass(scores); math.Abs(got-c.EqualMass) > 1e-5 {
			t.Errorf("%s: equal mass %v, want %v", c.Name, got, c.EqualMass)
		}
		if got := calibration.EqualWidth(scores); math.Abs(got-c.EqualWidth) > 1e-5 {
			t.Errorf("%s: equal width %v, want %v", c.Name, got, c.EqualWidth)
		}
		found := calibration.PercentilesOf(logits)
		for i, level := range []string{"50", "90", "99", "99.9"} {
			if math.Abs(found[level]-c.Percentiles[i]) > 1e-4 {
				t.Errorf("%s: percentile %s is %v, want %v", c.Name, level, found[level], c.Percentiles[i])
			}
		}
	}
}

// Whatever the calibration, a higher logit has no lower score.
func TestScoresRiseWithLogits(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		l := calibration.Logistic{Slope: math.Exp(12 * (chance.Float64() - 0.5)), Offset: 40 * (chance.Float64() - 0.5)}
		logits := make([]float32, 100)
		for i := range logits {
			logits[i] = float32(200 * (chance.Float64() - 0.5))
		}
		slices.Sort(logits)
		last := 0.0
		for _, logit := range logits {
			score := l.Score(logit)
			if !(score >= last && score <= 1) {
				t.Fatalf("%+v: logit %v has score %v, a lower logit %v", l, logit, score, last)
			}
			last = score
		}
	}
}

func TestFitRefusals(t *testing.T) {
	for want, pairs := range map[string][]calibration.Pair{
		"relevant pairs and others": {{Logit: 1, Relevant: true}, {Logit: 2, Relevant: true}},
		"not higher":                {{Logit: 1, Relevant: true}, {Logit: 2}, {Logit: 1, Relevant: true}, {Logit: 3}, {Logit: 2}},
	} {
		if fit, err := calibration.Fit(pairs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %+v, %v", pairs, fit, err)
		}
	}
	if _, err := calibration.Fit([]calibration.Pair{{Logit: 3, Relevant: true}, {Logit: 3}}); err == nil {
		t.Error("equal logits have a fit")
	}
}

func TestPercentilesAreParsed(t *testing.T) {
	const text = "50=-0.02 90=0.117 99=0.24 99.9=0.35"
	p, err := calibration.ParsePercentiles(text)
	if err != nil || p.String() != text || p["99"] != 0.24 {
		t.Errorf("%v %v", p, err)
	}
	if p, err := calibration.ParsePercentiles(""); err != nil || len(p) != 0 {
		t.Errorf("%v %v", p, err)
	}
	for _, text := range []string{"50", "50=", "50=2", "51=0.1", "50=NaN", "90=0.3 50=0.1", "50=0.3 90=0.2", "50=0.1 50=0.1", "0.1"} {
		if p, err := calibration.ParsePercentiles(text); err == nil {
			t.Errorf("%q: %v", text, p)
		}
	}
}
