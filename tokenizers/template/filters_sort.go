package template

import (
	"slices"
	"strings"
)

// sortKey is what sort, unique and groupby compare: text without its case.
func sortKey(e eval, v, by any, caseSensitive bool) any {
	if by != nil {
		v = path(e, v, by)
	}
	if s, ok := v.(string); ok && !caseSensitive {
		e.chargeText(len(s))
		return strings.ToLower(s)
	}
	return v
}

// keyed is an item with what it is compared by.
type keyed struct{ key, item any }

func withKeys(e eval, items []any, by any, caseSensitive bool) []keyed {
	e.charge(len(items))
	with := make([]keyed, len(items))
	for i, item := range items {
		with[i] = keyed{sortKey(e, item, by, caseSensitive), item}
	}
	return with
}

func sorted(e eval, items []any, by any, caseSensitive, reverse bool) []keyed {
	with := withKeys(e, items, by, caseSensitive)
	slices.SortStableFunc(with, func(a, b keyed) int {
		n := order(e, "<", a.key, b.key)
		if reverse {
			return -n
		}
		return n
	})
	return with
}

func itemsOf(with []keyed) []any {
	items := make([]any, len(with))
	for i, k := range with {
		items[i] = k.item
	}
	return items
}

func filterSort(c *Call, v any) any {
	caseSensitive := truth(c.argument(1, "case_sensitive", false))
	return itemsOf(sorted(c.eval, list(c.eval, v), c.argument(2, "attribute", nil), caseSensitive, truth(c.argument(0, "reverse", false))))
}

func filterDictSort(c *Call, v any) any {
	d, ok := v.(*Dict)
	if !ok {
		c.fail("dictsort needs a dict, not %s", typeName(v))
	}
	by := 0
	if c.argument(1, "by", "key") == "value" {
		by = 1
	}
	return itemsOf(sorted(c.eval, d.items(c.eval), by, truth(c.argument(0, "case_sensitive", false)), truth(c.argument(2, "reverse", false))))
}

func filterGroupBy(c *Call, v any) any {
	by := c.argument(0, "attribute", nil)
	groups := []any{}
	var members []any
	var last any // the key of members
	flush := func() {
		if len(members) > 0 {
			groups = append(groups, Tuple{path(c.eval, members[0], by), members})
		}
		members = nil
	}
	for _, k := range sorted(c.eval, list(c.eval, v), by, truth(c.argument(2, "case_sensitive", false)), false) {
		if len(members) > 0 && !equal(c.eval, last, k.key) {
			flush()
		}
		last = k.key
		members = append(members, k.item)
	}
	flush()
	return groups
}

func filterUnique(c *Call, v any) any {
	out := []any{}
	seen := map[any]bool{}
	caseSensitive := truth(c.argument(0, "case_sensitive", false))
	for _, k := range withKeys(c.eval, list(c.eval, v), c.argument(1, "attribute", nil), caseSensitive) {
		hashed := hashable(c.eval, k.key)
		if !seen[hashed] {
			seen[hashed] = true
			out = append(out, k.item)
		}
	}
	return out
}

func extreme(c *Call, v any, sign int) any {
	with := withKeys(c.eval, list(c.eval, v), c.argument(1, "attribute", nil), truth(c.argument(0, "case_sensitive", false)))
	if len(with) == 0 {
		return Undefined{"No aggregated item, sequence was empty."}
	}
	best := with[0]
	for _, k := range with[1:] {
		if sign*order(c.eval, "<", k.key, best.key) > 0 {
			best = k
		}
	}
	return best.item
}
