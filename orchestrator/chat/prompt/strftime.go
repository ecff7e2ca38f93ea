package prompt

import (
	"fmt"
	"strings"
	"time"
)

// conversions are strftime's, as Go's layouts.
var conversions = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'm': "01", 'y': "06", 'Y': "2006",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'Z': "MST", 'z': "-0700",
	'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'R': "15:04",
	'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
}

// strftime is strftime_now of templates, in the C locale.
func strftime(now time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout, known := conversions[format[i]]
		switch {
		case known:
			b.WriteString(now.Format(layout))
		case format[i] == 'j':
			fmt.Fprintf(&b, "%03d", now.YearDay())
		case format[i] == '%':
			b.WriteByte('%')
		default:
			b.WriteString(format[i-1 : i+1])
		}
	}
	return b.String()
}
