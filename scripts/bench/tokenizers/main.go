// Command tokenizers is the Go side of scripts/bench/tokenizers_bench.py: for each line on its standard input it
// tokenises all texts once, on one thread, and prints how many tokens that gave and the processor seconds it took.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"retort/tokenizers"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(tokenizer, texts string) error {
	runtime.GOMAXPROCS(1)
	t, err := tokenizers.Load(tokenizer)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(texts)
	if err != nil {
		return err
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for rounds := bufio.NewScanner(os.Stdin); rounds.Scan(); {
		start := processorSeconds()
		tokens := 0
		for _, text := range list {
			e, err := t.Encode(text, tokenizers.Options{})
			if err != nil {
				return err
			}
			tokens += len(e.IDs)
		}
		fmt.Println(tokens, processorSeconds()-start)
	}
	return nil
}

// processorSeconds is user and system time together, garbage collection included.
func processorSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
