// Command tokenizers is the Go side of scripts/bench/tokenizers_bench.py: for each line on its standard input it
// tokenizes all texts once, on one thread, and prints the number of tokens and the processor seconds.
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

// processorSeconds returns the user and system time of this process, including garbage collection.
func processorSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
