package modelimport

import "testing"

// starts are the distances at which MPNetEncoder.relative_position_bucket of transformers begins a new bucket.
func TestRelativeBucket(t *testing.T) {
	starts := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}
	want := 0
	for distance := range 2000 {
		if want+1 < len(starts) && distance == starts[want+1] {
			want++
		}
		after := want + 16
		if distance == 0 {
			after = 0
		}
		if got := relativeBucket(-distance); got != want {
			t.Errorf("a key %d tokens before the query has bucket %d, want %d", distance, got, want)
		}
		if got := relativeBucket(distance); got != after {
			t.Errorf("a key %d tokens after the query has bucket %d, want %d", distance, got, after)
		}
	}
}
