package triton

import (
	"maps"
	"slices"
	"strings"
)

// correction returns the requested parameter of which an unknown one is probably a misspelling, or "". Names are
// similar if they differ in at most two letters, or one if either has fewer than six. Case and the choice of "-", "."
// or "_" do not count. Any unknown name with the prefix "retort_" is a misspelling of retort_api.
func (r *EntryReader) correction(name string) string {
	if r.requested[name] {
		return ""
	}
	normal := normalName(name)
	best := ""
	bestDistance := 3
	for _, candidate := range slices.Sorted(maps.Keys(r.requested)) {
		other := normalName(candidate)
		if n := distance(normal, other); n < bestDistance && (n < 2 || min(len(normal), len(other)) >= 6) {
			best = candidate
			bestDistance = n
		}
	}
	if best == "" && strings.HasPrefix(normal, "retort_") {
		return parameterAPI
	}
	return best
}

func normalName(name string) string {
	return strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToLower(name))
}

// distance returns the optimal string alignment distance of two texts: the number of insertions, deletions,
// replacements and transpositions of neighbours.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
