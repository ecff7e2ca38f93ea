// Command chem is the Go side of scripts/bench/chem.py: it measures package chem and prints one JSON object.
//
//	chem whole -workers 1 < smiles    parse, canonical, QED, logP, SA, fingerprint of every line
//	chem tanimoto < smiles            a million pairs
//	chem routes < smiles              the median time of the search for a route of at most 3 steps, and what comes once
//	chem start                        the time until the first molecule has all scores
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"retort/chem"
	"retort/chem/synthesis"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chem:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("the first argument must be whole, tanimoto, routes or start")
	}
	workers := 1
	if len(args) == 3 && args[1] == "-workers" {
		var err error
		if workers, err = strconv.Atoi(args[2]); err != nil {
			return err
		}
	}
	runtime.GOMAXPROCS(workers)
	var figures map[string]float64
	var err error
	switch args[0] {
	case "start":
		figures, err = start()
	case "whole":
		figures, err = whole(lines(in))
	case "tanimoto":
		figures, err = tanimoto(lines(in))
	case "routes":
		figures, err = routes(lines(in))
	default:
		err = fmt.Errorf("no measurement %q", args[0])
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(figures)
}

func lines(in io.Reader) (all []string) {
	for s := bufio.NewScanner(in); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}

// cpu returns the processor seconds of this process.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

const facts = chem.FactQED | chem.FactLogP | chem.FactSA | chem.FactFingerprint

func evaluate(smiles []string) ([]*chem.Molecule, error) {
	results, err := chem.Evaluate(context.Background(), smiles, facts)
	if err != nil {
		return nil, err
	}
	molecules := make([]*chem.Molecule, len(results))
	for i, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		molecules[i] = r.Molecule
	}
	return molecules, nil
}

func whole(smiles []string) (map[string]float64, error) {
	if err := chem.Warm(); err != nil {
		return nil, err
	}
	wall := time.Now()
	used := cpu()
	molecules, err := evaluate(smiles)
	if err != nil {
		return nil, err
	}
	figures := map[string]float64{"wall": time.Since(wall).Seconds(), "cpu": cpu() - used}
	for _, m := range molecules { // sums that show that both sides do the same work
		figures["qed"] += m.QED()
		figures["logp"] += m.LogP()
		figures["sa"] += m.SA()
		figures["letters"] += float64(len(m.SMILES()))
	}
	return figures, nil
}

func tanimoto(smiles []string) (map[string]float64, error) {
	molecules, err := evaluate(smiles[:min(1000, len(smiles))])
	if err != nil {
		return nil, err
	}
	prints := make([]chem.Fingerprint, len(molecules))
	for i, m := range molecules {
		prints[i] = m.Fingerprint()
	}
	runtime.GC()
	wall := time.Now()
	used := cpu()
	sum := 0.0
	pairs := 0
	for pairs < 1_000_000 {
		for i := range prints {
			for j := range prints {
				sum += prints[i].Tanimoto(&prints[j])
			}
		}
		pairs += len(prints) * len(prints)
	}
	perMillion := 1e6 / float64(pairs)
	return map[string]float64{"wall": time.Since(wall).Seconds() * perMillion,
		"cpu": (cpu() - used) * perMillion, "mean": sum / float64(pairs)}, nil
}

func start() (map[string]float64, error) {
	wall := time.Now()
	m, err := chem.Parse("CC(=O)Oc1ccccc1C(=O)O")
	if err != nil {
		return nil, err
	}
	qed := m.QED()
	sa := m.SA()
	// The processor time includes what runs before main: loading the libraries and the Go runtime.
	return map[string]float64{"wall": time.Since(wall).Seconds(), "cpu": cpu(), "qed": qed, "sa": sa}, nil
}

// routes measures each molecule with a search of its own, so that none profits from another.
func routes(smiles []string) (map[string]float64, error) {
	once := cpu()
	planner, err := synthesis.NewPlanner(synthesis.Default())
	if err != nil {
		return nil, err
	}
	once = cpu() - once
	var seconds []float64
	found := 0.0
	for _, text := range smiles {
		m, err := chem.Parse(text)
		if err != nil {
			return nil, err
		}
		before := cpu()
		route := planner.NewSearch().Route(m, synthesis.MaxSteps)
		seconds = append(seconds, cpu()-before)
		if route != nil {
			found++
		}
	}
	slices.Sort(seconds)
	return map[string]float64{
		"once": once, "median": seconds[len(seconds)/2], "p95": seconds[len(seconds)*95/100],
		"found": found / float64(len(seconds)),
	}, nil
}
