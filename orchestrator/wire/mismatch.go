// Package wire holds JSON types that decode themselves and that more than one published API uses: one string or many, a
// number that may come as text.
package wire

// Mismatch is a JSON value that a type of this package does not accept. Rule and Message are pydantic's error type and
// wording, which is what the published services answer with.
type Mismatch struct {
	Rule    string
	Message string
	// Path locates the value below the field, such as {3} for the fourth element of an array.
	Path []any
}

func (m *Mismatch) Error() string { return m.Message }

// The wording of pydantic 2 for values of the wrong JSON type.
var (
	NotString  = Mismatch{Rule: "string_type", Message: "Input should be a valid string"}
	NotInteger = Mismatch{Rule: "int_type", Message: "Input should be a valid integer"}
	NotWhole   = Mismatch{Rule: "int_from_float", Message: "Input should be a valid integer, got a number with a fractional part"}
	NotNumber  = Mismatch{Rule: "float_type", Message: "Input should be a valid number"}
	NotBoolean = Mismatch{Rule: "bool_type", Message: "Input should be a valid boolean"}
	NotList    = Mismatch{Rule: "list_type", Message: "Input should be a valid list"}
	NotObject  = Mismatch{Rule: "dict_type", Message: "Input should be a valid dictionary"}

	badInteger = Mismatch{Rule: "int_parsing", Message: "Input should be a valid integer, unable to parse string as an integer"}
	badNumber  = Mismatch{Rule: "float_parsing", Message: "Input should be a valid number, unable to parse string as a number"}
	badBoolean = Mismatch{Rule: "bool_parsing", Message: "Input should be a valid boolean, unable to interpret input"}
)

// At returns m for the value at path.
func (m Mismatch) At(path ...any) *Mismatch {
	m.Path = path
	return &m
}
