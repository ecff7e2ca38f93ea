package template

import "unicode/utf8"

// attribute is of.name: an attribute or method, else a member of that key.
func attribute(line int, of any, name string) any {
	switch v := of.(type) {
	case Undefined:
		defined(line, v)
	case *Dict:
		if method := dictMethod(v, name); method != nil {
			return method
		}
		if member, ok := v.get(name); ok {
			return member
		}
	case *Namespace:
		if member, ok := v.names[name]; ok {
			return member
		}
	case *Loop:
		return v.attribute(line, name)
	case string:
		if method, ok := stringMethods[name]; ok {
			return Function(func(c *Call) any { return method(c, v) })
		}
	case []any, Tuple:
		if method := sequenceMethod(list(line, v), name); method != nil {
			return method
		}
	}
	return missing(of, name)
}

// item is of[key]: a member, else an attribute.
func item(line int, of, key any) any {
	defined(line, of)
	switch v := of.(type) {
	case *Dict:
		if member, ok := v.get(key); ok {
			return member
		}
	case []any, Tuple:
		if n, ok := key.(int); ok {
			return element(list(line, v), n)
		}
	case string:
		if n, ok := key.(int); ok {
			return element(list(line, v), n)
		}
	}
	if name, ok := key.(string); ok {
		if _, isDict := of.(*Dict); !isDict || dictMethod(of.(*Dict), name) != nil {
			return attribute(line, of, name)
		}
	}
	return missing(of, str(key))
}

func element(items []any, n int) any {
	if n < 0 {
		n += len(items)
	}
	if n < 0 || n >= len(items) {
		return Undefined{"list index out of range"}
	}
	return items[n]
}

func sequenceMethod(items []any, name string) any {
	switch name {
	case "index":
		return Function(func(c *Call) any {
			for i, item := range items {
				if equal(item, c.argument(0, "value", nil)) {
					return i
				}
			}
			fail(c.Line, "%s is not in list", python(c.argument(0, "value", nil)))
			return nil
		})
	case "count":
		return Function(func(c *Call) any {
			n := 0
			for _, item := range items {
				n += number01(equal(item, c.argument(0, "value", nil)))
			}
			return n
		})
	case "copy":
		return Function(func(*Call) any { return items })
	case "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse":
		return Function(func(c *Call) any {
			fail(c.Line, "access to attribute '%s' of 'list' object is unsafe.", name)
			return nil
		})
	}
	return nil
}

// length is len(v).
func length(line int, v any) int {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case *Dict:
		return len(v.keys)
	case []any, Tuple, Undefined:
		return len(list(line, v))
	}
	fail(line, "object of type '%s' has no len()", typeName(v))
	return 0
}
