package triton_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

func TestWireFormOfEachDatatype(t *testing.T) {
	two := []int64{2}
	for _, c := range []struct {
		tensor triton.Tensor
		want   []byte
	}{
		{triton.Bools("x", two, []bool{false, true}), []byte{0, 1}},
		{triton.New("x", two, []uint8{1, 255}), []byte{1, 255}},
		{triton.New("x", two, []uint16{1, 0x1234}), []byte{1, 0, 0x34, 0x12}},
		{triton.New("x", two, []uint32{1, 0x12345678}), []byte{1, 0, 0, 0, 0x78, 0x56, 0x34, 0x12}},
		{triton.New("x", []int64{1}, []uint64{0x0102030405060708}), []byte{8, 7, 6, 5, 4, 3, 2, 1}},
		{triton.New("x", two, []int8{1, -1}), []byte{1, 255}},
		{triton.New("x", two, []int16{1, -2}), []byte{1, 0, 0xfe, 0xff}},
		{triton.New("x", two, []int32{1, -2}), []byte{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}},
		{triton.Int64s("x", []int64{1}, []int64{-2}), []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{triton.Float32s("x", two, []float32{1, -2}), []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
		{triton.New("x", []int64{1}, []float64{1}), []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
		{triton.Halves(triton.FP16, "x", two, []float32{1, -2}), []byte{0, 0x3c, 0, 0xc0}},
		{triton.Halves(triton.BF16, "x", two, []float32{1, -2}), []byte{0x80, 0x3f, 0, 0xc0}},
		{triton.Strings("x", two, []string{"ab", ""}), []byte{2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0}},
		{triton.New[int32]("x", []int64{3, 0}, nil), nil},
	} {
		if err := c.tensor.Check(); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(c.tensor.Raw(), c.want) {
			t.Errorf("%s: % x, want % x", c.tensor.Datatype, c.tensor.Raw(), c.want)
		}
	}
}

// Values accepts bytes of any alignment.
func TestValuesOfUnalignedBytes(t *testing.T) {
	want := []float64{1.5, -2.25, math.MaxFloat64}
	raw := triton.New("x", []int64{3}, want).Raw()
	for offset := range 9 {
		buffer := append(make([]byte, offset, offset+len(raw)), raw...)
		got, err := triton.Values[float64](triton.Raw("x", triton.FP64, []int64{3}, buffer[offset:]))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("offset %d: %v, %v", offset, got, err)
		}
	}
	got, err := triton.Values[bool](triton.Raw("x", triton.BOOL, []int64{3}, []byte{0, 1, 7}))
	if err != nil || !slices.Equal(got, []bool{false, true, true}) {
		t.Errorf("bools: %v, %v", got, err)
	}
}

func TestInvalidTensors(t *testing.T) {
	for name, tensor := range map[string]triton.Tensor{
		"few values":        triton.Float32s("x", []int64{2, 2}, []float32{1, 2, 3}),
		"many values":       triton.Float32s("x", []int64{2}, []float32{1, 2, 3}),
		"half a value":      triton.Raw("x", triton.FP32, []int64{1}, []byte{1, 2, 3}),
		"negative":          triton.Float32s("x", []int64{-1}, []float32{1}),
		"overflow":          triton.Raw("x", triton.UINT8, []int64{1 << 62, 4}, nil),
		"no name":           triton.Float32s("", []int64{1}, []float32{1}),
		"no datatype":       triton.Raw("x", "FP8", []int64{1}, []byte{1}),
		"no elements":       triton.Raw("x", triton.FP32, nil, nil),
		"few strings":       triton.Strings("x", []int64{3}, []string{"a", "b"}),
		"many strings":      triton.Strings("x", []int64{1}, []string{"a", "b"}),
		"string cut off":    triton.Raw("x", triton.BYTES, []int64{1}, []byte{9, 0, 0, 0, 'a'}),
		"huge string":       triton.Raw("x", triton.BYTES, []int64{1}, []byte{255, 255, 255, 255, 'a'}),
		"huge string shape": triton.Raw("x", triton.BYTES, []int64{1 << 40}, []byte{0, 0, 0, 0}),
	} {
		if err := tensor.Check(); err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := triton.Values[int64](triton.Float32s("x", []int64{1}, []float32{1}))
	if err == nil || err.Error() != "tensor x is FP32, not [INT64]" {
		t.Errorf("wrong datatype: %v", err)
	}
	if _, err := triton.Int64s("x", []int64{1}, []int64{1}).Bytes(); err == nil {
		t.Error("INT64 read as strings")
	}
	if _, err := triton.Int64s("x", []int64{1}, []int64{1}).Floats(); err == nil {
		t.Error("INT64 read as floats")
	}
}

// A tensor without dimensions has one element.
func TestTensorWithoutDimensions(t *testing.T) {
	got, err := triton.Values[uint32](triton.Raw("n", triton.UINT32, nil, []byte{7, 0, 0, 0}))
	if err != nil || !slices.Equal(got, []uint32{7}) {
		t.Errorf("%v, %v", got, err)
	}
}

// Every binary16 is widened exactly and narrowed to itself. Values between two of them are rounded to nearest, ties to
// even.
func TestEveryFP16(t *testing.T) {
	value := func(bits uint16) float64 {
		exponent := int(bits >> 10 & 31)
		fraction := float64(bits & 1023)
		v := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			v = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			v = math.Inf(1)
		case exponent == 31:
			v = math.NaN()
		}
		return math.Copysign(v, 1-2*float64(bits>>15))
	}
	narrow := func(v float32) uint16 {
		raw := triton.Halves(triton.FP16, "x", []int64{1}, []float32{v}).Raw()
		return uint16(raw[0]) | uint16(raw[1])<<8
	}
	for i := range 1 << 16 {
		bits := uint16(i)
		got, err := triton.Raw("x", triton.FP16, []int64{1}, []byte{byte(bits), byte(bits >> 8)}).Floats()
		want := value(bits)
		if err != nil {
			t.Fatal(err)
		}
		wide := float64(got[0])
		isEqual := wide == want || math.IsNaN(want) && math.IsNaN(wide)
		if !isEqual || math.Signbit(wide) != math.Signbit(want) {
			t.Fatalf("%04x is %v, want %v", bits, wide, want)
		}
		if back := narrow(got[0]); math.IsNaN(want) != (back&0x7fff > 0x7c00) || (!math.IsNaN(want) && back != bits) {
			t.Fatalf("%04x came back as %04x", bits, back)
		}
		if next := bits + 1; bits&0x7fff < 0x7bff {
			middle := float32((want + value(next)) / 2)
			even := bits + bits&1
			below := math.Nextafter32(middle, float32(want))
			above := math.Nextafter32(middle, float32(value(next)))
			if narrow(middle) != even || narrow(below) != bits || narrow(above) != next {
				t.Fatalf("between %04x and %04x: %04x %04x %04x",
					bits, next, narrow(below), narrow(middle), narrow(above))
			}
		}
	}
	if narrow(65519) != 0x7bff || narrow(65520) != 0x7c00 || narrow(-1e30) != 0xfc00 || narrow(1e-30) != 0 {
		t.Error("overflow or underflow")
	}
}

func TestBF16(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		v := math.Float32frombits(random.Uint32())
		out, err := triton.Halves(triton.BF16, "x", []int64{1}, []float32{v}).Floats()
		if err != nil {
			t.Fatal(err)
		}
		got := float64(out[0])
		want := float64(v)
		switch size := math.Abs(want); {
		case math.IsNaN(want):
			if !math.IsNaN(got) {
				t.Fatalf("NaN became %v", got)
			}
		case size > 1e-37 && size < 3e38 && math.Abs(got-want) > size/256:
			t.Fatalf("%v became %v", want, got)
		}
	}
	negativeInfinity := float32(math.Inf(-1))
	for v, want := range map[float32]float32{
		1 + 1.0/256:      1,
		1 + 3.0/256:      1 + 1.0/64,
		negativeInfinity: negativeInfinity,
	} {
		if got, _ := triton.Halves(triton.BF16, "x", []int64{1}, []float32{v}).Floats(); got[0] != want {
			t.Errorf("%v became %v, want %v", v, got[0], want)
		}
	}
}

func TestFloatsOfEachWidth(t *testing.T) {
	want := []float32{0.5, -3}
	shape := []int64{2}
	for _, tensor := range []triton.Tensor{
		triton.Halves(triton.FP16, "x", shape, want),
		triton.Halves(triton.BF16, "x", shape, want),
		triton.Float32s("x", shape, want),
		triton.New("x", shape, []float64{0.5, -3}),
	} {
		if got, err := tensor.Floats(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", tensor.Datatype, got, err)
		}
	}
}

// FuzzBytes checks that the elements of any BYTES tensor are read exactly or refused.
func FuzzBytes(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 'a'}, int64(1))
	f.Add([]byte{255, 255, 255, 255}, int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, n int64) {
		values, err := tritontest.Texts(triton.Raw("x", triton.BYTES, []int64{n}, raw))
		if err == nil && (int64(len(values)) != n || !bytes.Equal(triton.Strings("x", []int64{n}, values).Raw(), raw)) {
			t.Errorf("% x was decoded as %q", raw, values)
		}
	})
}
