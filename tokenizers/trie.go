package tokenizers

import (
	"maps"
	"slices"
)

// trie is a double-array trie over bytes (Aoe 1989, "An efficient digital search algorithm by using a double-array
// structure"): from node s the byte c leads to t = base[s]+c, if check[t] == s. Node 0 is the root. There are 256 units
// after the last base, so base[s]+c is always in range.
type trie struct {
	units []unit
}

type unit struct {
	base, check int32
	value       int32 // id of the key that ends here, or noToken
}

// newTrie builds a trie of texts, except the empty one, with their ids.
func newTrie(ids map[string]int32) *trie {
	keys := slices.Sorted(maps.Keys(ids))
	if len(keys) > 0 && keys[0] == "" {
		keys = keys[1:]
	}
	b := &trieBuilder{ids: ids}
	b.grow(512)
	b.take(0, noNode)
	if len(keys) > 0 {
		b.fill(0, keys, 0)
	}
	return &trie{units: slices.Clip(b.units[:b.last+257])}
}

// find walks a whole text from the root. It returns noNode if no key starts with it.
func (t *trie) find(text string) (node int32) {
	for i := range len(text) {
		next := t.units[node].base + int32(text[i])
		if t.units[next].check != node {
			return noNode
		}
		node = next
	}
	return node
}

// longest finds the longest key that is a prefix of b, starting at node s: its id and length, or noToken.
func (t *trie) longest(s int32, b []byte) (id int32, length int) {
	id = noToken
	units := t.units
	for i, c := range b {
		next := units[s].base + int32(c)
		if units[next].check != s {
			break
		}
		s = next
		if v := units[s].value; v >= 0 {
			id, length = v, i+1
		}
	}
	return id, length
}

// trieBuilder links the free units in a list in ascending order. Unit 0, the root, is its head.
type trieBuilder struct {
	ids        map[string]int32
	units      []unit
	next, prev []int32
	last       int32 // largest base
}

func (b *trieBuilder) grow(n int) {
	for i := int32(len(b.units)); int(i) < n; i++ {
		b.units = append(b.units, unit{check: free, value: noToken})
		b.next = append(b.next, i+1)
		b.prev = append(b.prev, i-1)
	}
}

const (
	noNode = -1
	free   = -2
)

// take makes a free unit a child of parent.
func (b *trieBuilder) take(i, parent int32) {
	b.units[i].check = parent
	if i > 0 {
		b.next[b.prev[i]] = b.next[i]
		b.prev[b.next[i]] = b.prev[i]
	}
}

// fill places the children of a node. All keys share their first depth bytes.
func (b *trieBuilder) fill(node int32, keys []string, depth int) {
	if len(keys[0]) == depth {
		b.units[node].value = b.ids[keys[0]]
		keys = keys[1:]
	}
	if len(keys) == 0 {
		return
	}
	var labels []byte
	for i, k := range keys {
		if i == 0 || k[depth] != keys[i-1][depth] {
			labels = append(labels, k[depth])
		}
	}
	base := b.place(labels)
	b.units[node].base = base
	b.last = max(b.last, base)
	for _, c := range labels {
		b.take(base+int32(c), node)
	}
	for len(keys) > 0 {
		c := keys[0][depth]
		n := 1
		for n < len(keys) && keys[n][depth] == c {
			n++
		}
		b.fill(base+int32(c), keys[:n], depth+1)
		keys = keys[n:]
	}
}

// place finds a base for which the units of all labels are free. It tries a bounded number of gaps before it appends,
// so building is linear; the gaps cost little memory.
func (b *trieBuilder) place(labels []byte) int32 {
	first := int32(labels[0])
	at := b.next[0]
	for tries := 0; ; tries++ {
		if tries == 64 {
			at = b.prev[len(b.prev)-1]
		}
		b.grow(int(at) + 513)
		if at >= first && b.fits(at-first, labels[1:]) {
			return at - first
		}
		at = b.next[at]
	}
}

func (b *trieBuilder) fits(base int32, labels []byte) bool {
	for _, c := range labels {
		if b.units[base+int32(c)].check != free {
			return false
		}
	}
	return true
}
