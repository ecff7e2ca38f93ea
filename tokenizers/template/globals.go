package template

// globals are the functions every template has.
var globals = map[string]any{
	"range": Function(rangeOf),
	"dict": Function(func(c *Call) any {
		d := &Dict{}
		if len(c.Args) > 0 {
			for _, pair := range filterItems(c, c.Args[0]).([]any) {
				d.set(c.eval, pair.(Tuple)[0], pair.(Tuple)[1])
			}
		}
		for _, name := range c.names {
			d.set(c.eval, name, c.Named[name])
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
		panic(&Error{Line: c.line, Message: str(c.eval, c.argument(0, "message", "")), Raised: true})
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
		c.fail("range() arg 3 must not be zero")
	}
	count := 0 // the distance of start and stop may overflow an int, but not a uint
	if step > 0 && stop > start {
		count = rangeLength(uint(stop)-uint(start), uint(step))
	}
	if step < 0 && stop < start {
		count = rangeLength(uint(start)-uint(stop), -uint(step))
	}
	if count > mostRange {
		c.fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", mostRange)
	}
	c.charge(count)
	items := make([]any, count)
	for i := range items {
		items[i] = start + i*step
	}
	return items
}

func rangeLength(distance, step uint) int {
	return int(min((distance-1)/step+1, mostRange+1))
}
