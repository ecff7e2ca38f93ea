package tokenizers

import "math"

// symbol is a token of a word that may still be merged, with the indices of its neighbours.
type symbol struct {
	id         int32 // noToken after it was merged into its left neighbour
	prev, next int32
}

// merging is the working memory of bpe.
type merging struct {
	symbols    []symbol
	queue      []queuedMerge
	cache      map[string][]int32 // token ids by word
	cacheBytes int
}

func (w *merging) add(id int32) {
	i := int32(len(w.symbols))
	w.symbols = append(w.symbols, symbol{id: id, prev: i - 1, next: i + 1})
}

// maxScanned is the number of symbols up to which a scan for each merge is faster than a queue.
const maxScanned = 24

func (m *bpe) merge(w *merging) {
	if len(w.symbols) > maxScanned {
		m.mergeQueued(w)
		return
	}
	for {
		best := merge{rank: math.MaxInt32}
		at := int32(-1)
		for i := int32(0); int(i) < len(w.symbols); i = w.symbols[i].next {
			if found, ok := m.mergeAt(w, i); ok && found.rank < best.rank {
				best = found
				at = i
			}
		}
		if at < 0 {
			return
		}
		w.join(at, best.id)
	}
}

// mergeAt returns the merge of symbol i with the next one, if there is one.
func (m *bpe) mergeAt(w *merging, i int32) (found merge, ok bool) {
	next := w.symbols[i].next
	if int(next) < len(w.symbols) {
		found, ok = m.merges[[2]int32{w.symbols[i].id, w.symbols[next].id}]
	}
	return found, ok
}

// join merges symbol i with the next one.
func (w *merging) join(i, id int32) {
	left := &w.symbols[i]
	right := &w.symbols[left.next]
	left.id = id
	left.next = right.next
	right.id = noToken
	if int(left.next) < len(w.symbols) {
		w.symbols[left.next].prev = i
	}
}

// queuedMerge is a merge in the queue. It is stale if the symbols at its position have changed.
type queuedMerge struct {
	merge
	at int32
}

func (a queuedMerge) before(b queuedMerge) bool {
	return a.rank < b.rank || a.rank == b.rank && a.at < b.at
}

func (m *bpe) mergeQueued(w *merging) {
	w.queue = w.queue[:0]
	for i := range len(w.symbols) - 1 {
		m.enqueue(w, int32(i))
	}
	for len(w.queue) > 0 {
		top := w.pop()
		if now, ok := m.mergeAt(w, top.at); !ok || now.id != top.id {
			continue
		}
		w.join(top.at, top.id)
		if before := w.symbols[top.at].prev; before >= 0 {
			m.enqueue(w, before)
		}
		m.enqueue(w, top.at)
	}
}

// enqueue adds the merge of symbol i with the next one, if there is one.
func (m *bpe) enqueue(w *merging, i int32) {
	if found, ok := m.mergeAt(w, i); ok {
		w.push(queuedMerge{found, i})
	}
}

// push adds to the queue, a binary heap. container/heap would allocate for every element.
func (w *merging) push(x queuedMerge) {
	w.queue = append(w.queue, x)
	for i := len(w.queue) - 1; i > 0; {
		parent := (i - 1) / 2
		if !w.queue[i].before(w.queue[parent]) {
			break
		}
		w.queue[i], w.queue[parent] = w.queue[parent], w.queue[i]
		i = parent
	}
}

func (w *merging) pop() queuedMerge {
	top := w.queue[0]
	last := len(w.queue) - 1
	w.queue[0] = w.queue[last]
	w.queue = w.queue[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && w.queue[child+1].before(w.queue[child]) {
			child++
		}
		if !w.queue[child].before(w.queue[i]) {
			return top
		}
		w.queue[i], w.queue[child] = w.queue[child], w.queue[i]
		i = child
	}
}
