package modelimport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A pickle is a program for a stack machine, which in Python can call any function. unpickler reads one as data: it
// executes nothing, and refuses every class and function that is not plain data of PyTorch, PyTorch Lightning or
// OmegaConf. Its operations are those of PyTorch's own loader of untrusted files (torch/_weights_only_unpickler.py) and
// the frames of newer protocols.
type unpickler struct {
	data  []byte
	at    int
	stack []any
	marks []int // lengths of the stack
	memo  map[int]any

	// persistent returns the value of a persistent id, which PyTorch uses for the storage of tensors.
	persistent func(id any) (any, error)
}

// The values of a pickle: nil, bool, int64, float64, string, []byte, *list, *dict, global, *object, and what persistent
// and torch._utils._rebuild_tensor_v2 return.
type (
	// list is a list, tuple or set.
	list struct{ items []any }
	// dict is a dictionary in its order.
	dict struct{ keys, values []any }
	// global is a class or function.
	global struct{ module, name string }
	// object is an instance of a class, which is not created: only what the pickle says of it is kept.
	object struct {
		class global
		args  []any
		state any
		dict
	}
)

// get returns the value of a key, or nil.
func (d *dict) get(key string) any {
	for i, k := range d.keys {
		if k == key {
			return d.values[i]
		}
	}
	return nil
}

func (g global) String() string { return g.module + "." + g.name }

// dataClasses are the classes and functions that may occur. A name that ends in a dot stands for a package.
var dataClasses = []string{
	"collections.OrderedDict", "collections.defaultdict", "collections.Counter", "collections.deque",
	"torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter", "torch.Size", "torch.device",
	"torch.FloatStorage", "torch.HalfStorage", "torch.BFloat16Storage", "torch.DoubleStorage", "torch.LongStorage",
	"torch.IntStorage", "torch.ShortStorage", "torch.CharStorage", "torch.ByteStorage", "torch.BoolStorage",
	"torch.float32", "torch.float64", "torch.float16", "torch.bfloat16", "torch.int64",
	"omegaconf.", "lightning.", "lightning_fabric.", "pytorch_lightning.",
	"typing.Any", "typing.Union", "typing.Optional", "argparse.Namespace", "_codecs.encode", "copyreg._reconstructor",
	"pathlib.", "numpy.dtype", "numpy.ndarray", "numpy.core.multiarray.", "numpy._core.multiarray.",
	"builtins.bool", "builtins.bytearray", "builtins.bytes", "builtins.complex", "builtins.dict", "builtins.float",
	"builtins.frozenset", "builtins.int", "builtins.list", "builtins.object", "builtins.set", "builtins.str",
	"builtins.tuple",
}

// python2 are modules that protocol 2 names as in Python 2.
var python2 = map[string]string{"__builtin__": "builtins", "copy_reg": "copyreg"}

// global returns a class or function, or refuses it.
func (u *unpickler) global(module, name string) (any, error) {
	if renamed, ok := python2[module]; ok {
		module = renamed
	}
	g := global{module, name}
	full := g.String()
	for _, known := range dataClasses {
		if full == known || strings.HasSuffix(known, ".") && strings.HasPrefix(full, known) {
			return g, nil
		}
	}
	return nil, fmt.Errorf("the pickle uses %s, which is not data of PyTorch Lightning: it could run code", g)
}

// maxPickle bounds a pickle, in bytes. That of a checkpoint with a thousand tensors has less than one million.
const maxPickle = 64 << 20

// maxOperations bounds the values of a pickle, which take more memory than their bytes. A list of lengths has one for
// each number.
const maxOperations = 1 << 22

