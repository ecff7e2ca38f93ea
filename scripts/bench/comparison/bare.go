package comparison

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"retort/orchestrator/triton"
)

// Bare is ONNX Runtime alone, in a process of its own (peer/bare.py): what the graph takes without Triton, without a
// transport and without a gateway. It makes one call at a time, with all cores.
type Bare struct {
	mu      sync.Mutex
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	calls   string // a temporary file
}

// NewBare starts the process on a graph and the calls that it will be asked to make: the inputs of each are int64 of
// shape [rows, tokens].
func NewBare(python, graph string, calls []*triton.Request) (*Bare, error) {
	file, err := os.CreateTemp("", "calls-*.json")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := rowsOf(calls)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(file).Encode(rows); err != nil {
		return nil, err
	}
	b := &Bare{process: exec.Command(python, "scripts/bench/peer/bare.py", graph, file.Name()), calls: file.Name()}
	b.process.Stderr = os.Stderr
	if b.in, err = b.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.out = bufio.NewScanner(out)
	if err := b.process.Start(); err != nil {
		return nil, err
	}
	return b, b.expect("ready")
}

// rowsOf are the calls' tensors as lists of rows, by name.
func rowsOf(calls []*triton.Request) ([]map[string][][]int64, error) {
	lists := make([]map[string][][]int64, len(calls))
	for i, call := range calls {
		lists[i] = map[string][][]int64{}
		for _, tensor := range call.Inputs {
			values, err := tensor.Int64s()
			if err != nil {
				return nil, err
			}
			width := int(tensor.Shape[1])
			for lo := 0; lo < len(values); lo += width {
				lists[i][tensor.Name] = append(lists[i][tensor.Name], values[lo:lo+width])
			}
		}
	}
	return lists, nil
}

// Run makes one of the calls.
func (b *Bare) Run(ctx context.Context, call int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := io.WriteString(b.in, strconv.Itoa(call)+"\n"); err != nil {
		return err
	}
	return b.expect("done")
}

func (b *Bare) expect(word string) error {
	if b.out.Scan() && b.out.Text() == word {
		return nil
	}
	return fmt.Errorf("bare ONNX Runtime ended: %q, %v", b.out.Text(), b.out.Err())
}

// PID is the process that does the work.
func (b *Bare) PID() int { return b.process.Process.Pid }

// Close ends the process.
func (b *Bare) Close() error {
	defer os.Remove(b.calls)
	if err := b.in.Close(); err != nil {
		return err
	}
	return b.process.Wait()
}
