package template

import (
	"slices"
	"strings"
)

// sortKey returns the value that sort, unique and groupby compare; strings in lower case unless caseSensitive.
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

// keyedItem is an item with its sortKey.
type keyedItem struct{ key, item any }

func addKeys(e eval, items []any, by any, caseSensitive bool) []keyedItem {
	e.charge(len(items))
	pairs := make([]keyedItem, len(items))
	for i, item := range items {
		pairs[i] = keyedItem{sortKey(e, item, by, caseSensitive), item}
	}
	return pairs
}

func sortItems(e eval, items []any, by any, caseSensitive, reverse bool) []keyedItem {
	pairs := addKeys(e, items, by, caseSensitive)
	slices.SortStableFunc(pairs, func(a, b keyedItem) int {
		n := order(e, "<", a.key, b.key)
		if reverse {
			return -n
		}
		return n
	})
	return pairs
}

func itemsOf(pairs []keyedItem) []any {
	items := make([]any, len(pairs))
	for i, k := range pairs {
		items[i] = k.item
	}
	return items
}

func filterSort(c *Call, v any) any {
	caseSensitive := truth(c.argument(1, "case_sensitive", false))
	return itemsOf(sortItems(c.eval, list(c.eval, v), c.argument(2, "attribute", nil), caseSensitive, truth(c.argument(0, "reverse", false))))
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
	caseSensitive := truth(c.argument(0, "case_sensitive", false))
	return itemsOf(sortItems(c.eval, d.items(c.eval), by, caseSensitive, truth(c.argument(2, "reverse", false))))
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
	for _, k := range sortItems(c.eval, list(c.eval, v), by, truth(c.argument(2, "case_sensitive", false)), false) {
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
	for _, k := range addKeys(c.eval, list(c.eval, v), c.argument(1, "attribute", nil), caseSensitive) {
		hashed := hashKey(c.eval, k.key)
		if !seen[hashed] {
			seen[hashed] = true
			out = append(out, k.item)
		}
	}
	return out
}

func extreme(c *Call, v any, sign int) any {
	pairs := addKeys(c.eval, list(c.eval, v), c.argument(1, "attribute", nil), truth(c.argument(0, "case_sensitive", false)))
	if len(pairs) == 0 {
		return Undefined{"No aggregated item, sequence was empty."}
	}
	best := pairs[0]
	for _, k := range pairs[1:] {
		if sign*order(c.eval, "<", k.key, best.key) > 0 {
			best = k
		}
	}
	return best.item
}
