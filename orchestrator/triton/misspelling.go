package triton

import (
	"maps"
	"slices"
	"strings"
)

// meant returns the parameter that an unknown one seems to mean, or "" for a known one and for one that resembles none.
// Names resemble each other when they differ in at most two letters (one, where they are shorter than six); case and
// the choice of "-", "." or "_" do not count. Whatever begins with "retort_" is ours.
func (r *EntryReader) meant(name string) string {
	if r.asked[name] {
		return ""
	}
	plain := plainName(name)
	best, least := "", 3
	for _, known := range slices.Sorted(maps.Keys(r.asked)) {
		other := plainName(known)
		if n := distance(plain, other); n < least && (n < 2 || min(len(plain), len(other)) >= 6) {
			best, least = known, n
		}
	}
	if best == "" && strings.HasPrefix(plain, "retort_") {
		return parameterAPI
	}
	return best
}

func plainName(name string) string {
	return strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToLower(name))
}

// distance counts the letters to insert, delete or replace, and the pairs of neighbours to exchange, that make one text
// of the other.
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
