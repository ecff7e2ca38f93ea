package template

// section is of[start:stop:step]; nil is a bound left out.
func section(line int, of, start, stop, step any) any {
	defined(line, of, start, stop, step)
	var items []any
	switch v := of.(type) {
	case string, []any, Tuple:
		items = list(line, v)
	default:
		return Undefined{"'" + typeName(of) + "' object is not subscriptable"}
	}
	by := 1
	if step != nil {
		by, _, _, _ = numeric(step)
	}
	if by == 0 {
		fail(line, "slice step cannot be zero")
	}
	picked := pick(items, start, stop, by)
	switch of.(type) {
	case string:
		text := ""
		for _, r := range picked {
			text += r.(string)
		}
		return text
	case Tuple:
		return Tuple(picked)
	}
	return picked
}

func pick(items []any, start, stop any, by int) []any {
	n := len(items)
	// Bounds that lie outside are moved to low and high; those left out are first and last.
	low := 0
	high := n
	first := 0
	last := n
	if by < 0 {
		low = -1
		high = n - 1
		first = n - 1
		last = -1
	}
	bound := func(v any, otherwise int) int {
		at, _, _, ok := numeric(v)
		if !ok {
			return otherwise
		}
		if at < 0 {
			at += n
		}
		return min(max(at, low), high)
	}
	picked := []any{}
	end := bound(stop, last)
	for i := bound(start, first); by > 0 && i < end || by < 0 && i > end; i += by {
		picked = append(picked, items[i])
	}
	return picked
}
