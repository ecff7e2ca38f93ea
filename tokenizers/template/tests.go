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
