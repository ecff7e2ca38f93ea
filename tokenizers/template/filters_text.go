package template

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var words = regexp.MustCompile(`[\pL\pN_]+`)

// titleWords is Jinja's title: words begin after space, hyphen or bracket.
func titleWords(s string) string {
	start := true
	return strings.Map(func(r rune) rune {
		was := start
		start = unicode.IsSpace(r) || strings.ContainsRune("-({[<", r)
		if was {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func filterAbs(c *Call, v any) any {
	n, f, whole, ok := numeric(v)
	switch {
	case !ok:
		fail(c.Line, "bad operand type for abs(): '%s'", typeName(v))
	case whole && n < 0:
		return -n
	case whole:
		return n
	}
	return math.Abs(f)
}

func filterCenter(c *Call, v any) any {
	s := str(v)
	room := min(max(0, c.whole(0, "width", 80)-length(c.Line, s)), 1<<20)
	left := room / 2
	if width := room + length(c.Line, s); room%2 == 1 && width%2 == 1 {
		left++ // as CPython does
	}
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", room-left)
}

func filterDefault(c *Call, v any) any {
	_, undefined := v.(Undefined)
	if undefined || truth(c.argument(1, "boolean", false)) && !truth(v) {
		return c.argument(0, "default_value", "")
	}
	return v
}

func filterFloat(c *Call, v any) any {
	if _, f, _, ok := numeric(v); ok {
		return f
	}
	if f, err := strconv.ParseFloat(strings.TrimSpace(str(v)), 64); err == nil {
		return f
	}
	return c.argument(0, "default", 0.0)
}

func filterInt(c *Call, v any) any {
	if n, f, whole, ok := numeric(v); ok {
		if whole {
			return n
		}
		return int(f)
	}
	text := strings.TrimSpace(str(v))
	if n, err := strconv.ParseInt(text, c.whole(1, "base", 10), 64); err == nil {
		return int(n)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return int(f)
	}
	return c.argument(0, "default", 0)
}

func filterIndent(c *Call, v any) any {
	by, ok := c.argument(0, "width", 4).(string)
	if !ok {
		by = strings.Repeat(" ", min(max(0, c.whole(0, "width", 4)), 1<<10))
	}
	lines := strings.Split(str(v), "\n")
	for i, line := range lines {
		if i == 0 && !truth(c.argument(1, "first", false)) || line == "" && !truth(c.argument(2, "blank", false)) {
			continue
		}
		lines[i] = by + line
	}
	return strings.Join(lines, "\n")
}

func filterReplace(c *Call, v any) any {
	most := -1
	if c.argument(2, "count", nil) != nil {
		most = c.whole(2, "count", -1)
	}
	return strings.Replace(str(v), str(c.argument(0, "old", "")), str(c.argument(1, "new", "")), most)
}

func filterRound(c *Call, v any) any {
	_, f, _, ok := numeric(v)
	if !ok {
		fail(c.Line, "type %s doesn't define __round__ method", typeName(v))
	}
	round := math.RoundToEven
	switch c.argument(1, "method", "common") {
	case "ceil":
		round = math.Ceil
	case "floor":
		round = math.Floor
	}
	scale := math.Pow10(c.whole(0, "precision", 0))
	return round(f*scale) / scale
}

func filterTruncate(c *Call, v any) any {
	s := []rune(str(v))
	most := c.whole(0, "length", 255)
	ending := str(c.argument(2, "end", "..."))
	if len(s) <= most+c.whole(3, "leeway", 5) {
		return string(s)
	}
	cut := string(s[:max(0, most-length(c.Line, ending))])
	if !truth(c.argument(1, "killwords", false)) {
		if space := strings.LastIndexByte(cut, ' '); space >= 0 {
			cut = cut[:space]
		}
	}
	return cut + ending
}
