package masked

import "testing"

// A request caches at most maxEnds fragments: in remasking, hardly two rows have the same.
func TestFewFragmentsAreCached(t *testing.T) {
	d := &drafter{}
	for number := range 2 * maxEnds {
		fragments := "[*]C"
		for rest := number; rest > 0; rest /= 4 {
			fragments += "CNOS"[rest%4 : rest%4+1]
		}
		first, err := d.endsOf(fragments)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.endsOf(fragments); err != nil || len(again) != len(first) {
			t.Errorf("%s: %d ends, then %d (%v)", fragments, len(first), len(again), err)
		}
	}
	count := 0
	d.ends.Range(func(any, any) bool { count++; return true })
	if count != maxEnds {
		t.Errorf("%d fragments are cached, the bound is %d", count, maxEnds)
	}
}
