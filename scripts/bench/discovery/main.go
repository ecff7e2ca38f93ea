// Command discovery measures the cost of discovery for many gateways and many Tritons. The Tritons are small gRPC
// servers in this process, which answer health checks and describe models. The gateways are only their discovery
// (triton.Client and discovery.Registry), in another process, so that its memory and processor time can be told apart.
//
//	go run ./scripts/bench/discovery -tritons 100 -models 1000 -gateways 10
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"retort/scripts/bench/fleet"
)

func main() {
	tritons := flag.Int("tritons", 100, "replicas of Triton")
	models := flag.Int("models", 1000, "models of the repository that they share")
	gateways := flag.Int("gateways", 10, "gateways; 50 do not finish their start on two cores")
	seconds := flag.Int("seconds", 20, "seconds during which the traffic is counted while nothing changes")
	child := flag.Bool("child", false, "run as the process of the gateways, which reads the addresses from standard input")
	flag.Parse()
	var err error
	if *child {
		err = follow(*gateways, *models)
	} else {
		err = measure(*tritons, *models, *gateways, time.Duration(*seconds)*time.Second)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure prints the figures.
func measure(tritons, models, gateways int, steady time.Duration) error {
	f, err := fleet.Start(tritons, configs(models, firstDelay), nil)
	if err != nil {
		return err
	}
	begun := time.Now()
	g, err := start(f.Addresses, gateways, models)
	if err != nil {
		return err
	}
	defer g.close()
	if _, err := g.waitFor("ready"); err != nil {
		return err
	}
	fmt.Printf("%d gateways, %d Tritons, %d models\n\n", gateways, tritons, models)
	row("", "all", "one gateway", "one Triton")
	row("---", "---:", "---:", "---:")
	row("all models known after the start", fmt.Sprintf("%.1f s", time.Since(begun).Seconds()), "", "")

	time.Sleep(3 * time.Second)
	before := f.Traffic()
	first, err := g.waitFor("none")
	if err != nil {
		return err
	}
	time.Sleep(steady)
	second, err := g.waitFor("none")
	if err != nil {
		return err
	}
	after := f.Traffic()
	share := func(name, unit string, total float64) {
		row(name, figure(total, unit), figure(total/float64(gateways), unit), figure(total/float64(tritons), unit))
	}
	seconds := steady.Seconds()
	for _, kind := range []string{fleet.LiveCall, fleet.IndexCall, fleet.ConfigCall, fleet.MetadataCall} {
		share(kind+" calls a second", "", float64(after.Calls[kind]-before.Calls[kind])/seconds)
	}
	share("answers' bytes a second", "B", float64(after.Bytes-before.Bytes)/seconds)
	row("cores used", fmt.Sprintf("%.2f", (second.CPU-first.CPU)/seconds),
		fmt.Sprintf("%.3f", (second.CPU-first.CPU)/seconds/float64(gateways)), "")
	row("memory", figure(second.Resident, "B"), figure(second.Resident/float64(gateways), "B"), "")
	row("connections", fmt.Sprint(tritons*gateways), fmt.Sprint(tritons), fmt.Sprint(gateways))
	return converge(f, g, models)
}

// converge changes the repository in two ways and prints the time until the last gateway knows.
func converge(f *fleet.Fleet, g *gateways, models int) error {
	for _, change := range []struct {
		name, condition string
		apply           func(f *fleet.Fleet, models int)
	}{
		{"a new version, until the last gateway knows", "version", addVersion},
		{"another configuration of a loaded version, likewise", "configuration", reconfigure},
	} {
		began := time.Now()
		change.apply(f, models)
		if _, err := g.waitFor(change.condition); err != nil {
			return err
		}
		row(change.name, fmt.Sprintf("%.1f s", time.Since(began).Seconds()), "", "")
	}
	return nil
}

func row(cells ...string) { fmt.Println("| " + strings.Join(cells, " | ") + " |") }

// figure formats a number with a metric prefix.
func figure(value float64, unit string) string {
	switch {
	case value >= 1e6:
		return fmt.Sprintf("%.1f M%s", value/1e6, unit)
	case value >= 1e4:
		return fmt.Sprintf("%.0f k%s", value/1e3, unit)
	case value >= 100 || unit != "":
		return fmt.Sprintf("%.0f %s", value, unit)
	}
	return fmt.Sprintf("%.1f", value)
}

// gateways is the process of all gateways. Requests and answers are lines of JSON.
type gateways struct {
	process  *exec.Cmd
	requests *json.Encoder
	answers  *bufio.Scanner
}

// usage is what the process of the gateways has used.
type usage struct {
	CPU      float64 // seconds
	Resident float64 // bytes
}

func start(addresses []string, count, models int) (*gateways, error) {
	process := exec.Command("/proc/self/exe", "-child",
		fmt.Sprintf("-gateways=%d", count), fmt.Sprintf("-models=%d", models))
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g := &gateways{process: process, requests: json.NewEncoder(in), answers: bufio.NewScanner(out)}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return g, g.requests.Encode(addresses)
}

// waitFor waits until all gateways meet a condition (see follow) and returns what they have used so far.
func (g *gateways) waitFor(condition string) (u usage, err error) {
	if err := g.requests.Encode(condition); err != nil {
		return u, err
	}
	if !g.answers.Scan() {
		return u, fmt.Errorf("the gateways ended: %v", g.answers.Err())
	}
	return u, json.Unmarshal(g.answers.Bytes(), &u)
}

func (g *gateways) close() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait()
}
