package template

// globals are the functions every template has.
var globals = map[string]any{
	"range": Function(rangeOf),
	"dict": Function(func(c *Call) any {
		d := &Dict{}
		if len(c.Args) > 0 {
			for _, pair := range filterItems(c, c.Args[0]).([]any) {
				d.set(c.Line, pair.(Tuple)[0], pair.(Tuple)[1])
			}
		}
		for _, name := range c.names {
			d.set(c.Line, name, c.Named[name])
		}
		return d
	}),
	"namespace": Function(func(c *Call) any {
		ns := &Namespace{names: map[string]any{}}
		for name, value := range c.Named {
			ns.names[name] = value
		}
		return ns
	}),
	"raise_exception": Function(func(c *Call) any {
		panic(&Error{Line: c.Line, Message: str(c.argument(0, "message", "")), Raised: true})
	}),
}

func rangeOf(c *Call) any {
	start := 0
	stop := c.whole(0, "stop", 0)
	step := 1
	if len(c.Args) > 1 {
		start = stop
		stop = c.whole(1, "", 0)
	}
	if len(c.Args) > 2 {
		step = c.whole(2, "", 1)
	}
	if step == 0 {
		fail(c.Line, "range() arg 3 must not be zero")
	}
	items := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(items) == mostRange {
			fail(c.Line, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", mostRange)
		}
		items = append(items, i)
	}
	return items
}
