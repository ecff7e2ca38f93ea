package tokenizers

import "slices"

// trie is a double-array trie over bytes (Aoe 1989, "An efficient digital search algorithm by using a double-array
// structure"): from node s the byte c leads to t = base[s]+c, if check[t] == s. Node 0 is the root. A walk needs no
// bounds checks beyond the slice's own, because the arrays end 256 units after the last base.
type trie struct {
	units []unit
}

type unit struct {
	base, check int32
	value       int32 // the id of the key that ends here, or noToken
}

// key is a string of the trie and its id.
type key struct {
	text string
	id   int32
}

// newTrie builds a trie. Keys must differ and not be empty.
func newTrie(keys []key) *trie {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b key) int {
		if a.text < b.text {
			return -1
		}
		return 1
	})
	b := &trieBuilder{}
	b.grow(512)
	b.units[0] = unit{value: noToken, check: noNode}
	b.taken[0] = true
	b.free = 1
	b.fill(0, keys, 0)
	return &trie{units: slices.Clip(b.units[:b.last+257])}
}

// step follows one byte; ok is false where no key goes on so.
func (t *trie) step(s int32, c byte) (int32, bool) {
	next := t.units[s].base + int32(c)
	return next, t.units[next].check == s
}

// find walks a whole string from a node.
func (t *trie) find(s int32, text string) (node int32, ok bool) {
	for i := range len(text) {
		if s, ok = t.step(s, text[i]); !ok {
			return 0, false
		}
	}
	return s, true
}

// longest finds the longest key at the start of b, beginning at node s: its id and length, or noToken.
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

const noNode = -1

type trieBuilder struct {
	units []unit
	taken []bool
	free  int32 // no unit before this one is free
	last  int32 // the largest base given out
}

func (b *trieBuilder) grow(n int) {
	for len(b.units) < n {
		b.units = append(b.units, unit{check: noNode, value: noToken})
		b.taken = append(b.taken, false)
	}
}

// fill places the children of a node. All keys share their first depth bytes.
func (b *trieBuilder) fill(node int32, keys []key, depth int) {
	if len(keys[0].text) == depth {
		b.units[node].value = keys[0].id
		keys = keys[1:]
	}
	if len(keys) == 0 {
		return
	}
	var labels []byte
	for i, k := range keys {
		if i == 0 || k.text[depth] != keys[i-1].text[depth] {
			labels = append(labels, k.text[depth])
		}
	}
	base := b.place(labels)
	b.units[node].base = base
	b.last = max(b.last, base)
	for _, c := range labels {
		b.taken[base+int32(c)] = true
		b.units[base+int32(c)].check = node
	}
	for len(keys) > 0 {
		c, n := keys[0].text[depth], 1
		for n < len(keys) && keys[n].text[depth] == c {
			n++
		}
		b.fill(base+int32(c), keys[:n], depth+1)
		keys = keys[n:]
	}
}

// place finds a base whose units for all labels are free. It looks at a bounded number of gaps, so that building stays
// linear; what it leaves empty costs little.
func (b *trieBuilder) place(labels []byte) int32 {
	for b.taken[b.free] {
		b.free++
		b.grow(int(b.free) + 512)
	}
	at := b.free
	for tries := 0; ; at++ {
		b.grow(int(at) + 512)
		if b.taken[at] || at < int32(labels[0]) {
			continue
		}
		base := at - int32(labels[0])
		if b.fits(base, labels[1:]) {
			break
		}
		if tries++; tries == 256 {
			at = int32(len(b.units)) - 512
		}
	}
	return at - int32(labels[0])
}

func (b *trieBuilder) fits(base int32, labels []byte) bool {
	for _, c := range labels {
		if b.taken[base+int32(c)] {
			return false
		}
	}
	return true
}
