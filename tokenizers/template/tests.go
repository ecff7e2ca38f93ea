package template

// tests are the tests that follow "is":
// https://jinja.palletsprojects.com/en/stable/templates/#list-of-builtin-tests
var tests = map[string]func(c *call, v any) bool{
	"defined":   func(c *call, v any) bool { return !isA[undefined](c, v) },
	"undefined": isA[undefined],
	"none":      func(_ *call, v any) bool { return v == nil },
	"boolean":   isA[bool],
	"true":      func(_ *call, v any) bool { return v == true },
	"false":     func(_ *call, v any) bool { return v == false },
	"integer":   isA[int],
	"float":     isA[float64],
	"number":    isNumber,
	"string":    isA[string],
	"mapping":   isA[*Dict],
	"callable":  isA[function],
	"sequence":  isSequence,
	"iterable":  isSequence,
	"lower":     func(c *call, v any) bool { return isLower(c.readText(v)) },
	"upper":     func(c *call, v any) bool { return isUpper(c.readText(v)) },
	"even":      func(c *call, v any) bool { return hasRemainder(c, v, 2, 0) },
	"odd":       func(c *call, v any) bool { return hasRemainder(c, v, 2, 1) },
	"divisibleby": func(c *call, v any) bool {
		return hasRemainder(c, v, c.argument(0, "num", 1), 0)
	},
	"sameas": func(c *call, v any) bool {
		return typeName(v) == typeName(c.operand()) && equal(c.evaluation, v, c.operand())
	},
	"in":     func(c *call, v any) bool { return contains(c.evaluation, c.operand(), v) },
	"filter": isFilter,

	"eq": compareTest("=="), "equalto": compareTest("=="), "==": compareTest("=="),
	"ne": compareTest("!="), "!=": compareTest("!="),
	"lt": compareTest("<"), "lessthan": compareTest("<"), "<": compareTest("<"),
	"le": compareTest("<="), "<=": compareTest("<="),
	"gt": compareTest(">"), "greaterthan": compareTest(">"), ">": compareTest(">"),
	"ge": compareTest(">="), ">=": compareTest(">="),
}

// isA reports whether a value has a type.
func isA[T any](_ *call, v any) bool {
	_, ok := v.(T)
	return ok
}

func isNumber(_ *call, v any) bool {
	_, _, _, ok := numeric(v)
	return ok
}

func isFilter(c *call, v any) bool {
	_, ok := filters[str(c.evaluation, v)]
	return ok
}

func hasRemainder(c *call, v, divisor any, remainder int) bool {
	return equal(c.evaluation, arithmetic(c.evaluation, "%", v, divisor), remainder)
}

func compareTest(op string) func(*call, any) bool {
	return func(c *call, v any) bool { return compare(c.evaluation, op, v, c.operand()) }
}

// operand returns the only argument of a test.
func (c *call) operand() any {
	if len(c.args) == 0 {
		c.fail("the test needs an argument")
	}
	return c.args[0]
}

func isSequence(_ *call, v any) bool {
	switch v.(type) {
	case string, []any, tuple, *Dict, undefined:
		return true
	}
	return false
}

// globals are the functions that every template has.
var globals = map[string]any{
	"range": function(rangeOf),
	"dict": function(func(c *call) any {
		d := &Dict{}
		if len(c.args) > 0 {
			for _, pair := range filterItems(c, c.args[0]).([]any) {
				d.set(c.evaluation, pair.(tuple)[0], pair.(tuple)[1])
			}
		}
		for _, name := range c.names {
			d.set(c.evaluation, name, c.named[name])
		}
		return d
	}),
	"namespace": function(func(c *call) any {
		ns := &namespace{names: map[string]any{}}
		for name, value := range c.named {
			ns.names[name] = value
		}
		return ns
	}),
	"raise_exception": function(func(c *call) any {
		panic(&Error{Line: c.line, Message: str(c.evaluation, c.argument(0, "message", "")), Raised: true})
	}),
}

func rangeOf(c *call) any {
	start := 0
	stop := c.integer(0, "stop", 0)
	step := 1
	if len(c.args) > 1 {
		start = stop
		stop = c.integer(1, "", 0)
	}
	if len(c.args) > 2 {
		step = c.integer(2, "", 1)
	}
	if step == 0 {
		c.fail("range() arg 3 must not be zero")
	}
	count := 0 // computed with uint, which can hold the distance of any two ints
	if step > 0 && stop > start {
		count = rangeLength(uint(stop)-uint(start), uint(step))
	}
	if step < 0 && stop < start {
		count = rangeLength(uint(start)-uint(stop), -uint(step))
	}
	if count > maxRange {
		c.fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	c.charge(count)
	items := make([]any, count)
	for i := range items {
		items[i] = start + i*step
	}
	return items
}

func rangeLength(distance, step uint) int {
	return int(min((distance-1)/step+1, maxRange+1))
}
