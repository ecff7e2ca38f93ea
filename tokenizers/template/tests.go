package template

// tests are what stands behind "is". https://jinja.palletsprojects.com/en/stable/templates/#list-of-builtin-tests
var tests = map[string]func(c *Call, v any) bool{
	"defined":   func(_ *Call, v any) bool { _, undefined := v.(Undefined); return !undefined },
	"undefined": func(_ *Call, v any) bool { _, undefined := v.(Undefined); return undefined },
	"none":      func(_ *Call, v any) bool { return v == nil },
	"boolean":   func(_ *Call, v any) bool { _, ok := v.(bool); return ok },
	"true":      func(_ *Call, v any) bool { return v == true },
	"false":     func(_ *Call, v any) bool { return v == false },
	"integer":   func(_ *Call, v any) bool { _, ok := v.(int); return ok },
	"float":     func(_ *Call, v any) bool { _, ok := v.(float64); return ok },
	"number":    func(_ *Call, v any) bool { _, _, _, ok := numeric(v); return ok },
	"string":    func(_ *Call, v any) bool { _, ok := v.(string); return ok },
	"mapping":   func(_ *Call, v any) bool { _, ok := v.(*Dict); return ok },
	"callable":  func(_ *Call, v any) bool { _, ok := v.(Function); return ok },
	"sequence":  isSequence,
	"iterable":  isSequence,
	"lower":     func(c *Call, v any) bool { return isLower(c.readText(v)) },
	"upper":     func(c *Call, v any) bool { return isUpper(c.readText(v)) },
	"even":      func(c *Call, v any) bool { return equal(c.eval, arithmetic(c.eval, "%", v, 2), 0) },
	"odd":       func(c *Call, v any) bool { return equal(c.eval, arithmetic(c.eval, "%", v, 2), 1) },
	"divisibleby": func(c *Call, v any) bool {
		return equal(c.eval, arithmetic(c.eval, "%", v, c.argument(0, "num", 1)), 0)
	},
	"sameas": func(c *Call, v any) bool { return typeName(v) == typeName(c.other()) && equal(c.eval, v, c.other()) },
	"in":     func(c *Call, v any) bool { return contains(c.eval, c.other(), v) },
	"filter": func(c *Call, v any) bool { _, ok := filters[str(c.eval, v)]; return ok },

	"eq": compared("=="), "equalto": compared("=="), "==": compared("=="),
	"ne": compared("!="), "!=": compared("!="),
	"lt": compared("<"), "lessthan": compared("<"), "<": compared("<"),
	"le": compared("<="), "<=": compared("<="),
	"gt": compared(">"), "greaterthan": compared(">"), ">": compared(">"),
	"ge": compared(">="), ">=": compared(">="),
}

func compared(op string) func(*Call, any) bool {
	return func(c *Call, v any) bool { return compare(c.eval, op, v, c.other()) }
}

// other is the one argument of a test.
func (c *Call) other() any {
	if len(c.Args) == 0 {
		c.fail("the test needs an argument")
	}
	return c.Args[0]
}

func isSequence(_ *Call, v any) bool {
	switch v.(type) {
	case string, []any, Tuple, *Dict, Undefined:
		return true
	}
	return false
}

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
