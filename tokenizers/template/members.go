package template

import "unicode/utf8"

// attribute is of.name: an attribute or method, else a member of that key.
func attribute(e eval, of any, name string) any {
	switch v := of.(type) {
	case Undefined:
		requireDefined(e, v)
	case *Dict:
		if method := dictMethod(v, name); method != nil {
			return method
		}
		if member, ok := v.get(e, name); ok {
			return member
		}
	case *Namespace:
		if member, ok := v.names[name]; ok {
			return member
		}
	case *Loop:
		return v.attribute(name)
	case string:
		if method, ok := stringMethods[name]; ok {
			return Function(func(c *Call) any { return method(c, v) })
		}
	case []any, Tuple:
		items, _ := sequence(v)
		if method := sequenceMethod(items, name); method != nil {
			return method
		}
	}
	return missing(of, name)
}

// item is of[key]: a member, else an attribute.
func item(e eval, of, key any) any {
	requireDefined(e, of)
	switch v := of.(type) {
	case *Dict:
		if member, ok := v.get(e, key); ok {
			return member
		}
	case []any, Tuple, string:
		if n, ok := key.(int); ok {
			return element(e, v, n)
		}
	}
	if name, ok := key.(string); ok {
		if _, isDict := of.(*Dict); !isDict || dictMethod(of.(*Dict), name) != nil {
			return attribute(e, of, name)
		}
	}
	return missing(of, str(e, key))
}

// element returns the n-th element of a list or tuple, or character of a text; from the end if n is negative.
func element(e eval, of any, n int) any {
	items, _ := sequence(of)
	text, isText := of.(string)
	switch {
	case isText && n < 0:
		return characterFromEnd(e, text, n)
	case isText:
		return character(e, text, n)
	case n < 0:
		n += len(items)
	}
	if n < 0 || n >= len(items) {
		return outOfRange
	}
	return items[n]
}

var outOfRange = Undefined{"list index out of range"}

func character(e eval, text string, n int) any {
	e.chargeText(min(n, len(text)))
	for _, r := range text {
		if n == 0 {
			return string(r)
		}
		n--
	}
	return outOfRange
}

func characterFromEnd(e eval, text string, n int) any {
	e.chargeText(min(-(n + 1), len(text)))
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		if n++; n == 0 {
			return string(r)
		}
		text = text[:len(text)-size]
	}
	return outOfRange
}

func sequenceMethod(items []any, name string) any {
	switch name {
	case "index":
		return Function(func(c *Call) any {
			for i, item := range list(c.eval, items) {
				if equal(c.eval, item, c.argument(0, "value", nil)) {
					return i
				}
			}
			c.fail("%s is not in list", reprValue(c.eval, c.argument(0, "value", nil)))
			return nil
		})
	case "count":
		return Function(func(c *Call) any {
			n := 0
			for _, item := range list(c.eval, items) {
				n += number01(equal(c.eval, item, c.argument(0, "value", nil)))
			}
			return n
		})
	case "copy":
		return Function(func(*Call) any { return items })
	case "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse":
		return Function(func(c *Call) any {
			c.fail("access to attribute '%s' of 'list' object is unsafe.", name)
			return nil
		})
	}
	return nil
}

// length is len(v).
func length(e eval, v any) int {
	switch v := v.(type) {
	case string:
		e.chargeText(len(v))
		return utf8.RuneCountInString(v)
	case *Dict:
		return len(v.keys)
	case []any, Tuple:
		items, _ := sequence(v)
		return len(items)
	case Undefined:
		return 0
	}
	e.fail("object of type '%s' has no len()", typeName(v))
	return 0
}
