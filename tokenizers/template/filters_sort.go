package template

import (
	"slices"
	"strings"
)

// sortKey is what sort, unique and groupby compare: text without its case.
func sortKey(c *Call, v, by any, caseSensitive bool) any {
	if by != nil {
		v = path(c.Line, v, by)
	}
	if s, ok := v.(string); ok && !caseSensitive {
		return strings.ToLower(s)
	}
	return v
}

func sorted(c *Call, items []any, by any, caseSensitive, reverse bool) []any {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b any) int {
		n := order(c.Line, "<", sortKey(c, a, by, caseSensitive), sortKey(c, b, by, caseSensitive))
		if reverse {
			return -n
		}
		return n
	})
	return items
}

func filterSort(c *Call, v any) any {
	return sorted(c, list(c.Line, v), c.argument(2, "attribute", nil), truth(c.argument(1, "case_sensitive", false)), truth(c.argument(0, "reverse", false)))
}

func filterDictSort(c *Call, v any) any {
	d, ok := v.(*Dict)
	if !ok {
		fail(c.Line, "dictsort needs a dict, not %s", typeName(v))
	}
	by := 0
	if c.argument(1, "by", "key") == "value" {
		by = 1
	}
	return sorted(c, d.items(), by, truth(c.argument(0, "case_sensitive", false)), truth(c.argument(2, "reverse", false)))
}

func filterGroupBy(c *Call, v any) any {
	by := c.argument(0, "attribute", nil)
	groups := []any{}
	for _, item := range sorted(c, list(c.Line, v), by, false, false) {
		key := path(c.Line, item, by)
		if n := len(groups); n > 0 && equal(groups[n-1].(Tuple)[0], key) {
			group := groups[n-1].(Tuple)
			group[1] = append(group[1].([]any), item)
			continue
		}
		groups = append(groups, Tuple{key, []any{item}})
	}
	return groups
}

func filterUnique(c *Call, v any) any {
	out := []any{}
	keys := []any{}
	for _, item := range list(c.Line, v) {
		key := sortKey(c, item, c.argument(1, "attribute", nil), truth(c.argument(0, "case_sensitive", false)))
		if !slices.ContainsFunc(keys, func(k any) bool { return equal(k, key) }) {
			out = append(out, item)
			keys = append(keys, key)
		}
	}
	return out
}

func extreme(c *Call, v any, sign int) any {
	by := c.argument(1, "attribute", nil)
	sensitive := truth(c.argument(0, "case_sensitive", false))
	var best any = Undefined{"No aggregated item, sequence was empty."}
	for i, item := range list(c.Line, v) {
		if i == 0 || sign*order(c.Line, "<", sortKey(c, item, by, sensitive), sortKey(c, best, by, sensitive)) > 0 {
			best = item
		}
	}
	return best
}
