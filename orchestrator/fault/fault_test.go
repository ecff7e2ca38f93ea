package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKinds(t *testing.T) {
	cause := errors.New("socket broke")
	for _, test := range []struct {
		err  error
		want Kind
	}{
		{New(NotFound, "no %s", "model"), NotFound},
		{fmt.Errorf("while asking: %w", Wrap(Unavailable, cause, "Triton is away")), Unavailable},
		{context.Canceled, Canceled},
		{fmt.Errorf("infer: %w", context.DeadlineExceeded), Timeout},
		{cause, Internal},
		{nil, Internal},
	} {
		if got := KindOf(test.err); got != test.want {
			t.Errorf("KindOf(%v) = %v, want %v", test.err, got, test.want)
		}
	}
	if As(nil) != nil {
		t.Error("no error became a fault")
	}
	if !errors.Is(Wrap(Internal, cause, "x"), cause) {
		t.Error("the cause is lost")
	}
}

func TestPaths(t *testing.T) {
	row := Text("", "text")
	if got := row.Under("passages", 3).Field(); got != "passages[3].text" {
		t.Error(got)
	}
	if got := row.Field(); got != "text" {
		t.Errorf("Under changed the fault it was called on: %s", got)
	}
}

func TestRules(t *testing.T) {
	for want, f := range map[string]*Error{
		"Input should be 'a', 'b' or 'c'":                               OneOf("d", []string{"a", "b", "c"}, "x"),
		"Input should be 'a'":                                           OneOf("d", []string{"a"}, "x"),
		"Input should be greater than or equal to 1":                    Between(0, 1, 10, "x"),
		"Input should be less than or equal to 0.7":                     Between(0.8, 0, 0.7, "x"),
		"List should have at least 1 item after validation, not 0":      Items(0, 1, 5, "x"),
		"List should have at most 5 items after validation, not 6":      Items(6, 1, 5, "x"),
		"String should have at least 1 character":                       Text("", "x"),
		"Value error, text should not contain a NUL character (byte 1)": Text("a\x00", "x"),
	} {
		if f == nil || f.Message != want || f.Field() != "x" || f.Kind != Invalid {
			t.Errorf("%+v, want %s", f, want)
		}
	}
	for i, f := range []*Error{OneOf("a", []string{"a"}), Between(1, 1, 1), AtLeast(2, 1), Items(1, 1, 1), Text("a")} {
		if f != nil {
			t.Errorf("rule %d is broken by a good value: %v", i, f)
		}
	}
}

// An empty list is repeated, as by pydantic; one that is too long is not.
func TestItemsRepeatsAnEmptyList(t *testing.T) {
	if list, ok := Items(0, 1, 5, "x").Input.([]any); !ok || list == nil || len(list) != 0 {
		t.Errorf("input %v", Items(0, 1, 5, "x").Input)
	}
	if f := Items(6, 1, 5, "x"); f.Input != nil {
		t.Errorf("input %v", f.Input)
	}
}

func TestJoin(t *testing.T) {
	if err := Join(nil, nil); err != nil {
		t.Error(err)
	}
	a, b, c := New(Invalid, "a"), New(Invalid, "b"), New(Invalid, "c")
	all := As(Join(nil, a, Join(b, c).(*Error))).All()
	if len(all) != 3 || all[0].Message != "a" || all[2].Message != "c" {
		t.Errorf("%v", all)
	}
	if len(a.All()) != 1 {
		t.Error("Join changed the fault it was given")
	}
}

// At most MaxProblems problems of a request are recorded.
func TestProblemsAreBounded(t *testing.T) {
	var problems Problems
	problems.Add(nil, Text("", "model"), NotEmpty(0, "input"))
	checked := 0
	problems.AddEach(1_000_000, func(i int) *Error {
		checked++
		return Text("", "input", i)
	})
	all := As(problems.Err()).All()
	if len(all) != MaxProblems || problems.Len() != MaxProblems {
		t.Errorf("%d problems, want %d", len(all), MaxProblems)
	}
	if want := MaxProblems - 2; checked != want {
		t.Errorf("%d rows were checked, want %d", checked, want)
	}
	if got := all[len(all)-1].Field(); got != "input[17]" {
		t.Errorf("the last problem is about %s", got)
	}
	if joined := As(Join(As(problems.Err()), As(problems.Err()))); len(joined.All()) != MaxProblems {
		t.Errorf("%d joined problems", len(joined.All()))
	}
	if err := new(Problems).Err(); err != nil {
		t.Errorf("no problems gave %v", err)
	}
}

// Errors, also joined ones, repeat only the start of a client's text.
func TestClipped(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	extra := Field("extra_forbidden", long, []any{long, 3}, "not %s", long)
	joined := As(Join(New(NotFound, "no model %s", long), extra))
	for _, f := range joined.Clipped().All() {
		if n := len(f.Message); n > maxMessage+len("…") {
			t.Errorf("a message of %d bytes", n)
		}
		if f.Rule == "" {
			continue
		}
		if n := len(f.Input.(string)); n > MaxEcho+len("…") {
			t.Errorf("an input of %d bytes", n)
		}
		if n := len(f.Field()); n > MaxEcho+len("…[3]") {
			t.Errorf("a path of %d bytes", n)
		}
	}
	if got := Clip("short"); got != "short" {
		t.Errorf("%q", got)
	}
	if got := Clip("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
	if got := Clip(strings.Repeat("\xffa", MaxEcho/2)); len(got) > MaxEcho+len("…") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := Clip(long); !utf8.ValidString(got) {
		t.Errorf("a character is cut in two: %q", got)
	}
}

func TestAPanicBecomesAnError(t *testing.T) {
	var ids []int
	err := WithRecover(func() error {
		ids[3]++
		return nil
	})()
	if f := As(err); err == nil || f.Kind != Internal || !strings.Contains(f.Message, "index out of range") {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "TestAPanicBecomesAnError") {
		t.Errorf("the error has no stack: %v", err)
	}
	left := errors.New("left")
	for _, want := range []error{nil, left} {
		if err := WithRecover(func() error { return want })(); err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
