package template

type kind uint8

const (
	endOfTemplate kind = iota
	data
	blockBegin
	blockEnd
	variableBegin
	variableEnd
	name
	text
	integer
	float
	operator
)

var kindNames = [...]string{"end of template", "template data", "begin of statement block", "end of statement block",
	"begin of print statement", "end of print statement", "name", "string", "integer", "float", "operator"}

type token struct {
	kind  kind
	value string
	line  int
}

func (t token) String() string {
	if t.value != "" && t.kind != data {
		return "'" + t.value + "'"
	}
	return kindNames[t.kind]
}