// Operations of pickles (Lib/pickletools.py of Python).
const (
	opMark, opStop, opPop, opNone                    = '(', '.', '0', 'N'
	opBinInt, opBinInt1, opBinInt2, opBinFloat       = 'J', 'K', 'M', 'G'
	opReduce, opBuild, opGlobal, opPersistent        = 'R', 'b', 'c', 'Q'
	opBinUnicode, opShortBinString, opBinString      = 'X', 'U', 'T'
	opAppend, opAppends, opSetItem, opSetItems       = 'a', 'e', 's', 'u'
	opEmptyDict, opEmptyList, opEmptyTuple, opTuple  = '}', ']', ')', 't'
	opBinGet, opLongBinGet, opBinPut, opLongBinPut   = 'h', 'j', 'q', 'r'
	opProtocol, opNewObject, opTuple1, opTuple2      = 0x80, 0x81, 0x85, 0x86
	opTuple3, opTrue, opFalse, opLong1               = 0x87, 0x88, 0x89, 0x8a
	opShortUnicode, opEmptySet, opAddItems           = 0x8c, 0x8f, 0x90
	opStackGlobal, opMemoize, opFrame, opShortBinary = 0x93, 0x94, 0x95, 'C'
	opBinBytes                                       = 'B'
)

// load reads the value of the pickle.
func (u *unpickler) load() (value any, err error) {
	defer func() {
		// The operations below read the data and the stack without checks: what a damaged pickle lacks ends here.
		if problem := recover(); problem != nil {
			err = fmt.Errorf("the pickle is damaged at byte %d", u.at)
		}
	}()
	u.data = slices.Clip(u.data) // so that take cannot reach behind its end
	u.memo = map[int]any{}
	for range maxOperations {
		op := u.take(1)[0]
		if op == opStop {
			return u.pop(), nil
		}
		if err := u.execute(op); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the pickle has more than %d operations", maxOperations)
}

func (u *unpickler) execute(op byte) error {
	switch op {
	case opProtocol:
		u.take(1)
	case opFrame:
		u.take(8)
	case opMark:
		u.marks = append(u.marks, len(u.stack))
	case opPop:
		u.pop()
	case opNone:
		u.push(nil)
	case opTrue, opFalse:
		u.push(op == opTrue)
	case opBinInt:
		u.push(int64(int32(u.number(4))))
	case opBinInt1:
		u.push(int64(u.number(1)))
	case opBinInt2:
		u.push(int64(u.number(2)))
	case opLong1:
		return u.long()
	case opBinFloat:
		u.push(math.Float64frombits(binary.BigEndian.Uint64(u.take(8))))
	case opBinUnicode, opBinString:
		u.push(string(u.take(u.number(4))))
	case opShortUnicode, opShortBinString:
		u.push(string(u.take(u.number(1))))
	case opBinBytes:
		u.push(u.take(u.number(4)))
	case opShortBinary:
		u.push(u.take(u.number(1)))
	case opEmptyList, opEmptyTuple, opEmptySet:
		u.push(&list{})
	case opEmptyDict:
		u.push(&dict{})
	case opTuple:
		u.push(&list{u.popMark()})
	case opTuple1, opTuple2, opTuple3:
		u.push(&list{u.popN(int(op) - opTuple1 + 1)})
	case opBinGet, opLongBinGet, opBinPut, opLongBinPut, opMemoize:
		return u.memoize(op)
	case opAppend:
		u.appendTo(u.popN(1))
	case opAppends, opAddItems:
		u.appendTo(u.popMark())
	case opSetItem:
		u.set(u.popN(2))
	case opSetItems:
		u.set(u.popMark())
	default:
		return u.executeOnObject(op)
	}
	return nil
}

// executeOnObject executes an operation on classes and their instances.
func (u *unpickler) executeOnObject(op byte) error {
	switch op {
	case opGlobal:
		module, name := u.line(), u.line()
		return u.pushOr(u.global(module, name))
	case opStackGlobal:
		names := u.popN(2)
		return u.pushOr(u.global(names[0].(string), names[1].(string)))
	case opPersistent:
		return u.pushOr(u.persistent(u.pop()))
	case opReduce, opNewObject:
		args := u.pop().(*list)
		return u.pushOr(u.instance(u.pop().(global), args.items))
	case opBuild:
		state := u.pop()
		if o, ok := u.stack[len(u.stack)-1].(*object); ok {
			o.state = state
		}
		return nil
	}
	return fmt.Errorf("the pickle has operation 0x%02x at byte %d, which is not supported", op, u.at-1)
}

// instance returns an instance of a class. Those of most classes are only described.
func (u *unpickler) instance(class global, args []any) (any, error) {
	switch class.String() {
	case "collections.OrderedDict":
		return &dict{}, nil
	case "torch._utils._rebuild_tensor_v2":
		return newStoredTensor(args)
	case "torch._utils._rebuild_parameter":
		if len(args) > 0 {
			return args[0], nil
		}
	}
	return &object{class: class, args: args}, nil
}

func (u *unpickler) pushOr(value any, err error) error {
	u.push(value)
	return err
}

func (u *unpickler) push(value any) { u.stack = append(u.stack, value) }

func (u *unpickler) pop() any { return u.popN(1)[0] }

// popN returns a copy of the last n values of the stack, and removes them.
func (u *unpickler) popN(n int) []any {
	from := len(u.stack) - n
	values := append([]any(nil), u.stack[from:]...)
	u.stack = u.stack[:from]
	return values
}

// popMark is popN for the values after the last mark, which it removes.
func (u *unpickler) popMark() []any {
	mark := u.marks[len(u.marks)-1]
	u.marks = u.marks[:len(u.marks)-1]
	return u.popN(len(u.stack) - mark)
}

func (u *unpickler) appendTo(items []any) {
	switch to := u.stack[len(u.stack)-1].(type) {
	case *list:
		to.items = append(to.items, items...)
	case *object:
		to.args = append(to.args, items...)
	default:
		panic("not a list")
	}
}

// set sets keys, each followed by its value.
func (u *unpickler) set(items []any) {
	var to *dict
	switch last := u.stack[len(u.stack)-1].(type) {
	case *dict:
		to = last
	case *object:
		to = &last.dict
	}
	for i := 0; i < len(items); i += 2 {
		to.keys = append(to.keys, items[i])
		to.values = append(to.values, items[i+1])
	}
}

func (u *unpickler) memoize(op byte) error {
	last := func() any { return u.stack[len(u.stack)-1] }
	switch op {
	case opBinPut:
		u.memo[u.number(1)] = last()
	case opLongBinPut:
		u.memo[u.number(4)] = last()
	case opMemoize:
		u.memo[len(u.memo)] = last()
	default:
		size := 1
		if op == opLongBinGet {
			size = 4
		}
		value, ok := u.memo[u.number(size)]
		if !ok {
			return errors.New("the pickle refers to a value that it does not have")
		}
		u.push(value)
	}
	return nil
}

// take returns the next n bytes.
func (u *unpickler) take(n int) []byte {
	taken := u.data[u.at : u.at+n]
	u.at += n
	return taken
}

// number returns the next size bytes as a number.
func (u *unpickler) number(size int) int {
	n := 0
	for i, b := range u.take(size) {
		n |= int(b) << (8 * i)
	}
	return n
}

// long pushes an integer with its number of bytes before it. Integers of more than 64 bits become 0: nothing needs one.
func (u *unpickler) long() error {
	raw := u.take(u.number(1))
	n := int64(0)
	if size := len(raw); size > 0 && size <= 8 {
		n = int64(u.data[u.at-1]) << 56 >> 63 // all ones for a negative integer
		for i := size - 1; i >= 0; i-- {
			n = n<<8 | int64(raw[i])
		}
	}
	u.push(n)
	return nil
}

// line returns the text up to the next line end.
func (u *unpickler) line() string {
	end := strings.IndexByte(string(u.data[u.at:min(len(u.data), u.at+1024)]), '\n')
	text := string(u.take(end))
	u.take(1)
	return text
}
