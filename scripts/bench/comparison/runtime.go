package comparison

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"

	"retort/orchestrator/triton"
)

// runtime is ONNX Runtime alone, in its own process (peer/bare.py): it shows what the graph takes without Triton,
// transport and gateway. It makes one call at a time, on all cores.
type runtime struct {
	mu      sync.Mutex
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	calls   string // a temporary file
}

// startRuntime starts the process on a graph and the calls that run makes; their inputs are int64 of shape [rows,
// tokens].
func startRuntime(python, graph string, calls []*triton.Request) (*runtime, error) {
	file, err := os.CreateTemp("", "calls-*.json")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	inputs, err := inputRows(calls)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(file).Encode(inputs); err != nil {
		return nil, err
	}
	r := &runtime{process: exec.Command(python, "scripts/bench/peer/bare.py", graph, file.Name()), calls: file.Name()}
	r.process.Stderr = os.Stderr
	if r.in, err = r.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewScanner(out)
	if err := r.process.Start(); err != nil {
		return nil, err
	}
	return r, r.expect("ready")
}

// inputRows returns the inputs of each call as lists of rows, by the tensor's name.
func inputRows(calls []*triton.Request) ([]map[string][][]int64, error) {
	inputs := make([]map[string][][]int64, len(calls))
	for i, call := range calls {
		inputs[i] = map[string][][]int64{}
		for _, tensor := range call.Inputs {
			values, err := triton.Values[int64](tensor)
			if err != nil {
				return nil, err
			}
			inputs[i][tensor.Name] = slices.Collect(slices.Chunk(values, int(tensor.Shape[1])))
		}
	}
	return inputs, nil
}

// run makes one of the calls.
func (r *runtime) run(ctx context.Context, call int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := io.WriteString(r.in, strconv.Itoa(call)+"\n"); err != nil {
		return err
	}
	return r.expect("done")
}

func (r *runtime) expect(word string) error {
	if r.out.Scan() && r.out.Text() == word {
		return nil
	}
	return fmt.Errorf("ONNX Runtime alone ended: %q, %v", r.out.Text(), r.out.Err())
}

func (r *runtime) processes() Processes { return Processes{r.process.Process.Pid} }

// close ends the process.
func (r *runtime) close() {
	defer os.Remove(r.calls)
	if r.in.Close() == nil {
		_ = r.process.Wait()
	}
}
